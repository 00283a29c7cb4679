/** Overload: keys take turns, requests that would come too late are refused before their bodies are read, and one long turn refuses nothing. */
import t from 'tap'
import { FakeClock } from '../../support/clock.ts'
import { BODY, crowd, FULL, HURRIED, LONG, long, OTHER, overloaded, RARELY, waiting } from '../../support/crowded.ts'
import { eventually } from '../../support/eventually.ts'
import { KEY } from '../../support/gateway.ts'
import { parseReply, RawClient } from '../../support/raw.ts'
import { fetchMetrics } from '../../support/workers.ts'

t.test('long bodies are worked on one turn after the other, and short ones do not wait for them', async (t) => {
  const stage = await overloaded(t)
  const { gateway, loop, upstream } = stage
  const asked = await crowd(stage, 4)
  t.equal((await gateway.post('/v1/chat/completions', BODY)).status, 200)
  t.equal(await Promise.race(asked), 200, 'the first')
  t.equal(upstream.requests.length, 2)
  loop.turn(1, 0)
  await eventually('two are served', () => upstream.requests.length === 3 || undefined)
  t.equal(await waiting(gateway), 2)
  loop.turn(1, 0)
  loop.turn(1, 0)
  t.same(await Promise.all(asked), [200, 200, 200, 200])
})

t.test('a deadline ends the wait, and the place goes to the next', async (t) => {
  const clock = new FakeClock()
  const stage = await overloaded(t, { clock })
  const { gateway, loop, upstream } = stage
  const asked = await crowd(stage, 2)
  const hurried = gateway.post('/v1/chat/completions', long(BODY), { 'X-Router-Deadline': '1s' })
  await eventually('it has come', async () => (await waiting(gateway)) === 2 || undefined)
  await clock.advance(1_000)
  t.equal((await hurried).status, 408)
  t.equal(await waiting(gateway), 1)
  loop.turn(1, 0)
  t.same(await Promise.all(asked), [200, 200])
  t.equal(upstream.requests.length, 2)
})

t.test('a long body that would wait for too long is 503 before it comes', async (t) => {
  const stage = await overloaded(t, { server: HURRIED })
  const { gateway, loop, upstream } = stage
  const asked = await crowd(stage, FULL + 1)
  const client = await RawClient.open(gateway.url)
  const text = JSON.stringify(BODY)
  const head = (bytes: number): string =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: ${bytes}\r\n\r\n`
  client.send(head(LONG))
  const refused = parseReply(await client.until(/HTTP\/1.1 503[\s\S]*\}$/))
  t.equal(refused.headers.get('retry-after'), '1')
  t.match(refused.body, 'the gateway is overloaded')
  t.equal((await fetchMetrics(gateway.admin))('headgate_shed_total '), 1)
  t.equal(gateway.logs.filter((line) => line.includes('refused under overload')).length, 1)
  t.notOk(
    gateway.logs.some((line) => line.includes('"status":503')),
    'without a line of its own',
  )
  client.send(Buffer.alloc(LONG, 'a')).send(head(text.length) + text)
  t.match(await client.until(/HTTP\/1.1 200[\s\S]*\}$/), 'Hello', 'the next request on the same connection is served')
  client.close()
  for (let i = 0; i < FULL; i++) loop.turn(1, 0)
  t.same(new Set(await Promise.all(asked)), new Set([200]), 'those that had come before are all served')
  t.equal(upstream.requests.length, FULL + 2)
})

t.test('never refuses requests of callers in a closed loop', async (t) => {
  const stage = await overloaded(t)
  const { loop } = stage
  for (let round = 0; round < 3; round++) {
    const asked = await crowd(stage, 32)
    for (let i = 0; i < 32; i++) loop.turn(20, 0)
    t.same(new Set(await Promise.all(asked)), new Set([200]))
  }
})

t.test('keys take turns by bytes, and where there is no room the newest of the key that has most goes', async (t) => {
  const stage = await overloaded(t, { server: HURRIED })
  const { gateway, loop, upstream } = stage
  const marked = async (name: string, key: string): Promise<number> => {
    const body = { ...BODY, messages: [{ role: 'user', content: name }] }
    const reply = await gateway.post('/v1/chat/completions', long(body), { authorization: `Bearer ${key}` })
    const text = await reply.text()
    if (reply.status === 503) t.equal(reply.headers.get('retry-after'), '1', text)
    return reply.status
  }
  const greedy: Promise<number>[] = []
  loop.turn(0, 0)
  for (let i = 0; i <= FULL; i++) {
    greedy.push(marked(`greedy ${i}`, KEY))
    await eventually('it has come', async () => (await waiting(gateway)) === i || undefined)
  }
  const modest = [marked('modest 0', OTHER), marked('modest 1', OTHER)]
  t.same(await Promise.all(greedy.slice(-2)), [503, 503], 'the two newest make room')
  await eventually('both wait', async () => (await waiting(gateway)) === FULL || undefined)
  t.equal(await marked('greedy again', KEY), 503)
  for (let i = 0; i < FULL; i++) {
    loop.turn(1, 0)
    await eventually('one is served', () => upstream.requests.length === i + 2 || undefined)
  }
  t.same(await Promise.all(modest), [200, 200])
  t.same(await Promise.all(greedy.slice(0, -2)), Array(FULL - 1).fill(200))
  const order = upstream.requests.map(({ body }) => /(greedy|modest) \d/.exec(body)?.[0])
  const places = [order.indexOf('modest 0'), order.indexOf('modest 1')].sort((a, b) => a - b)
  t.ok((places[0] ?? 99) <= 2 && (places[1] ?? 99) <= 4, `in turn with the other: ${order.join(', ')}`)
})

t.test('the short requests of a key are refused as often as its long bodies, and those of another key never', async (t) => {
  const stage = await overloaded(t, { server: HURRIED })
  const { gateway, loop, upstream } = stage
  loop.saturate()
  const asked = await crowd(stage, FULL + 1)
  const refused = await Promise.all(
    Array.from({ length: FULL + 1 }, () => gateway.post('/v1/chat/completions', long(BODY)).then(({ status }) => status)),
  )
  t.same(new Set(refused), new Set([503]), 'half of the long bodies')
  const statuses = async (key: string): Promise<number[]> => {
    const found: number[] = []
    for (let i = 0; i < 20; i++) found.push((await gateway.post('/v1/chat/completions', BODY, { authorization: `Bearer ${key}` })).status)
    return found
  }
  const before = upstream.requests.length
  const served = (await statuses(KEY)).filter((status) => status === 200).length
  t.ok(served >= 9 && served <= 12, `${served} of 20 short ones`)
  t.equal(upstream.requests.length, before + served)
  t.same(new Set(await statuses(OTHER)), new Set([200]))
  for (let i = 0; i < FULL; i++) loop.turn(1, 0)
  t.same(new Set(await Promise.all(asked)), new Set([200]))
  t.same(new Set(await statuses(KEY)), new Set([200]), 'once nothing waits')
})

t.test('long bodies wait while each turn brings a new connection, for eight turns at most', async (t) => {
  const stage = await overloaded(t)
  const { gateway, loop, upstream } = stage
  const asked = await crowd(stage, 3)
  const before = upstream.requests.length
  const clients: RawClient[] = []
  for (let turn = 0; turn < 8; turn++) {
    loop.end()
    t.equal(loop.waiting(), 2, `turn ${turn}`)
    const client = await RawClient.open(gateway.url)
    await client.send('GET /v1/none HTTP/1.1\r\nHost: a\r\n\r\n').until(/404/)
    clients.push(client)
  }
  loop.end()
  t.equal(loop.waiting(), 1)
  await eventually('one is served', () => upstream.requests.length === before + 1 || undefined)
  loop.turn(1, 0)
  t.same(await Promise.all(asked), [200, 200, 200])
  for (const client of clients) client.close()
})

t.test('Retry-After says when there will be room, as measured', async (t) => {
  const stage = await overloaded(t, { server: 'overload: { max_wait: 4s }' })
  const { gateway, loop, upstream } = stage
  const asked = await crowd(stage, 36)
  // Each takes a tenth of a second: 4 KB in a millisecond.
  for (let i = 0; i < 8; i++) loop.turn(100, 0)
  await eventually('nine are served', () => upstream.requests.length === 9 || undefined)
  const seconds = (await fetchMetrics(gateway.admin))('headgate_body_wait_seconds ')
  t.ok(seconds > 1 && seconds < 3.2, `${seconds} s for 27 of them`)
  const late: { status: number; after: string | null }[] = []
  for (let at = 27; late.length === 0; at++) {
    const one = gateway.post('/v1/chat/completions', long(BODY)).then(async (reply) => {
      await reply.text()
      late.push({ status: reply.status, after: reply.headers.get('retry-after') })
      return reply.status
    })
    await eventually('it waits, or is refused', async () => late.length > 0 || (await waiting(gateway)) > at || undefined)
    if (late.length === 0) asked.push(one)
  }
  t.same(late, [{ status: 503, after: '4' }], 'nearly four seconds of work are there')
  for (let i = 0; i < 120; i++) loop.turn(1, 0)
  t.same(new Set(await Promise.all(asked)), new Set([200]))
})

t.test('a body that has waited for too long is refused, whatever was expected', async (t) => {
  const stage = await overloaded(t, { server: HURRIED })
  const { loop, upstream } = stage
  const asked = await crowd(stage, 4)
  loop.stolen(101)
  loop.turn(0, 0)
  t.same(await Promise.all(asked), [200, 503, 503, 503])
  t.equal(upstream.requests.length, 1)
})

t.test('waiting bodies never take more than their share of the memory', async (t) => {
  const stage = await overloaded(t, { server: 'max_body: 1MB, body_memory: 12MB' })
  const { gateway, loop } = stage
  const asked: Promise<number>[] = []
  loop.turn(0, 0)
  for (let i = 0; i < 6; i++) {
    asked.push(gateway.post('/v1/chat/completions', long(BODY)).then((reply) => reply.text().then(() => reply.status)))
    await eventually('it has come', async () => (await waiting(gateway)) === i || undefined)
  }
  t.equal((await gateway.post('/v1/chat/completions', long(BODY))).status, 503, 'five take half of the memory')
  t.ok(gateway.running.runtime.bodies.used <= 12 * 1024 ** 2)
  for (let i = 0; i < 6; i++) loop.turn(1, 0)
  t.same(await Promise.all(asked), Array(6).fill(200))
})

t.test('callers who announce much and send slowly take no place, and those who leave free theirs', async (t) => {
  const stage = await overloaded(t, { server: HURRIED })
  const { gateway, loop } = stage
  const ask = (key: string, signal?: AbortSignal) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: long(BODY),
      ...(signal && { signal }),
    }).then(
      (reply) => reply.status,
      () => 0,
    )
  const slow = await Promise.all(
    Array.from({ length: FULL }, async () => {
      const client = await RawClient.open(gateway.url)
      return client.send(
        `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${OTHER}\r\nContent-Length: ${LONG}\r\n\r\n{`,
      )
    }),
  )
  await eventually('all are expected', async () => (await fetchMetrics(gateway.admin))('headgate_body_wait_seconds ') > 0.07 || undefined)
  for (let i = 0; i < 10; i++) loop.turn(11, 0)
  t.ok((await fetchMetrics(gateway.admin))('headgate_body_wait_seconds ') < 0.001, 'what has come of them counts')
  const asked = await crowd(stage, FULL)
  const leaving = new AbortController()
  const left = ask(KEY, leaving.signal)
  await eventually('it waits', async () => (await waiting(gateway)) === FULL || undefined)
  const { used } = gateway.running.runtime.bodies
  leaving.abort()
  t.equal(await left, 0)
  await eventually('its place is free', async () => (await waiting(gateway)) === FULL - 1 || undefined)
  await eventually('its memory is free', () => gateway.running.runtime.bodies.used <= used - LONG || undefined)
  for (const client of slow) client.close()
  for (let i = 0; i < FULL; i++) loop.turn(1, 0)
  t.same(new Set(await Promise.all(asked)), new Set([200]))
  await eventually('nothing is held', () => gateway.running.runtime.bodies.used === 0 || undefined)
})

t.test('bodies that one key only announces keep no other key out', async (t) => {
  const stage = await overloaded(t, { server: HURRIED })
  const { gateway, loop } = stage
  const announced = await Promise.all(
    Array.from({ length: 2 * FULL }, async () => {
      const client = await RawClient.open(gateway.url)
      return client.send(
        `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${OTHER}\r\nContent-Length: ${LONG}\r\n\r\n{`,
      )
    }),
  )
  await eventually('there is no room', async () => (await fetchMetrics(gateway.admin))('headgate_body_wait_seconds ') > 0.07 || undefined)
  t.equal((await gateway.post('/v1/chat/completions', long(BODY))).status, 200)
  loop.turn(0, 0)
  for (const client of announced) client.close()
})

t.test('a short request is refused only late in a long turn, and none in the first long turn', async (t) => {
  const { gateway, loop } = await overloaded(t)
  const ask = async (): Promise<number> => (await gateway.post('/v1/chat/completions', BODY)).status
  loop.saturate()
  loop.turn(20, 0)
  loop.begin(24, 0)
  t.equal(await ask(), 200, 'in 24 ms')
  loop.begin(0, 1_000)
  t.equal(await ask(), 200, 'waiting is no work')
  loop.stolen(1_000)
  t.equal(await ask(), 200, 'what other processes take is no work')
  loop.begin(2, 0)
  t.equal(await ask(), 503, 'after 26 ms')
  loop.turn(0, 0)
  loop.turn(1, 0)
  loop.begin(50, 0)
  t.equal(await ask(), 200, 'in a long turn that follows a short one')
})

t.test('refuses nothing after one long turn, or while the loop is idle for a tenth of the time', async (t) => {
  const { gateway, loop } = await overloaded(t)
  const ask = async (): Promise<number> => (await gateway.post('/v1/chat/completions', BODY)).status
  loop.turn(1_000, 0)
  loop.begin(500, 0)
  t.equal(await ask(), 200, 'after one long turn')
  loop.turn(0, 1_000)
  for (let i = 0; i < 20; i++) loop.turn(100, 10)
  loop.begin(500, 0)
  t.equal(await ask(), 200, 'where the loop waits')
})

t.test('a refusal asks nobody who it is, and has the form of the caller', async (t) => {
  const { gateway, loop } = await overloaded(t)
  loop.saturate()
  loop.begin(26, 0)
  const ask = async (path: string, headers: Record<string, string> = {}) => (await gateway.post(path, BODY, headers)).json()
  t.match(await ask('/v1/messages', { authorization: 'Bearer nobody' }), { type: 'error', error: { type: 'overloaded_error' } })
  t.match(await ask('/v1/chat/completions'), { error: { code: 503, message: /the gateway is overloaded/ } })
  loop.turn(0, 0)
  t.equal((await gateway.post('/v1/chat/completions', BODY, { authorization: 'Bearer nobody' })).status, 401)
})

t.test('requests beyond the rate of a key take no place among the bodies on their way', async (t) => {
  const stage = await overloaded(t, { server: HURRIED })
  const { gateway, loop } = stage
  const asked = await crowd(stage, FULL)
  for (let i = 0; i < 8; i++) {
    const reply = await gateway.post('/v1/chat/completions', i === 0 ? '{' : long(BODY), { authorization: `Bearer ${RARELY}` })
    t.equal(reply.status, i === 0 ? 400 : 429)
  }
  const late = gateway.post('/v1/chat/completions', long(BODY))
  await eventually('it has come', async () => (await waiting(gateway)) === FULL || undefined)
  for (let i = 0; i < FULL; i++) loop.turn(1, 0)
  t.equal((await late).status, 200)
  t.same(new Set(await Promise.all(asked)), new Set([200]))
})

t.test('embeddings, counts and the pass-through are refused as well, and management is not', async (t) => {
  const { gateway, loop } = await overloaded(t)
  loop.saturate()
  loop.begin(26, 0)
  t.equal((await gateway.post('/v1/embeddings', { model: 'acme/one', input: 'Hello' })).status, 503)
  t.equal((await gateway.post('/v1/messages/count_tokens', BODY)).status, 503)
  t.equal((await gateway.post('/v1/responses', { model: 'acme/one', input: 'Hello' })).status, 503)
  t.equal((await gateway.get('/v1/passage/first/models')).status, 503)
  t.equal((await gateway.get('/v1/models')).status, 200)
})
