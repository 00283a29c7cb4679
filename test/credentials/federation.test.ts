/** `credential: { openai: ... }` and `{ anthropic: ... }` from outside: identity tokens that the provider exchanges, and its refusals. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { check } from '../../src/cli/check.ts'
import { startAws, USER, withVariables as withProcessVariables } from '../support/aws.ts'
import { FakeClock } from '../support/clock.ts'
import { Azure, CLIENT, TENANT } from '../support/clouds/azure.ts'
import { ANTHROPIC, AUDIENCES, Federation, OPENAI, WORKSPACE } from '../support/clouds/federation.ts'
import { GoogleCloud } from '../support/clouds/google.ts'
import { ANSWER } from '../support/clouds/scene.ts'
import { eventually } from '../support/eventually.ts'
import { type Gateway, KEY, startGateway } from '../support/gateway.ts'
import { printed } from '../support/printed.ts'
import { type Answer, jsonAnswer, type Seen } from '../support/upstream.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
}
const LIST = { object: 'list', data: [{ id: 'listed', object: 'model', created: 1, owned_by: 'acme' }], has_more: false }

function answer({ path }: Seen): Answer {
  if (path.includes('/models')) return jsonAnswer(LIST)
  if (path.endsWith('/count_tokens')) return jsonAnswer({ input_tokens: 42 })
  if (path.endsWith('/embeddings'))
    return jsonAnswer({ object: 'list', data: [{ index: 0, embedding: [0.5, 0.5] }], usage: { prompt_tokens: 1 } })
  return jsonAnswer(path.includes('/messages') ? MESSAGE : ANSWER)
}

type Provider = 'openai' | 'anthropic'
const PROVIDERS: readonly Provider[] = ['openai', 'anthropic']

interface Scene {
  readonly clock: FakeClock
  readonly federation: Federation
  readonly gateway: Gateway
  readonly token: Record<Provider, string>
  chat(provider: Provider): Promise<Response>
  shown(replies: string): Promise<string[]>
}

interface Options {
  readonly clock?: FakeClock
  /** YAML of the identity token. */
  readonly identity?: (provider: Provider, file: string) => string
  readonly env?: Record<string, string>
  readonly more?: string
}

async function scene(t: Test, { clock = new FakeClock(), identity, env = {}, more = '' }: Options = {}): Promise<Scene> {
  const federation = await Federation.start(clock, answer)
  const directory = t.testdir()
  const token = { openai: join(directory, 'openai'), anthropic: join(directory, 'anthropic') }
  for (const provider of PROVIDERS) writeFileSync(token[provider], `${federation.clusterToken(AUDIENCES[provider])}\n`)
  const given = (provider: Provider): string => identity?.(provider, token[provider]) ?? `{ file: "${token[provider]}" }`
  const fields = (ids: object): string =>
    Object.entries(ids)
      .map(([name, id]) => `${name}: "${id}"`)
      .join(', ')
  const gateway = await startGateway(
    `
auth: { keys: [ { name: test, key: "${KEY}", pass_through: true }, { name: boss, key: "${BOSS}", management: true } ] }
pass_through: { enabled: true }
providers:
  openai:
    name: OpenAI
    dialect: openai-chat
    base_url: "${federation.url}/openai/v1"
    credential: { openai: { ${fields(OPENAI)}, identity_token: ${given('openai')}, token_url: "${federation.url}/oauth/token" } }
    discover: { price: free }
    pass_through: { price: "0" }
  anthropic:
    name: Anthropic
    dialect: anthropic
    base_url: "${federation.url}/anthropic"
    credential: { anthropic: { ${fields(ANTHROPIC)}, workspace_id: ${WORKSPACE}, identity_token: ${given('anthropic')}, token_url: "${federation.url}/v1/oauth/token" } }
    pass_through: { price: "0" }
  other: { dialect: sim }
models:
  acme/openai: { endpoints: [ { provider: openai, model: m, price: free } ] }
  acme/anthropic: { endpoints: [ { provider: anthropic, model: m, price: free } ] }
  acme/either: { endpoints: [ { provider: openai, model: m, price: free }, { provider: other, model: echo, price: free } ] }
  acme/vectors: { kind: embedding, endpoints: [ { provider: openai, model: m, price: free } ] }
${more}`,
    { clock, env },
  )
  t.teardown(() => Promise.all([gateway.close(), federation.server.close()]))
  return {
    clock,
    federation,
    gateway,
    token,
    chat: (provider) => gateway.post('/v1/chat/completions', { model: `acme/${provider}`, messages: [{ role: 'user', content: 'hi' }] }),
    shown: async (replies) => {
      const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
      return federation.secrets.filter((secret) => (gateway.logs.join('') + metrics + replies).includes(secret))
    },
  }
}

t.test('every kind of call has the token that its provider exchanged', async (t) => {
  const { federation, gateway, chat, shown } = await scene(t)
  const { refused } = federation
  t.equal((await chat('openai')).status, 200, refused.join())
  t.equal((await chat('anthropic')).status, 200, refused.join())
  t.equal((await gateway.post('/v1/embeddings', { model: 'acme/vectors', input: 'hi' })).status, 200)
  const messages = { model: 'acme/anthropic', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
  t.match(await (await gateway.post('/v1/messages/count_tokens', messages)).json(), { input_tokens: 42 }, "the provider's own count")
  await eventually('the list of models', async () => (await (await gateway.get('/v1/models')).text()).includes('openai/listed'))
  for (const provider of PROVIDERS) {
    const passed = await gateway.post(`/v1/passage/${provider}/v1/anything`, { a: 1 })
    t.equal(passed.status, 200, `the pass-through to ${provider}: ${await passed.text()}`)
  }
  t.equal(federation.exchanges.length, 2, 'one exchange for each provider')
  t.ok(federation.calls.length >= 7)
  t.strictSame(await shown(''), [])
})

t.test('names of betas that a caller has stay beside that for the token, in one header', async (t) => {
  const { federation, gateway } = await scene(t)
  const body = { model: 'acme/anthropic', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
  const betas = { 'anthropic-beta': 'context-1m-2025-08-07, oauth-2025-04-20' }
  const sent = (): string[] =>
    (federation.calls.at(-1)?.rawHeaders ?? []).filter((_, at, all) => all[at - 1]?.toLowerCase() === 'anthropic-beta')
  t.equal((await gateway.post('/v1/messages', body, betas)).status, 200)
  t.strictSame(sent(), ['context-1m-2025-08-07,oauth-2025-04-20'])
  t.equal(
    (await gateway.post('/v1/passage/anthropic/v1/messages', body, { ...betas, 'anthropic-beta': 'context-1m-2025-08-07' })).status,
    200,
  )
  t.strictSame(sent(), ['context-1m-2025-08-07,oauth-2025-04-20'])
  t.equal((await gateway.post('/v1/messages', body)).status, 200)
  t.strictSame(sent(), ['oauth-2025-04-20'])
})

t.test('tokens that end while requests come, from files that are renewed, cause no failed request', async (t) => {
  const { federation, clock, token, chat } = await scene(t)
  federation.life = 600
  const statuses: number[] = []
  for (let minute = 0; minute < 40; minute++) {
    // As the kubelet does: a token of the first file would have ended.
    if (minute % 20 === 0)
      for (const provider of PROVIDERS) {
        const seconds = Math.floor(clock.now() / 1000)
        writeFileSync(token[provider], federation.clusterToken(AUDIENCES[provider], { iat: seconds, exp: seconds + 1500 }))
      }
    for (const { status } of await Promise.all(PROVIDERS.flatMap((provider) => [chat(provider), chat(provider)]))) statuses.push(status)
    await clock.advance(60_000)
  }
  t.strictSame(new Set(statuses), new Set([200]), `${statuses.length} requests over forty minutes`)
  for (const provider of PROVIDERS) {
    const calls = federation.calls.filter(({ path }) => path.startsWith(`/${provider}/`))
    t.ok(new Set(calls.map(({ headers }) => headers.authorization)).size >= 4, `${provider}: four tokens or more`)
  }
  t.strictSame(federation.refused, [])
})

t.test('requests that wait share one exchange, and an outage is survived while a token holds', async (t) => {
  const made = await scene(t)
  const { federation, clock, gateway, chat } = made
  const first = await Promise.all(Array.from({ length: 10 }, () => chat('anthropic')))
  t.strictSame(
    first.map(({ status }) => status),
    Array.from({ length: 10 }, () => 200),
  )
  t.equal(federation.exchanges.filter(({ path }) => path.startsWith('/v1/')).length, 1)
  federation.instead = { status: 503, body: ['down'] }
  for (let minute = 0; minute < 59; minute++) {
    await clock.advance(60_000)
    if (minute % 7 === 0) t.equal((await chat('anthropic')).status, 200, `${minute} minutes`)
  }
  await clock.advance(2 * 60_000)
  const reply = await chat('anthropic')
  t.equal(reply.status, 500, 'an outage of the exchange is no refusal')
  t.match(await reply.json(), { error: { metadata: { credential: 'unavailable' } } })
  await eventually('its reason in the log', async () => {
    await clock.advance(1_000)
    await chat('anthropic')
    return gateway.logs.join('').includes('cannot be refreshed')
  })
  federation.instead = undefined
  writeFileSync(made.token.anthropic, federation.clusterToken(AUDIENCES.anthropic))
  await eventually('another token', async () => {
    await clock.advance(1_100)
    return (await chat('anthropic')).status === 200
  })
})

t.test('a refused exchange is for the operator: 502 that names the provider, an event, and the next endpoint', async (t) => {
  const { federation, gateway, token, chat, shown } = await scene(t)
  for (const provider of PROVIDERS) writeFileSync(token[provider], federation.clusterToken('https://other.example'))
  federation.revoke()
  const texts: string[] = []
  for (const [provider, name] of [
    ['openai', 'OpenAI'],
    ['anthropic', 'Anthropic'],
  ] as const) {
    await eventually('a refused exchange', async () => {
      await gateway.running.runtime.discover()
      const reply = await chat(provider)
      const text = await reply.text()
      texts.push(text)
      return reply.status === 502 && text.includes('"credential":"refused"') && text.includes(`${name} refused the gateway's credential`)
    })
    const passed = await gateway.post(`/v1/passage/${provider}/v1/anything`, {})
    const text = await passed.text()
    texts.push(text)
    t.equal(passed.status, 502, text)
    t.match(text, `${name} refused the gateway's credential`)
  }
  const other = await gateway.post('/v1/chat/completions', { model: 'acme/either', messages: [{ role: 'user', content: 'hi' }] })
  t.equal(other.status, 200, 'another endpoint serves')
  const logs = gateway.logs.join('')
  await eventually('an event for each provider', async () => {
    const events = await (await fetch(`${gateway.url}/v1/events?limit=100`, { headers: { authorization: `Bearer ${BOSS}` } })).text()
    texts.push(events)
    return (
      PROVIDERS.every((provider) => events.includes(`providers.${provider}.credential`)) && events.includes('headgate.provider.account')
    )
  })
  t.match(logs, 'providers.anthropic.credential')
  t.match(logs, "a provider refused the gateway's own key or account")
  t.strictSame(await shown(texts.join('')), [])
})

t.test('a key that a team brings is sent in the place of the token', async (t) => {
  const { federation, gateway, chat } = await scene(t, { more: `byok: { encryption_keys: [ "${randomBytes(32).toString('base64')}" ] }\n` })
  federation.keys.add('sk-team-account-1234567')
  for (const provider of PROVIDERS) {
    const body = JSON.stringify({ provider, key: 'sk-team-account-1234567' })
    const headers = { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' }
    const added = await fetch(`${gateway.url}/v1/byok`, { method: 'POST', headers, body })
    t.equal(added.status, 201, await added.text())
    const reply = await chat(provider)
    t.match(await reply.json(), { usage: { is_byok: true } })
  }
  const sent = federation.calls.filter(({ path }) => /completions|messages/.test(path)).map(({ headers }) => headers)
  t.match(sent, [{ authorization: 'Bearer sk-team-account-1234567' }, { 'x-api-key': 'sk-team-account-1234567', authorization: undefined }])
})

t.test('a token that the provider revokes is exchanged anew', async (t) => {
  const { federation, chat } = await scene(t)
  t.equal((await chat('anthropic')).status, 200)
  federation.revoke()
  t.equal((await chat('anthropic')).status, 200)
})

t.test('wrong answers and wrong identity tokens are no credential, with a reason that shows none of them', async (t) => {
  const CASES: readonly [name: string, reason: string, answer: Answer | undefined, token?: string][] = [
    ['no token', 'the answer holds no token', jsonAnswer({ token_type: 'Bearer', expires_in: 600 })],
    [
      'another kind of token',
      'Anthropic gives no bearer token',
      jsonAnswer({ access_token: 'sk-shown', token_type: 'DPoP', expires_in: 600 }),
    ],
    ['no end', 'Anthropic states no end of the token', jsonAnswer({ access_token: 'sk-shown', token_type: 'Bearer' })],
    ['a redirect', 'Anthropic replied with status 302', { status: 302, headers: { location: 'https://acme.example/' } }],
    ['a page', 'the token is no visible ASCII text', { headers: { 'content-type': 'text/html' }, body: ['<p>sk-shown</p> signed in'] }],
    ['an empty file', 'the answer holds no token', undefined, '\n'],
    ['a file of two lines', 'the token is no visible ASCII text without spaces', undefined, 'sk-shown\nsk-shown'],
    ['a long token', 'the token is no visible ASCII text without spaces', undefined, 'sk-shown'.repeat(4000)],
  ]
  for (const [name, reason, instead, token] of CASES) {
    await t.test(name, async (t) => {
      const made = await scene(t)
      await eventually('the first exchanges', () => made.federation.exchanges.length >= 2)
      made.federation.instead = instead
      if (token !== undefined) writeFileSync(made.token.anthropic, token)
      made.federation.revoke()
      await made.clock.advance(31_000)
      const reply = await made.chat('anthropic')
      t.notOk(reply.ok)
      t.ok(
        made.gateway.logs.some((line) => line.includes(reason)),
        made.gateway.logs.join(''),
      )
      t.notMatch(made.gateway.logs.join('') + (await reply.text()), /sk-shown/)
    })
  }
})

t.test('tokens of the clouds are exchanged', async (t) => {
  await t.test('of AWS, by its STS', async (t) => {
    const clock = new FakeClock(1, Date.now())
    const aws = await startAws(
      () => clock.now(),
      () => jsonAnswer({}),
    )
    t.teardown(() => aws.close())
    withProcessVariables(t, { AWS_ACCESS_KEY_ID: USER.accessKeyId, AWS_SECRET_ACCESS_KEY: USER.secretAccessKey })
    const made = await scene(t, {
      clock,
      identity: () => '{ aws: { region: us-east-1, algorithm: RS256 } }',
      env: { AWS_ENDPOINT_URL_STS: aws.sts.url },
    })
    for (const provider of PROVIDERS)
      t.equal((await made.chat(provider)).status, 200, made.federation.refused.join() + made.gateway.logs.join(''))
    t.match(aws.sts.requests[0]?.body, 'Action=GetWebIdentityToken&Version=2011-06-15&Audience.member.1=')
    t.notMatch(made.gateway.logs.join(''), USER.secretAccessKey)
  })
  await t.test('of Azure', async (t) => {
    const clock = new FakeClock()
    const azure = await Azure.start(clock)
    azure.resource = 'api://4711'
    t.teardown(() => azure.server.close())
    const settings = `tenant: ${TENANT}, client_id: ${CLIENT}, authority: "${azure.url}", client_secret: "${azure.secret}", scope: "api://4711/.default"`
    const made = await scene(t, { clock, identity: () => `{ azure: { ${settings} } }` })
    made.federation.knows = (token) => azure.holds(token)
    await clock.advance(2_000)
    for (const provider of PROVIDERS)
      await eventually(provider, async () => {
        await clock.advance(1_000)
        return (await made.chat(provider)).status === 200
      })
    t.strictSame(await made.shown(''), [])
  })
  const google: readonly [name: string, settings: (cloud: GoogleCloud, folder: string) => string][] = [
    ['of a machine of Google', () => '{ google: {} }'],
    [
      'of a key file of Google',
      (cloud, folder) => {
        writeFileSync(join(folder, 'key.json'), JSON.stringify(cloud.keyFile()))
        return `{ google: { file: "${join(folder, 'key.json')}" } }`
      },
    ],
    [
      'of a service account of Google that is impersonated',
      (cloud) => `{ google: { impersonate: models@acme.iam.gserviceaccount.com, iam_url: "${cloud.url}" } }`,
    ],
  ]
  for (const [name, settings] of google)
    await t.test(name, async (t) => {
      const clock = new FakeClock()
      const cloud = await GoogleCloud.start(clock)
      cloud.mayActAs.set('node@acme.iam.gserviceaccount.com', 'models@acme.iam.gserviceaccount.com')
      t.teardown(() => cloud.server.close())
      const env = { GCE_METADATA_HOST: cloud.url, HOME: '/nonexistent' }
      const made = await scene(t, { clock, identity: (_, file) => settings(cloud, dirname(file)), env })
      const { refused } = made.federation
      for (const provider of PROVIDERS) t.equal((await made.chat(provider)).status, 200, [...refused, ...cloud.refused].join())
      t.strictSame(
        cloud.secrets.filter((secret) => made.gateway.logs.join('').includes(secret)),
        [],
      )
    })
})

t.test('check says where the identity comes from, and what is wrong with its settings', async (t) => {
  const file = join(t.testdir({ token: 'a token' }), 'headgate.yaml')
  const run = async (settings: string, env: Record<string, string> = {}): Promise<string> => {
    writeFileSync(
      file,
      `providers: { p: { dialect: anthropic, base_url: "https://acme.test", credential: { anthropic: { federation_rule_id: fdrl_1, organization_id: o, service_account_id: svac_1, ${settings} } } } }\nmodels: { acme/a: { endpoints: [ { provider: p, model: m } ] } }\n`,
    )
    const { out, error } = await printed((streams) => check(file, { HOME: '/nonexistent', ...env }, streams, () => undefined))
    return out + error
  }
  const there = `identity_token: { file: "${join(t.testdirName, 'token')}" }`
  t.match(await run(there), /credential of provider p: a token of Anthropic for the file .*token$/m)
  t.notMatch(await run(there), 'warning: credential')
  t.match(await run('identity_token: { file: /nonexistent/token }'), 'the file /nonexistent/token cannot be read')
  t.match(await run('identity_token: { google: {} }'), 'this machine is none of Google Cloud')
  t.match(await run('identity_token: { azure: {} }'), '"scope" is missing, expected a scope such as api://')
  t.match(await run('identity_token: { aws: { region: us-east-1 } }'), 'a token of AWS STS, aws in us-east-1')
  t.match(await run('identity_token: {}'), 'expected one of these keys: aws, azure, command, file, google')
  t.match(await run('identity_token: { file: /a, command: [x] }'), 'expected one of these keys: aws, azure, command, file, google')
  t.match(await run('identity_token: { fil: /a }'), 'unknown key')
  t.match(await run(`${there}, token_url: "http://sts.example/token"`), 'expected an https address, or an http address of this machine')
  t.match(await run(`${there}, workspace_id: "a b"`), 'expected an id such as wrkspc_abc123')
  t.match(await run(''), '"identity_token" is missing')
})
