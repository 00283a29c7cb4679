/** Callers over TLS that leave, or do not take their reply: seen as on plain connections. */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { startTlsScene, type TlsScene } from '../../support/tls-scene.ts'
import { Gate, jsonAnswer, sseAnswer } from '../../support/upstream.ts'
import { framesFor, WIRES } from '../../support/wire.ts'

async function open(t: Test, { gateway, files }: Pick<TlsScene, 'gateway' | 'files'>): Promise<TLSSocket> {
  const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1', ca: files.ca.cert })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

function chat(key: string, more: object): string {
  const body = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'hello' }], ...more })
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

t.test('a caller that leaves a stream ends the call of the provider', async (t) => {
  const gate = new Gate()
  const [first, ...rest] = framesFor('/v1/chat/completions', { text: ['Hello', ' there'] })
  const scene = await startTlsScene(t, { answer: () => sseAnswer([first, ...rest.slice(0, 1), gate.step, ...rest.slice(1)]) })
  t.teardown(() => gate.open())
  const socket = await open(t, scene)
  socket.write(chat(scene.gateway.key, { stream: true }))
  await once(socket, 'data')
  socket.destroy()
  await eventually('the generation is settled as aborted', async () => {
    await scene.clock.advance(1_000)
    return scene.rows()[0]?.settled?.status === 'aborted'
  })
  t.equal(scene.rows().length, 1)
})

t.test('a caller that takes nothing of a long reply is cut off', async (t) => {
  const text = 'x'.repeat(12_000_000)
  const scene = await startTlsScene(t, { answer: () => jsonAnswer(WIRES['openai-chat'].reply({ text: [text] })) })
  const socket = await open(t, scene)
  socket.pause()
  socket.write(chat(scene.gateway.key, {}))
  await eventually('the reply waits', () => scene.rows()[0]?.settled !== undefined)
  t.equal(scene.gateway.running.drain.open, 1, 'it is under way')
  await eventually('it is cut off', async () => {
    await scene.clock.advance(10_000)
    return scene.gateway.running.drain.open === 0
  })
  t.ok(scene.clock.monotonic() >= 60_000, `${scene.clock.monotonic()} ms`)
})
