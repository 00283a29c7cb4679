/** Requests over TLS: by the official SDKs, in every form that the listener serves, and what it refuses. */
import { once } from 'node:events'
import { type AddressInfo, connect as connectPlainly, createServer } from 'node:net'
import { connect } from 'node:tls'
import t from 'tap'
import WebSocket from 'ws'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { RawClient } from '../../support/raw.ts'
import { startTlsScene } from '../../support/tls-scene.ts'

t.test('one connection serves requests of every form', async (t) => {
  const { gateway, chat, client } = await startTlsScene(t)
  const fetch = client(undefined, {})
  const replies = [
    await chat(fetch),
    await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${gateway.key}` } }),
    await chat(fetch, { messages: [{ role: 'user', content: 'x'.repeat(200_000) }] }),
    await chat(fetch, { stream: true }),
    await chat(fetch),
  ]
  for (const reply of replies) t.equal(reply.status, 200, await reply.text())
})

t.test('the address that the gateway states of itself begins with https', async (t) => {
  const issuer = `{ issuer: "https://login.example.com", audiences: [ headgate ], login: { client_id: machine }, rules: [ { when: {} } ] }`
  const keys = '[ { name: app, key: "sk-router-v1-0123456789abcdef0123456789abcdef" } ]'
  const { gateway, chat, client } = await startTlsScene(t, { yaml: `auth: { keys: ${keys}, issuers: [ ${issuer} ] }` })
  const fetch = client()
  const path = '/.well-known/oauth-protected-resource'
  t.match(await (await fetch(gateway.url + path)).json(), { resource: gateway.url })
  const none = { authorization: '' }
  for (const reply of [await chat(fetch, {}, none), await fetch(`${gateway.url}/v1/key`)])
    t.equal(reply.headers.get('www-authenticate'), `Bearer resource_metadata="${gateway.url}${path}"`, reply.url)
  t.match(gateway.url, /^https:/)
})

t.test('a WebSocket of Responses opens over TLS', async (t) => {
  const { gateway, files } = await startTlsScene(t)
  const socket = new WebSocket(`${gateway.url.replace('https', 'wss')}/v1/responses`, {
    ca: files.ca.cert,
    headers: { authorization: `Bearer ${gateway.key}` },
  })
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  const ended = new Promise<string>((resolve) => {
    socket.on('message', (data) => {
      if (String(data).includes('response.completed')) resolve(String(data))
    })
  })
  socket.send(JSON.stringify({ type: 'response.create', model: 'acme/one', input: 'hello' }))
  t.match(await ended, /fine/)
})

t.test('plain HTTP gets a 400 that names TLS', async (t) => {
  const { gateway } = await startTlsScene(t)
  const raw = await RawClient.open(gateway.url)
  raw.send('GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n')
  await raw.closed()
  t.match(raw.text, /^HTTP\/1\.1 400 /)
  t.match(raw.text, /expected an address that begins with https/)
})

t.test('versions before min_version are refused', async (t) => {
  const { gateway, files } = await startTlsScene(t, { tls: 'min_version: TLSv1.3' })
  const { port } = new URL(gateway.url)
  const open = async (maxVersion: 'TLSv1.2' | 'TLSv1.3'): Promise<string | null> => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', ca: files.ca.cert, maxVersion })
    t.teardown(() => socket.destroy())
    await once(socket, 'secureConnect')
    return socket.getProtocol()
  }
  t.equal(await open('TLSv1.3'), 'TLSv1.3')
  await t.rejects(open('TLSv1.2'))
})

t.test('the caller is named by a PROXY header before the handshake', async (t) => {
  const { gateway, files } = await startTlsScene(t, { server: 'trusted_proxies: [127.0.0.1], proxy_protocol: true' })
  const { port } = new URL(gateway.url)
  // A balancer that passes the bytes of TLS on.
  const balancer = createServer((socket) => {
    const onward = connectPlainly(Number(port), '127.0.0.1')
    onward.write('PROXY TCP4 203.0.113.9 127.0.0.1 4000 443\r\n')
    socket.pipe(onward).pipe(socket)
    for (const each of [socket, onward]) each.on('error', () => {})
  })
  balancer.listen(0, '127.0.0.1')
  await once(balancer, 'listening')
  t.teardown(() => balancer.close())
  const socket = connect({ port: (balancer.address() as AddressInfo).port, host: '127.0.0.1', ca: files.ca.cert })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  let text = ''
  socket.on('data', (data) => {
    text += data
  })
  for (let count = 0; count < 101; count++) socket.write('GET /v1/key HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer sk-none\r\n\r\n')
  const deadline = once(socket, 'close')
  socket.write('GET /v1/key HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer sk-none\r\n\r\n')
  await deadline
  t.equal(text.match(/HTTP\/1\.1 401/g)?.length, 100)
  t.equal(text.match(/HTTP\/1\.1 429/g)?.length, 2)
  t.equal((await gateway.get('/v1/key').catch(() => undefined))?.status, undefined, 'plain HTTP without a header is refused')
})

t.test('addresses that the gateway states have the scheme of the listener', async (t) => {
  const { gateway, client } = await startTlsScene(t)
  const page = await (await client()(`${gateway.url}/`, { headers: { accept: 'text/html' } })).text()
  t.match(page, gateway.url)
})

t.test('the control room reaches an API that speaks TLS, and has a secure cookie over TLS', async (t) => {
  const { gateway, client } = await startTlsScene(t, {
    tls: 'client_ca: ca.crt',
    admin: `{ host: 127.0.0.1, port: 0, token: ${ADMIN_TOKEN}, tls: { cert: tls.crt, key: tls.key } }`,
  })
  t.match(gateway.admin, /^https:/)
  const fetch = client()
  const signed = await fetch(`${gateway.admin}/control-room/session`, {
    method: 'POST',
    headers: { 'x-control-room': '1', 'content-type': 'application/json' },
    body: JSON.stringify({ key: ADMIN_TOKEN }),
  })
  t.equal(signed.status, 201, await signed.text())
  const cookie = signed.headers.get('set-cookie') ?? ''
  t.match(cookie, /^__Host-.*Secure/)
  const keys = await fetch(`${gateway.admin}/v1/keys`, { headers: { cookie: cookie.split(';')[0] ?? '' } })
  t.equal(keys.status, 200, await keys.text())
  t.equal((await fetch(`${gateway.admin}/readyz`)).status, 200)
})
