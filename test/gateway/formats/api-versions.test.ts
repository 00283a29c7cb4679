/**
 * The version of Anthropic's API that a caller names reaches providers of the same wire, and no other (decision 50): 2026-10-21 refuses
 * what 2023-06-01 takes, so what the gateway adds itself may not name it.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { generationDropped } from '../../support/matrix/observe.ts'
import { startScene } from '../../support/scene.ts'

const NEWER = '2026-10-21'
const USUAL = '2023-06-01'

const { gateway, upstream } = await startScene(t, {
  config: (url) => `
auth: { keys: [ { name: app, key: "sk-hg-test-0001", pass_through: true } ] }
presets:
  cool: { parameters: { temperature: 0.2 } }
providers:
  claude: { dialect: anthropic, base_url: "${url}", key: sk-provider, pass_through: { price: "0.01" } }
  pinned: { dialect: anthropic, base_url: "${url}", key: sk-provider, headers: { Anthropic-Version: "${USUAL}" } }
  set: { dialect: anthropic, base_url: "${url}", key: sk-provider, quirks: { body: { set: { top_k: 5 } } } }
  vertex: { dialect: anthropic, base_url: "${url}", key: sk-provider, quirks: { raw_predict: true } }
  other: { dialect: openai-chat, base_url: "${url}/v1", key: sk-provider }
models:
  acme/claude: { endpoints: [ { provider: claude, model: claude, price: free } ] }
  acme/pinned: { endpoints: [ { provider: pinned, model: claude, price: free } ] }
  acme/set: { endpoints: [ { provider: set, model: claude, price: free } ] }
  acme/vertex: { endpoints: [ { provider: vertex, model: claude, price: free } ] }
  acme/other: { endpoints: [ { provider: other, model: other, price: free } ] }
`,
})

interface Sent {
  readonly status: number
  readonly header: unknown
  readonly body: JsonObject
  readonly dropped: readonly string[]
}

async function send(version: string | undefined, more: JsonObject = {}, path = '/v1/messages'): Promise<Sent> {
  const body = { model: 'acme/claude', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }], ...more }
  const reply = await gateway.post(path, body, version === undefined ? {} : { 'anthropic-version': version })
  await reply.text()
  const seen = upstream.requests.at(-1)
  const id = reply.headers.get('x-generation-id')
  const found = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data?: JsonObject }
  return {
    status: reply.status,
    header: seen?.headers['anthropic-version'],
    body: seen?.json as JsonObject,
    dropped: found.data ? generationDropped(found.data) : [],
  }
}

t.test("the caller's version reaches a provider of the same wire", async (t) => {
  for (const stream of [false, true]) {
    t.match(await send(NEWER, { stream }), { status: 200, header: NEWER, dropped: [] })
    t.match(await send(USUAL, { stream }), { status: 200, header: USUAL })
    t.match(await send(undefined, { stream }), { status: 200, header: USUAL }, 'the usual one where none is named')
    t.match(await send('2031-01-01', { stream }), { status: 200, header: '2031-01-01', dropped: [] }, 'the provider judges what it is')
  }
})

t.test('sends the version once where the body is translated, and for counts of tokens', async (t) => {
  const translated = await send(NEWER, { reasoning: { exclude: true } })
  t.equal(translated.header, NEWER)
  t.match(await send(NEWER, {}, '/v1/messages/count_tokens'), { header: NEWER })
})

t.test('checks fields of the caller against its version, and not those that the gateway adds', async (t) => {
  t.match(await send(NEWER, { temperature: 0.5 }), { header: NEWER, body: { temperature: 0.5 } })
  t.match(await send(NEWER, { preset: 'cool' }), { header: USUAL, body: { temperature: 0.2 } })
  t.match(await send(NEWER, { model: 'acme/set' }), { header: USUAL, body: { top_k: 5 } })
})

t.test('a version in the headers of the configuration stays', async (t) => {
  t.match(await send(NEWER, { model: 'acme/pinned' }), { status: 200, header: USUAL })
})

t.test('on Vertex AI it stands in the body', async (t) => {
  t.match(await send(NEWER, { model: 'acme/vertex' }), { header: undefined, body: { anthropic_version: NEWER } })
  t.match(await send(USUAL, { model: 'acme/vertex' }), { header: undefined, body: { anthropic_version: 'vertex-2023-10-16' } })
})

t.test('another wire has no version; one that is not known is recorded', async (t) => {
  const known = await send(NEWER, { model: 'acme/other', temperature: 0.5 })
  t.match(known, { status: 200, header: undefined, body: { temperature: 0.5 }, dropped: [] })
  t.match(await send('2031-01-01', { model: 'acme/other' }), { status: 200, dropped: ['anthropic-version'] })
})

t.test('callers of other formats get the version that takes what they send', async (t) => {
  const sent = await send(NEWER, { temperature: 0.5 }, '/v1/chat/completions')
  t.match(sent, { status: 200, header: USUAL, body: { temperature: 0.5 } })
})

t.test('the pass-through relays the header', async (t) => {
  const reply = await gateway.post(
    '/v1/passage/claude/v1/messages',
    { model: 'claude', max_tokens: 5, messages: [] },
    { 'anthropic-version': NEWER },
  )
  t.match(await reply.text(), /fine/)
  t.equal(upstream.requests.at(-1)?.headers['anthropic-version'], NEWER)
})
