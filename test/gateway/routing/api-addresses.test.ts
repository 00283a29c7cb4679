/** Addresses of the API: a slash at the end of a path, and the links in error replies. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { oneModel, startGateway } from '../../support/gateway.ts'
import { startUpstream } from '../../support/upstream.ts'
import { says, upstreamError } from '../../support/wire.ts'

const upstream = await startUpstream(says({ text: ['fine'] }))
t.teardown(() => upstream.close())

t.test('a slash at the end of an API path changes nothing', async (t) => {
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
  t.teardown(() => gateway.close())
  const posted: readonly (readonly [string, JsonObject])[] = [
    ['/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/responses', { model: 'acme/one', input: 'Hi' }],
    ['/v1/messages', { model: 'acme/one', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/messages/count_tokens', { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/plan', { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] }],
  ]
  await every(t, 'every path', async (t) => {
    for (const [path, body] of posted) t.equal((await gateway.post(`${path}/`, body)).status, 200, path)
    for (const path of ['/v1/models', '/v1/models/acme/one', '/v1/models/acme/one/endpoints', '/v1/model/acme/one', '/v1/key']) {
      const [one, other] = await Promise.all([gateway.get(path), gateway.get(`${path}/`)])
      t.same([other.status, await other.json()], [200, await one.json()], path)
    }
    t.match(await (await gateway.get('/v1/models/?limit=1')).json(), { data: [{}], links: {} }, 'with a query')
    t.equal((await gateway.post('/v1/plan/?format=responses', { model: 'acme/one', input: 'Hi' })).status, 200)
    t.equal((await gateway.get('/v1/models//')).status, 404, 'one alone')
    t.equal((await gateway.get('/v1/')).status, 404)
    t.equal((await gateway.get('/v1/chat/completions/')).status, 405)
  })
})

t.test('a base address with /v1 where the client adds it, and one without it', async (t) => {
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
  t.teardown(() => gateway.close())
  const messages = [{ role: 'user', content: 'Hi' }]
  const posted: readonly (readonly [string, JsonObject])[] = [
    ['/chat/completions', { model: 'acme/one', messages }],
    ['/responses', { model: 'acme/one', input: 'Hi' }],
    ['/messages', { model: 'acme/one', max_tokens: 9, messages }],
    ['/messages/count_tokens', { model: 'acme/one', messages }],
  ]
  await every(t, 'every path', async (t) => {
    for (const path of ['/embeddings', '/v1/embeddings/', '/v1/v1/embeddings'])
      t.match(await (await gateway.post(path, { model: 'acme/one', input: 'Hi' })).json(), { error: { message: /generates text/ } }, path)
    for (const prefix of ['', '/v1', '/v1/v1'])
      for (const [path, body] of posted) {
        t.equal((await gateway.post(`${prefix}${path}`, body)).status, 200, `${prefix}${path}`)
        t.equal((await gateway.post(`${prefix}${path}/`, body)).status, 200, `${prefix}${path}/`)
      }
    const expected = await (await gateway.get('/v1/models?limit=1')).json()
    for (const path of ['/models?limit=1', '/v1/v1/models?limit=1', '/models/?limit=1'])
      t.same(await (await gateway.get(path)).json(), expected, path)
    for (const path of ['/keys', '/credits', '/v1/v1/v1/models', '/chat', '/v1', '/v1/v1', '/modelsx', '/v2/models'])
      t.equal((await gateway.get(path)).status, 404, path)
    const wrong = await gateway.post('/chat/completions', { model: 'acme/one', messages }, { authorization: 'Bearer none' })
    t.equal(wrong.status, 401, 'with a wrong key')
  })
})

t.test('a client of an API that is no format of the gateway learns which one it needs', async (t) => {
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
  t.teardown(() => gateway.close())
  const paths: Readonly<Record<string, readonly string[]>> = {
    'the Gemini API': [
      // Where @google/genai 3.3.0 and google-genai 3.6.1 send it.
      '/v1/models/acme/one:generateContent',
      '/v1/models/acme/one:streamGenerateContent?alt=sse',
      '/v1beta/models/acme/one:generateContent',
      '/v1beta/models/acme/one:streamGenerateContent?alt=sse',
      '/v1/v1beta/models/one:countTokens',
      '/v1beta1/projects/p/locations/global/publishers/google/models/one:batchEmbedContents',
      '/v1beta/cachedContents',
    ],
    'Azure OpenAI': ['/openai/deployments/one/chat/completions?api-version=2025-03-01-preview', '/openai/v1/responses'],
    'Bedrock Runtime': ['/model/acme%2Fone/converse-stream', '/model/one/invoke'],
    "Cohere's API": ['/v2/chat', '/v1/v2/rerank'],
    "Ollama's own API": ['/api/chat', '/v1/api/generate'],
  }
  await every(t, 'every path', async (t) => {
    for (const [name, list] of Object.entries(paths))
      for (const path of list) {
        const reply = await gateway.post(path, {}, { authorization: '', 'x-goog-api-key': gateway.key })
        t.equal(reply.status, 404, path)
        const { error } = (await reply.json()) as { error: JsonObject }
        t.match(
          error.message,
          `No such path: ${path.split('?')[0]}. It is one of ${name}, which is no format that this gateway offers: use `,
        )
      }
    for (const path of ['/v1/chatx', '/model', '/v1beta', '/apis/chat'])
      t.match(await (await gateway.post(path, {})).json(), { error: { message: `No such path: ${path}` } }, path)
    t.equal((await gateway.post('/v1/models/acme/one', {})).status, 405)
    t.equal((await gateway.get('/v1/models/acme/one')).status, 200)
  })
})

t.test('a key in the header of each vendor', async (t) => {
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
  t.teardown(() => gateway.close())
  const body = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] })
  const post = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
  const { key } = gateway
  const before = upstream.requests.length
  for (const name of ['x-api-key', 'x-goog-api-key']) {
    t.equal((await post({ [name]: key })).status, 200, name)
    t.equal((await post({ [name]: key, authorization: `Bearer ${key}` })).status, 200, `${name} beside the same`)
    t.equal((await post({ [name]: `${key}x` })).status, 401, `${name} of no key`)
    const two = await post({ [name]: `${key}x`, authorization: `Bearer ${key}` })
    t.equal(two.status, 400)
    t.match(await two.text(), `authorization: names another key than ${name}`)
  }
  t.match(await (await post({ 'x-api-key': key, 'x-goog-api-key': `${key}x` })).text(), 'x-api-key: names another key than x-goog-api-key')
  for (const { headers } of upstream.requests.slice(before)) t.notMatch(JSON.stringify(headers), key, 'no key reaches a provider')
})

t.test('links of errors have one form, absolute where the address of the gateway is known', async (t) => {
  for (const [setting, link] of [
    ['', '/docs/schemas#Error'],
    [', public_url: "https://api.example.com/llm/"', 'https://api.example.com/llm/docs/schemas#Error'],
  ]) {
    const gateway = await startGateway(`server: { host: 127.0.0.1, port: 0${setting} }\n${oneModel(upstream.url, 'openai-chat')}`)
    t.teardown(() => gateway.close())
    const messages = [{ role: 'user', content: 'Hi' }]
    const errorLink = async (asking: Promise<Response>): Promise<unknown> => {
      const { error } = (await (await asking).json()) as { error: JsonObject }
      return object(error.availability).docs_url
    }
    const auto = { model: 'router/auto', plugins: [{ id: 'auto-router', allowed_models: ['none/*'] }] }
    upstream.script = () => upstreamError(500)
    await every(t, `every error with ${link}`, async (t) => {
      const asked: readonly (readonly [string, Promise<Response>])[] = [
        ['an unknown model', gateway.post('/v1/chat/completions', { model: 'acme/none', messages })],
        ['an unknown model in Messages', gateway.post('/v1/messages', { model: 'acme/none', max_tokens: 9, messages })],
        ['a model of another kind', gateway.post('/v1/embeddings', { model: 'acme/one', input: 'Hi' })],
        ['no endpoint', gateway.post('/v1/responses', { model: 'acme/one', input: 'Hi', provider: { only: ['other'] } })],
        ['a failure', gateway.post('/v1/chat/completions', { model: 'acme/one', messages })],
        ['a router without a model', gateway.post('/v1/chat/completions', { ...auto, messages })],
        ['an entry of a list', gateway.get('/v1/models/acme/none')],
      ]
      for (const [what, asking] of asked) t.equal(await errorLink(asking), link, what)
    })
    const page = await fetch(`${gateway.url}/docs/schemas`)
    t.match(await page.text(), /id="Error"[\s\S]*model_unavailable_upstream/, 'the page explains the codes')
  }
})
