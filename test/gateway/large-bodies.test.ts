/** Bodies that are large enough to go on in their own bytes: the provider reads what was checked, for whole replies and streams, at each attempt. */
import t from 'tap'
import { startScene } from '../support/scene.ts'
import { jsonAnswer, type Script, sseAnswer } from '../support/upstream.ts'
import { framesFor, says } from '../support/wire.ts'

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
