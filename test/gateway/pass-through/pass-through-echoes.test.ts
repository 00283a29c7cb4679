/**
 * Words of the caller's own that a provider repeats in its error, in the pass-through: they are held against nothing, whatever of the table
 * of provider errors they spell. The phrases are those of `gateway/echoed-words`.
 */
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

const PHRASES = ['Your credit balance is too low to access the API', 'billing hard limit', 'This organization has been disabled']

const REFUSED = "a provider refused the gateway's own key or account"
const UNCLEAR = /may be about the gateway's account there/

async function scene(t: Test) {
  const place = await startScene(t, {
    answer: () => jsonAnswer({ fine: true }),
    config: (url) => `
auth: { keys: [ { name: app, key: "${KEY}", pass_through: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider", pass_through: { price: "0.25" } }
models:
  acme/one: { endpoints: [ { provider: first, model: m, price: free } ] }
`,
  })
  const messages = (): string[] => place.gateway.logs.map((line) => String((JSON.parse(line) as JsonObject).msg))
  const refuse = (message: string): void => {
    place.upstream.script = () => jsonAnswer({ error: { message, type: 'invalid_request_error', param: null, code: null } }, 400)
  }
  return { ...place, messages, refuse }
}

t.test('an error that repeats a text of the caller is relayed as it came', async (t) => {
  for (const phrase of PHRASES) {
    const { gateway, refuse, messages } = await scene(t)
    const text = `the page of the bank says that ${phrase} when I open it on a phone`
    const sentence = `No such value: ${text}`
    refuse(sentence)
    await every(t, phrase, async (t) => {
      for (const reply of [
        await gateway.post('/v1/passage/first/things', { deep: [{ name: text }] }),
        await gateway.get(`/v1/passage/first/things/${encodeURIComponent(text)}`),
        await gateway.get('/v1/passage/first/things', { 'x-own': text }),
      ]) {
        t.equal(reply.status, 400)
        t.match(await reply.json(), { error: { message: sentence } })
      }
      t.notOk(messages().includes(REFUSED), 'the account is not blamed')
    })
  }
})

t.test('returns 502 without the sentence, and does not blame the account, where an error is only words of the caller', async (t) => {
  for (const phrase of PHRASES) {
    const { gateway, refuse, messages } = await scene(t)
    refuse(`${phrase}.`)
    await every(t, phrase, async (t) => {
      const reply = await gateway.post('/v1/passage/first/things', { messages: [{ role: 'user', content: `why ${phrase}?` }] })
      t.equal(reply.status, 502)
      t.notMatch(await reply.text(), phrase)
      t.notOk(messages().includes(REFUSED))
      t.ok(messages().some((message) => UNCLEAR.test(message)))
    })
  }
})

t.test('does the same for a request body that is too long to be kept, or encoded', async (t) => {
  const [phrase] = PHRASES
  const sent: [body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>][] = [
    [JSON.stringify({ more: 'x'.repeat(200_000) }), {}],
    [new Uint8Array(gzipSync(JSON.stringify({ more: '' }))), { 'content-encoding': 'gzip' }],
  ]
  for (const [body, headers] of sent) {
    const { gateway, refuse, messages } = await scene(t)
    refuse(`${phrase}.`)
    const reply = await fetch(`${gateway.url}/v1/passage/first/things`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}`, ...headers },
      body,
    })
    t.equal(reply.status, 502)
    t.notOk(messages().includes(REFUSED))
    t.ok(messages().some((message) => UNCLEAR.test(message)))
  }
})

t.test('reports a refused account where the caller has not sent the words of the error', async (t) => {
  for (const phrase of PHRASES) {
    const { gateway, refuse, messages } = await scene(t)
    refuse(`${phrase}.`)
    const reply = await gateway.post('/v1/passage/first/things', { any: 'thing' })
    t.equal(reply.status, 502, phrase)
    t.ok(messages().includes(REFUSED), phrase)
  }
})
