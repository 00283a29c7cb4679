/** Charges of kinds that only some providers report: cache writes for an hour, searches of the provider, images in the answer. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

const usage: JsonObject = {
  input_tokens: 10,
  output_tokens: 5,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 30,
  cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
  server_tool_use: { web_search_requests: 2 },
}
const { gateway, upstream } = await startScene(t, {
  answer: (seen) =>
    seen.path.includes('generateContent')
      ? jsonAnswer({
          candidates: [
            { content: { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }] }, finishReason: 'STOP' },
          ],
          usageMetadata: {
            promptTokenCount: 10,
            candidatesTokenCount: 1290,
            candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
          },
        })
      : jsonAnswer({
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          content: [{ type: 'text', text: 'It rains' }],
          stop_reason: 'end_turn',
          usage,
        }),
  config: (url) => `
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef, limit: "0.17" } ] }
providers:
  anthropic: { dialect: anthropic, base_url: "${url}", key: sk-up }
  gemini: { dialect: gemini, base_url: "${url}/v1beta", key: sk-up }
models:
  m/claude:
    context: 100000
    max_output: 100
    endpoints: [ { provider: anthropic, model: m, price: { prompt: "1.00", completion: "2.00", cached: "0.10", cache_write: "1.25", cache_write_1h: "2.00", web_search: "0.01" } } ]
  m/painter:
    output: [ text, image ]
    max_output: 2000
    endpoints: [ { provider: gemini, model: p, price: { prompt: "1.00", completion: "2.00", image_output: "30.00" } } ]
`,
})

const spent = async (): Promise<number> => {
  const key = (await (await gateway.get('/v1/key')).json()) as { data: { usage: number } }
  return Math.round(key.data.usage * 1e9)
}
const search = (max_uses: number) => ({ type: 'web_search_20250305', name: 'web_search', max_uses })
const ask = (more: JsonObject) =>
  gateway.post('/v1/messages', { model: 'm/claude', max_tokens: 20, messages: [{ role: 'user', content: 'Does it rain?' }], ...more })

t.test('an hour of cache and two searches', async (t) => {
  const refused = await ask({ tools: [search(7)] })
  t.equal(refused.status, 402, 'seven searches might cost more than the key has')
  t.match(await refused.json(), { type: 'error', error: { type: 'billing_error' } })
  t.equal(upstream.requests.length, 0)
  const reply = await ask({ tools: [search(5)] })
  t.equal(reply.status, 200)
  const body = (await reply.json()) as { usage: JsonObject }
  t.match(body.usage, {
    input_tokens: 10,
    cache_read_input_tokens: 100,
    cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
  })
  // 10 plain, 100 read, 20 written for minutes, 10 for an hour, 5 out, two searches.
  t.equal(await spent(), 10_000 + 10_000 + 25_000 + 20_000 + 10_000 + 20_000_000)
})

t.test('searches of a chat model are held for', async (t) => {
  const messages = [{ role: 'user', content: 'Does it rain?' }]
  const body = { model: 'm/claude', messages, max_tokens: 20, web_search_options: {} }
  t.equal((await gateway.post('/v1/chat/completions', body)).status, 402)
})

t.test('an image costs what images cost', async (t) => {
  const before = await spent()
  const reply = await gateway.post('/v1/chat/completions', {
    model: 'm/painter',
    max_tokens: 1000,
    modalities: ['text', 'image'],
    messages: [{ role: 'user', content: 'Paint rain' }],
  })
  t.equal(reply.status, 200)
  t.match(await reply.json(), { choices: [{ message: { images: [{ image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] } }] })
  t.equal((await spent()) - before, 10_000 + 1290 * 30_000)
})
