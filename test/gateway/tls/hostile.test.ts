/** Handshakes that mean no good: slow, broken, abandoned, and very many. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { RawClient } from '../../support/raw.ts'
import { startTlsScene } from '../../support/tls-scene.ts'

async function failures(admin: string, reason: string): Promise<number> {
  const text = await (await fetch(`${admin}/metrics`)).text()
  return Number(new RegExp(`tls_handshake_failures_total\\{listener="server",reason="${reason}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
}

function halfOpen(t: Test, port: number, begin?: Buffer): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  if (begin) socket.write(begin)
  t.teardown(() => socket.destroy())
  return socket
}

/** First bytes of a ClientHello whose rest never comes. */
const BEGUN = Buffer.from('16030100f8010000f40303', 'hex')

t.test('a handshake that stands still is ended', async (t) => {
  const { gateway } = await startTlsScene(t, { server: 'header_timeout: 300ms' })
  const port = Number(new URL(gateway.url).port)
  const sockets = [halfOpen(t, port), halfOpen(t, port, BEGUN)]
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.resume().once('close', resolve))))
  t.equal(await failures(gateway.admin, 'timeout'), 2)
})

t.test('bytes that are no TLS are refused, and nothing else stops', async (t) => {
  const { gateway, chat, client } = await startTlsScene(t)
  const texts = ['\0\0\0\0', 'SSH-2.0-OpenSSH\r\n', `\x16\x03\x01\xff\xff${'x'.repeat(70_000)}`, '\x16\x03\x03\0\x05\x02\0\0\x01\0']
  await every(t, 'each connection is ended', async (t) => {
    for (const text of texts) {
      const raw = await RawClient.open(gateway.url)
      raw.send(text)
      await raw.closed()
      t.ok(raw.ended)
    }
  })
  t.equal((await chat(client())).status, 200)
})

t.test('5,000 half-open handshakes do not keep callers out', async (t) => {
  const { gateway, chat, client } = await startTlsScene(t)
  const port = Number(new URL(gateway.url).port)
  const sockets: Socket[] = []
  for (let count = 0; count < 5_000; count++) {
    sockets.push(halfOpen(t, port, count % 2 === 0 ? BEGUN : undefined))
    if (count % 500 === 499) await new Promise((resolve) => setImmediate(resolve))
  }
  await eventually('most of them are ended', async () => (await failures(gateway.admin, 'too_many')) >= 3_900)
  t.equal((await chat(client())).status, 200)
  const left = sockets.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded).length
  t.ok(left <= 1_100, `${left} are left`)
})

t.test('a close ends handshakes that are under way', async (t) => {
  const { gateway } = await startTlsScene(t)
  const socket = halfOpen(t, Number(new URL(gateway.url).port), BEGUN)
  await once(socket, 'connect')
  await new Promise((resolve) => setImmediate(resolve))
  const ended = new Promise((resolve) => socket.resume().once('close', resolve))
  await gateway.close()
  await ended
  t.ok(socket.destroyed)
})

t.test('renegotiation is refused', async (t) => {
  const { gateway, files } = await startTlsScene(t)
  const socket = connectSecurely({ port: Number(new URL(gateway.url).port), host: '127.0.0.1', ca: files.ca.cert, maxVersion: 'TLSv1.2' })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  const failed = await new Promise<unknown>((resolve) => {
    socket.once('error', resolve)
    socket.renegotiate({}, (error) => {
      if (error) resolve(error)
    })
  })
  t.ok(failed)
})
