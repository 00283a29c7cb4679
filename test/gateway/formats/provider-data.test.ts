/** Departures of OpenAI-compatible providers that are data: header of the key, path, query, quirks of one endpoint. */
import { createHash } from 'node:crypto'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

t.test('key header, path with the model in it, query, dropped parameters', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `
providers:
  hosted:
    dialect: openai-chat
    base_url: "${url}/openai"
    key: sk-azure-secret
    auth: { header: Api-Key }
    path: "/deployments/{model}/chat/completions"
    query: { api-version: "2026-10-01 preview" }
    quirks: { body: { drop: [seed] } }
  schemed: { dialect: openai-chat, base_url: "${url}", key: k2, auth: { header: x-token, scheme: Token } }
models:
  acme/one:
    endpoints:
      - { provider: hosted, model: "gpt 5/eu", price: free, quirks: { max_tokens_field: max_completion_tokens } }
  acme/two: { endpoints: [ { provider: schemed, model: m, price: free } ] }
`,
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

t.test('the quirk body sets, renames and leaves out fields, of the provider and of one endpoint', async (t) => {
  const quirks = 'quirks: { body: { set: { safe_prompt: true, user: gateway }, rename: { seed: random_seed }, drop: [logit_bias] } }'
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `
providers:
  hosted: { dialect: openai-chat, base_url: "${url}", key: k, ${quirks} }
models:
  acme/one: { endpoints: [ { provider: hosted, model: m, price: free } ] }
  acme/two:
    endpoints:
      - provider: hosted
        model: m
        price: free
        quirks: { body: { set: { safe_prompt: false }, rename: { top_k: k }, drop: [stop] } }
`,
  })
  const parameters = { seed: 7, top_k: 4, logit_bias: { 1: 2 }, stop: ['x'], user: 'caller' }
  const sent = async (path: string, body: JsonObject): Promise<JsonObject | undefined> => {
    t.equal((await gateway.post(path, body)).status, 200)
    return upstream.requests.at(-1)?.json
  }
  const messages = [{ role: 'user', content: 'Hello' }]
  t.same(
    await sent('/v1/chat/completions', { model: 'acme/one', messages, ...parameters }),
    { model: 'm', messages, random_seed: 7, top_k: 4, stop: ['x'], user: 'gateway', safe_prompt: true },
    'passed',
  )
  t.same(
    await sent('/v1/chat/completions', { model: 'acme/two', messages, ...parameters }),
    { model: 'm', messages, random_seed: 7, k: 4, user: 'gateway', safe_prompt: false },
    "with the endpoint's own on top",
  )
  t.same(
    await sent('/v1/messages', { model: 'acme/two', messages, max_tokens: 9, top_k: 4, stop_sequences: ['x'] }),
    { model: 'm', messages, max_tokens: 9, k: 4, user: 'gateway', safe_prompt: false },
    'translated',
  )
})

t.test('a name of the user that is longer than the provider takes is hashed, a shorter one is passed on', async (t) => {
  const presets = { openai: 64, 'openai-chat': 64, 'azure-openai': 64, openrouter: 128 }
  const { gateway, upstream } = await startScene(t, {
    answer: (seen) =>
      seen.path.endsWith('/embeddings')
        ? jsonAnswer({ object: 'list', data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 1, total_tokens: 1 } })
        : answerFor(seen, { text: ['fine'] }),
    config: (url) => `
providers:
${Object.keys(presets)
  .map((name) => `  ${name}: { preset: ${name}, base_url: "${url}", key: k }`)
  .join('\n')}
models:
${Object.keys(presets)
  .map((name) => `  acme/${name}: { endpoints: [ { provider: ${name}, model: m, price: free } ] }`)
  .join('\n')}
  acme/vectors: { kind: embedding, endpoints: [ { provider: openai, model: m, price: free } ] }
`,
  })
  const messages = [{ role: 'user', content: 'Hello' }]
  /** As Claude Code 2.1.330 writes it. */
  const claude = JSON.stringify({ device_id: 'd'.repeat(64), account_uuid: '', session_id: '0b9a4a5e-0d68-4b6c-8f65-1f6b3c4d5e6f' })
  const hashed = createHash('sha256').update(claude).digest('hex')
  const sent = async (path: string, body: JsonObject): Promise<JsonObject> => {
    const response = await gateway.post(path, body)
    t.equal(response.status, 200, await response.text())
    return upstream.requests.at(-1)?.json ?? {}
  }
  for (const [name, most] of Object.entries(presets)) {
    const model = `acme/${name}`
    for (const [user, expected] of [
      [claude, hashed],
      ['u'.repeat(most), 'u'.repeat(most)],
    ]) {
      t.equal((await sent('/v1/messages', { model, messages, max_tokens: 99, metadata: { user_id: user } })).user, expected, name)
      t.equal((await sent('/v1/chat/completions', { model, messages, user })).user, expected, name)
      t.equal((await sent('/v1/responses', { model, input: 'Hello', user })).user, expected, name)
    }
  }
  const identified = await sent('/v1/responses', { model: 'acme/openai', input: 'Hello', safety_identifier: 's'.repeat(128) })
  t.equal(identified.safety_identifier, 's'.repeat(128), 'a limit of its own')
  const tooLong = await sent('/v1/chat/completions', { model: 'acme/openai-chat', messages, safety_identifier: 's'.repeat(129) })
  t.match(tooLong.safety_identifier, /^[0-9a-f]{64}$/)
  t.equal((await sent('/v1/embeddings', { model: 'acme/vectors', input: 'x', user: claude })).user, hashed)
})

t.test('a cap below the lowest of the provider is raised to it, and held for', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `
auth:
  keys:
    - { name: rich, key: sk-router-v1-rich-0123456789abcdef, limit: "1.00" }
    - { name: poor, key: sk-router-v1-poor-0123456789abcdef, limit: "0.010" }
providers:
  full: { dialect: openai-responses, base_url: "${url}", key: k, quirks: { min_output_tokens: 16 } }
models:
  acme/one: { context: 100000, endpoints: [ { provider: full, model: m, price: { prompt: "0", completion: "1000.00" } } ] }
`,
  })
  const ask = (name: string, cap: number) =>
    gateway.post(
      '/v1/messages',
      { model: 'acme/one', messages: [{ role: 'user', content: 'ping' }], max_tokens: cap },
      { authorization: `Bearer sk-router-v1-${name}-0123456789abcdef` },
    )
  t.equal((await ask('poor', 1)).status, 402, 'sixteen tokens cost more than the key has')
  t.equal(upstream.requests.length, 0)
  t.equal((await ask('rich', 1)).status, 200)
  t.equal(upstream.requests.at(-1)?.json.max_output_tokens, 16)
  t.equal((await ask('rich', 17)).status, 200)
  t.equal(upstream.requests.at(-1)?.json.max_output_tokens, 17)
})

t.test('tools that run at a provider are refused where none has them, and who has them is told', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `
providers:
  chat: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
  full: { dialect: openai-responses, base_url: "${url}/v1", key: sk-up }
models:
  acme/one: { endpoints: [ { provider: chat, model: m, price: free } ] }
  acme/both: { endpoints: [ { provider: chat, model: m, price: free }, { provider: full, model: m, price: free } ] }
`,
  })
  const ask = (model: string, more: JsonObject = {}) =>
    gateway.post('/v1/responses', {
      model,
      input: 'Hello',
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }, { type: 'web_search' }],
      ...more,
    })
  for (const more of [
    { tools: [{ type: 'web_search' }] },
    { tools: [{ type: 'image_generation' }] },
    { tool_choice: { type: 'web_search' } },
    { provider: { require_parameters: true } },
    { tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }, { type: 'code_interpreter' }] },
  ])
    t.equal((await ask('acme/one', more)).status, 400, JSON.stringify(more))
  t.equal(upstream.requests.length, 0)
  const spared = await ask('acme/one', { tool_choice: 'required' })
  t.equal(spared.status, 200, "beside the caller's own tools a search is left out")
  t.match(upstream.requests.at(-1)?.json.tools, [{ type: 'function', function: { name: 'f' } }])
  t.equal(upstream.requests.at(-1)?.json.tool_choice, 'required')
  const agents = [{ type: 'function', name: 'f', parameters: { type: 'object' } }, { type: 'web_search' }, { type: 'image_generation' }]
  const drawn = await ask('acme/one', { tools: agents })
  t.equal(drawn.status, 200, 'so is the tool for images, which Cline offers to every model')
  t.same(
    (upstream.requests.at(-1)?.json.tools as JsonObject[] | undefined)?.map(({ type }) => type),
    ['function'],
  )
  const record = await gateway.get(`/v1/generation?id=${drawn.headers.get('x-generation-id')}`)
  t.match(await record.json(), { data: { provider_responses: [{ dropped: ['tools.web_search', 'tools.image_generation'] }] } })
  t.equal((await ask('acme/one', { tools: agents, tool_choice: { type: 'image_generation' } })).status, 400)
  const refused = await ask('acme/one', { tool_choice: { type: 'web_search' } })
  t.equal(refused.status, 400)
  t.match(await refused.json(), {
    error: {
      message: /^tools\[1\]\.type: web_search runs at the provider.*acme\/both at full/,
      metadata: { field: 'tools[1].type' },
      availability: { code: 'constraint_filtered', constraint: { field: 'tools[1].type' }, fallback_models: ['acme/both'] },
    },
  })
  t.equal(upstream.requests.length, 2)
  const hidden = { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'g', parameters: { type: 'object' } }] }
  const moved = (...more: JsonObject[]) =>
    gateway.post('/v1/responses', {
      model: 'acme/one',
      input: [
        { ...hidden, tools: [...hidden.tools, ...more] },
        { role: 'user', content: 'Hello' },
      ],
    })
  const named = await moved({ type: 'code_interpreter' })
  t.equal(named.status, 400)
  t.match(await named.json(), { error: { message: /^input\[0\]\.tools\[1\]\.type: code_interpreter/ } })
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
