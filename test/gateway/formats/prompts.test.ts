/** Prompts stored in the configuration and named by requests. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'

const { gateway, upstream } = await startScene(t, {
  config: (url) => `
providers:
  same: { dialect: openai-responses, base_url: "${url}/v1", key: sk-up }
  other: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
models:
  acme/one: { context: 128000, input: [text, image], endpoints: [ { provider: same, model: m, price: free } ] }
  acme/two: { context: 128000, input: [text, image], endpoints: [ { provider: other, model: m, price: free } ] }
prompts:
  greet:
    description: Greets somebody
    messages:
      - { role: developer, content: "You are {{ tone }}, {{tone}} to everybody." }
      - { role: user, content: "Greet {{name}}." }
  bare: { messages: [ { role: system, content: "Be brief." } ] }
`,
})

const ask = (more: JsonObject, model = 'acme/one') => gateway.post('/v1/responses', { model, ...more })
const message = (role: string, content: unknown) => ({ type: 'message', role, content })

t.test('a prompt stands in front of the input, with its variables put in', async (t) => {
  const prompt = { id: 'greet', variables: { tone: 'kind', name: { type: 'input_text', text: 'Ada' } } }
  for (const stream of [false, true]) {
    const reply = await ask({ prompt, input: 'Now.', stream })
    t.equal(reply.status, 200)
    await reply.text()
    const { input, prompt: sent } = upstream.requests.at(-1)?.json ?? {}
    t.same(input, [message('developer', 'You are kind, kind to everybody.'), message('user', 'Greet Ada.'), message('user', 'Now.')])
    t.equal(sent, undefined, 'the provider knows no prompt of this name')
  }
  t.equal((await ask({ prompt }, 'acme/two')).status, 200)
  t.match(upstream.requests.at(-1)?.json, {
    messages: [
      { role: 'system', content: 'You are kind, kind to everybody.' },
      { role: 'user', content: 'Greet Ada.' },
    ],
  })
})

t.test('an image as a variable, input items, and no input at all', async (t) => {
  const picture = { type: 'input_image', image_url: 'data:image/png;base64,aGk=' }
  const prompt = { id: 'greet', variables: { tone: 'kind', name: picture } }
  t.equal((await ask({ prompt, input: [{ role: 'user', content: 'Go' }] })).status, 200)
  t.match(upstream.requests.at(-1)?.json.input, [
    {},
    message('user', [{ type: 'input_text', text: 'Greet ' }, picture, { type: 'input_text', text: '.' }]),
    { role: 'user', content: 'Go' },
  ])
  t.equal((await ask({ prompt: { id: 'bare' } })).status, 200)
  t.same(upstream.requests.at(-1)?.json.input, [message('system', 'Be brief.')])
  t.equal((await ask({ prompt: null, input: 'Hello' })).status, 200)
})

t.test('returns 400 that names the wrong field', async (t) => {
  const before = upstream.requests.length
  const wrong: [JsonObject, string][] = [
    [{ id: 'nobody' }, 'prompt.id'],
    [{}, 'prompt.id'],
    [{ id: 'greet', variables: { tone: 'kind' } }, 'prompt.variables.name'],
    [{ id: 'bare', variables: { tone: 'kind' } }, 'prompt.variables.tone'],
    [{ id: 'greet', variables: { tone: 3, name: 'Ada' } }, 'prompt.variables.tone'],
    [{ id: 'greet', variables: [] }, 'prompt.variables'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [prompt, field] of wrong) {
      const reply = await ask({ prompt, input: 'Hello' })
      t.equal(reply.status, 400, JSON.stringify(prompt))
      t.match(await reply.json(), { error: { message: new RegExp(`^${field.replaceAll('.', '\\.')}:`) } })
    }
  })
  t.equal(upstream.requests.length, before)
})
