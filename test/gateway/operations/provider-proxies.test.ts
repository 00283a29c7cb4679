/** Providers behind a proxy: of the environment or of their own, with TLS inside the tunnel, and never for what is on this machine. */
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import WebSocket, { WebSocketServer } from 'ws'
import type { JsonObject } from '../../../src/core/json.ts'
import { certificate, type Signed } from '../../support/certificates.ts'
import { type ConnectProxy, startProxy } from '../../support/connect-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import { type RawUpstream, rawJson, startRawUpstream } from '../../support/raw-upstream.ts'
import { chatReply } from '../../support/wire-chat.ts'

const REPLY = rawJson(chatReply({ text: ['fine'] }))
const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] }
const authority = certificate({ name: 'the test authority' })
const keyPem = ({ key }: Signed): string => String(key.export({ type: 'pkcs8', format: 'pem' }))
const indented = (pem: string): string => pem.trim().replaceAll('\n', '\n          ')
const CA = `tls:
        ca: |
          ${indented(authority.cert)}`

/** A provider that only a proxy can reach: no name server knows its name. @returns its port, and how many connections it had. */
async function secureProvider(t: Test): Promise<{ port: number; accepted: () => number }> {
  const signed = certificate({ name: 'provider', by: authority, hosts: ['provider.test'] })
  let accepted = 0
  const server = createTlsServer({ cert: signed.cert, key: keyPem(signed) }, (socket) => {
    accepted++
    socket.on('error', () => undefined)
    socket.on('data', () => socket.write(REPLY))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, accepted: () => accepted }
}

async function gatewayFor(
  t: Test,
  url: string,
  { env = {}, connection = '', more = '' }: { env?: Record<string, string>; connection?: string; more?: string },
): Promise<Gateway> {
  const gateway = await startGateway(
    `
auth: { keys: [ { name: test, key: "${KEY}", pass_through: true } ] }
providers:
  first:
    dialect: openai-chat
    base_url: "${url}/v1"
    key: "sk-provider-secret"
    ${connection === '' ? '' : `connection:\n      ${connection}`}
    ${more}
models:
  acme/one: { context: 128000, max_output: 4096, endpoints: [ { provider: first, model: m, price: free } ] }
`,
    { env },
  )
  t.teardown(() => gateway.close())
  return gateway
}

const ask = async (gateway: Gateway): Promise<number> => (await gateway.post('/v1/chat/completions', QUESTION)).status

t.test('HTTPS_PROXY, in upper and lower case, with TLS inside the tunnel', async (t) => {
  for (const name of ['HTTPS_PROXY', 'https_proxy']) {
    const { port, accepted } = await secureProvider(t)
    const proxy = await startProxy(t)
    const gateway = await gatewayFor(t, `https://provider.test:${port}`, { env: { [name]: proxy.url }, connection: CA })
    for (let i = 0; i < 3; i++) t.equal(await ask(gateway), 200, name)
    t.same(proxy.tunnels, [{ target: `provider.test:${port}`, authorization: undefined }], 'one tunnel is used again')
    t.equal(accepted(), 1)
  }
})

t.test('HTTP_PROXY for a plain address, and streams through it', async (t) => {
  const upstream = await startRawUpstream(() => {
    const events = `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: 'fine' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`
    return `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: ${events.length}\r\n\r\n${events}`
  })
  t.teardown(() => upstream.close())
  const proxy = await startProxy(t)
  const gateway = await gatewayFor(t, `http://provider.test:${new URL(upstream.url).port}`, { env: { http_proxy: proxy.url } })
  for (let i = 0; i < 2; i++) {
    const reply = await gateway.post('/v1/chat/completions', { ...QUESTION, stream: true })
    t.match(await reply.text(), /fine/)
  }
  t.equal(proxy.tunnels.length, 1)
  t.equal(upstream.requests[0]?.line, 'POST /v1/chat/completions HTTP/1.1')
})

t.test('a proxy of the provider’s own, with userinfo that no log has, over TLS', async (t) => {
  const { port } = await secureProvider(t)
  const front = certificate({ name: 'proxy', by: authority, addresses: ['127.0.0.1'] })
  for (const tls of [undefined, { cert: front.cert, key: keyPem(front) }]) {
    const proxy = await startProxy(t, tls ? { tls } : {})
    const own = proxy.url.replace('://', '://us%40er:top-secret-word@')
    if (tls) (await import('node:tls')).setDefaultCACertificates([authority.cert])
    const gateway = await gatewayFor(t, `https://provider.test:${port}`, {
      env: { HTTPS_PROXY: 'http://127.0.0.1:9' },
      connection: `proxy: "${own}"\n      ${CA}`,
    })
    t.equal(await ask(gateway), 200)
    t.equal(proxy.tunnels[0]?.authorization, `Basic ${Buffer.from('us@er:top-secret-word').toString('base64')}`)
    proxy.refusal = '407 Proxy Authentication Required'
    const refused = await gatewayFor(t, `https://provider.test:${port}`, { connection: `proxy: "${own}"\n      ${CA}` })
    t.equal(await ask(refused), 502)
    const line = exchangeLine(refused)
    t.match(line, { fault: 'upstream_proxy', cause: 'proxy_authentication' })
    t.notMatch([...gateway.logs, ...refused.logs].join(''), /top-secret-word|dG9wLXNlY3JldC13b3Jk/)
  }
})

function exchangeLine(gateway: Gateway): JsonObject {
  return gateway.logs.map((one) => JSON.parse(one) as JsonObject).findLast(({ msg }) => msg === 'exchange') ?? {}
}

/** A proxy that must not be used, and whether it was. */
async function forbidden(t: Test): Promise<ConnectProxy> {
  return await startProxy(t)
}

t.test('loopback addresses are called directly, whatever is set', async (t) => {
  const upstream: RawUpstream = await startRawUpstream(() => REPLY)
  t.teardown(() => upstream.close())
  const proxy = await forbidden(t)
  const { port } = new URL(upstream.url)
  for (const host of ['127.0.0.1', 'localhost'])
    for (const connection of ['', `proxy: "${proxy.url}"`]) {
      const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url }
      t.equal(await ask(await gatewayFor(t, `http://${host}:${port}`, { env, connection })), 200)
    }
  t.same(proxy.tunnels, [])
})

t.test('NO_PROXY by name, suffix, port, address and range; `direct` for one provider', async (t) => {
  const proxy = await forbidden(t)
  proxy.refusal = '503 Service Unavailable'
  const isProxied = async (url: string, no: string, connection = ''): Promise<boolean> => {
    const before = proxy.tunnels.length
    const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, NO_PROXY: no }
    await ask(
      await gatewayFor(t, url, {
        env,
        connection: `${connection === '' ? '' : `${connection}\n      `}max_age: 1m\n    timeouts: { connect: 100ms }`,
      }),
    )
    return proxy.tunnels.length > before
  }
  for (const [url, no, expected] of [
    ['http://api.provider.test', '', true],
    ['http://api.provider.test', 'other.test', true],
    ['http://api.provider.test', 'ovider.test', true],
    ['http://api.provider.test', 'provider.test', false],
    ['http://api.provider.test', 'other.test, .provider.test', false],
    ['http://api.provider.test', '*.PROVIDER.test', false],
    ['http://api.provider.test:81', 'api.provider.test:80', true],
    ['http://api.provider.test', 'api.provider.test:80', false],
    ['http://api.provider.test', '*', false],
    ['http://192.0.2.7', '192.0.2.0/24', false],
    ['http://192.0.2.7', '192.0.2.7', false],
    ['http://192.0.2.7', '192.0.3.0/24', true],
    ['http://[2001:db8::7]', '2001:db8::/32', false],
  ] as const)
    t.equal(await isProxied(url, no), expected, `${url} with NO_PROXY=${no}`)
  t.equal(await isProxied('http://api.provider.test', '', 'proxy: direct'), false)
})

t.test('a proxy that is not there, and one that no tunnel can be made through', async (t) => {
  const silent = createTcpServer((socket) => socket.on('error', () => undefined).end('nonsense\r\n\r\n'))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  for (const [url, cause] of [
    ['http://127.0.0.1:9', 'refused'],
    [`http://127.0.0.1:${(silent.address() as AddressInfo).port}`, 'proxy_unreadable'],
    ['socks5://127.0.0.1:1080', 'proxy_unsupported'],
  ] as const) {
    const gateway = await gatewayFor(t, 'https://provider.test', { env: { HTTPS_PROXY: url } })
    t.equal(await ask(gateway), 502)
    t.match(exchangeLine(gateway), { fault: 'upstream_proxy', cause })
  }
})

t.test('the pass-through, its WebSockets and the list of models go the same way', async (t) => {
  const upstream = await startRawUpstream(() => rawJson({ data: [{ id: 'found' }] }))
  t.teardown(() => upstream.close())
  const proxy = await startProxy(t)
  const gateway = await gatewayFor(t, `http://provider.test:${new URL(upstream.url).port}`, {
    env: { HTTP_PROXY: proxy.url },
    more: 'discover: true\n    pass_through: { price: "0" }\npass_through: { enabled: true }',
  })
  const reply = await gateway.get('/v1/passage/first/anything')
  t.equal(reply.status, 200)
  t.ok(upstream.requests.some(({ line }) => line === 'GET /v1/anything HTTP/1.1'))
  await eventually('the list is fetched', () => upstream.requests.some(({ line }) => line === 'GET /v1/models HTTP/1.1'))
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(sockets, 'listening')
  t.teardown(() => sockets.close())
  sockets.on('connection', (socket) => socket.on('message', (text) => socket.send(`${text}!`)))
  const { port } = sockets.address() as AddressInfo
  const second = await gatewayFor(t, `http://provider.test:${port}`, {
    env: { HTTP_PROXY: proxy.url },
    more: 'pass_through: { price: "0" }\npass_through: { enabled: true }',
  })
  const socket = new WebSocket(`${second.url.replace('http', 'ws')}/v1/passage/first/live`, {
    headers: { authorization: `Bearer ${second.key}` },
  })
  await once(socket, 'open')
  socket.send('hello')
  const [text] = (await once(socket, 'message')) as [Buffer]
  t.equal(String(text), 'hello!')
  socket.close()
  t.equal(proxy.tunnels.at(-1)?.target, `provider.test:${port}`)
})

t.test('a secret of a proxy is never quoted in an error of the configuration', async (t) => {
  const broken = gatewayFor(t, 'https://provider.test', { connection: 'proxy: "ftp://user:top-secret-word@proxy"' })
  await t.rejects(broken, /proxy: expected an http or https URL/)
  const message = await broken.then(
    () => '',
    (error: Error) => error.message,
  )
  t.notMatch(message, /top-secret-word/)
})
