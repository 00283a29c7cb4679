/** Policies from outside: each effect at each point of a request's way, and conditions that cannot be evaluated. */
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { KEY } from '../../support/gateway.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { bearer, issuerConfig, startIssuer } from '../../support/token-issuer.ts'
import type { Script } from '../../support/upstream.ts'
import { answerFor, says } from '../../support/wire.ts'

const OTHER = 'sk-router-v1-fedcba9876543210fedcba9876543210'
const BOSS = 'sk-router-v1-0000000000000000000000000000b055'

interface More {
  readonly more?: string
  /** Further lines of `auth`. */
  readonly auth?: string
  readonly answer?: Script
}

/** Two providers, of which `kept` keeps no data, and two models; the second key draws on a budget below another one. */
const start = (t: Test, policies: string, { more = '', auth = '', answer }: More = {}): Promise<Scene> =>
  startScene(t, {
    answer: answer ?? says({ text: ['fine'] }),
    config: (url) => `
auth:
  keys:
    - { name: app, key: "${KEY}", pass_through: true }
    - { name: research, key: "${OTHER}", parent: lab }
    - { name: boss, key: "${BOSS}", management: true }
${auth}
budgets: { acme: { lifetime: "100.00" }, lab: { parent: acme, lifetime: "50.00" } }
policies:
${policies}
providers:
  open: { dialect: openai-chat, base_url: "${url}/v1", key: sk-provider-0123456789, pass_through: { price: "0.01" } }
  kept: { dialect: openai-chat, base_url: "${url}/kept/v1", key: sk-provider-0123456789, data_collection: deny, zdr: true }
models:
  acme/one:
    context: 100000
    endpoints:
      - { provider: open, model: m, price: { prompt: "1.00", completion: "1.00" } }
      - { provider: kept, model: m, price: { prompt: "2.00", completion: "2.00" } }
  acme/two: { context: 100000, endpoints: [ { provider: open, model: two, price: { prompt: "1.00", completion: "1.00" } } ] }
aliases: { quick: acme/two }
${more}`,
  })

const body = async (response: Response): Promise<JsonObject> => (await response.json()) as JsonObject
const error = async (response: Response): Promise<JsonObject> => object((await body(response)).error)
const metadata = async (response: Response): Promise<JsonObject> => object((await error(response)).metadata)
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })
const METADATA = { 'x-router-metadata': 'enabled' }

t.test('a policy denies by the caller, its budgets, the body and the headers, in every format', async (t) => {
  const { ask, upstream } = await start(
    t,
    `  - { name: labs, when: '"acme" in organisation.path && organisation.team == "lab"', deny: { message: "Labs are closed", code: labs_closed } }
  - { name: streams, when: 'request.stream && caller.name == "app"', deny: {} }
  - { name: tools, when: 'request.tools.exists(tool, tool.matches("^(shell|exec)$"))', deny: {} }
  - { name: tier, when: 'request.headers["x-tier"] == "none"', deny: { code: no_tier } }
  - { name: purpose, when: 'request.metadata.purpose == "test" && request.user == "eve"', deny: {} }`,
  )
  await every(t, 'every format', async (t) => {
    for (const client of ['chat', 'responses', 'messages'] as const) {
      const refused = await ask({}, client, as(OTHER))
      t.equal(refused.status, 403, client)
      t.equal(object((await body(refused)).error).message, 'Labs are closed', client)
      t.equal((await ask({ stream: true }, client, { 'x-tier': 'one' })).status, 403, `${client}, streamed`)
    }
  })
  t.match(await metadata(await ask({}, 'chat', as(OTHER))), { error_type: 'permission_denied', policy: 'labs', policy_code: 'labs_closed' })
  const tools = [{ type: 'function', function: { name: 'shell', parameters: { type: 'object' } } }]
  const ordinary = { metadata: { purpose: 'real' }, user: 'eve' }
  t.match(await metadata(await ask({ tools, ...ordinary }, 'chat', { 'x-tier': 'one' })), { policy: 'tools' })
  t.match(await metadata(await ask({ ...ordinary }, 'chat', { 'x-tier': 'none' })), { policy: 'tier', policy_code: 'no_tier' })
  t.match(await metadata(await ask({ user: 'eve', metadata: { purpose: 'test' } }, 'chat', { 'x-tier': 'one' })), { policy: 'purpose' })
  t.equal(upstream.requests.length, 0, 'nothing has reached a provider')
  t.equal((await ask(ordinary, 'chat', { 'x-tier': 'one' })).status, 200)
})

t.test('a tool is offered whatever form it is written in', async (t) => {
  const { ask, upstream } = await start(
    t,
    `  - { name: tools, when: 'request.tools.exists(tool, tool in ["shell", "web_search"])', deny: {} }`,
  )
  const shell = { type: 'function', name: 'shell', parameters: { type: 'object' } }
  const chat: readonly JsonObject[] = [
    { tools: [{ type: 'function', function: { name: 'shell' } }] },
    { tools: [{ type: 'custom', custom: { name: 'shell' } }] },
    { tools: [{ type: 'function', name: 'harmless', function: { name: 'shell' } }] },
    { functions: [{ name: 'shell', parameters: { type: 'object' } }] },
    { web_search_options: {} },
    { plugins: [{ id: 'web' }] },
    { model: 'acme/one:online' },
    { model: 'acme/two', models: ['acme/one:floor:online'] },
  ]
  const responses: readonly JsonObject[] = [
    { tools: [shell] },
    { tools: [{ ...shell, function: { name: 'harmless' } }] },
    { tools: [{ type: 'custom', name: 'shell' }] },
    { tools: [{ type: 'namespace', name: 'box', description: 'A box', tools: [shell] }] },
    {
      input: [
        { role: 'user', content: 'Hello' },
        { type: 'additional_tools', tools: [shell] },
      ],
    },
    { tools: [{ type: 'web_search' }] },
  ]
  const messages: readonly JsonObject[] = [{ tools: [{ name: 'shell', input_schema: { type: 'object' }, function: { name: 'harmless' } }] }]
  for (const [client, bodies] of Object.entries({ chat, responses, messages }))
    await every(t, client, async (t) => {
      for (const sent of bodies) {
        const refused = await ask(sent, client as 'chat')
        t.match([refused.status, await body(refused)], [403, {}], JSON.stringify(sent))
      }
    })
  t.equal(upstream.requests.length, 0, 'nothing has reached a provider')
  t.equal((await ask({ tools: [{ type: 'function', function: { name: 'harmless' } }] })).status, 200)
  t.equal((await ask({ plugins: [{ id: 'web', enabled: false }] })).status, 200)
})

t.test('a key that an application got is the caller that issued it', async (t) => {
  const scene = await start(
    t,
    `  - { name: labs, when: 'organisation.team == "lab"', deny: {} }
  - { name: app, when: 'caller.name == "app" && request.stream', deny: {} }`,
    { auth: '  sign_in: { callbacks: [ "https://app.example/cb" ] }' },
  )
  const verifier = 'a'.repeat(64)
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const signIn = async (secret: string): Promise<string> => {
    const demand = { callback_url: 'https://app.example/cb', code_challenge: challenge, code_challenge_method: 'S256' }
    const { id } = object((await body(await scene.gateway.post('/v1/auth/keys/code', demand, as(secret)))).data)
    const exchange = { code: id ?? null, code_verifier: verifier, code_challenge_method: 'S256' }
    return String((await body(await scene.gateway.post('/v1/auth/keys', exchange))).key)
  }
  t.match(await metadata(await scene.ask({}, 'chat', as(await signIn(OTHER)))), { policy: 'labs' })
  const issued = as(await signIn(KEY))
  t.match(await metadata(await scene.ask({ stream: true }, 'chat', issued)), { policy: 'app' })
  t.equal((await scene.ask({}, 'chat', issued)).status, 200)
})

t.test('a limit of an organisation is no budget of a condition', async (t) => {
  const scene = await start(
    t,
    `  - { name: labs, when: 'organisation.team == "lab" && organisation.name == "acme"', deny: {} }
  - { name: none, when: 'organisation.team != "" && caller.name == "app"', deny: {} }`,
  )
  const limited = await fetch(`${scene.gateway.url}/v1/organizations/default/budgets/monthly`, {
    method: 'PUT',
    headers: { ...as(BOSS), 'content-type': 'application/json' },
    body: JSON.stringify({ limit_usd: 100 }),
  })
  t.equal(limited.status, 200)
  t.match(await metadata(await scene.ask({}, 'chat', as(OTHER))), { policy: 'labs' })
  t.equal((await scene.ask()).status, 200)
})

t.test('a denying condition that cannot be evaluated denies, and names what it is of the policy alone', async (t) => {
  const { ask, gateway } = await start(t, `  - { name: tier, when: 'request.headers["x-tier"] == "none"', deny: {} }`)
  const refused = await ask({ messages: [{ role: 'user', content: 'a secret of mine' }] })
  t.equal(refused.status, 403)
  const { message, metadata: found } = await error(refused)
  t.match(message, /condition of the policy tier could not be evaluated/)
  t.match(found, { policy: 'tier', policy_failed: true })
  t.equal((await ask({}, 'chat', { 'x-tier': 'one' })).status, 200)
  t.notOk(
    gateway.logs.some((line) => line.includes('a secret of mine')),
    'no log has the prompt',
  )
  const scraped = await (await fetch(`${gateway.admin}/metrics`)).text()
  t.match(scraped, /headgate_policies_total\{policy="tier",outcome="failed"\} 1/)
})

t.test('a condition that other parts decide needs no value that is missing', async (t) => {
  const { ask } = await start(
    t,
    `  - { name: guarded, when: 'has(request.metadata.level) && request.metadata.level > 3', deny: {} }
  - { name: either, when: 'request.metadata.none == 1 || caller.name == "research"', deny: {} }`,
  )
  t.match(await metadata(await ask()), { policy: 'either', policy_failed: true }, 'neither part decides')
  t.match(await metadata(await ask({}, 'chat', as(OTHER))), { policy: 'either' }, 'the other part holds')
})

t.test('claims of a token decide, and a key has none', async (t) => {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const policies = `policies:
  - { name: research-only, when: 'caller.kind != "token" || !("research" in claims.groups)', deny: { message: "Ask the research team" } }
  - { name: deep, when: 'has(claims.org) && claims.org.unit == "closed"', deny: {} }`
  const { ask, gateway } = await startScene(t, { clock, config: (url) => `${issuerConfig(issuer)(url)}\n${policies}` })
  t.equal((await ask({}, 'chat', bearer(await issuer.token({ groups: ['ml-team', 'research'] })))).status, 200)
  const outside = await ask({}, 'chat', bearer(await issuer.token({ sub: 'bob', groups: ['ml-team'] })))
  t.equal(outside.status, 403)
  t.match(await metadata(outside), { policy: 'research-only' })
  const closed = await issuer.token({ sub: 'eve', groups: ['ml-team', 'research'], org: { unit: 'closed' } })
  t.match(await metadata(await ask({}, 'chat', bearer(closed))), { policy: 'deep' })
  const many = Array.from({ length: 600 }, (_, at) => `group-${at}`)
  const crowded = await ask({}, 'chat', bearer(await issuer.token({ sub: 'mob', groups: ['ml-team', ...many] })))
  t.match(await metadata(crowded), { policy: 'research-only', policy_failed: true }, 'a list that is too long is not read in part')
  t.equal(gateway.logs.filter((line) => line.includes('research')).length, 0)
})

t.test('a policy over the endpoint leaves it out, whatever way leads there', async (t) => {
  const { ask, upstream } = await start(
    t,
    `  - { name: retained, when: 'request.user == "patient" && !endpoint.zdr', deny: { message: "it retains data" } }
  - { name: no-two, when: 'model.slug == "acme/two" && caller.name == "research"', deny: {} }`,
  )
  await ask({ user: 'patient' })
  await ask({ user: 'anyone' })
  t.same(
    upstream.requests.map(({ path }) => path.startsWith('/kept')),
    [true, false],
  )
  const refused = await ask({ user: 'patient', model: 'acme/two' })
  t.equal(refused.status, 403)
  const { message, metadata: found } = await error(refused)
  t.match(message, /acme\/two at open removed by policy \(it retains data\)\. The policy retained allows none of them/)
  t.match(found, { policy: 'retained', excluded: [{ endpoint: 'open', filter: 'policy', from: 'retained' }] })
  await every(t, 'every name of the model', async (t) => {
    for (const named of [
      { model: 'acme/two' },
      { model: 'quick' },
      { model: 'acme/two:floor' },
      { models: ['acme/two'], model: undefined },
    ])
      t.equal((await ask(named as JsonObject, 'chat', as(OTHER))).status, 403, JSON.stringify(named))
  })
  const { provider } = await body(await ask({ model: 'acme/two', models: ['acme/one'] }, 'chat', { ...as(OTHER) }))
  t.match(provider, /open|kept/, 'the fallback serves')
})

t.test('a policy routes: other preferences, and another model', async (t) => {
  const { ask, upstream, gateway } = await start(
    t,
    `  - { name: private, when: 'caller.name == "research"', route: { provider: { only: [ kept ] } } }
  - { name: cheap, when: 'request.model == "acme/one" && request.user == "cheap"', route: { model: quick } }
  - { name: broken, when: 'request.metadata.x == 1', route: { model: acme/two } }`,
  )
  await ask({}, 'chat', as(OTHER))
  t.match(upstream.requests.at(-1)?.path, /^\/kept/)
  const conflict = await ask({ provider: { only: ['open'] } }, 'chat', as(OTHER))
  t.equal(conflict.status, 404, 'a request cannot loosen it')
  t.match((await error(conflict)).message, /policy private/)
  const routed = await body(await ask({ user: 'cheap', models: ['acme/one'] }, 'chat', METADATA))
  t.equal(routed.model, 'acme/two')
  t.match(list(object(routed.router_metadata).pipeline), [
    { type: 'policy', name: 'cheap', data: { effect: 'route', outcome: 'applied' } },
    { type: 'policy', name: 'broken', data: { effect: 'route', outcome: 'failed', reason: 'no_such_key' } },
  ])
  const usual = await body(await ask({}, 'chat', METADATA))
  t.equal(usual.model, 'acme/one', 'a route that cannot be decided does not apply')
  t.match(list(object(usual.router_metadata).pipeline), [{ summary: 'its condition could not be evaluated: not applied' }])
  t.match((await body(await gateway.post('/v1/chat/completions/plan', {}))).error, {}, 'plans stand elsewhere')
})

t.test('a policy limits requests per minute of each caller, beside its own limits', async (t) => {
  const { ask, clock } = await start(t, `  - { name: slow, when: 'request.user == "batch"', limit: { requests: 2 } }`)
  for (const status of [200, 200, 429]) t.equal((await ask({ user: 'batch' })).status, status)
  const refused = await ask({ user: 'batch' })
  t.match((await error(refused)).message, /2 requests per minute of the policy slow/)
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  t.equal((await ask({ user: 'batch' }, 'chat', as(OTHER))).status, 200, 'another caller has its own')
  t.equal((await ask({ user: 'person' })).status, 200, 'other requests of the caller are not limited')
  await clock.advance(60_000)
  t.equal((await ask({ user: 'batch' })).status, 200)
})

t.test('a policy bounds what one request may cost, by its hold', async (t) => {
  const { ask, upstream } = await start(
    t,
    `  - { name: small, when: 'caller.name == "app"', limit: { max_cost: "0.005" } }
  - { name: dear, when: 'cost.max_usd > 0.01 && caller.name == "research"', deny: { message: "Too dear for the lab" } }
  - { name: broken, when: 'request.metadata.x == 1 && caller.name == "app"', limit: { max_cost: "0.002" } }`,
  )
  const dear = await ask({ max_tokens: 10_000, metadata: { x: '0' } })
  t.equal(dear.status, 403)
  const { message, metadata: found } = await error(dear)
  t.match(
    message,
    /^The policy small allows a request to cost up to \$0\.005, and this one may cost \$0\.02\d+\. An output cap makes that less$/,
  )
  t.match(found, { policy: 'small', max_cost_usd: '0.005' })
  t.equal((await ask({ max_tokens: 1_000, metadata: { x: '0' } })).status, 200)
  t.match(await metadata(await ask({ max_tokens: 1_000 })), { policy: 'broken' }, 'a limit that cannot be decided holds')
  t.match(await error(await ask({ max_tokens: 10_000 }, 'chat', as(OTHER))), {
    message: 'Too dear for the lab',
    metadata: { policy: 'dear' },
  })
  t.equal((await ask({ max_tokens: 10 }, 'chat', as(OTHER))).status, 200)
  t.equal(upstream.requests.length, 2)
  t.equal((await body(await ask({ max_tokens: 10 }, 'chat', as(OTHER)))).error, undefined, 'nothing stays held')
})

t.test('a policy has guardrails hold for the requests of its condition, and where it cannot be evaluated', async (t) => {
  const { ask, upstream } = await start(
    t,
    `  - { name: outside, when: 'request.metadata.place == "outside"', guardrails: [ addresses ] }
  - { name: narrow, when: 'caller.name == "research"', guardrails: [ no-two ] }`,
    {
      more: `guardrails:
  - { name: addresses, scope: { keys: [] }, content_filter_builtins: [ { slug: email, action: redact } ] }
  - { name: no-two, scope: { keys: [] }, ignored_models: [ acme/two ] }`,
    },
  )
  const say = (place: JsonObject) => ask({ messages: [{ role: 'user', content: 'ana@example.com' }], metadata: place })
  await say({ place: 'outside' })
  await say({ place: 'inside' })
  await say({})
  t.same(
    upstream.requests.map((seen) => seen.body.includes('ana@example.com')),
    [false, true, false],
    'redacted where the condition holds or fails',
  )
  const inside = { metadata: { place: 'inside' } }
  t.match(await metadata(await ask({ model: 'acme/two', ...inside }, 'chat', as(OTHER))), { guardrail: 'no-two' })
  t.equal((await ask({ model: 'acme/two', ...inside })).status, 200)
})

t.test('a policy refuses the call of a tool by its arguments; the model is given the reason', async (t) => {
  const call = (zone: string) => ({ id: 'call_t', name: 'router_datetime', args: [JSON.stringify({ timezone: zone })] })
  let zone = 'Asia/Tokyo'
  const { ask, upstream } = await start(
    t,
    `  - { name: no-tokyo, when: 'tool.name == "datetime" && arguments.timezone.startsWith("Asia/")', deny: { message: "not in Asia" } }`,
    { answer: (seen) => answerFor(seen, /"role":"tool"/.test(seen.body) ? { text: ['done'] } : { calls: [call(zone)] }) },
  )
  const tools = [{ type: 'router:datetime' }]
  t.equal((await ask({ tools })).status, 200)
  t.match(upstream.requests.at(-1)?.body, /not in Asia/)
  zone = 'Europe/Berlin'
  await ask({ tools })
  t.notMatch(upstream.requests.at(-1)?.body, /not in Asia|could not be evaluated/)
  t.match(upstream.requests.at(-1)?.body, /Europe\/Berlin|\+0[12]:00|20\d\d/)
  zone = `x${'y'.repeat(70_000)}`
  await ask({ tools })
  t.match(upstream.requests.at(-1)?.body, /condition of the policy no-tokyo could not be evaluated, so it refuses/)
})

t.test('the pass-through is closed where a policy applies, or cannot be evaluated without the body', async (t) => {
  const { gateway, upstream } = await start(t, `  - { name: claude-only, when: 'request.model != "acme/two"', route: { model: acme/two } }`)
  const passed = await gateway.post('/v1/passage/open/chat/completions', { model: 'm', messages: [] })
  t.equal(passed.status, 403)
  t.match(await metadata(passed), { policy: 'claude-only' })
  t.equal(upstream.requests.length, 0)
  const open = await start(t, `  - { name: others, when: 'caller.name == "research"', deny: {} }`)
  t.equal((await open.gateway.post('/v1/passage/open/chat/completions', { model: 'm', messages: [] })).status, 200)
  const both = await start(t, `  - { name: dear, when: 'request.operation != "pass_through" && cost.max_usd > 1.0', deny: {} }`)
  t.equal((await both.gateway.post('/v1/passage/open/chat/completions', { model: 'm', messages: [] })).status, 200)
})

t.test('a count of tokens and a plan meet the same policies', async (t) => {
  const { gateway, ask } = await start(
    t,
    `  - { name: closed, when: 'caller.name == "app" && request.operation in ["count", "generate"]', deny: {} }`,
  )
  const counted = await gateway.post('/v1/messages/count_tokens', { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] })
  t.equal(counted.status, 403)
  t.equal((await ask()).status, 403)
})

t.test('a reload puts other policies in force, and a broken one changes nothing', async (t) => {
  const directory = t.testdir()
  const { gateway, ask, upstream } = await startScene(t, {
    directory,
    yaml: `policies: [ { name: all, when: 'caller.name == "test"', deny: {} } ]`,
  })
  t.equal((await ask()).status, 403)
  const rest = (policies: string) =>
    `${policies}\nproviders: { first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: sk-provider-0123456789 } }\nmodels: { acme/one: { endpoints: [ { provider: first, model: m, price: free } ] } }`
  t.not((await gateway.reconfigure(rest(`policies: [ { name: all, when: 'caler.name == "x"', deny: {} } ]`))).kind, 'applied')
  t.equal((await ask()).status, 403)
  t.equal((await gateway.reconfigure(rest(`policies: [ { name: all, when: 'caller.name == "x"', deny: {} } ]`))).kind, 'applied')
  t.equal((await ask()).status, 200)
})
