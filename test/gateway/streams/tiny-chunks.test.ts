/** Bodies in chunks of one byte take no more memory than they have bytes: a Buffer for each would take 400 times that. */
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { KEY, startGateway } from '../../support/gateway.ts'
import { RawClient } from '../../support/raw.ts'
import { rawJson, startRawUpstream } from '../../support/raw-upstream.ts'
import { chatReply } from '../../support/wire-chat.ts'

t.setTimeout(280_000)

const CHUNKS = 300_000
const PIECE = 10_000
/** Bytes that may be added while the body waits to become whole: each chunk has 100. */
const MOST = 30 * 1024 * 1024

const AUTH = `Host: g\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n`

async function stage(t: Test) {
  const upstream = await startRawUpstream(({ line }) =>
    line.includes('/chat/completions') ? rawJson(chatReply({ text: ['fine'] })) : undefined,
  )
  const gateway = await startGateway(`
auth: { keys: [ { name: app, key: "${KEY}", pass_through: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider-secret", pass_through: { price: "0" } }
models: { acme/one: { context: 100000000, endpoints: [ { provider: first, model: m, price: free } ] } }
`)
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  return { gateway, upstream }
}

/** Bytes of the heap and of buffers, after a collection of garbage. */
function used(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"pad":"\r\n'

/** The gateway's ends of connections that it has taken and made: they know how much has been read. */
const taken: Socket[] = []
const made: Socket[] = []
subscribe('net.server.socket', (message) => taken.push((message as { socket: Socket }).socket))
subscribe('net.client.socket', (message) => made.push((message as { socket: Socket }).socket))

t.test('a request that is read whole', async (t) => {
  const { gateway, upstream } = await stage(t)
  const client = await RawClient.open(gateway.url)
  const socket = await eventually('the gateway has the connection', () =>
    taken.find(({ localPort }) => `${localPort}` === new URL(gateway.url).port),
  )
  const head = `POST /v1/chat/completions HTTP/1.1\r\n${AUTH}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n`
  const blanks = '1\r\n \r\n'.repeat(PIECE)
  await client.sent(head)
  const before = used()
  for (let sent = 0; sent < CHUNKS; sent += PIECE) await client.sent(blanks)
  await eventually('all of it has been read', () => socket.bytesRead === head.length + (CHUNKS / PIECE) * blanks.length)
  const grown = used() - before
  t.ok(grown < MOST, `${grown} bytes for ${CHUNKS}`)
  const rest = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'x' }] })
  client.send(`${rest.length.toString(16)}\r\n${rest}\r\n0\r\n\r\n`)
  t.match(await client.closed(), /fine/)
  t.equal(upstream.requests.length, 1)
})

t.test('a reply of a provider that is read whole', async (t) => {
  const { gateway, upstream } = await stage(t)
  // With an extension, so that the parser hands on each chunk by itself.
  const blanks = '1;a\r\nx\r\n'.repeat(PIECE)
  const end = Promise.withResolvers<string>()
  upstream.answer = (_request, socket) => {
    socket.write(HEAD)
    for (let sent = 0; sent < CHUNKS; sent += PIECE) socket.write(blanks)
    end.promise.then((text) => socket.write(text))
    return undefined
  }
  const before = used()
  const reply = gateway.post('/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] })
  const socket = await eventually('the gateway has a connection', () =>
    made.find(({ remotePort }) => `${remotePort}` === new URL(upstream.url).port),
  )
  await eventually('all of it has been read', () => socket.bytesRead === HEAD.length + (CHUNKS / PIECE) * blanks.length)
  const grown = used() - before
  t.ok(grown < MOST, `${grown} bytes for ${CHUNKS}`)
  const text = `",${JSON.stringify(chatReply({ text: ['fine'] })).slice(1)}`
  end.resolve(`${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)
  t.match(await (await reply).text(), /fine/)
})
