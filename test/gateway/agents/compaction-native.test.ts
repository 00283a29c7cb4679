/** `compaction: native`: providers that compact by themselves are left to it, and their items reach no other account. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { compactionItem, HISTORY, send, TRIGGER } from '../../support/compaction.ts'
import { list, object } from '../../support/fold.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { jsonAnswer, type Seen, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { answerFor, says } from '../../support/wire.ts'

const BLOB = 'gAAAAABnative=='
const ITEM = { id: 'cmp_0123', type: 'compaction', encrypted_content: BLOB }
const USAGE = {
  input_tokens: 30,
  output_tokens: 10,
  total_tokens: 40,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
}
const RESPONSE = { id: 'resp_1', object: 'response', created_at: 1, model: 'up', status: 'completed', output: [ITEM], usage: USAGE }

const frame = (event: JsonObject): string => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`
const STREAM = [
  { type: 'response.created', sequence_number: 0, response: { ...RESPONSE, status: 'in_progress', output: [], usage: null } },
  { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...ITEM, encrypted_content: '' } },
  { type: 'response.output_item.done', sequence_number: 2, output_index: 0, item: ITEM },
  { type: 'response.completed', sequence_number: 3, response: RESPONSE },
].map(frame)

/** A provider that compacts where the input ends with a trigger, and reads its own items alone. */
function native(seen: Seen): ReturnType<typeof answerFor> {
  const { input, stream } = seen.json
  if (list(input).at(-1)?.type === 'compaction_trigger') return stream === true ? sseAnswer(STREAM) : jsonAnswer(RESPONSE)
  const foreign = list(input).some((item) => item.type === 'compaction' && item.encrypted_content !== BLOB)
  const message = 'The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.'
  return foreign
    ? jsonAnswer({ error: { message, type: 'invalid_request_error', code: 'invalid_encrypted_content' } }, 400)
    : answerFor(seen, { text: ['Mauve.'] })
}

async function nativeAndChat(t: Test): Promise<{ gateway: Gateway; seen: Seen[]; chat: Seen[] }> {
  const seen: Seen[] = []
  const chat: Seen[] = []
  const upstream = await startUpstream((request) => {
    seen.push(request)
    return native(request)
  })
  const other = await startUpstream((request, index) => {
    chat.push(request)
    return says({ text: ['A summary.'] })(request, index)
  })
  const entry = (key: string, more = '') => `{ dialect: openai-responses, base_url: "${upstream.url}/v1", key: ${key}${more} }`
  const endpoint = (provider: string) => `{ provider: ${provider}, model: up, price: { prompt: "1", completion: "2" } }`
  const gateway = await startGateway(`
providers:
  mine: ${entry('sk-mine', ', quirks: { compaction: native }')}
  yours: ${entry('sk-yours')}
  chat: { dialect: openai-chat, base_url: "${other.url}/v1", key: sk-chat }
models:
  acme/native: { endpoints: [ ${endpoint('chat')}, ${endpoint('mine')} ] }
  acme/yours: { endpoints: [ ${endpoint('yours')} ] }
  acme/chat: { endpoints: [ ${endpoint('chat')} ] }
`)
  t.teardown(() => Promise.all([gateway.close(), upstream.close(), other.close()]))
  return { gateway, seen, chat }
}

const KEY = 'sk-router-v1-0123456789abcdef0123456789abcdef'
const ask = (gateway: Gateway, body: JsonObject, path?: string) =>
  send(gateway, body, path === undefined ? { key: KEY } : { key: KEY, path })

t.test('the trigger goes to the provider, and its item comes back for its account', async (t) => {
  const { gateway, seen, chat } = await nativeAndChat(t)
  const body = { model: 'acme/native', input: [...HISTORY, TRIGGER] }
  const whole = await ask(gateway, body)
  t.equal(whole.status, 200)
  t.match(list(seen.at(-1)?.json.input).at(-1), TRIGGER)
  const item = compactionItem(list(whole.reply.output))
  t.match(item.encrypted_content, /^hg:[\w-]{8}:gAAAAABnative==$/)
  const streamed = await ask(gateway, { ...body, stream: true })
  const done = streamed.events.filter(({ type }) => type === 'response.output_item.done').map((event) => object(event.item))
  t.same(compactionItem(done).encrypted_content, item.encrypted_content)
  const operation = await ask(gateway, { model: 'acme/native', input: [...HISTORY] }, '/v1/responses/compact')
  t.match(operation.reply, { object: 'response.compaction', usage: { input_tokens: 30 } })
  t.match(list(operation.reply.output), [
    { role: 'user' },
    { role: 'user' },
    { type: 'compaction', encrypted_content: item.encrypted_content },
  ])
  t.equal(chat.length, 0, 'no endpoint but those that compact by themselves')

  const next = (model: string, stream = false): JsonObject => ({
    model: `acme/${model}`,
    input: [item, { role: 'user', content: 'What colour?' }],
    stream,
  })
  const goes = await ask(gateway, next('native'))
  t.equal(goes.status, 200)
  t.equal(list(seen.at(-1)?.json.input)[0]?.encrypted_content, BLOB, 'to its account, without the mark')
  t.equal(chat.length, 0, 'the cheaper endpoint could not read it')
  const before = seen.length
  for (const model of ['yours', 'chat'])
    for (const stream of [false, true])
      t.match(
        await ask(gateway, next(model, stream)),
        {
          status: 400,
          text: new RegExp(
            `input\\[0\\]\\.encrypted_content: this compaction item was made at a provider.*no endpoint of acme/${model} belongs to it`,
          ),
        },
        model,
      )
  t.equal(seen.length, before)
  t.equal(chat.length, 0)
})

t.test('an item of an unknown account is sent to providers of its wire alone, and their refusal is returned', async (t) => {
  const { gateway, seen } = await nativeAndChat(t)
  const of = (model: string, encrypted: string): JsonObject => ({
    model: `acme/${model}`,
    input: [
      { type: 'compaction', encrypted_content: encrypted },
      { role: 'user', content: 'Hi' },
    ],
  })
  t.equal((await ask(gateway, of('yours', BLOB))).status, 200)
  t.match(await ask(gateway, of('yours', 'gAAAAother')), { status: 400 })
  for (const { json } of seen) t.equal(list(json.input)[0]?.type, 'compaction', 'it is always sent')
  t.match(await ask(gateway, of('chat', BLOB)), { status: 400, text: /made at a provider/ })
})

t.test('a conversation with a native item is compacted by its account into an item of ours', async (t) => {
  const { gateway, seen, chat } = await nativeAndChat(t)
  const input = [{ type: 'compaction', encrypted_content: BLOB }, ...HISTORY, TRIGGER]
  const { status, reply } = await ask(gateway, { model: 'acme/yours', input })
  t.equal(status, 200)
  t.match(seen.at(-1)?.body, 'Write a summary')
  const item = compactionItem(list(reply.output))
  t.match(item.encrypted_content, /^hgc1\./)
  t.equal((await ask(gateway, { model: 'acme/chat', input: [item] })).status, 200)
  t.match(chat.at(-1)?.body, 'Mauve.')
})
