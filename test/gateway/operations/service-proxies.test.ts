/** The gateway's own clients behind a proxy: each takes that of the environment, but for what is fetched for a request. */
import { createHash, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { proxyFor } from '../../../src/services/connections/proxy.ts'
import { HttpSender } from '../../../src/services/exports/http-send.ts'
import { guardedFetch, guardedPost, OutboundPolicy } from '../../../src/services/outbound/index.ts'
import { callService } from '../../../src/services/outbound/service-call.ts'
import { Delivery } from '../../../src/services/telemetry/delivery.ts'
import { startAws, USER, withVariables } from '../../support/aws.ts'
import { certificate, type Signed } from '../../support/certificates.ts'
import { FakeClock } from '../../support/clock.ts'
import { type ConnectProxy, startProxy } from '../../support/connect-proxy.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import { type Answer, jsonAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'
import { chatReply } from '../../support/wire-chat.ts'

const TOKEN = { access_token: 'from-the-service', token_type: 'Bearer', expires_in: 3600 }
const urlPort = (url: string): string => new URL(url).port
const clock = new FakeClock()

/** A service, and the address by which only a proxy finds it. */
async function service(t: Test, answer: () => Answer): Promise<{ upstream: Upstream; url: string; host: string }> {
  const upstream = await startUpstream(answer)
  t.teardown(() => upstream.close())
  const host = `service.test:${urlPort(upstream.url)}`
  return { upstream, url: `http://${host}`, host }
}

const targets = ({ tunnels }: ConnectProxy): string[] => tunnels.map(({ target }) => target)

interface Credentialed {
  readonly credential: string
  readonly connection?: string
  readonly env?: Record<string, string>
  /** Of the provider, where it is not one on this machine. */
  readonly base?: string
}

/** A gateway whose provider is on this machine and needs the credential. */
async function credentialed(
  t: Test,
  { credential, connection, env = {}, base }: Credentialed,
): Promise<{ gateway: Gateway; provider: Upstream }> {
  const provider = await startUpstream(() => jsonAnswer(chatReply({ text: ['fine'] })))
  t.teardown(() => provider.close())
  const gateway = await startGateway(
    `
auth: { keys: [ { name: test, key: "${KEY}" } ] }
providers:
  first:
    dialect: openai-chat
    base_url: "${base ?? provider.url}/v1"
    credential: ${credential}
    ${connection === undefined ? '' : `connection:\n      ${connection}`}
models:
  acme/one: { context: 128000, max_output: 4096, endpoints: [ { provider: first, model: m, price: free } ] }
`,
    { env },
  )
  t.teardown(() => gateway.close())
  return { gateway, provider }
}

const ask = async (gateway: Gateway): Promise<number> =>
  (await gateway.post('/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] })).status

/** Credentials whose service is at an address, and what the token of its reply is called. */
function sources(t: Test, url: string): readonly (readonly [name: string, credential: string, answer: object])[] {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-proxies-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const file = (name: string, content: object): string => {
    const path = join(folder, name)
    writeFileSync(path, JSON.stringify(content))
    return path
  }
  const account = file('account.json', {
    type: 'service_account',
    client_email: 'a@b.example',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: `${url}/token`,
  })
  const person = file('person.json', {
    type: 'authorized_user',
    client_id: 'a',
    client_secret: 'b',
    refresh_token: 'c',
    token_uri: `${url}/token`,
  })
  const federated = file('federated.json', {
    type: 'external_account',
    audience: 'x',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${url}/exchange`,
    credential_source: { url: `${url}/subject` },
  })
  const impersonated = { accessToken: TOKEN.access_token, expireTime: new Date(Date.now() + 3_600_000).toISOString() }
  return [
    ['a token address', `{ url: { address: "${url}/token" } }`, TOKEN],
    ['a service account of Google', `{ google: { file: ${account} } }`, TOKEN],
    ['a sign-in of gcloud', `{ google: { file: ${person} } }`, TOKEN],
    ['federation', `{ google: { file: ${federated} } }`, TOKEN],
    [
      'an impersonated account',
      `{ google: { file: ${account}, impersonate: c@d.example, iam_url: "${url}" } }`,
      { ...TOKEN, ...impersonated },
    ],
    ['Entra ID', `{ azure: { tenant: t, client_id: c, client_secret: s, authority: "${url}" } }`, TOKEN],
  ]
}

t.test('credential sources take the proxy of the environment, or of their provider', async (t) => {
  let answer: object = TOKEN
  const { url, host } = await service(t, () => jsonAnswer(answer))
  await every(t, 'every source and setting', async (t) => {
    for (const [name, credential, token] of sources(t, url)) {
      answer = token
      const proxy = await startProxy(t)
      const { gateway, provider } = await credentialed(t, { credential, env: { HTTP_PROXY: proxy.url } })
      t.equal(await ask(gateway), 200, `${name}, HTTP_PROXY`)
      t.same([...new Set(targets(proxy))], [host], `${name}: the service alone, the provider is on this machine`)
      t.match(provider.requests[0]?.headers.authorization, TOKEN.access_token)
      const own = await startProxy(t)
      const other = await credentialed(t, { credential, connection: `proxy: "${own.url}"`, env: { HTTP_PROXY: 'http://127.0.0.1:9' } })
      t.equal(await ask(other.gateway), 200, `${name}, connection.proxy`)
      t.same([...new Set(targets(own))], [host], name)
    }
  })
  const proxy = await startProxy(t)
  const local = `{ url: { address: "${url.replace('service.test', '127.0.0.1')}/token" } }`
  answer = TOKEN
  t.equal(await ask((await credentialed(t, { credential: local, env: { HTTP_PROXY: proxy.url } })).gateway), 200)
  const excepted = { credential: `{ url: { address: "${url}/token" } }`, env: { HTTP_PROXY: proxy.url, NO_PROXY: 'service.test' } }
  t.equal(await ask((await credentialed(t, excepted)).gateway), 500, 'it is not found without one')
  t.equal(await ask((await credentialed(t, { ...excepted, env: { HTTP_PROXY: proxy.url }, connection: 'proxy: direct' })).gateway), 500)
  t.same(proxy.tunnels, [], 'neither for this machine, nor against NO_PROXY or `direct`')
})

t.test('a token address with a certificate of the authority of its provider', async (t) => {
  const authority = certificate({ name: 'the test authority' })
  const signed: Signed = certificate({ name: 'identity', by: authority, hosts: ['identity.test'] })
  const server = createSecureServer(
    { cert: signed.cert, key: String(signed.key.export({ type: 'pkcs8', format: 'pem' })) },
    ({ url }, reply) =>
      reply.setHeader('content-type', 'application/json').end(JSON.stringify(url === '/token' ? TOKEN : chatReply({ text: ['fine'] }))),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const base = `https://identity.test:${(server.address() as AddressInfo).port}`
  const credential = `{ url: { address: "${base}/token" } }`
  const ca = `tls:\n        ca: |\n          ${authority.cert.trim().replaceAll('\n', '\n          ')}`
  for (const [connection, status] of [
    [ca, 200],
    [undefined, 500],
  ] as const) {
    const proxy = await startProxy(t)
    const { gateway } = await credentialed(t, { credential, base, ...(connection && { connection }), env: { HTTPS_PROXY: proxy.url } })
    t.equal(await ask(gateway), status, connection ? 'trusted' : 'not trusted')
    t.ok(proxy.tunnels.length > 0)
  }
})

t.test('metadata services and this machine are never called through a proxy, whatever is set', async (t) => {
  const env = { HTTP_PROXY: 'http://proxy.test:3128', HTTPS_PROXY: 'http://proxy.test:3128' }
  const direct = ['169.254.169.254', '169.254.170.2', '[fd00:ec2::254]', '[fe80::1]', '168.63.129.16', '100.100.100.200']
  const named = ['metadata.google.internal', 'METADATA.google.internal.', 'metadata', 'metadata.goog', 'localhost', '127.0.0.53', '[::1]']
  for (const host of [...direct, ...named])
    for (const own of [undefined, 'http://own.test:3128']) t.equal(proxyFor(new URL(`http://${host}/x`), own, env), undefined, host)
  t.equal(proxyFor(new URL('http://169.253.0.1/'), undefined, env)?.host, 'proxy.test:3128')
})

t.test('AWS: a role is assumed through the proxy', async (t) => {
  const proxy = await startProxy(t)
  const time = new FakeClock(1, Date.now())
  const aws = await startAws(
    () => time.now(),
    () => jsonAnswer(chatReply({ text: ['fine'] })),
  )
  t.teardown(() => aws.close())
  const sts = `service.test:${urlPort(aws.sts.url)}`
  withVariables(t, {
    AWS_ACCESS_KEY_ID: USER.accessKeyId,
    AWS_SECRET_ACCESS_KEY: USER.secretAccessKey,
    AWS_ENDPOINT_URL_STS: `http://${sts}`,
  })
  const { gateway } = await credentialed(t, {
    credential: '{ aws: { region: us-east-1, role: "arn:aws:iam::123456789012:role/work" } }',
    env: { HTTP_PROXY: proxy.url },
  })
  t.equal(await ask(gateway), 200)
  t.same([...new Set(targets(proxy))], [sts])
})

t.test('AWS: credentials of a sign-in by SSO come through the proxy', async (t) => {
  const proxy = await startProxy(t)
  const expires = Date.now() + 3_600_000
  const roleCredentials = { ...USER, sessionToken: 'of-the-session', expiration: expires }
  const { upstream, url, host } = await service(t, () => jsonAnswer({ roleCredentials }))
  const home = t.testdir()
  const start = 'https://acme.awsapps.test/start'
  const profile = [
    '[profile work]',
    `sso_start_url = ${start}`,
    'sso_region = eu-west-1',
    'sso_account_id = 123456789012',
    'sso_role_name = models',
  ]
  const cached = { startUrl: start, region: 'eu-west-1', accessToken: 'of-the-sign-in', expiresAt: new Date(expires).toISOString() }
  // As `aws sso login` names the file: by the SHA-1 of the start URL.
  const cache = join(home, '.aws', 'sso', 'cache')
  mkdirSync(cache, { recursive: true })
  writeFileSync(join(home, '.aws', 'config'), `${profile.join('\n')}\n`)
  writeFileSync(join(cache, `${createHash('sha1').update(start).digest('hex')}.json`), JSON.stringify(cached))
  withVariables(t, { HOME: home, AWS_CONFIG_FILE: join(home, '.aws', 'config'), AWS_ENDPOINT_URL_SSO: url })
  const { gateway, provider } = await credentialed(t, {
    credential: '{ aws: { region: us-east-1, profile: work } }',
    env: { HTTP_PROXY: proxy.url },
  })
  t.equal(await ask(gateway), 200, gateway.logs.join('\n'))
  t.match(upstream.requests[0]?.path, '/federation/credentials')
  t.equal(provider.requests[0]?.headers['x-amz-security-token'], 'of-the-session')
  t.same([...new Set(targets(proxy))], [host])
})

t.test('services of the operator are called through the proxy of the environment', async (t) => {
  const proxy = await startProxy(t)
  withVariables(t, { HTTP_PROXY: proxy.url })
  const { url, host, upstream } = await service(t, () => jsonAnswer({ fine: true }))
  const never = (): (() => void) => () => {}
  t.same(await callService({ url: `${url}/engine`, headers: {} }, { clock, timeout: 5_000, cap: 1_000, onAbort: never }), { fine: true })
  const sender = new HttpSender(url, 5_000, clock)
  t.equal((await sender.send({ method: 'PUT', path: '/export', headers: {}, body: Buffer.from('x') })).status, 200)
  t.equal((await sender.send({ method: 'PUT', path: '/export', headers: {}, body: Buffer.from('x') })).status, 200)
  sender.close()
  const delivery = new Delivery({ url: `${url}/v1/traces`, headers: {}, compression: 'none', timeout: 5_000, queue: 1 }, clock)
  t.match(await delivery.send(Buffer.from('x')), { kind: 'taken' })
  delivery.close()
  const policy = new OutboundPolicy({ allowPrivate: [host], ports: [Number(urlPort(upstream.url))] })
  const { signal } = new AbortController()
  const post = { url: `${url}/hook`, headers: {}, body: Buffer.from('x'), policy, clock, timeout: 5_000, signal }
  t.equal((await guardedPost(post)).status, 200)
  t.same(
    upstream.requests.map(({ path }) => path),
    ['/engine', '/export', '/export', '/v1/traces', '/hook'],
  )
  t.same(
    targets(proxy),
    Array.from({ length: 4 }, () => host),
    'a tunnel for each, kept for the next request of an export',
  )
})

t.test('fetches for requests use no proxy', async (t) => {
  const proxy = await startProxy(t)
  withVariables(t, {
    HTTP_PROXY: proxy.url,
    HTTPS_PROXY: proxy.url,
    http_proxy: proxy.url,
    https_proxy: proxy.url,
    ALL_PROXY: proxy.url,
    NODE_USE_ENV_PROXY: '1',
  })
  const { url, host, upstream } = await service(t, () => ({ headers: { 'content-type': 'text/plain' }, body: ['page'] }))
  const policy = new OutboundPolicy({ allowPrivate: [host] })
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
  const { bytes } = await guardedFetch(url, { policy, resolve })
  t.equal(String(bytes), 'page')
  await t.rejects(guardedFetch(url, { policy: new OutboundPolicy(), resolve }), { code: 'bad_request' })
  t.equal(upstream.requests.length, 1)
  t.same(proxy.tunnels, [])
})
