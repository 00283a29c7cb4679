/** A provider whose credential rotates, from outside: with an identity service and a provider that checks what it is sent. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { check } from '../../src/cli/check.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { JSON_TYPE, startUpstream, type Upstream } from '../support/upstream.ts'

const CHAT = { model: 'acme/one', messages: [{ role: 'user', content: 'hi' }] }

const ANSWER = JSON.stringify({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'upstream-model',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})

interface Scene {
  gateway: Gateway
  provider: Upstream
  identity: Upstream
  clock: FakeClock
  /** Seconds for which a token holds. */
  life: number
  /** Tokens that the provider takes although they have ended, or refuses although they have not. */
  refuses: (token: string) => boolean
}

const refusal = (token: string) => ({
  status: 401,
  headers: JSON_TYPE,
  body: [JSON.stringify({ error: { message: `Incorrect API key provided: ${token}`, code: 'invalid_api_key' } })],
})

const config = (identity: string, provider: string, more = ''): string => `
auth: { keys: [ { name: test, key: "sk-router-v1-0123456789abcdef0123456789abcdef", pass_through: true } ] }
providers:
  first:
    dialect: openai-chat
    base_url: "${provider}/v1"
    credential:
      url: { address: "${identity}/token", form: { grant_type: client_credentials, client_secret: hush-hush } }
    pass_through: { price: "0" }
  second: { dialect: openai-chat, base_url: "${provider}/second", key: sk-second }
models:
  acme/one:
    endpoints:
      - { provider: first, model: upstream-model, price: free }
  acme/two:
    endpoints:
      - { provider: first, model: upstream-model, price: free }
      - { provider: second, model: upstream-model, price: free }
  acme/vectors:
    kind: embedding
    endpoints: [ { provider: first, model: vectors, price: free } ]
pass_through: { enabled: true }
${more}`

/** A provider that takes tokens of the identity service as long as they hold. */
async function scene(t: Test, { directory }: { directory?: string } = {}): Promise<Scene> {
  const clock = new FakeClock()
  const ends = new Map<string, number>()
  let count = 0
  const identity = await startUpstream(() => {
    const token = `token-${++count}`
    ends.set(token, clock.now() + made.life * 1000)
    return { headers: JSON_TYPE, body: [JSON.stringify({ access_token: token, expires_in: made.life })] }
  })
  const provider = await startUpstream((seen) => {
    if (seen.path.startsWith('/second')) return { headers: JSON_TYPE, body: [ANSWER] }
    const token = `${seen.headers.authorization}`.replace('Bearer ', '')
    const end = ends.get(token)
    if (end === undefined || end <= clock.now() || made.refuses(token)) return refusal(token)
    if (seen.path.endsWith('/embeddings'))
      return {
        headers: JSON_TYPE,
        body: [
          JSON.stringify({
            object: 'list',
            model: 'v',
            data: [{ index: 0, embedding: [0.5, 0.5] }],
            usage: { prompt_tokens: 1, total_tokens: 1 },
          }),
        ],
      }
    return { headers: JSON_TYPE, body: [ANSWER] }
  })
  const text = config(identity.url, provider.url)
  const made: Scene = { gateway: undefined as never, provider, identity, clock, life: 600, refuses: () => false }
  made.gateway = await startGateway(text, { clock, ...(directory === undefined ? {} : { directory }) })
  t.teardown(async () => {
    await made.gateway.close()
    await provider.close()
    await identity.close()
  })
  return made
}

const metric = async ({ gateway }: Scene, line: string): Promise<number> => {
  const snapshot = await gateway.running.runtime.metrics.snapshot()
  for (const { name, values } of snapshot)
    for (const { labels, value } of values) if (line === `${name} ${Object.values(labels).join(' ')}`.trim()) return value
  return 0
}

t.test('every kind of call has the token, and the first waits for it', async (t) => {
  const made = await scene(t)
  const { gateway, provider, identity } = made
  t.equal((await gateway.post('/v1/chat/completions', CHAT)).status, 200)
  t.equal((await gateway.post('/v1/embeddings', { model: 'acme/vectors', input: 'hi' })).status, 200)
  t.equal((await gateway.post('/v1/passage/first/anything', { a: 1 })).status, 200)
  t.strictSame(
    provider.requests.map(({ headers }) => headers.authorization),
    ['Bearer token-1', 'Bearer token-1', 'Bearer token-1'],
  )
  t.equal(identity.requests.length, 1, 'one fetch for all')
  t.match(identity.requests[0]?.body, 'grant_type=client_credentials')
})

t.test('a token that ends while requests come causes no failed request', async (t) => {
  const made = await scene(t)
  const statuses: number[] = []
  for (let round = 0; round < 30; round++) {
    const replies = await Promise.all(Array.from({ length: 4 }, () => made.gateway.post('/v1/chat/completions', CHAT)))
    for (const reply of replies) statuses.push(reply.status)
    await made.clock.advance(60_000)
  }
  t.strictSame(new Set(statuses), new Set([200]), `${statuses.length} requests over three lives of a token`)
  const tokens = new Set(made.provider.requests.map(({ headers }) => headers.authorization))
  t.ok(tokens.size >= 3, `${tokens.size} tokens were used`)
  t.notOk(made.provider.requests.some(({ headers }) => headers.authorization === undefined))
})

t.test('an identity service that is down for less than the life of a token causes no failed request', async (t) => {
  const made = await scene(t)
  await made.gateway.post('/v1/chat/completions', CHAT)
  const { script } = made.identity
  made.identity.script = () => ({ status: 503, body: ['token-1 is no more'] })
  const statuses: number[] = []
  for (let minute = 0; minute < 9; minute++) {
    await made.clock.advance(60_000)
    statuses.push((await made.gateway.post('/v1/chat/completions', CHAT)).status)
  }
  t.strictSame(new Set(statuses), new Set([200]))
  t.match(made.gateway.logs.join(''), 'cannot be refreshed')
  made.identity.script = script
  await made.clock.advance(59_000)
  await eventually('another fetch', () => made.identity.requests.length > 2)
  await made.clock.advance(120_000)
  t.equal((await made.gateway.post('/v1/chat/completions', CHAT)).status, 200, 'and it goes on with another token')
})

t.test("a missing credential is neither the provider's fault nor the caller's", async (t) => {
  const made = await scene(t)
  await eventually('the first token', () => made.identity.requests.length > 0)
  made.identity.script = () => ({ status: 403, body: ['no'] })
  while (!made.gateway.logs.join('').includes('no credential for a provider')) await made.clock.advance(1_000)
  const reply = await made.gateway.post('/v1/chat/completions', CHAT)
  t.equal(reply.status, 500)
  t.match(await reply.json(), { error: { code: 500, metadata: { error_type: 'server', credential: 'unavailable' } } })
  t.equal(made.provider.requests.length, 0, 'the provider is not called')
  t.equal(await metric(made, 'headgate_attempts_total first credential_unavailable'), 1)
  t.ok((await metric(made, 'headgate_credential_refreshes_total first failed')) > 0)
  t.equal((await made.gateway.post('/v1/passage/first/anything', {})).status, 500)
  const other = await made.gateway.post('/v1/chat/completions', { ...CHAT, model: 'acme/two' })
  t.equal(other.status, 200, 'another endpoint serves')
  const lines = made.gateway.logs.filter((line) => line.includes('no credential for a provider'))
  t.equal(lines.length, 1, 'one alert')
  t.match(lines[0], 'the service replied with status 403')
  t.notMatch(made.gateway.logs.join(''), /hush-hush/)
})

t.test('a refused token is replaced, and the same endpoint called once more', async (t) => {
  const made = await scene(t)
  made.refuses = (token) => token === 'token-1'
  const replies = await Promise.all(Array.from({ length: 5 }, () => made.gateway.post('/v1/chat/completions', CHAT)))
  t.strictSame(
    replies.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  )
  t.equal(made.identity.requests.length, 2, 'one more fetch for all five')
  t.equal(await metric(made, 'headgate_credential_refreshes_total first refused'), 1)
})

t.test('a credential that the provider refuses is told apart', async (t) => {
  const made = await scene(t)
  made.refuses = () => true
  const reply = await made.gateway.post('/v1/chat/completions', CHAT)
  t.equal(reply.status, 502)
  const body = await reply.text()
  t.match(JSON.parse(body), { error: { metadata: { credential: 'refused' } } })
  t.equal(made.provider.requests.length, 2, 'one more try, with another token')
  await made.gateway.post('/v1/chat/completions', CHAT)
  await made.gateway.post('/v1/passage/first/anything', {})
  t.ok(made.identity.requests.length <= 2, 'refusals do not storm the identity service')
  t.ok((await metric(made, 'headgate_attempts_total first credential_refused')) >= 1)
  t.equal(await metric(made, 'headgate_attempts_total first upstream_auth'), 0)
  t.match(made.gateway.logs.join(''), "refused the gateway's own key")
  t.notMatch(body + made.gateway.logs.join(''), /token-[12]/, 'neither the reply nor the log shows a token')
})

t.test("a provider's own fault stays one", async (t) => {
  const made = await scene(t)
  made.provider.script = () => ({ status: 500, headers: JSON_TYPE, body: ['{"error":{"message":"down"}}'] })
  const reply = await made.gateway.post('/v1/chat/completions', CHAT)
  t.equal(reply.status, 502)
  t.equal(made.identity.requests.length, 1)
})

t.test('a reload keeps the token of a credential that does not change', async (t) => {
  const directory = t.testdir()
  const made = await scene(t, { directory })
  await made.gateway.post('/v1/chat/completions', CHAT)
  const { url } = made.identity
  t.equal((await made.gateway.reconfigure(config(url, made.provider.url, 'default_model: acme/one\n'))).kind, 'applied')
  await made.gateway.post('/v1/chat/completions', CHAT)
  t.equal(made.identity.requests.length, 1)
  await made.gateway.reconfigure(config(`${url}/other`, made.provider.url))
  await made.gateway.post('/v1/chat/completions', CHAT)
  t.equal(made.identity.requests.length, 2)
})

t.test('a command and a file', async (t) => {
  const directory = t.testdir()
  const file = join(directory, 'token')
  writeFileSync(file, 'from-the-file\n')
  const provider = await startUpstream(() => ({ headers: JSON_TYPE, body: [ANSWER] }))
  const gateway = await startGateway(`
providers:
  a: { dialect: openai-chat, base_url: "${provider.url}/a", credential: { command: ["${process.execPath}", -p, "'from-a-command'"] } }
  b: { dialect: anthropic, base_url: "${provider.url}/b", credential: { file: "${file}" } }
models:
  acme/a: { endpoints: [ { provider: a, model: m, price: free } ] }
  acme/b: { endpoints: [ { provider: b, model: m, price: free } ] }
  acme/c: { endpoints: [ { provider: b, model: m, price: free, credential: { command: ["${process.execPath}", -p, "'of-an-endpoint'"] } } ] }
`)
  t.teardown(() => Promise.all([gateway.close(), provider.close()]))
  for (const model of ['acme/a', 'acme/b', 'acme/c']) await gateway.post('/v1/chat/completions', { ...CHAT, model })
  t.match(
    provider.requests.map(({ headers }) => headers),
    [{ authorization: 'Bearer from-a-command' }, { 'x-api-key': 'from-the-file' }, { 'x-api-key': 'of-an-endpoint' }],
    'sent where the key of the dialect would be',
  )
})

t.test('check says where a credential would come from, and what is wrong with its settings', async (t) => {
  const directory = t.testdir()
  const file = join(directory, 'headgate.yaml')
  const run = async (credential: string, more = ''): Promise<string> => {
    writeFileSync(
      file,
      `providers: { p: { dialect: openai-chat, base_url: "https://acme.test", ${credential} } }\nmodels: { acme/a: { endpoints: [ { provider: p, model: m${more} } ] } }\n`,
    )
    const lines: string[] = []
    await check(file, {}, { out: (line: string) => lines.push(line), error: (line: string) => lines.push(line) } as never)
    return lines.join('\n')
  }
  const url = 'credential: { url: { address: "https://id.test/token", form: { client_secret: hush-hush } } }'
  t.match(await run(url), 'credential of provider p: the service at https://id.test/token')
  t.notMatch(await run(url), /hush-hush/)
  t.match(await run('credential: { command: [gcloud, --secret] }'), /credential of provider p: the output of gcloud$/m)
  t.match(
    await run('credential: { file: /run/token }', ', credential: { command: [x] }'),
    'credential of endpoint acme/a@p: the output of x',
  )
  t.match(await run('key: k, credential: { file: /run/token }'), 'a credential beside a key')
  t.match(await run('credential: { refresh: 5m }'), 'expected one of these keys: anthropic, aws, azure, command, file, google, openai, url')
  t.match(await run('credential: { file: /run/a, command: [x] }'), 'expected one of these keys')
  t.match(await run('credential: { file: relative }'), 'expected an absolute path')
  t.match(await run('credential: { file: /run/a }, headers: { Authorization: x }'), 'the credential is sent in this header')
  t.match(await run('key: k', ', credential: { file: /run/a }'), 'the provider has a key')
})
