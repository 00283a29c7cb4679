/** The official Anthropic SDK: messages, their stream, structured output and the counting of tokens. */
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema'
import type { Message, MessageParam } from '@anthropic-ai/sdk/resources/messages/messages'
import t from 'tap'
import { jsonAnswer } from '../support/upstream.ts'
import type { WireName } from '../support/wire.ts'
import { type Ask, CAPITAL, type Client, STRANGER, type Told, WEATHER, weatherSentence } from './support/client.ts'
import { exercise } from './support/exercise.ts'
import { DIALECTS, dialectModel, startHouse } from './support/house.ts'

const house = await startHouse(t)

function askBody(ask: Ask, messages: MessageParam[]) {
  return {
    model: ask.model,
    max_tokens: 4096,
    messages,
    ...(ask.topP === undefined ? {} : { top_p: ask.topP }),
    ...(ask.tool ? { tools: [{ name: WEATHER.name, description: WEATHER.description, input_schema: WEATHER.schema as never }] } : {}),
    ...(ask.schema ? { output_config: { format: jsonSchemaOutputFormat(CAPITAL.schema as never) } } : {}),
    ...(ask.reasoning ? { thinking: { type: 'enabled' as const, budget_tokens: 2048 } } : {}),
  }
}

async function once(anthropic: Anthropic, ask: Ask, messages: MessageParam[]): Promise<Message> {
  const body = askBody(ask, messages)
  if (!ask.stream) return anthropic.messages.parse(body, { signal: ask.signal })
  const stream = anthropic.messages.stream(body, { signal: ask.signal })
  stream.on('text', (delta) => ask.onText?.(delta))
  return stream.finalMessage()
}

async function askWith(anthropic: Anthropic, ask: Ask): Promise<Told> {
  const picture = ask.image
    ? [{ type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png' as const, data: ask.image } }]
    : []
  const messages: MessageParam[] = [{ role: 'user', content: [{ type: 'text', text: ask.prompt }, ...picture] }]
  let reasoning = ''
  for (;;) {
    const message = await once(anthropic, ask, messages)
    messages.push({ role: 'assistant', content: message.content as MessageParam['content'] })
    reasoning += message.content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('')
    const calls = message.content.filter((block) => block.type === 'tool_use')
    if (calls.length > 0) {
      const results = calls.map(({ id, input }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: weatherSentence(input as { place: string }),
      }))
      messages.push({ role: 'user', content: results })
      continue
    }
    const { usage } = message
    const cached = usage.cache_read_input_tokens ?? 0
    return {
      text: message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      reasoning,
      value: (message as { parsed_output?: unknown }).parsed_output,
      usage: {
        input: usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0),
        output: usage.output_tokens,
        cached,
        reasoning: usage.output_tokens_details?.thinking_tokens,
      },
    }
  }
}

const anthropicWith = (apiKey: string): Anthropic => new Anthropic({ baseURL: house.gateway.url, apiKey })

const client: Client = {
  name: 'anthropic',
  ask: (ask) => askWith(anthropicWith(house.gateway.key), ask),
  askAsStranger: (ask) => askWith(anthropicWith(STRANGER), ask),
  classes: { 400: 'BadRequestError', 401: 'AuthenticationError', 404: 'NotFoundError', 429: 'RateLimitError' },
  retries: 2,
  errorStatus: (error) => (error instanceof Anthropic.APIError ? error.status : undefined),
}

await exercise(t, house, client)

t.test('an auth token does as well as a key', async (t) => {
  house.script({ text: ['yes'] })
  const anthropic = new Anthropic({ baseURL: house.gateway.url, apiKey: null, authToken: house.gateway.key })
  t.equal((await askWith(anthropic, { model: dialectModel('openai-chat'), prompt: 'Well?', stream: true })).text, 'yes')
})

t.test('errors tell their type and the request', async (t) => {
  house.script()
  const error = await anthropicWith(house.gateway.key)
    .messages.create({ model: 'via/nothing', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] })
    .catch((reason: unknown) => reason)
  t.match(error, { status: 404, type: 'not_found_error', error: { type: 'error', error: { type: 'not_found_error' } } })
})

/** Answers of providers that count, by their path. */
const COUNTING: Partial<Record<WireName, { path: RegExp; body: object }>> = {
  anthropic: { path: /\/v1\/messages\/count_tokens$/, body: { input_tokens: 42 } },
  gemini: { path: /:countTokens$/, body: { totalTokens: 42 } },
  'openai-responses': { path: /\/v1\/responses\/input_tokens$/, body: { object: 'response.input_tokens', input_tokens: 42 } },
}

for (const dialect of DIALECTS)
  t.test(`tokens are counted for ${dialect}`, async (t) => {
    const counting = COUNTING[dialect]
    house.script(() => jsonAnswer(counting?.body))
    const counted = await anthropicWith(house.gateway.key).messages.countTokens({
      model: dialectModel(dialect),
      messages: [{ role: 'user', content: 'Count me please' }],
    })
    t.same(
      house.seen().map(({ path }) => counting?.path.test(path)),
      counting ? [true] : [],
    )
    if (counting) t.equal(counted.input_tokens, 42)
    else t.ok(counted.input_tokens > 0, 'by an estimate')
  })

for (const dialect of DIALECTS)
  t.test(`the tool runner sends ${dialect} the whole conversation, since it keeps no threads`, async (t) => {
    house.script({ calls: [{ id: 'toolu_1', name: 'look', args: ['{"at":', '"sky"}'] }] }, { text: ['Blue.'] })
    const look = {
      type: 'custom' as const,
      name: 'look',
      description: 'Looks.',
      input_schema: { type: 'object' as const, properties: { at: { type: 'string' as const } } },
      run: () => 'seen: blue',
      parse: (input: unknown) => input,
    }
    const final = await anthropicWith(house.gateway.key)
      .beta.messages.toolRunner({
        model: dialectModel(dialect),
        max_tokens: 500,
        messages: [{ role: 'user', content: 'Which colour is it?' }],
        tools: [look],
      })
      .runUntilDone()
    t.match(final.content, [{ type: 'text', text: 'Blue.' }])
    t.equal(house.seen().length, 2)
    const last = house.seen().at(-1)?.body ?? ''
    for (const part of ['Which colour is it?', 'look', 'seen: blue']) t.ok(last.includes(part), `the second request has: ${part}`)
  })

t.test('files are uploaded, listed, read, named in a message, and deleted', async (t) => {
  const anthropic = anthropicWith(house.gateway.key)
  const file = await anthropic.beta.files.upload({ file: await toFile(Buffer.from('words of a file'), 'notes.txt', { type: 'text/plain' }) })
  t.match(file, { type: 'file', filename: 'notes.txt', mime_type: 'text/plain', size_bytes: 15, downloadable: true })
  const listed: string[] = []
  for await (const { id } of anthropic.beta.files.list({ limit: 1 })) listed.push(id)
  t.same(listed, [file.id])
  t.same(await anthropic.beta.files.retrieveMetadata(file.id), file)
  t.equal(await (await anthropic.beta.files.download(file.id)).text(), 'words of a file')
  house.script({ text: ['Read.'] })
  const message = await anthropic.beta.messages.create({
    model: dialectModel('openai-chat'),
    max_tokens: 50,
    messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: file.id } }] }],
  })
  t.match(message.content, [{ type: 'text', text: 'Read.' }])
  t.match(house.seen()[0].body, Buffer.from('words of a file').toString('base64'))
  t.equal((await anthropic.beta.files.delete(file.id)).type, 'file_deleted')
  const gone = await anthropic.beta.files.retrieveMetadata(file.id).catch((reason: unknown) => reason)
  t.match(gone, { status: 404 })
})

t.test('lists models over pages and retrieves one', async (t) => {
  const anthropic = anthropicWith(house.gateway.key)
  const ids: string[] = []
  for await (const model of anthropic.models.list({ limit: 1 })) ids.push(model.id)
  const id = dialectModel('anthropic')
  t.ok(ids.length > 1 && ids.includes(id), ids.join(' '))
  t.match(await anthropic.models.retrieve(id), { type: 'model', id, lifecycle: 'active' })
})

t.test('shows the id of the generation as that of the request, of errors too', async (t) => {
  house.script({ text: ['fine'] })
  const anthropic = anthropicWith(house.gateway.key)
  const message = await anthropic.messages.create({ model: dialectModel('anthropic'), max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] })
  t.match(message._request_id, /^gen-/)
  const refused = await anthropic.messages.create({ model: 'acme/none', max_tokens: 9, messages: [] }).catch((error: unknown) => error)
  t.match(refused instanceof Anthropic.APIError ? refused.requestID : undefined, /^gen-/)
})
