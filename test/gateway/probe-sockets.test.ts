/** Callers that leave at awkward moments: nothing may stay open behind them, and nothing may end the process. */
import t from 'tap'
import { turn } from '../support/clock.ts'
import { type Gateway, KEY, oneModel, startGateway } from '../support/gateway.ts'
import { parseReply, RawClient, rawExchange } from '../support/raw.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'

const HOST = 'Host: headgate.example'
const AUTH = `Authorization: Bearer ${KEY}`
const CHAT = 'POST /v1/chat/completions HTTP/1.1'

const join = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`
const ask = (text: string, ...more: string[]): string => {
  const body = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: text }] })
  return join(CHAT, HOST, AUTH, 'Content-Type: application/json', `Content-Length: ${body.length}`, ...more) + body
}

/** Turns of the event loop until something holds; fails loudly where it never does. */
async function settled(holds: () => boolean): Promise<void> {
  for (let turns = 0; turns < 20_000; turns++) {
    if (holds()) return
    await turn()
  }
  throw new Error('what was waited for did not come')
}

const lines = (gateway: Gateway): Record<string, unknown>[] =>
  gateway.logs.flatMap((text) => text.split('\n').filter((line) => line !== '')).map((line) => JSON.parse(line) as Record<string, unknown>)

t.test('P14 A02: a caller that leaves behind pipelined requests leaves none of them open', async (t) => {
  const upstream = await startUpstream(() => ({ before: 'stall' }))
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const client = await RawClient.open(gateway.url)
  client.send(ask('one') + ask('two') + ask('three'))
  const seen = await Promise.all([0, 1, 2].map((index) => upstream.request(index)))
  client.reset()
  for (const one of seen) t.equal((await one.closed).aborted, true, 'the upstream call is closed')
  await settled(() => lines(gateway).filter((line) => line.msg === 'exchange').length === 3)
  t.equal(gateway.running.drain.open, 0, 'no reply counts as under way')
  const rows = [...gateway.running.store.journal.export()]
  t.same(
    rows.map((row) => row.settled?.status),
    ['aborted', 'aborted', 'aborted'],
    'one settled row each',
  )
})

t.test('P14: fifty pipelined requests of all kinds are answered in order', async (t) => {
  const upstream = await startUpstream((seen, index) =>
    says({ text: [String((seen.json.messages as { content: string }[])[0].content)] })(seen, index),
  )
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
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

t.test('D12: an upgrade or a tunnel that is cut off does not end the process', async (t) => {
  const upstream = await startUpstream(says({ text: ['fine'] }))
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
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
  const upstream = await startUpstream(says({ text: ['fine'] }))
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const inner = join('GET /v1/models HTTP/1.1', HOST, AUTH)
  for (const line of ['POST /nowhere HTTP/1.1', 'PUT /v1/responses HTTP/1.1', 'POST /v1/models HTTP/1.1']) {
    const text = await rawExchange(gateway.url, join(line, HOST, AUTH, `Content-Length: ${inner.length}`, 'Expect: 100-continue') + inner)
    t.equal(text.match(/HTTP\/1\.1 \d{3} /g)?.length, 1, `${line}: one answer`)
    t.match(parseReply(text).status, /404|405/)
    t.equal(parseReply(text).headers.get('connection'), 'close', 'nobody can tell whether the body follows')
  }
})
