/** A large body with a picture, whose parsed form is let go once it is sent: the reply is charged as reported, and nothing reads it again. */
import t from 'tap'
import { startScene } from '../support/scene.ts'
import { sseAnswer } from '../support/upstream.ts'
import { framesFor } from '../support/wire.ts'

const USAGE = { input: 70_000, output: 12 }
const URL = 'data:image/png;base64,iVBORw0KGgo='
const TEXT = 'a long text, '.repeat(10_000)
const BODIES = {
  '/v1/chat/completions': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: TEXT },
          { type: 'image_url', image_url: { url: URL } },
        ],
      },
    ],
  },
  '/v1/messages': {
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: TEXT },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
        ],
      },
    ],
  },
}

for (const dialect of ['openai-chat', 'gemini', 'anthropic'])
  for (const [path, body] of Object.entries(BODIES))
    t.test(`${path} at ${dialect}`, async (t) => {
      const { gateway, rows } = await startScene(t, {
        answer: (seen) => sseAnswer(framesFor(seen.path, { text: ['fine'], usage: USAGE })),
        config: (url) => `
server: { host: 127.0.0.1, port: 0 }
providers: { up: { dialect: ${dialect}, base_url: "${url}/v1", key: sk-up } }
models: { acme/one: { input: [ text, image ], endpoints: [ { provider: up, model: m, price: { prompt: "1.00", completion: "2.00" } } ] } }
`,
      })
      const reply = await gateway.post(path, { model: 'acme/one', stream: true, ...body })
      const text = await reply.text()
      t.equal(reply.status, 200)
      t.match(text, 'fine')
      t.notMatch(text, '"error"')
      t.match(rows()[0]?.settled, { status: 'completed', input: USAGE.input, output: USAGE.output })
    })
