/** Models that search unasked: their fees are in the hold, and what they find is kept free, in each format and in the pass-through. */
import t, { type Test } from 'tap'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

const KEY = 'sk-router-v1-limited-0123456789abcdef'
/** A search costs five cents, and tokens $1 a million. */
const scene = (t: Test, limit: string, own = ', own_searches: 10') =>
  startScene(t, {
    answer: () =>
      jsonAnswer({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20, server_tool_use_details: { web_search_requests: 3 } },
      }),
    config: (url) => `
auth: { keys: [ { name: limited, key: "${KEY}", limit: "${limit}", pass_through: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1", key: sk-provider, pass_through: { price: "0.001" } }
models:
  acme/one: { context: 128000, max_output: 1000, endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "1.00", web_search: "0.05"${own} } } ] }
`,
  })

const messages = [{ role: 'user', content: 'x' }]
const PATHS = [
  ['/v1/chat/completions', { model: 'acme/one', messages, max_tokens: 10 }],
  ['/v1/messages', { model: 'acme/one', messages, max_tokens: 10 }],
  ['/v1/responses', { model: 'acme/one', input: 'x', max_output_tokens: 16 }],
  ['/v1/passage/first/chat/completions', { model: 'm', messages, max_tokens: 10 }],
] as const

t.test('a key that cannot pay for the searches is refused, and one that can is held for them and charged those that ran', async (t) => {
  await every(t, 'every format', async (t) => {
    for (const [path, body] of PATHS) {
      const poor = await scene(t, '0.45')
      t.equal((await poor.gateway.post(path, body)).status, 402, path)
      t.equal(poor.upstream.requests.length, 0)
      const rich = await scene(t, '2.00')
      t.equal((await rich.gateway.post(path, body)).status, 200, path)
      const [row] = rich.rows()
      t.ok(Number(row?.hold.hold) >= 500_000_000, `${path}: ${row?.hold.hold}`)
      t.ok(Number(row?.settled?.cost) >= 150_000_000 && Number(row?.settled?.cost) < 160_000_000, `${path}: ${row?.settled?.cost}`)
    }
  })
})

t.test('without the setting nothing is held for searches that no request names', async (t) => {
  const place = await scene(t, '0.20', '')
  t.equal((await place.ask({ max_tokens: 10 })).status, 200)
  t.ok(Number(place.rows()[0]?.hold.hold) < 10_000_000)
})

t.test('keeps credit free for search results under a limit', async (t) => {
  const place = await scene(t, '0.55')
  for (const [path, body] of PATHS) {
    const reply = await place.gateway.post(path, body)
    t.equal(reply.status, 402, path)
    t.match(await reply.text(), /searches of the model/, path)
  }
})
