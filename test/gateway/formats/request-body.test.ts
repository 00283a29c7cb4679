/** Request bodies on their way in: callers that leave, stall, crawl, or write a body that is refused; and the memory that bodies take. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { BODY_WEIGHT } from '../../../src/server/body-memory.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { type Gateway, KEY } from '../../support/gateway.ts'
import { parseReply, RawClient } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { Gate } from '../../support/upstream.ts'
import { chatReply } from '../../support/wire-chat.ts'
import { fetchMetrics } from '../../support/workers.ts'

const SILENCE = 30_000

function receiving(t: Test, { server = '', key = '', clock = new FakeClock() } = {}) {
  return startScene(t, {
    answer: () => ({
      headers: { 'content-type': 'application/json' },
      body: [JSON.stringify(chatReply({ text: ['Hello'] }))],
    }),
    yaml: `server: { host: 127.0.0.1, port: 0${server} }
auth: { keys: [ { name: test, key: "${KEY}"${key} } ] }
`,
    clock,
  })
}

/** A request of so many bytes; most of them are blanks, since the model's context is shorter. */
const chat = (bytes: number): string => JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }).padEnd(bytes)

function head(bytes: number, ...more: string[]): string {
  const lines = ['POST /v1/chat/completions HTTP/1.1', 'Host: headgate.example', `Authorization: Bearer ${KEY}`, `Content-Length: ${bytes}`]
  return `${[...lines, ...more].join('\r\n')}\r\n\r\n`
}

interface Line {
  status?: number
  msg?: string
}

const exchanges = ({ logs }: Gateway): Line[] =>
  logs
    .flatMap((text) => text.split('\n').filter((line) => line !== ''))
    .flatMap((line) => {
      const parsed = JSON.parse(line) as Line
      return parsed.msg === 'exchange' ? [parsed] : []
    })

/** Waits until so many bytes of the only body have come. */
async function arrived({ running }: Gateway, bytes: number): Promise<void> {
  await eventually('the bytes of the body', () => running.runtime.bodies.used === bytes * BODY_WEIGHT)
}

/** Resolves when the gateway has seen the next connection close. */
function nextClose({ running }: Gateway): Promise<void> {
  const { gateway } = running.runtime
  const { promise, resolve } = Promise.withResolvers<void>()
  const request = gateway.request.bind(gateway)
  gateway.request = (incoming, ...rest) => {
    incoming.socket.once('close', () => setImmediate(resolve))
    request(incoming, ...rest)
  }
  return promise
}

/** Holds every request at the point where the counters that processes share would be asked. */
function holdAdmission({ running }: Gateway): { gate: Gate; reached: Promise<void> } {
  const { admission } = running.runtime.dependencies
  const gate = new Gate()
  const { promise, resolve } = Promise.withResolvers<void>()
  admission.request = () => {
    resolve()
    return gate.opened
  }
  return { gate, reached: promise }
}

t.test('a caller that resets while its key is looked at leaves nothing behind', async (t) => {
  const { gateway } = await receiving(t, { key: ', limits: { bytes: 1000B }' })
  const { admission } = gateway.running.runtime.dependencies
  const original = admission.request.bind(admission)
  const { gate, reached } = holdAdmission(gateway)
  const closed = nextClose(gateway)
  const client = await RawClient.open(gateway.url)
  client.send(head(900))
  await reached
  client.reset()
  await closed
  gate.open()
  await eventually('the exchange in the log', () => exchanges(gateway).length > 0)
  t.equal(exchanges(gateway).at(-1)?.status, 499, 'one line tells that the caller left')
  admission.request = original
  t.equal((await gateway.post('/v1/chat/completions', chat(700))).status, 200, 'its bytes are given back')
})

t.test('the deadline ends a body that does not come', async (t) => {
  const { gateway, clock } = await receiving(t, { key: ', limits: { bytes: 1000B }' })
  const client = await RawClient.open(gateway.url)
  client.send(head(900, 'X-Router-Deadline: 5'))
  await clock.armed(SILENCE)
  await clock.advance(5_000)
  t.equal(parseReply(await client.closed()).status, 408)
  t.equal((await gateway.post('/v1/chat/completions', chat(700))).status, 200, 'its bytes are given back')
})

t.test('a body that stops arriving is 408 after 30 seconds of silence', async (t) => {
  const { gateway, clock } = await receiving(t)
  const client = await RawClient.open(gateway.url)
  client.send(head(900))
  await clock.armed(SILENCE)
  await clock.advance(SILENCE - 1)
  t.equal(client.text, '', 'not before')
  await clock.advance(1)
  const reply = parseReply(await client.closed())
  t.equal(reply.status, 408)
  t.match(reply.body, 'nothing of the body came for 30 seconds')
})

t.test('an upload that stops arriving is 408 after 30 seconds of silence', async (t) => {
  const { gateway, clock } = await receiving(t)
  const client = await RawClient.open(gateway.url)
  const lines = ['POST /v1/files HTTP/1.1', 'Host: headgate.example', `Authorization: Bearer ${KEY}`, 'Content-Length: 9000']
  client.send(`${lines.join('\r\n')}\r\nContent-Type: multipart/form-data; boundary=cut\r\n\r\n`)
  await clock.armed(SILENCE)
  await clock.advance(SILENCE)
  t.equal(parseReply(await client.closed()).status, 408)
})

for (const [average, bytes, status] of [
  ['16 KB', 60 * 16 * 1024, 200],
  ['less than 16 KB', 60 * 16 * 1024 - 1, 408],
] as const) {
  t.test(`a body that has averaged ${average} per second after 60 seconds gets ${status}`, async (t) => {
    const { gateway, clock } = await receiving(t)
    const body = Buffer.from(chat(2_000_000))
    const client = await RawClient.open(gateway.url)
    client.send(head(body.length)).send(body.subarray(0, bytes - 2))
    await arrived(gateway, bytes - 2)
    // A byte every 20 seconds: silence is not the reason.
    for (const sent of [bytes - 2, bytes - 1]) {
      await clock.advance(20_000)
      client.send(body.subarray(sent, sent + 1))
      await arrived(gateway, sent + 1)
    }
    await clock.advance(20_000 - 1)
    t.equal(client.text, '', 'not before')
    await clock.advance(1)
    client.send(body.subarray(bytes))
    const reply = parseReply(await client.until(/HTTP\/1.1 \d+[\s\S]*\}/))
    t.equal(reply.status, status)
    if (status === 408) t.match(reply.body, 'less than 16 KB per second')
    client.close()
  })
}

for (const [status, key, expect, server] of [
  [413, KEY, 'too large', ', max_body: 1MB'],
  [401, 'sk-router-v1-unknown', 'Invalid API key', ''],
] as const) {
  t.test(`a ${status} reaches all of 30 callers that write first`, async (t) => {
    const { gateway } = await receiving(t, { server })
    const body = Buffer.alloc(8 * 1024 * 1024, 'a')
    const request = Buffer.concat([Buffer.from(head(body.length).replace(KEY, key)), body])
    const replies = await Promise.all(Array.from({ length: 30 }, () => writeFirst(gateway.url, request)))
    const others = replies.filter((reply) => reply.status !== status || !reply.body.includes(expect))
    t.same(
      others.map((reply) => `${reply.status} ${reply.body}`),
      [],
    )
    t.same([...new Set(replies.map(({ headers }) => headers.get('connection')))], ['close'])
  })
}

t.test('a refused request of which little is left keeps its connection', async (t) => {
  const { gateway } = await receiving(t)
  const client = await RawClient.open(gateway.url)
  const text = chat(0)
  client.send(head(500_000).replace(KEY, 'sk-router-v1-unknown'))
  await client.until(/HTTP\/1.1 401/)
  client.send(Buffer.alloc(500_000, 'a')).send(head(text.length) + text)
  t.match(await client.until(/HTTP\/1.1 200/), 'HTTP/1.1 200', 'the next request on it is answered')
  client.close()
})

t.test('bodies arrive on connections that come after callers who left in the middle of a refused one', async (t) => {
  const { gateway } = await receiving(t)
  const text = chat(2_000)
  const refused = head(500_000).replace(KEY, 'sk-router-v1-unknown')
  for (let round = 0; round < 5; round++) {
    const leaving = await Promise.all(Array.from({ length: 20 }, () => RawClient.open(gateway.url)))
    for (const client of leaving) client.send(refused).send(Buffer.alloc(100_000, 'a'))
    await Promise.all(leaving.map((client) => client.until(/HTTP\/1.1 4\d\d/)))
    // Half of them leave, half of them ask for an upgrade behind the body.
    for (const [i, client] of leaving.entries()) {
      if (i % 2 === 0) client.reset()
      else client.send(Buffer.alloc(400_000, 'a')).send('GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    }
    const asking = await Promise.all(Array.from({ length: 20 }, () => RawClient.open(gateway.url)))
    for (const client of asking) client.send(head(text.length)).send(text)
    const replies = await Promise.all(asking.map((client) => client.until(/HTTP\/1.1 \d+/)))
    t.equal(replies.filter((reply) => reply.startsWith('HTTP/1.1 200')).length, 20, `round ${round}`)
    for (const client of [...leaving, ...asking]) client.close()
  }
})

t.test('no request is answered on a connection that is being closed', async (t) => {
  const { gateway, upstream } = await receiving(t, { server: ', max_body: 1MB' })
  const text = chat(0)
  const client = await RawClient.open(gateway.url)
  client.send(Buffer.concat([Buffer.from(head(2_000_000)), Buffer.alloc(2_000_000, 'a'), Buffer.from(head(text.length) + text)]))
  const replies = await client.closed()
  t.equal(replies.split('HTTP/1.1 ').length - 1, 1)
  t.equal(upstream.requests.length, 0)
})

t.test('a body for which there is no memory waits, and its request is 503 after two seconds', async (t) => {
  const { gateway, upstream, clock } = await receiving(t, { server: ', body_memory: 3MB, max_body: 1MB' })
  const gate = new Gate()
  upstream.script = () => ({
    headers: { 'content-type': 'application/json' },
    body: [gate.step, JSON.stringify(chatReply({ text: ['Hello'] }))],
  })
  const ask = () => gateway.post('/v1/chat/completions', chat(700_000))
  const first = ask()
  await upstream.request(0)
  const second = ask()
  await clock.armed(2_000)
  await clock.advance(1_999)
  await clock.advance(1)
  const refused = await second
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '2')
  t.match(await refused.json(), { error: { message: /as many request bodies as its memory allows/ } })
  const third = ask()
  await clock.armed(2_000)
  gate.open()
  t.equal((await first).status, 200)
  t.equal((await third).status, 200, 'one that waits goes on when another has ended')
  t.equal(gateway.running.runtime.bodies.used, 0, 'all is given back')
  const metric = await fetchMetrics(gateway.admin)
  t.equal(metric('headgate_shed_total '), 1)
})

t.test('bodies that have half arrived do not block each other', async (t) => {
  const { gateway } = await receiving(t, { server: ', body_memory: 4MB, max_body: 1MB' })
  const body = Buffer.from(chat(900_000))
  const clients = await Promise.all(Array.from({ length: 4 }, () => RawClient.open(gateway.url)))
  for (const client of clients) client.send(head(body.length)).send(body.subarray(0, 400_000))
  for (const client of clients) client.send(body.subarray(400_000))
  const replies = await Promise.all(clients.map((client) => client.until(/HTTP\/1.1 \d+/)))
  t.same(
    replies.map((text) => parseReply(text).status),
    [200, 200, 200, 200],
  )
  for (const client of clients) client.close()
})

t.test('bodies of one key that half arrive leave memory for other keys', async (t) => {
  const other = 'sk-router-v1-fedcba9876543210fedcba9876543210'
  const { gateway, upstream, clock } = await receiving(t, {
    server: ', body_memory: 12MB, max_body: 1MB',
    key: ` }, { name: other, key: "${other}"`,
  })
  const waiting = (): number => clock.waiting.filter((delay) => delay === 2_000).length
  const body = Buffer.from(chat(900_000))
  const clients: RawClient[] = []
  const { bodies } = gateway.running.runtime
  while (waiting() === 0) {
    const client = await RawClient.open(gateway.url)
    clients.push(client.send(head(body.length)).send(body.subarray(0, 890_000)))
    await eventually('a body waits or all are there', () => waiting() > 0 || bodies.used === clients.length * 890_000 * BODY_WEIGHT)
  }
  const asked = gateway.post('/v1/chat/completions', chat(600_000), { authorization: `Bearer ${other}` })
  await eventually('a call of the provider or a second waiting body', () => upstream.requests.length === 1 || waiting() > 1)
  t.equal(upstream.requests.length, 1)
  t.equal((await asked).status, 200)
  for (const client of clients) client.close()
  await eventually('no body is held', () => bodies.used === 0)
})

t.test('a conversation of many messages and a pass-through leave the reserve to bodies that arrive', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    answer: () => ({ body: [] }),
    yaml: `server: { host: 127.0.0.1, port: 0, body_memory: 4MB, max_body: 1MB }
auth: { keys: [ { name: test, key: "${KEY}", pass_through: true } ] }
`,
    provider: 'pass_through: { price: "0.01" }',
  })
  const gate = new Gate()
  upstream.script = () => ({
    headers: { 'content-type': 'application/json' },
    body: [gate.step, JSON.stringify(chatReply({ text: ['Hello'] }))],
  })
  const messages = Array.from({ length: 1_100 }, () => ({ role: 'user', content: 'Hi' }))
  const asked = [chat(0), JSON.stringify({ model: 'acme/one', messages })].map((body) => gateway.post('/v1/chat/completions', body))
  asked.push(gateway.post('/v1/passage/first/embeddings', '{}'))
  await upstream.request(asked.length - 1)
  const last = gateway.post('/v1/chat/completions', chat(300_000))
  await upstream.request(asked.length)
  gate.open()
  const statuses = (await Promise.all([...asked, last])).map(({ status }) => status)
  t.same(statuses, [200, 200, 200, 200])
})

t.test('a body of unknown length counts towards its key while it arrives', async (t) => {
  const { gateway } = await receiving(t, { key: ', limits: { bytes: 100KB }' })
  const chunked = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: headgate.example',
    `Authorization: Bearer ${KEY}`,
    'Transfer-Encoding: chunked',
  ]
  const first = await RawClient.open(gateway.url)
  first.send(`${chunked.join('\r\n')}\r\n\r\n15f90\r\n${' '.repeat(90_000)}\r\n`)
  await arrived(gateway, 90_000)
  t.equal((await gateway.post('/v1/chat/completions', chat(20_000))).status, 429, 'another beside it')
  const alone = await RawClient.open(gateway.url)
  first.close()
  await eventually('no body is held', () => gateway.running.runtime.bodies.used === 0)
  alone.send(`${chunked.join('\r\n')}\r\n\r\n1d4c0\r\n${' '.repeat(120_000)}\r\n`)
  t.match(await alone.until(/needs more/), /^HTTP\/1.1 429 /, 'one that is too long by itself')
  alone.close()
  t.equal((await gateway.post('/v1/chat/completions', chat(90_000))).status, 200, 'all is given back')
})

t.test('a body of many small objects weighs more than its bytes, and too many are a 400', async (t) => {
  const { gateway } = await receiving(t)
  const many = `{"model":"acme/one","messages":[${'{},'.repeat(250_000)}{}]}`
  const reply = await gateway.post('/v1/chat/completions', many)
  t.equal(reply.status, 400)
  t.match(await reply.json(), { error: { message: 'body: expected at most 250000 objects and arrays' } })
})

/** Sends all of a request before it reads a byte. */
async function writeFirst(url: string, request: Buffer): Promise<ReturnType<typeof parseReply>> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.pause()
  let failure: Error | undefined
  socket.on('error', (error) => {
    failure = error
  })
  await once(socket, 'connect')
  await new Promise<void>((resolve) => socket.write(request, () => resolve()))
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume()
  if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve))
  return chunks.length > 0 ? parseReply(Buffer.concat(chunks).toString('latin1')) : { status: 0, headers: new Map(), body: String(failure) }
}
