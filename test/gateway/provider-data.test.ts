/** Departures of OpenAI-compatible providers that are data: header of the key, path, query, quirks of one endpoint. */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'

t.test('key header, path with the model in it, query, dropped parameters', async (t) => {
  const upstream = await startUpstream(says({ text: ['fine'] }))
  const gateway = await startGateway(`
providers:
  hosted:
    dialect: openai-chat
    base_url: "${upstream.url}/openai"
    key: sk-azure-secret
    auth: { header: Api-Key }
    path: "/deployments/{model}/chat/completions"
    query: { api-version: "2026-10-01 preview" }
    quirks: { drop: [seed] }
  schemed: { dialect: openai-chat, base_url: "${upstream.url}", key: k2, auth: { header: x-token, scheme: Token } }
models:
  acme/one:
    endpoints:
      - { provider: hosted, model: "gpt 5/eu", price: free, quirks: { max_tokens_field: max_completion_tokens } }
  acme/two: { endpoints: [ { provider: schemed, model: m, price: free } ] }
`)
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const ask = (model: string) =>
    gateway.post('/v1/chat/completions', { model, seed: 7, max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] })
  t.equal((await ask('acme/one')).status, 200)
  const [hosted] = upstream.requests
  t.equal(hosted.path, '/openai/deployments/gpt%205%2Feu/chat/completions?api-version=2026-10-01+preview')
  t.equal(hosted.headers['api-key'], 'sk-azure-secret')
  t.equal(hosted.headers.authorization, undefined)
  t.match(
    hosted.json,
    { seed: undefined, max_completion_tokens: 9, max_tokens: undefined },
    'an endpoint adds to the quirks of its provider',
  )
  t.equal((await ask('acme/two')).status, 200)
  t.match(upstream.requests.at(-1)?.headers, { 'x-token': 'Token k2', authorization: undefined })
  t.match(upstream.requests.at(-1)?.json, { seed: 7, max_tokens: 9 })
})

t.test('tools that run at a provider are refused where none has them, and who has them is told', async (t) => {
  const upstream = await startUpstream(says({ text: ['fine'] }))
  const gateway = await startGateway(`
providers:
  chat: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: sk-up }
  full: { dialect: openai-responses, base_url: "${upstream.url}/v1", key: sk-up }
models:
  acme/one: { endpoints: [ { provider: chat, model: m, price: free } ] }
  acme/both: { endpoints: [ { provider: chat, model: m, price: free }, { provider: full, model: m, price: free } ] }
`)
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const ask = (model: string) =>
    gateway.post('/v1/responses', {
      model,
      input: 'Hello',
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }, { type: 'web_search' }],
    })
  const refused = await ask('acme/one')
  t.equal(refused.status, 400)
  t.match(await refused.json(), {
    error: {
      message: /^tools\[1\]\.type: web_search runs at the provider.*acme\/both at full/,
      metadata: { field: 'tools[1].type' },
      availability: { code: 'constraint_filtered', constraint: { field: 'tools[1].type' }, fallback_models: ['acme/both'] },
    },
  })
  t.equal(upstream.requests.length, 0)
  const hidden = { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'g', parameters: { type: 'object' } }] }
  const moved = (...more: JsonObject[]) =>
    gateway.post('/v1/responses', {
      model: 'acme/one',
      input: [
        { ...hidden, tools: [...hidden.tools, ...more] },
        { role: 'user', content: 'Hello' },
      ],
    })
  const named = await moved({ type: 'namespace', name: 'n', tools: [] })
  t.equal(named.status, 400)
  t.match(await named.json(), { error: { message: /^input\[0\]\.tools\[1\]\.type: namespace/ } })
  t.equal((await moved()).status, 200)
  t.match(upstream.requests.at(-1)?.json.tools, [{ type: 'function', function: { name: 'g' } }], 'functions among the items are offered')
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 8; i++) {
      t.equal((await ask('acme/both')).status, 200)
      t.match(upstream.requests.at(-1), { path: '/v1/responses' }, 'only the endpoint that has the tool is asked')
      t.match(upstream.requests.at(-1)?.json.tools, [{ type: 'function' }, { type: 'web_search' }])
    }
  })
})
