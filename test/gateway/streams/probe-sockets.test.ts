/** Callers that leave at awkward moments: nothing may stay open behind them, and nothing may end the process. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { networkFault, StaleConnection } from '../../../src/machines/http1-client/network-fault.ts'
import { ConnectionFailure } from '../../../src/services/connections/connection-failure.ts'
import { FakeClock, turn } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, oneModel, startGateway } from '../../support/gateway.ts'
import { parseReply, RawClient, rawExchange } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { Gate, SSE_TYPE, startUpstream } from '../../support/upstream.ts'
import { says, upstreamError } from '../../support/wire.ts'
import { chatReply } from '../../support/wire-chat.ts'

const HOST = 'Host: headgate.example'
const AUTH = `Authorization: Bearer ${KEY}`
const CHAT = 'POST /v1/chat/completions HTTP/1.1'

const join = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`
const ask = (text: string, ...more: string[]): string => {
  const body = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: text }] })
  return join(CHAT, HOST, AUTH, 'Content-Type: application/json', `Content-Length: ${body.length}`, ...more) + body
}

const lines = (gateway: Gateway): Record<string, unknown>[] =>
  gateway.logs.flatMap((text) => text.split('\n').filter((line) => line !== '')).map((line) => JSON.parse(line) as Record<string, unknown>)

t.test('a caller that leaves behind pipelined requests leaves none of them open', async (t) => {
  const { gateway, upstream } = await startScene(t, { answer: () => ({ before: 'stall' }), clock: systemClock })
  const client = await RawClient.open(gateway.url)
  client.send(ask('one') + ask('two') + ask('three'))
  const seen = await Promise.all([0, 1, 2].map((index) => upstream.request(index)))
  client.reset()
  for (const one of seen) t.equal((await one.closed).aborted, true, 'the upstream call is closed')
  await eventually('three exchanges in the log', () => lines(gateway).filter((line) => line.msg === 'exchange').length === 3)
  t.equal(gateway.running.drain.open, 0, 'no reply counts as under way')
  const rows = [...gateway.running.store.journal.export()]
  t.same(
    rows.map((row) => row.settled?.status),
    ['aborted', 'aborted', 'aborted'],
    'one settled row each',
  )
})

t.test('fifty pipelined requests of all kinds are answered in order', async (t) => {
  const { gateway } = await startScene(t, {
    answer: (seen, index) => says({ text: [String((seen.json.messages as { content: string }[])[0].content)] })(seen, index),
  })
  const kinds = [
    (index: number) => ask(`marker-${index}.`),
    () => join('GET /v1/models HTTP/1.1', HOST, AUTH),
    () => join('GET /nowhere HTTP/1.1', HOST),
    (index: number) =>
      ask(`marker-${index}.`)
        .replace('{"model"', '{"stream":true,"model"')
        .replace(/Content-Length: (\d+)/, (_, n) => `Content-Length: ${Number(n) + 14}`),
    () => join('DELETE /v1/responses HTTP/1.1', HOST),
  ]
  const text = await rawExchange(
    gateway.url,
    Array.from({ length: 50 }, (_, index) => kinds[index % 5](index)).join('') + join('HEAD / HTTP/1.1', HOST, 'Connection: close'),
  )
  const wanted = Array.from({ length: 50 }, (_, index) => ['200', '200', '404', '200', '405'][index % 5])
  t.same(
    [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => match[1]),
    [...wanted, '200'],
  )
  t.same(
    [...text.matchAll(/marker-(\d+)\./g)].map((match) => Number(match[1])),
    Array.from({ length: 50 }, (_, index) => index).filter((index) => index % 5 === 0 || index % 5 === 3),
  )
})

t.test('an upgrade or a tunnel that is cut off does not end the process', async (t) => {
  const { gateway } = await startScene(t)
  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket']
  for (const path of ['/v1/passage/first/x', '/v1/models', '/v1/responses'])
    for (let tries = 0; tries < 20; tries++) {
      const client = await RawClient.open(gateway.url)
      client.send(join(`GET ${path} HTTP/1.1`, HOST, AUTH, ...upgrade)).reset()
      const tunnel = await RawClient.open(gateway.url)
      tunnel.send(join('CONNECT other.example:80 HTTP/1.1', HOST)).reset()
      await turn()
    }
  t.equal((await gateway.post('/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] })).status, 200)
})

t.test('an unread body never becomes the next request', async (t) => {
  const { gateway } = await startScene(t)
  const inner = join('GET /v1/models HTTP/1.1', HOST, AUTH)
  await every(t, 'every line', async (t) => {
    for (const line of ['POST /nowhere HTTP/1.1', 'PUT /v1/responses HTTP/1.1', 'POST /v1/models HTTP/1.1']) {
      const text = await rawExchange(gateway.url, join(line, HOST, AUTH, `Content-Length: ${inner.length}`, 'Expect: 100-continue') + inner)
      t.equal(text.match(/HTTP\/1\.1 \d{3} /g)?.length, 1, `${line}: one answer`)
      t.match(parseReply(text).status, /404|405/)
      t.equal(parseReply(text).headers.get('connection'), 'close', 'nobody can tell whether the body follows')
    }
  })
})

/** A provider of raw bytes. @returns its address, and a function that stops it. */
async function rawUpstream(answer: (socket: Socket, requestOnSocket: number) => void): Promise<{ url: string; close(): void }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let count = 0
    let text = ''
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n') + 4
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (end < 4 || text.length < end + length) return
      text = text.slice(end + length)
      answer(socket, count++)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

const REPLY = JSON.stringify(chatReply({ text: ['fine'] }))
const WHOLE = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(REPLY)}\r\n\r\n${REPLY}`
const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] }

t.test('a pooled connection that its provider has given up is replaced unseen', async (t) => {
  await every(t, 'every end', async (t) => {
    for (const end of ['destroy', 'resetAndDestroy'] as const) {
      const upstream = await rawUpstream((socket, request) => {
        if (request === 0) socket.write(WHOLE)
        else socket[end]()
      })
      const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
      for (let i = 0; i < 5; i++) t.equal((await gateway.post('/v1/chat/completions', QUESTION)).status, 200, end)
      const rows = [...gateway.running.store.journal.export()]
      t.same(
        rows.map((row) => row.settled?.cost),
        Array.from({ length: 5 }, () => 25_000),
        'each is paid once',
      )
      await gateway.close()
      upstream.close()
    }
  })
})

t.test('connections that the provider has closed while they were idle are replaced at once, by a new one', async (t) => {
  const held: Socket[] = []
  const upstream = await rawUpstream((socket, request) => {
    if (request > 0) socket.destroy()
    else if (held.push(socket) === 2) for (const first of held) first.write(WHOLE)
    else if (held.length > 2) socket.write(WHOLE)
  })
  const clock = new FakeClock()
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'), { clock })
  t.teardown(async () => {
    await gateway.close()
    upstream.close()
  })
  const post = async (): Promise<number> => (await gateway.post('/v1/chat/completions', QUESTION)).status
  t.same(await Promise.all([post(), post()]), [200, 200], 'two connections stand')
  t.equal(await post(), 200, 'no time passes, and the other idle connection is not tried')
  t.equal(held.length, 3)
})

t.test('reads odd heads of a reply', async (t) => {
  const cases: [name: string, bytes: string, status: number, message?: RegExp][] = [
    ['lesser statuses first', `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${WHOLE}`, 200],
    ['HTTP/1.0 without a length', `HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n${REPLY}`, 200],
    ['a head of 100 KB', WHOLE.replace('\r\n', `\r\nX-Big: ${'x'.repeat(100_000)}\r\n`), 502, /unreadable/],
    ['no HTTP at all', 'hello world\r\n\r\n', 502, /unreadable/],
    ['two lengths', WHOLE.replace('\r\n', '\r\nContent-Length: 5\r\n'), 502],
    ['a switch that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n', 502],
    ['more than was announced', `${WHOLE}MORE`, 200],
    ['405', 'HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n', 502],
    ['407', 'HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n', 502],
    ['418', 'HTTP/1.1 418 No\r\nContent-Length: 0\r\n\r\n', 502],
    ['999', 'HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n', 502],
  ]
  await every(t, 'every case', async (t) => {
    for (const [name, bytes, status, message = /./] of cases) {
      const upstream = await rawUpstream((socket) => void socket.end(Buffer.from(bytes)))
      for (const dialect of ['openai-chat', 'openai-responses']) {
        if (status === 200 && dialect !== 'openai-chat') continue
        const gateway = await startGateway(oneModel(upstream.url, dialect))
        const response = await gateway.post('/v1/chat/completions', QUESTION)
        t.equal(response.status, status, name)
        if (status !== 200) t.match(await response.json(), { error: { code: status, message } }, name)
        await gateway.close()
      }
      upstream.close()
    }
  })
})

t.test('a provider that took the whole connect time is not asked again', (t) => {
  const fault = networkFault(new ConnectionFailure('connect', 'TIMEOUT', { timedOut: true }), false)
  t.match(fault, { status: 524, retry: 'next' })
  t.match(networkFault(new ConnectionFailure('connect', 'ECONNREFUSED'), false), { status: 502, retry: 'same' })
  t.match(networkFault(new StaleConnection(new Error('no')), false), { status: 502, retry: 'at once' })
  t.match(
    networkFault(Object.assign(new Error('no'), { code: 'ECONNRESET' }), false),
    { status: 502, retry: 'next' },
    'on a new connection',
  )
  t.end()
})

t.test('a caller that leaves in the middle of its body', async (t) => {
  const { gateway, upstream } = await startScene(t)
  const exchanges = () => lines(gateway).filter((line) => line.msg === 'exchange')
  const whole = ask('hello')
  const leaving: ((client: RawClient) => void)[] = [
    (client) => client.send(whole.slice(0, -5)).reset(),
    (client) => void client.send(whole.slice(0, -5)).halfClose(),
    (client) => client.send(whole.slice(0, -5)).close(),
    (client) => client.send(ask('hello', 'Expect: 100-continue').slice(0, -90)).reset(),
  ]
  for (const leave of leaving) {
    const client = await RawClient.open(gateway.url)
    leave(client)
    await turn()
    client.close()
  }
  t.equal((await gateway.post('/v1/chat/completions', QUESTION)).status, 200)
  await eventually('no request is open', () => gateway.running.drain.open === 0)
  t.equal(upstream.requests.length, 1, 'nothing of it goes upstream')
  t.equal([...gateway.running.store.journal.export()].length, 1)
  t.notOk(exchanges().some((line) => line.fault === 'internal'))
})

t.test('a reader that stalls for a minute is cut off, and paid for', async (t) => {
  const clock = new FakeClock()
  const frame = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(64_000) } }] })}\n\n`
  const { gateway, upstream } = await startScene(t, {
    answer: () => ({ headers: SSE_TYPE, body: Array.from({ length: 2000 }, () => frame) }),
    clock,
  })
  const client = await RawClient.open(gateway.url)
  client.send(
    ask('hello')
      .replace('{"model"', '{"stream":true,"model"')
      .replace(/Content-Length: (\d+)/, (_, n) => `Content-Length: ${Number(n) + 14}`),
  )
  await client.until(/xxx/)
  client.pause()
  const seen = await upstream.request(0)
  await clock.armed(60_000)
  await clock.advance(59_000)
  t.equal(seen.closedAt, 0, 'it may be slow')
  await eventually('the caller is cut off', async () => {
    await clock.advance(1_000)
    return seen.closedAt > 0
  })
  t.equal((await seen.closed).aborted, true)
  await eventually('the settlement', () => [...gateway.running.store.journal.export()][0]?.settled !== undefined)
  t.match([...gateway.running.store.journal.export()], [{ settled: { status: 'aborted', estimated: true } }])
  client.close()
})

t.test('of many that fail at once only a few ask a third provider', async (t) => {
  const gate = new Gate()
  const first = await startUpstream(async () => {
    await gate.opened
    return upstreamError(500)
  })
  // The first fallback of a turn is free; a second one draws on the budget of the model.
  const second = await startUpstream(() => upstreamError(500))
  const third = await startUpstream(() => ({ before: 'stall' }))
  const gateway = await startGateway(`
providers:
  first: { dialect: openai-chat, base_url: "${first.url}/v1" }
  second: { dialect: openai-chat, base_url: "${second.url}/v1" }
  third: { dialect: openai-chat, base_url: "${third.url}/v1" }
models:
  acme/one:
    endpoints:
      - { provider: first, model: m, price: free }
      - { provider: second, model: m, price: free }
      - { provider: third, model: m, price: free }
`)
  const aborter = new AbortController()
  const statuses: (number | string)[] = []
  const asked = Array.from({ length: 30 }, () =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...QUESTION, provider: { order: ['first', 'second', 'third'] } }),
      signal: aborter.signal,
    }).then(
      (response) => statuses.push(response.status),
      () => statuses.push('aborted'),
    ),
  )
  await first.request(29)
  gate.open()
  await eventually('24 requests have ended', () => statuses.length >= 24)
  t.same([...new Set(statuses)], [502])
  t.ok(third.requests.length <= 6, `a fifth of thirty at most (${third.requests.length})`)
  aborter.abort()
  await Promise.all(asked)
  t.equal(statuses.length, 30)
  await gateway.close()
  await first.close()
  await second.close()
  await third.close()
})
