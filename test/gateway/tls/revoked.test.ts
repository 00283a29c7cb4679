/** Certificates that are revoked while their connection is open: what they may still do on it, and which lists are read. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import WebSocket, { WebSocketServer } from 'ws'
import { type CertificateOptions, certificate, revocationList, type Signed } from '../../support/certificates.ts'
import { eventually } from '../../support/eventually.ts'
import { pemKey, type TlsFiles } from '../../support/tls-files.ts'
import { startTlsScene, type TlsScene, type TlsSceneOptions } from '../../support/tls-scene.ts'

const RULES = `
pass_through: { enabled: true }
auth:
  keys: [ { name: app, key: "sk-router-v1-0123456789abcdef0123456789abcdef" } ]
  certificates:
    rules:
      - { when: { spiffe: spiffe://acme/manager }, name: manager, role: owner }
      - { when: { spiffe: spiffe://acme/agent }, name: agents, pass_through: true }
`
const start = (t: Test, options: TlsSceneOptions = {}): Promise<TlsScene> =>
  startTlsScene(t, {
    yaml: RULES,
    tls: 'client_ca: ca.crt, client_crl: ca.crl',
    provider: 'pass_through: { price: "0" }',
    ready: (files) => files.write('ca.crl', revocationList(files.ca, [])),
    ...options,
  })

const client = ({ ca }: Pick<TlsFiles, 'ca'>, options: Partial<CertificateOptions> = {}): Signed =>
  certificate({ name: 'agent', by: ca, uris: ['spiffe://acme/agent'], ...options })

async function revoke({ files, clock }: TlsScene, revoked: Signed): Promise<void> {
  files.write('ca.crl', revocationList(files.ca, [revoked]))
  await clock.advance(5_000)
}

interface OpenConnection {
  readonly socket: TLSSocket
  /** All that has come on it. */
  came(): string
  send(text: string): void
}

/** A connection of a certificate, which has made its handshake. */
async function open(t: Test, { gateway, files }: TlsScene, shown: Signed): Promise<OpenConnection> {
  const socket = connect({
    port: Number(new URL(gateway.url).port),
    host: '127.0.0.1',
    ca: files.ca.cert,
    cert: shown.cert,
    key: pemKey(shown),
  })
  t.teardown(() => socket.destroy())
  let text = ''
  socket.on('data', (data) => {
    text += String(data)
  })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  return { socket, came: () => text, send: (more) => void socket.write(more) }
}

const BODY = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'hello' }] })
const POSTED = `Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
const REQUESTS: readonly [what: string, begin: string, rest: string, uri: string][] = [
  ['a completion', 'POST /v1/chat/completions HTTP/1.1\r\n', POSTED, 'spiffe://acme/agent'],
  ['a read of management', 'GET /v1/keys HTTP/1.1\r\n', 'Host: 127.0.0.1\r\n\r\n', 'spiffe://acme/manager'],
  ['a pass-through', 'POST /v1/passage/first/chat/completions HTTP/1.1\r\n', POSTED, 'spiffe://acme/agent'],
]

for (const [what, begin, rest, uri] of REQUESTS)
  t.test(`${what} of a revoked certificate is refused on its open connection, which ends`, async (t) => {
    const scene = await start(t)
    const revoked = client(scene.files, { uris: [uri] })
    const { socket, came, send } = await open(t, scene, revoked)
    const replies = (): string[] => came().match(/HTTP\/1\.1 \d{3}(?! Continue)/g) ?? []
    send(begin + rest)
    await eventually('the first reply', () => replies().length === 1)
    t.match(came(), /^HTTP\/1\.1 200/)
    send(begin)
    await revoke(scene, revoked)
    const calls = scene.rows().length
    send(rest)
    await eventually('the second reply', () => replies().length === 2)
    t.equal(replies()[1], 'HTTP/1.1 401')
    const second = came().slice(came().lastIndexOf('HTTP/1.1'))
    t.match(second, /connection: close/i)
    t.match(second, /connect anew/)
    await eventually('the end of the connection', () => socket.closed || socket.readableEnded)
    t.equal(scene.rows().length, calls, 'nothing was spent')
  })

t.test('a WebSocket of a revoked certificate is refused with its next message, and closed', async (t) => {
  const scene = await start(t)
  const revoked = client(scene.files)
  const socket = new WebSocket(`${scene.gateway.url.replace('https', 'wss')}/v1/responses`, {
    ca: scene.files.ca.cert,
    cert: revoked.cert,
    key: pemKey(revoked),
  })
  t.teardown(() => socket.terminate())
  let code: number | undefined
  const ends: string[] = []
  socket.on('message', (data) => {
    if (/"type":"(?:response\.completed|error)"/.test(String(data))) ends.push(String(data))
  })
  socket.on('close', (sent) => {
    code = sent
  })
  await once(socket, 'open')
  const message = JSON.stringify({ type: 'response.create', model: 'acme/one', input: 'hello' })
  socket.send(message)
  await eventually('the first response', () => ends.length === 1)
  t.match(ends[0], /response\.completed/)
  await revoke(scene, revoked)
  socket.send(message)
  await eventually('the refusal', () => ends.length === 2)
  t.match(ends[1], /connect anew/)
  await eventually('the close', () => code !== undefined)
  t.equal(code, 1008)
  t.equal(scene.rows().length, 1)
})

t.test('a WebSocket does not open on the connection of a revoked certificate', async (t) => {
  const scene = await start(t)
  const revoked = client(scene.files)
  const begin = 'GET /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\n'
  const { came, send } = await open(t, scene, revoked)
  send(begin)
  await revoke(scene, revoked)
  send('Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n')
  await eventually('a reply', () => came().includes('\r\n\r\n'))
  t.match(came(), /^HTTP\/1\.1 401/)
})

t.test('each authority has its list looked at, whichever comes first, with text between them', async (t) => {
  const other = certificate({ name: 'Other Authority' })
  const scene = await start(t, {
    ready: (files) => {
      files.write('ca.crt', files.ca.cert + other.cert)
      files.write('ca.crl', `of one\n${revocationList(files.ca, [])}\nof another\n${revocationList(other, [])}`)
    },
  })
  const { files, chat, clock } = scene
  const one = client(files)
  const another = client({ ca: other })
  const statuses = async (...shown: Signed[]): Promise<(number | string)[]> =>
    Promise.all(
      shown.map((each) =>
        chat(scene.client(each), {}, { authorization: '' }).then(
          ({ status }) => status,
          () => 'refused',
        ),
      ),
    )
  t.same(await statuses(one, another), [200, 200])
  files.write('ca.crl', revocationList(files.ca, []) + revocationList(other, [another]))
  await clock.advance(5_000)
  t.same(await statuses(one, another), [200, 'refused'])
  files.write('ca.crl', revocationList(other, []) + revocationList(files.ca, [one]))
  await clock.advance(5_000)
  t.same(await statuses(one, another), ['refused', 200])
})

t.test('a file without lists, with a broken one, or with two of one authority, is refused', async (t) => {
  const cases: [why: string, text: (files: TlsFiles) => string, found: RegExp][] = [
    ['empty', () => '', /^server\.tls\.client_crl: expected revocation lists as PEM/],
    ['certificates', ({ ca }) => ca.cert, /^server\.tls\.client_crl: expected revocation lists as PEM/],
    [
      'the second one is cut off',
      ({ ca }) => revocationList(ca, []) + revocationList(certificate({ name: 'Other Authority' }), []).slice(0, 200),
      /^server\.tls\.client_crl: expected revocation lists as PEM/,
    ],
    [
      'no list within',
      () => '-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n',
      /^server\.tls\.client_crl: has a list that is none/,
    ],
    [
      'two of one authority',
      ({ ca }) => revocationList(ca, []) + revocationList(ca, [client({ ca })]),
      /^server\.tls\.client_crl: has two lists of one authority/,
    ],
  ]
  for (const [why, text, found] of cases)
    await t.rejects(start(t, { ready: (files) => files.write('ca.crl', text(files)) }), { message: found }, why)
})

t.test('lists that cannot be used leave the old ones in use', async (t) => {
  const scene = await start(t)
  const revoked = client(scene.files)
  await revoke(scene, revoked)
  scene.files.write('ca.crl', revocationList(scene.files.ca, []).repeat(2))
  await scene.clock.advance(5_000)
  await scene.clock.advance(5_000)
  t.match(scene.gateway.logs.join(''), /server\.tls\.client_crl: has two lists of one authority/)
  await t.rejects(scene.chat(scene.client(revoked), {}, { authorization: '' }))
  t.equal((await scene.chat(scene.client(client(scene.files)), {}, { authorization: '' })).status, 200)
})

for (const [what, begin, rest, uri] of REQUESTS)
  t.test(`a connection that waits for a request after ${what} ends with a change of the lists`, async (t) => {
    const scene = await start(t)
    const { socket, came, send } = await open(t, scene, client(scene.files, { uris: [uri] }))
    send(begin + rest)
    await eventually('the reply', () => /HTTP\/1\.1 200/.test(came()))
    await scene.clock.advance(10_000)
    t.notOk(socket.closed, 'without a change it stays')
    await revoke(scene, client(scene.files))
    await eventually('the end of the connection', () => socket.closed || socket.readableEnded)
    t.equal(came().match(/HTTP\/1\.1/g)?.length, 1)
  })

t.test('a WebSocket of the pass-through ends with a change of the lists', async (t) => {
  const provider = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  t.teardown(() => provider.close())
  provider.on('connection', (each) => each.on('message', (data) => each.send(`heard ${String(data)}`)))
  await once(provider, 'listening')
  const { port } = provider.address() as AddressInfo
  const free = 'pass_through: { price: "0" }'
  const talker = `talker: { dialect: openai-chat, base_url: "http://127.0.0.1:${port}/v1", key: k, ${free}`
  const scene = await start(t, { provider: `${free} }\n  ${talker}` })
  const shown = client(scene.files)
  const socket = new WebSocket(`${scene.gateway.url.replace('https', 'wss')}/v1/passage/talker/realtime`, {
    ca: scene.files.ca.cert,
    cert: shown.cert,
    key: pemKey(shown),
  })
  t.teardown(() => socket.terminate())
  socket.on('error', () => {})
  await once(socket, 'open')
  socket.send('hello')
  const [heard] = (await once(socket, 'message')) as [Buffer]
  t.equal(String(heard), 'heard hello')
  await revoke(scene, shown)
  await eventually('the end of the caller', () => socket.readyState === WebSocket.CLOSED)
  await eventually('the end of the provider', () => provider.clients.size === 0)
  t.equal(scene.rows().length, 1)
})
