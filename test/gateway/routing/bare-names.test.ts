/** Models that are declared under a bare name, as clients of one provider send it; and what a name that is none is answered with. */
import t, { type Test } from 'tap'
import { isObject, type JsonObject } from '../../../src/core/json.ts'
import { KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'

const config = (url: string): string => `
auth:
  keys:
    - { name: test, key: "${KEY}" }
    - { name: bound, key: "sk-bound-0123456789abcdef", allowed_models: [ gpt-4o, acme/* ] }
default_model: gpt-4o
aliases: { smart: gpt-4o }
providers: { one: { dialect: openai-chat, base_url: "${url}/v1", key: k } }
models:
  gpt-4o: { context: 128000, endpoints: [ { provider: one, model: gpt-4o-2024-11-20, price: free } ] }
  gpt-4o-mini: { endpoints: [ { provider: one, model: gpt-4o-mini, price: free } ] }
  openai/gpt-4.1: { endpoints: [ { provider: one, model: gpt-4.1, price: free } ] }
  openai/gpt-4.1-mini: { endpoints: [ { provider: one, model: gpt-4.1-mini, price: free } ] }
  acme/claude-one: { endpoints: [ { provider: one, model: claude-one, price: free } ] }
`

async function asked(t: Test, models: readonly (string | undefined)[], headers?: Record<string, string>) {
  const { ask, upstream, gateway } = await startScene(t, { config })
  const replies: { status: number; body: JsonObject }[] = []
  for (const model of models) {
    const response = await ask(model === undefined ? { model: undefined } : { model }, 'chat', headers)
    const body: unknown = await response.json()
    replies.push({ status: response.status, body: isObject(body as JsonObject) ? (body as JsonObject) : {} })
  }
  return { replies, upstream, gateway }
}

const errorMessage = ({ body }: { body: JsonObject }): string => (isObject(body.error) ? String(body.error.message) : '')

t.test('a declared bare name is a model: by itself, with a suffix, as the default and as the target of an alias', async (t) => {
  const { replies, upstream, gateway } = await asked(t, ['gpt-4o', 'gpt-4o:floor', undefined, 'smart', 'openai/gpt-4.1'])
  t.same(
    replies.map(({ status, body }) => [status, body.model]),
    [
      [200, 'gpt-4o'],
      [200, 'gpt-4o'],
      [200, 'gpt-4o'],
      [200, 'gpt-4o'],
      [200, 'openai/gpt-4.1'],
    ],
  )
  t.same(
    upstream.requests.map(({ body }) => (JSON.parse(body.toString()) as JsonObject).model),
    ['gpt-4o-2024-11-20', 'gpt-4o-2024-11-20', 'gpt-4o-2024-11-20', 'gpt-4o-2024-11-20', 'gpt-4.1'],
  )
  const get = async (path: string): Promise<JsonObject> => {
    const reply: unknown = await (await fetch(gateway.url + path, { headers: { authorization: `Bearer ${KEY}` } })).json()
    return reply as JsonObject
  }
  t.match(await get('/v1/models/gpt-4o'), { id: 'gpt-4o', object: 'model', owned_by: 'one' })
  t.match(await get('/v1/models/gpt-4o/endpoints'), { data: { id: 'gpt-4o', endpoints: [{ provider_name: 'one' }] } })
  t.match(await get('/v1/models?model_authors=openai'), { data: { length: 2 } }, 'a bare name has no author')
})

t.test('a name that is none is answered with the nearest models that the key may use', async (t) => {
  const names = ['gpt-4', 'gpt4o', 'openai/gpt-4.1-minni', 'zzz', `gpt-${'4'.repeat(200)}`]
  const { replies } = await asked(t, names)
  t.same(
    replies.map(({ status }) => status),
    [404, 404, 404, 404, 404],
  )
  const [first, second, third, fourth, fifth] = replies.map(errorMessage)
  t.equal(first, 'No such model: gpt-4; expected one such as gpt-4o, gpt-4o-mini, openai/gpt-4.1')
  t.match(second, /^No such model: gpt4o; expected one such as gpt-4o, /)
  t.match(third, /expected one such as openai\/gpt-4\.1-mini, /)
  t.equal(fourth, 'No such model: zzz')
  t.match(fifth, /^No such model: gpt-4{200}$/)
  const bound = await asked(t, ['openai/gpt-4.1-minni'], { authorization: 'Bearer sk-bound-0123456789abcdef' })
  t.match(errorMessage(bound.replies[0] ?? { body: {} }), /expected one such as gpt-4o-mini|expected one such as gpt-4o/)
  t.notMatch(
    errorMessage(bound.replies[0] ?? { body: {} }),
    /openai\/gpt-4\.1,|openai\/gpt-4\.1-mini,/,
    'no model that the key may not use',
  )
})

t.test("a provider's own name is the model that it serves, not one that falls back on it", async (t) => {
  const { ask } = await startScene(t, {
    config: (url) => `
auth: { keys: [ { name: test, key: "${KEY}" } ] }
providers:
  one: { dialect: openai-chat, base_url: "${url}/v1", key: k }
  two: { dialect: openai-chat, base_url: "${url}/v1", key: k }
models:
  acme/mini: { endpoints: [ { provider: one, model: deployment, price: free }, { provider: two, model: claude-one, price: free } ] }
  acme/claude: { endpoints: [ { provider: two, model: claude-one, price: free } ] }
`,
  })
  const served = async (model: string) => ((await (await ask({ model })).json()) as JsonObject).model
  t.same([await served('claude-one'), await served('deployment')], ['acme/claude', 'acme/mini'])
})
