/** Bodies that are large enough to go on in their own bytes: the provider reads what was checked, for whole replies and streams, at each attempt. */
import t from 'tap'
import { every } from '../../support/every.ts'
import { object, parseStream } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, type Script, sseAnswer } from '../../support/upstream.ts'
import { framesFor, says } from '../../support/wire.ts'

const LONG = 'größer → "quoted" \\ and\n'.repeat(1_000)

for (const stream of [false, true])
  t.test(`stream: ${stream}`, async (t) => {
    const { gateway, upstream } = await startScene(t)
    const messages = [
      { role: 'user', content: LONG },
      { role: 'assistant', content: 'yes', refusal: null },
      { role: 'user', content: LONG },
    ]
    const reply = await gateway.post('/v1/chat/completions', { model: 'acme/one', messages, stream })
    await reply.text()
    t.equal(reply.status, 200)
    const { json } = upstream.requests[0]
    t.same(json.messages, [messages[0], { role: 'assistant', content: 'yes' }, messages[2]], 'a changed message among unchanged ones')
    t.equal(json.model, 'upstream-model')
  })

t.test('a name that stands twice reaches the provider once, as it was checked', async (t) => {
  const { gateway, upstream } = await startScene(t)
  const body = `{"model":"acme/one","messages":[{"role":"system","role":"user","content":${JSON.stringify(LONG)}}]}`
  t.equal((await gateway.post('/v1/chat/completions', body)).status, 200)
  const { body: sent } = upstream.requests[0]
  t.equal(sent.split('"role"').length, 2)
  t.match(sent, '"role":"user"')
})

for (const dialect of ['openai-chat', 'anthropic'])
  for (const stream of [false, true])
    t.test(`another attempt at ${dialect} is sent the same, in the same bytes, stream: ${stream}`, async (t) => {
      const answer = says({ text: ['fine'] })
      const config = (url: string): string =>
        `providers:
  first: { dialect: ${dialect}, base_url: "${url}/v1", key: sk-1 }
  second: { dialect: ${dialect}, base_url: "${url}/v1", key: sk-2 }
models:
  acme/one:
    endpoints: [ { provider: first, model: one }, { provider: second, model: one } ]
`
      const failing = (request: Parameters<typeof answer>[0], index: number) =>
        index === 0 ? jsonAnswer({ error: { message: 'overloaded' } }, 503) : answer(request, index)
      const { gateway, upstream } = await startScene(t, { answer: failing, config })
      const content = JSON.stringify(LONG).replaceAll('and', '\\u0061nd')
      const body = `{"model":"acme/one","stream":${stream},"messages":[{"role":"user","content":${content}}],"max_tokens":50}`
      const reply = await gateway.post('/v1/chat/completions', body)
      t.match(await reply.text(), 'fine')
      t.equal(upstream.requests.length, 2)
      const [first, second] = upstream.requests
      t.match(first.body, '\\u0061nd', 'as its sender wrote it')
      t.equal(second.body, first.body)
    })

for (const [size, content] of [
  ['small', 'a question'],
  ['large', LONG],
] as const)
  t.test(`a refusal in the middle of the answer to a ${size} body names the caller's own field`, async (t) => {
    const refusal = {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'stop_sequences.0: each must contain non-whitespace' },
    }
    const answer: Script = ({ path }) => {
      const frames = framesFor(path, { text: ['a beginning'] })
      const begun = frames.findIndex((frame) => frame.includes('a beginning')) + 1
      return sseAnswer([...frames.slice(0, begun), `event: error\ndata: ${JSON.stringify(refusal)}\n\n`])
    }
    const { gateway } = await startScene(t, { answer, dialect: 'anthropic' })
    const messages = [{ role: 'user', content }]
    const reply = await gateway.post('/v1/chat/completions', { model: 'acme/one', messages, stop: ['.'], max_tokens: 9, stream: true })
    const text = await reply.text()
    t.match(text, 'a beginning')
    t.match(text, '"field":"stop"')
    t.match(text, '"provider_field":"stop_sequences.0"')
    t.equal(
      text.includes('non-whitespace'),
      size === 'small',
      'its sentence is shown where it can be compared with what the operator has added',
    )
  })

const bare = { type: 'function', name: 'bare', parameters: { type: 'object', properties: {} } }
const TOOLS = Array.from({ length: 20 }, (_, at) => ({
  type: 'function',
  name: `tool_${at}`,
  description: `größer → ${at}\n`.repeat(60),
  parameters: { type: 'object', properties: { path: { type: 'string', enum: ['a', 'ü'] } } },
  strict: false,
}))

for (const dialect of ['openai-responses', 'openai-chat'])
  for (const [form, spaces, list, shown] of [
    ['as SDKs write it', '', TOOLS, TOOLS],
    ['with spaces', ' ', TOOLS, TOOLS],
    ['in lines of their own', '\r\n', TOOLS, TOOLS],
    ['with a tool that lacks members', '', [...TOOLS, bare], [...TOOLS, { ...bare, description: null, strict: null }]],
  ] as const)
    t.test(`the events of a stream show what the caller has set, ${form}, from ${dialect}`, async (t) => {
      const answer: Script = (seen) => {
        const repeated = { instructions: 'others', tools: TOOLS, moderation: { seen: 'größer' } }
        const frames = framesFor(seen.path, { text: ['größer'] })
        return sseAnswer(
          frames.map((frame) => frame.replace('"object":"response"', `"object":"response",${JSON.stringify(repeated).slice(1, -1)}`)),
        )
      }
      const { gateway } = await startScene(t, { answer, dialect })
      const instructions = LONG.slice(0, 3_000)
      const tools = JSON.stringify(list).replaceAll('{"type":"function"', `${spaces}{${spaces}"type"${spaces}:${spaces}"function"`)
      const body = `{"model":"acme/one","stream":true,"instructions":${JSON.stringify(instructions)},"tools":${spaces}${tools},"input":"a","temperature":0.5}`
      const events = parseStream(await (await gateway.post('/v1/responses', body)).text())
      const responses = events.map(({ response }) => response).filter((response) => response !== undefined)
      t.same(
        responses.map((response) => object(response).status),
        ['in_progress', 'in_progress', 'completed'],
      )
      await every(t, 'each of them', (t) => {
        for (const response of responses) {
          t.same(object(response).tools, shown)
          t.equal(object(response).instructions, instructions)
          t.equal(object(response).temperature, 0.5)
        }
      })
      const last = object(responses.at(-1))
      t.match(last.output, [{ content: [{ text: 'größer' }] }])
      if (dialect === 'openai-responses') t.same(last.moderation, { seen: 'größer' }, 'what the provider adds goes on')
    })
