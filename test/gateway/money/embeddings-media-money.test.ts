/** Media of embeddings under a limit: however few bytes an image has, ten requests at once are never billed beyond it. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

/** Of 16 million pixels, at a token for 560 (docs.voyageai.com, Multimodal embeddings). */
const IMAGE_TOKENS = 28_571
const LIMIT = 0.1
const COUNT = 10

t.test('images that a model reads with more tokens than they have bytes', async (t) => {
  const { promise: all, resolve } = Promise.withResolvers<void>()
  let come = 0
  const one = (): void => {
    if (++come === COUNT) resolve()
  }
  const { gateway, upstream } = await startScene(t, {
    answer: async () => {
      one()
      await all
      const data = [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }]
      return jsonAnswer({ object: 'list', data, model: 'm', usage: { image_pixels: 16_000_000, total_tokens: IMAGE_TOKENS } })
    },
    config: (url) => `
auth: { keys: [ { name: app, key: "${KEY}", limit: "${LIMIT}" } ] }
providers: { voyage: { dialect: voyage, base_url: "${url}/v1", key: k } }
models:
  acme/joint: { kind: embedding, context: 32000, input: [text, image], endpoints: [ { provider: voyage, model: m, price: { prompt: "1.00" } } ] }
`,
  })
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } }
  const ask = async (): Promise<number> => {
    const reply = await gateway.post('/v1/embeddings', { model: 'acme/joint', input: [{ content: [image] }] })
    if (reply.status !== 200) one()
    await reply.text()
    return reply.status
  }
  const statuses = await Promise.all(Array.from({ length: COUNT }, ask))
  const billed = upstream.requests.length * IMAGE_TOKENS * 1e-6
  t.ok(upstream.requests.length > 0 && billed <= LIMIT, `$${billed} are billed`)
  t.strictSame([...new Set(statuses)].sort(), [200, 402])
  const { data } = (await (await gateway.get('/v1/key')).json()) as { data: JsonObject }
  t.ok(Math.abs(Number(data.usage) - billed) < 1e-9, 'all of it is charged')
})
