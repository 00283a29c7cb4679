/** Models of which the file does not say what they read or give: the provider decides. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const IMAGE = 'data:image/png;base64,iVBORw0KGgo='
const PICTURE = [
  { type: 'text', text: 'What is this?' },
  { type: 'image_url', image_url: { url: IMAGE } },
]
const MESSAGES = [{ role: 'user', content: PICTURE }]

const { gateway, upstream } = await startScene(t, {
  answer: (seen) =>
    seen.path.endsWith('/embeddings')
      ? jsonAnswer({
          object: 'list',
          model: 'm',
          data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
          usage: { prompt_tokens: 3, total_tokens: 3 },
        })
      : answerFor(seen, { text: ['A cat.'] }),
  config: (url) => `
providers:
  box: { dialect: openai-chat, base_url: "${url}/v1", quirks: { input_parts: true } }
  claude: { dialect: anthropic, base_url: "${url}", key: sk-c }
models:
  "local/*": { endpoints: [ { provider: box, model: "*", price: free } ] }
  "vectors/*": { kind: embedding, endpoints: [ { provider: box, model: "*", price: free } ] }
  "chats/*": { kind: generate, endpoints: [ { provider: box, model: "*", price: free } ] }
  "claude/*": { endpoints: [ { provider: claude, model: "*", price: free } ] }
  acme/plain: { endpoints: [ { provider: box, model: plain, price: free } ] }
  acme/texts: { input: [ text ], endpoints: [ { provider: box, model: texts, price: free } ] }
`,
})

const post = async (path: string, body: JsonObject): Promise<{ status: number; body: JsonObject }> => {
  const reply = await gateway.post(path, body)
  return { status: reply.status, body: (await reply.json()) as JsonObject }
}

t.test('an image reaches a model that declares no input, by name and behind a wildcard', async (t) => {
  for (const model of ['local/llava', 'acme/plain']) {
    t.equal((await post('/v1/chat/completions', { model, messages: MESSAGES })).status, 200, model)
    t.match(upstream.requests.at(-1)?.body, IMAGE, `${model}: the provider gets the image`)
  }
  t.equal(
    (await post('/v1/responses', { model: 'local/llava', input: [{ role: 'user', content: [{ type: 'input_image', image_url: IMAGE }] }] }))
      .status,
    200,
  )
})

t.test('a model that declares its input gets no other', async (t) => {
  const { status, body } = await post('/v1/chat/completions', { model: 'acme/texts', messages: MESSAGES })
  t.equal(status, 404)
  t.match(JSON.stringify(body), 'image')
})

t.test('a wildcard without a kind embeds and generates', async (t) => {
  const embedded = await post('/v1/embeddings', { model: 'local/nomic-embed', input: 'one' })
  t.match(embedded, { status: 200, body: { data: [{ embedding: [0.5, 0.25] }], model: 'local/nomic-embed' } })
  t.match(upstream.requests.at(-1)?.json, { model: 'nomic-embed' })
  t.equal((await post('/v1/chat/completions', { model: 'local/nomic-embed', messages: [{ role: 'user', content: 'Hello' }] })).status, 200)
  t.equal((await post('/v1/embeddings', { model: 'local/nomic-embed', input: 'two' })).status, 200, 'whatever it was used for before')
})

t.test('one that declares its kind does that only', async (t) => {
  t.equal((await post('/v1/embeddings', { model: 'chats/any', input: 'one' })).status, 404)
  t.equal((await post('/v1/chat/completions', { model: 'vectors/any', messages: [{ role: 'user', content: 'Hello' }] })).status, 400)
  const { status, body } = await post('/v1/embeddings', { model: 'claude/any', input: 'one' })
  t.equal(status, 400)
  t.match(JSON.stringify(body), /gives no vectors/)
})

t.test('an image is embedded behind a wildcard', async (t) => {
  const input = [{ content: PICTURE }]
  for (const model of ['vectors/joint', 'local/joint']) {
    t.equal((await post('/v1/embeddings', { model, input })).status, 200, model)
    t.match(upstream.requests.at(-1)?.body, IMAGE, `${model}: the provider gets the image`)
  }
})
