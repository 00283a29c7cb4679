/**
 * Bodies that nobody wants go by without JavaScript (`lingering-close.ts`), by a callback of Node's parser that is no part of its interface:
 * where a newer Node has it elsewhere or under another name, they are read all the same, and overload costs more. This test says so.
 */
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import t from 'tap'
import { giveUpBody } from '../../src/server/lingering-close.ts'
import { FakeClock } from '../support/clock.ts'
import { RawClient } from '../support/raw.ts'

type Parsed = Socket & { readonly parser: { readonly [at: number]: unknown } }

t.test('Node has the callback for bodies where it is taken from', async (t) => {
  const callbacks: unknown[] = []
  const server = createServer((request, response) => {
    const { parser } = request.socket as Parsed
    callbacks.push(parser[3])
    giveUpBody(request, response, 413, new FakeClock())
    callbacks.push(parser[3])
    response.writeHead(413).end()
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()))
  t.teardown(() => server.close())
  const client = await RawClient.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n')
  await client.until(/413/)
  client.send('x'.repeat(99))
  client.close()
  const [before, after] = callbacks
  t.equal(typeof before === 'function' && before.name, 'parserOnBody')
  t.equal(after, null, 'and it is taken')
})
