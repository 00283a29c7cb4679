/** `headgate login`, `token` and `logout`: the real command, a real identity provider and a real gateway. */
import { type ChildProcess, spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { eventually } from '../support/eventually.ts'
import { type Gateway, KEY, startGateway } from '../support/gateway.ts'
import { type IdentityProvider, startIdentityProvider, Walker } from '../support/identity-provider.ts'
import { PEOPLE } from '../support/people.ts'

const RESOURCE = 'urn:headgate:example'
const PROGRAM = join(import.meta.dirname, '..', '..', 'bin', 'headgate.js')

interface Place {
  readonly gateway: Gateway
  readonly provider: IdentityProvider
  readonly folder: string
}

interface Lives {
  readonly access?: number
  readonly code?: number
}

async function start(t: Test, { access = 3600, code = 120 }: Lives = {}): Promise<Place> {
  const provider = await startIdentityProvider(t, PEOPLE)
  const gateway = await startGateway(`
auth:
  keys: [ { name: test, key: "${KEY}" } ]
  issuers:
    - issuer: "${provider.url}"
      audiences: [ headgate ]
      login: { client_id: machine, resource: "${RESOURCE}", scopes: [ openid, offline_access, generate ] }
      rules: [ { when: { sub: [ ada, bob ] }, name: people } ]
providers: { local: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: local, model: echo } ] } }
`)
  t.teardown(() => gateway.close())
  const machine = {
    client_id: 'machine',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    redirect_uris: [],
    response_types: [],
  }
  provider.open([machine], {
    scopes: ['openid', 'offline_access'],
    rotateRefreshToken: true,
    ttl: { Session: 3600, Grant: 3600, Interaction: 600, IdToken: 300, DeviceCode: code, RefreshToken: 3600, AccessToken: access },
    features: {
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'generate',
          audience: 'headgate',
          accessTokenTTL: access,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  })
  return { gateway, provider, folder: t.testdir() }
}

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly error: string
}

interface Running {
  readonly process: ChildProcess
  readonly error: () => string
  readonly ended: Promise<Ended>
}

function run(folder: string, ...words: string[]): Running {
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [PROGRAM, ...words], { env: { ...env, XDG_CONFIG_HOME: folder, HTTP_PROXY: '', http_proxy: '' } })
  let out = ''
  let error = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    error += text
  })
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, out, error })))
  return { process: child, error: () => error, ended }
}

/** Logs in, and walks through the pages of the provider. */
async function logIn({ gateway, folder }: Place, walker = new Walker()): Promise<Ended> {
  const running = run(folder, 'login', gateway.url)
  const whole = await eventually('the address', () => / open (\S+)/.exec(running.error())?.[1])
  await walker.walk(String(whole), () => false)
  return running.ended
}

const stored = (folder: string): { logins: Record<string, JsonObject> } =>
  JSON.parse(readFileSync(join(folder, 'headgate', 'logins.json'), 'utf8')) as { logins: Record<string, JsonObject> }

t.test('a person logs in, programs get tokens, and the log-out revokes them', { timeout: 120_000 }, async (t) => {
  const place = await start(t)
  const { gateway, folder, provider } = place
  const done = await logIn(place)
  t.equal(done.code, 0, done.error)
  t.match(done.error, /Open \S+ and enter the code [A-Z]{4}-[A-Z]{4}/)
  t.match(done.error, `Logged in to ${gateway.url} as ada (people)`)
  t.equal(done.out, '')
  const file = join(folder, 'headgate', 'logins.json')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(join(folder, 'headgate')).mode & 0o777, 0o700)
  const printed = await run(folder, 'token').ended
  t.equal(printed.code, 0, printed.error)
  t.match(printed.out, /^ey[\w-]+\.[\w-]+\.[\w-]+\n$/)
  const token = printed.out.trim()
  t.equal((await gateway.get('/v1/models', { authorization: `Bearer ${token}` })).status, 200)
  t.equal(
    (await fetch(`${gateway.url}/v1/models`, { headers: { 'x-api-key': token } })).status,
    200,
    'as Claude Code sends what apiKeyHelper prints',
  )
  t.equal((await run(folder, 'token', `${gateway.url}/v1`).ended).out, printed.out, 'the same one, while it lasts')
  t.notMatch(gateway.logs.join(''), token)
  const out = await run(folder, 'logout').ended
  t.equal(out.code, 0, out.error)
  t.ok((provider.calls['/token/revocation'] ?? 0) > 0)
  t.same(stored(folder).logins, {})
  t.match(await run(folder, 'token').ended, { code: 1, out: '', error: /There is no login: headgate login ADDRESS/ })
})

t.test('the device grant has a proof key where the issuer takes one', { timeout: 120_000 }, async (t) => {
  const place = await start(t)
  const { provider } = place
  provider.intercept = () => false
  t.equal((await logIn(place)).code, 0)
  const [begun, ended] = [provider.forms['/device/auth'], provider.forms['/token']]
  t.equal(begun?.get('code_challenge_method'), 'S256')
  t.equal(begun?.get('code_challenge'), hash('sha256', ended?.get('code_verifier') ?? '', 'base64url'))
})

t.test(
  'a token near its end is renewed once for all processes, and its refresh token is not used twice',
  { timeout: 120_000 },
  async (t) => {
    const place = await start(t, { access: 3600 })
    const { folder, provider, gateway } = place
    t.equal((await logIn(place)).code, 0)
    const file = join(folder, 'headgate', 'logins.json')
    const { logins } = stored(folder)
    const [first] = Object.values(logins)
    const times = { obtained_at: new Date(Date.now() - 3_500_000).toISOString(), expires_at: new Date(Date.now() + 60_000).toISOString() }
    const aged = { ...first, ...times }
    writeFileSync(file, JSON.stringify({ current: gateway.url, logins: { [gateway.url]: aged } }))
    const before = provider.calls['/token'] ?? 0
    const tokens = await Promise.all([1, 2, 3, 4].map(() => run(folder, 'token').ended))
    for (const { code, error } of tokens) t.equal(code, 0, error)
    t.equal(new Set(tokens.map(({ out }) => out)).size, 1, 'all print the same token')
    t.not(tokens[0]?.out.trim(), first?.access_token)
    t.equal(provider.calls['/token'], before + 1)
    const [renewed] = Object.values(stored(folder).logins)
    t.not(renewed?.refresh_token, first?.refresh_token, 'the refresh token rotates')
    t.equal(statSync(file).mode & 0o777, 0o600)
    // A thief who uses the old one: the issuer ends all that came from it (RFC 9700, 4.14.2).
    const stolen = { grant_type: 'refresh_token', client_id: 'machine', refresh_token: String(first?.refresh_token) }
    t.equal((await fetch(`${provider.url}/token`, { method: 'POST', body: new URLSearchParams(stolen) })).status, 400)
    writeFileSync(file, JSON.stringify({ current: gateway.url, logins: { [gateway.url]: { ...renewed, ...times } } }))
    t.match(await run(folder, 'token').ended, { code: 1, out: '', error: new RegExp(`has ended there: headgate login ${gateway.url}`) })
  },
)

t.test('an issuer that is away costs nothing while the token works', { timeout: 120_000 }, async (t) => {
  const place = await start(t)
  const { folder, provider, gateway } = place
  t.equal((await logIn(place)).code, 0)
  const file = join(folder, 'headgate', 'logins.json')
  const [first] = Object.values(stored(folder).logins)
  const withEnd = (ms: number): void => {
    const [obtained_at, expires_at] = [-3_500_000, ms].map((each) => new Date(Date.now() + each).toISOString())
    writeFileSync(file, JSON.stringify({ current: gateway.url, logins: { [gateway.url]: { ...first, obtained_at, expires_at } } }))
  }
  provider.intercept = (_request, response) => {
    response.destroy()
    return true
  }
  withEnd(60_000)
  t.equal((await run(folder, 'token').ended).out.trim(), first?.access_token)
  withEnd(-1)
  t.match(await run(folder, 'token').ended, { code: 1, out: '', error: /cannot be reached/ })
  const out = await run(folder, 'logout').ended
  t.match(out, { code: 1, error: /on this machine, but the tokens are not revoked/ })
  t.same(stored(folder).logins, {}, 'they are removed whatever the issuer says')
})

t.test('a declined and an expired code end the command, and leave no login', { timeout: 120_000 }, async (t) => {
  const place = await start(t, { code: 7 })
  const walker = new Walker()
  walker.aborts = true
  t.match(await logIn(place, walker), { code: 1, error: /declined at/ })
  const late = await run(place.folder, 'login', place.gateway.url).ended
  t.match(late, { code: 1, error: /The code has expired before it was entered/ })
  t.notOk(existsSync(join(place.folder, 'headgate', 'logins.json')))
})

t.test('a person that the gateway does not take reads why, and gets no login', { timeout: 60_000 }, async (t) => {
  const place = await start(t)
  const walker = new Walker()
  walker.login = 'eve'
  t.match(await logIn(place, walker), { code: 1, error: /does not take the token of the issuer: .*no rule of its issuer maps this caller/ })
  t.notOk(existsSync(join(place.folder, 'headgate', 'logins.json')))
})

t.test('slow_down is heeded, and an issuer that answers badly for a moment is called again', { timeout: 60_000 }, async (t) => {
  const place = await start(t)
  const times: number[] = []
  let polls = 0
  place.provider.intercept = (request, response) => {
    if (request.url?.startsWith('/device/auth')) return false
    if (!request.url?.startsWith('/token')) return false
    times.push(performance.now())
    polls++
    if (polls === 1) response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"slow_down"}')
    else if (polls === 2) response.destroy()
    else return false
    return true
  }
  const done = await logIn(place)
  t.equal(done.code, 0, done.error)
  t.ok(Number(times[1]) - Number(times[0]) >= 9_500, 'five seconds more')
})

t.test('each error names what is missing', { timeout: 60_000 }, async (t) => {
  const { gateway, folder, provider } = await start(t)
  const plain = await startGateway(
    'providers: { local: { dialect: sim } }\nmodels: { sim/echo: { endpoints: [ { provider: local, model: echo } ] } }\n',
  )
  t.teardown(() => plain.close())
  const refusal = async (...words: string[]): Promise<string> => (await run(folder, ...words).ended).error
  t.match(await refusal('login', 'http://llm.example.com'), 'expected the https address')
  t.match(await refusal('login', plain.url), 'auth.issuers[].login')
  t.match(await refusal('login', 'http://127.0.0.1:1'), 'cannot be reached')
  t.match(await refusal('login', gateway.url, '--issuer', 'https://other.example'), `expected one of: ${provider.url}`)
  provider.intercept = (request, response) => {
    if (!request.url?.includes('openid-configuration')) return false
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ issuer: provider.url, token_endpoint: `${provider.url}/token` }))
    return true
  }
  t.match(await refusal('login', gateway.url), 'has no device authorization endpoint')
  t.match(await refusal('logout', gateway.url), `There is no login of ${gateway.url}`)
})
