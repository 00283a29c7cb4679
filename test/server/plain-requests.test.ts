/** The short way for plain requests over real sockets: what it answers, what Node's server answers, and that no caller sees which. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { listen } from '../../src/server/listener.ts'
import type { PlainReply } from '../../src/server/plain/reply.ts'
import { PlainRequests, takePlainRequests } from '../../src/server/plain/requests.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { KEY } from '../support/gateway.ts'
import { parseReply, RawClient } from '../support/raw.ts'
import { startScene } from '../support/scene.ts'

const BODY = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Grüße' }] })
const LENGTH = Buffer.byteLength(BODY)
const latin1Text = (body: string): string => Buffer.from(body).toString('latin1')

/** A request in the plain form; further lines may take that from it. */
function chat(...more: string[]): string {
  const lines = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: a.example',
    `Authorization: Bearer ${KEY}`,
    `Content-Length: ${LENGTH}`,
    ...more,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${latin1Text(BODY)}`
}

function shortly(reply: PlainReply): void {
  reply.writeHead(200, { 'Content-Length': 5 })
  reply.end('plain', 'latin1')
}

/** A listener that says which way each request came, and answers with its path. */
async function ways(t: Test, respond = shortly): Promise<{ url: string; came: string[]; hold: () => () => void }> {
  const came: string[] = []
  let held: (() => void)[] | undefined
  const answer = (fn: () => void): void => {
    if (held) held.push(fn)
    else fn()
  }
  const options = { host: '127.0.0.1', port: 0, keepAlive: 5_000, headerTimeout: 5_000, deadline: 5_000, maxHeaders: 4_096 }
  const { server, plain, url } = await listen(options, {
    request: (request, response) => {
      came.push(`node ${request.url}`)
      request.resume().on('end', () => answer(() => response.end('node')))
    },
    plain: (request, reply) => {
      if (request.path === '/refused') return false
      came.push(`plain ${request.path}`)
      answer(() => respond(reply))
      return true
    },
    upgrade: (_request, socket) => void socket.destroy(),
    halfClosed: () => {},
    unread: () => {},
  })
  t.teardown(() => {
    plain.closeAll()
    server.closeAllConnections()
    server.close()
  })
  const hold = (): (() => void) => {
    held = []
    return () => {
      const fns = held ?? []
      held = undefined
      for (const fn of fns) fn()
    }
  }
  return { url, came, hold }
}

const post = (path: string, body = '{}', ...more: string[]): string =>
  `${[`POST ${path} HTTP/1.1`, 'Host: a', `Content-Length: ${body.length}`, ...more].join('\r\n')}\r\n\r\n${body}`

t.test('a connection is served past the HTTP server of Node until a request is not plain', async (t) => {
  const { url, came } = await ways(t)
  const client = await RawClient.open(url)
  client.send(post('/a'))
  await client.until(/plain$/)
  client.send(post('/b', ''))
  await client.until(/plain[\s\S]*plain$/)
  client.send('GET /c HTTP/1.1\r\nHost: a\r\n\r\n')
  await client.until(/node/)
  client.send(post('/d'))
  await client.until(/node[\s\S]*node/)
  t.same(came, ['plain /a', 'plain /b', 'node /c', 'node /d'])
  client.close()
})

t.test('a long reply waits for a caller that has no room, and goes on when it has', async (t) => {
  const piece = 'x'.repeat(1024 * 1024)
  let left = 16
  let waits = 0
  const { url } = await ways(t, (reply) => {
    const write = (): void => {
      while (left-- > 0) {
        if (reply.write(piece, 'latin1')) continue
        waits++
        reply.once('drain', write)
        return
      }
      reply.end('last', 'latin1')
    }
    reply.writeHead(200, { 'Content-Length': left * piece.length + 4 })
    write()
  })
  const client = await RawClient.open(url)
  t.teardown(() => client.close())
  client.pause().send(post('/long'))
  await eventually('the caller has no room', () => waits > 0)
  client.resume()
  t.ok(await eventually('the whole reply', () => client.text.endsWith('last')))
})

t.test('serves a request that arrives in pieces, in few or byte by byte', async (t) => {
  const { url, came } = await ways(t)
  const client = await RawClient.open(url)
  const text = post('/pieces', '{"a":1}')
  client.send(text.slice(0, 9))
  client.send(text.slice(9, 50))
  client.send(text.slice(50))
  await client.until(/plain|node/)
  const slow = await RawClient.open(url)
  for (const byte of post('/bytes')) {
    slow.send(byte)
    await new Promise(setImmediate)
  }
  await slow.until(/plain|node/)
  t.equal(came.filter((one) => one.endsWith(' /pieces')).length, 1)
  t.equal(came.filter((one) => one.endsWith(' /bytes')).length, 1)
  client.close()
  slow.close()
})

t.test('pieces that each come in time do not put off the limit of a head', async (t) => {
  const clock = new FakeClock()
  const came: string[] = []
  const server = createServer((request, response) => {
    came.push('node')
    request.resume().on('end', () => response.end())
  })
  const plain = new PlainRequests({
    keepAlive: 5_000,
    maxHeaders: 4_096,
    clock,
    answer: (_request, reply) => {
      came.push('plain')
      shortly(reply)
      return true
    },
    refuse: (socket) => void socket.destroy(),
    unread: () => {},
  })
  takePlainRequests(server, plain)
  server.on('connection', (socket) => socket.on('data', () => server.emit('piece')))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()))
  t.teardown(() => {
    plain.closeAll()
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const text = post('/pieces')
  for (const [wait, way] of [
    [499, 'plain'],
    [1_000, 'node'],
  ] as const) {
    const client = await RawClient.open(url)
    for (const piece of [text.slice(0, 9), text.slice(9, 50)]) {
      client.send(piece)
      await once(server, 'piece')
      await clock.advance(wait)
    }
    client.send(text.slice(50))
    await client.until(/200/)
    t.equal(came.at(-1), way, `${wait} ms between its pieces`)
    client.close()
  }
})

t.test('leaves requests that are too long or refused to the HTTP server of Node', async (t) => {
  const { url, came } = await ways(t)
  for (const text of [post('/long', 'x'.repeat(70_000)), post('/header', '{}', `X-A: ${'x'.repeat(5_000)}`), post('/refused')]) {
    const client = await RawClient.open(url)
    client.send(text)
    await client.until(/node|431/)
    client.close()
  }
  t.same(came, ['node /long', 'node /refused'])
})

t.test('requests behind one another are answered in order, also where the caller has closed its side', async (t) => {
  const { url, came, hold } = await ways(t)
  const together = await RawClient.open(url)
  together.send(post('/one') + post('/two')).halfClose()
  t.equal((await together.closed()).match(/HTTP\/1\.1 200/g)?.length, 2)
  const apart = await RawClient.open(url)
  const release = hold()
  apart.send(post('/three'))
  await eventually('the first one is being answered', () => came.includes('plain /three'))
  apart.send('GET /four HTTP/1.1\r\nHost: a\r\n\r\n').halfClose()
  release()
  t.match(await apart.closed(), /plain[\s\S]*node/)
  t.same(came, ['node /one', 'node /two', 'plain /three', 'node /four'])
})

t.test('half a request and the end of the connection is an error', async (t) => {
  const { url } = await ways(t)
  const client = await RawClient.open(url)
  client.send('POST /v1/chat').halfClose()
  t.equal(parseReply(await client.closed()).status, 400)
})

/** The lines of a head without what differs from one reply to the next, in order. */
function headLines(text: string): string[] {
  const head = text.slice(0, text.indexOf('\r\n\r\n'))
  return head.split('\r\n').map((line) => line.replace(/^(Date|X-Generation-Id|X-Request-Id|openai-processing-ms): .*/i, '$1'))
}

t.test('the reply is the same, byte for byte, whichever way the request came', async (t) => {
  const { gateway } = await startScene(t)
  const replies: string[][] = []
  for (const more of [[], ['TE: trailers']]) {
    for (const key of [KEY, 'sk-unknown']) {
      const client = await RawClient.open(gateway.url)
      client.send(chat(...more).replace(KEY, key))
      replies.push(headLines(await client.until(/\r\n\r\n\{[\s\S]*\}\n?$/)))
      client.close()
    }
  }
  t.same(replies[0], replies[2])
  t.same(replies[1], replies[3])
  t.match(replies[0]?.[0], /200/)
  t.match(replies[1]?.[0], /401/)
})

t.test('an idle connection ends after the time that its replies name', async (t) => {
  const { gateway } = await startScene(t, { yaml: 'server: { host: 127.0.0.1, port: 0, keep_alive: 1s }' })
  const client = await RawClient.open(gateway.url)
  client.send(chat())
  t.match(await client.until(/\}$/), /Keep-Alive: timeout=1\r\n/)
  await client.closed()
  t.pass('the gateway has closed it')
})
