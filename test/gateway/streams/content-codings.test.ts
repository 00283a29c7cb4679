/** Codings of a provider's reply (RFC 9110 section 8.4.1), in the forms that providers send them. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { oneModel, startGateway } from '../../support/gateway.ts'
import { startRawUpstream } from '../../support/raw-upstream.ts'
import { chatReply } from '../../support/wire-chat.ts'

const BODY = Buffer.from(JSON.stringify(chatReply({ text: ['fine '.repeat(2_000)] })))
const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] }
const same = (bytes: Buffer): Buffer => bytes

const CODINGS: [header: string, encode: (bytes: Buffer) => Buffer][] = [
  ['Identity', same],
  ['', same],
  ['utf-8', same],
  ['UTF8', same],
  ['none', same],
  ['GZIP', gzipSync],
  ['X-GZip', gzipSync],
  ['Br', brotliCompressSync],
  ['ZSTD', zstdCompressSync],
  ['deflate', deflateSync],
  ['Deflate', deflateRawSync],
  ['identity, gzip', gzipSync],
]

t.test('every form is read, whole and in pieces', async (t) => {
  let sent: { header: string; bytes: Buffer; size: number } | undefined
  const upstream = await startRawUpstream((_request, socket) => {
    const { header, bytes, size } = sent ?? { header: '', bytes: BODY, size: 0 }
    socket.write(
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: ${header}\r\nContent-Length: ${bytes.length}\r\n\r\n`,
    )
    for (let at = 0; at < bytes.length; at += size) socket.write(bytes.subarray(at, at + size))
    return undefined
  })
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  for (const [header, encode] of CODINGS)
    for (const size of [1_000_000, 7]) {
      sent = { header, bytes: encode(BODY), size }
      const reply = await gateway.post('/v1/chat/completions', QUESTION)
      t.equal(reply.status, 200, `${header} in pieces of ${size}`)
      t.match(await reply.text(), /fine fine/)
    }
  sent = { header: 'snappy', bytes: BODY, size: 1_000_000 }
  const unknown = await gateway.post('/v1/chat/completions', QUESTION)
  t.equal(unknown.status, 502)
  t.match(await unknown.text(), /unreadable/)
})

t.test('a body that ends early behind Connection: close is cut, not unreadable', async (t) => {
  for (const length of ['Content-Length: 5000', 'Transfer-Encoding: chunked'] as const) {
    const upstream = await startRawUpstream((_request, socket) => {
      const start = length.startsWith('T') ? '800\r\n{"id":' : '{"id":'
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n${length}\r\n\r\n${start}`)
      return undefined
    })
    const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
    t.teardown(async () => {
      await gateway.close()
      await upstream.close()
    })
    const reply = await gateway.post('/v1/chat/completions', QUESTION)
    t.equal(reply.status, 502)
    t.match(await reply.text(), /closed the connection early/, length)
  }
})
