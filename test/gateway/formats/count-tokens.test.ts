/** POST /v1/messages/count_tokens: counted by a provider that can, else estimated; never charged. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer } from '../../support/upstream.ts'

const COUNT = '/v1/messages/count_tokens'
let answer: (path: string) => Answer = () => jsonAnswer({})
const { gateway, upstream } = await startScene(t, {
  answer: (seen) => answer(seen.path),
  config: (url) => `
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef, limit: "0.01" } ] }
providers:
  chat: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
  anthropic: { dialect: anthropic, base_url: "${url}", key: sk-up }
  gemini: { dialect: gemini, base_url: "${url}/v1beta", key: sk-up }
models:
  m/chat: { endpoints: [ { provider: chat, model: m, price: { prompt: "900", completion: "900" } } ] }
  m/anthropic: { endpoints: [ { provider: anthropic, model: m, price: free } ] }
  m/gemini: { endpoints: [ { provider: gemini, model: m, price: free } ] }
  m/both: { endpoints: [ { provider: anthropic, model: m, price: free }, { provider: gemini, model: m, price: free } ] }
guardrails: [ { name: no, content_filters: [ { pattern: "forbidden", action: block } ] } ]
`,
})

const ask = (model: string, more: JsonObject = {}, headers = {}) =>
  gateway.post(COUNT, { model, messages: [{ role: 'user', content: 'How many tokens are these words?' }], ...more }, headers)

t.test('a provider that counts is asked', async (t) => {
  answer = () => jsonAnswer({ input_tokens: 14 })
  const reply = await ask(
    'm/anthropic',
    { system: 'Be brief', tools: [{ name: 'f', input_schema: { type: 'object' } }] },
    { 'anthropic-beta': 'b-1' },
  )
  t.equal(reply.status, 200)
  t.same(await reply.json(), { input_tokens: 14 })
  const seen = upstream.requests.at(-1)
  t.match(seen, { path: COUNT, headers: { 'x-api-key': 'sk-up', 'anthropic-version': '2023-06-01', 'anthropic-beta': /b-1/ } })
  t.match(seen?.json, { model: 'm', system: 'Be brief', tools: [{ name: 'f' }], max_tokens: undefined, stream: undefined })
  answer = () => jsonAnswer({ totalTokens: 21 })
  t.same(await (await ask('m/gemini')).json(), { input_tokens: 21 })
  t.equal(upstream.requests.at(-1)?.path, '/v1beta/models/m:countTokens')
})

t.test('returns an estimate, marked as one, where no provider counts or the count fails', async (t) => {
  const before = upstream.requests.length
  const reply = await ask('m/chat')
  t.equal(reply.status, 200)
  const { input_tokens: tokens, estimated } = (await reply.json()) as { input_tokens: number; estimated: boolean }
  t.ok(tokens > 5 && tokens < 40, `${tokens} tokens`)
  t.equal(estimated, true)
  t.equal(upstream.requests.length, before, 'no provider is asked')
  answer = (path) => (path === COUNT ? { status: 500 } : jsonAnswer({ totalTokens: 33 }))
  t.same(await (await ask('m/both')).json(), { input_tokens: 33 }, 'the next endpoint that counts')
  answer = () => ({ status: 529 })
  t.match(await (await ask('m/both')).json(), { input_tokens: Number, estimated: true })
})

t.test('returns 400 for a wrong request', async (t) => {
  answer = () => jsonAnswer({ type: 'error', error: { type: 'invalid_request_error', message: 'no' } })
  const bad = await gateway.post(COUNT, { model: 'm/anthropic', messages: [] })
  t.equal(bad.status, 400)
  t.match(await bad.json(), { type: 'error', error: { type: 'invalid_request_error', message: /^messages/ } })
  answer = () => ({ ...jsonAnswer({ type: 'error', error: { type: 'invalid_request_error', message: 'no' } }), status: 400 })
  t.equal((await ask('m/anthropic')).status, 400, 'what the provider refuses is told')
  const blocked = await gateway.post(COUNT, { model: 'm/anthropic', messages: [{ role: 'user', content: 'forbidden' }] })
  t.equal(blocked.status, 403)
  t.equal((await ask('m/nobody')).status, 404)
  t.equal((await gateway.post(COUNT, '{')).status, 400)
  t.equal((await fetch(gateway.url + COUNT, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })).status, 401)
})

t.test('charges and holds nothing', async (t) => {
  const key = (await (await gateway.get('/v1/key')).json()) as { data: { usage: number; limit_remaining: number } }
  t.equal(key.data.usage, 0)
  t.equal(key.data.limit_remaining, 0.01)
})
