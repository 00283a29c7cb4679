/** A collector that is away, slow, full or strict costs spans, and never a request. */
import t, { type Test } from 'tap'
import { FakeClock } from '../support/clock.ts'
import { type Collector, startCollector } from '../support/collector.ts'
import { eventually, startWatch } from '../support/eventually.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { Gate, REFUSING_URL } from '../support/upstream.ts'

const yaml = (endpoint: string, more = ''): string => `
telemetry: { endpoint: "${endpoint}"${more} }
providers: { sim: { dialect: sim } }
models: { acme/one: { endpoints: [ { provider: sim, model: echo, price: free } ] } }
`

const question = { model: 'acme/one', messages: [{ role: 'user', content: 'hi' }] }

async function ask(gateway: Gateway, times = 1, more: object = {}): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < times; i++) {
    const reply = await gateway.post('/v1/chat/completions', { ...question, ...more })
    await reply.text()
    statuses.push(reply.status)
  }
  return statuses
}

/** Value of one series of the counter of lost or delivered records. */
async function counted(gateway: Gateway, name: string, labels: string): Promise<number> {
  const text = await (await fetch(`${gateway.admin}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`headgate_otel_${name}{${labels}}`))
  return Number(line?.split(' ').at(-1) ?? 0)
}

const warnings = (gateway: Gateway): string[] => gateway.logs.filter((line) => line.includes('telemetry is'))

/** A gateway on a clock of the test's own, with a collector. */
async function scene(t: Test, more = ''): Promise<{ gateway: Gateway; collector: Collector; clock: FakeClock }> {
  const collector = await startCollector()
  const clock = new FakeClock()
  const gateway = await startGateway(yaml(collector.url, more), { clock })
  t.teardown(async () => {
    await gateway.close()
    await collector.close()
  })
  return { gateway, collector, clock }
}

t.test('a batch leaves after two seconds', async (t) => {
  const { gateway, collector, clock } = await scene(t)
  await ask(gateway, 3)
  await clock.advance(1_999)
  t.equal(collector.received, 0)
  await clock.advance(1)
  await eventually('the batch', () => collector.spans.length === 6)
  t.equal(collector.received, 1, 'in one request')
  await eventually('the count', async () => (await counted(gateway, 'exported_total', 'signal="traces"')) === 6)
  t.same(collector.problems, [])
})

t.test('while the collector is away nothing is lost that has room, and the log says so once', async (t) => {
  const { gateway, collector, clock } = await scene(t)
  collector.answer = (index) => ({ status: index < 5 ? 503 : 200 })
  await ask(gateway, 2)
  await clock.advance(2_000)
  for (let tries = 1; tries <= 5; tries++) {
    await eventually(`try ${tries}`, () => collector.received === tries)
    t.same(await ask(gateway), [200], 'requests go on')
    // The answer has to be read before the pause begins.
    await eventually('the next try', async () => {
      await clock.advance(1_000)
      return collector.received > tries
    })
  }
  await eventually('all of them', async () => {
    await clock.advance(2_000)
    return collector.spans.length === 14
  })
  t.equal(await counted(gateway, 'dropped_total', 'signal="traces",reason="full"'), 0)
  t.equal(warnings(gateway).length, 2, 'one line when it begins, and one when it ends')
  t.match(JSON.parse(warnings(gateway)[0] ?? ''), { level: 40, signal: 'traces', problem: 'status 503' })
  t.match(JSON.parse(warnings(gateway)[1] ?? ''), { level: 30, lost: 0 })
})

t.test('what finds no room is dropped, counted, and named at the end', async (t) => {
  const { gateway, collector, clock } = await scene(t, ', queue: 4KB')
  const gate = new Gate()
  collector.answer = async (index) => {
    if (index === 0) await gate.opened
    return { status: 200 }
  }
  await ask(gateway, 1)
  await clock.advance(2_000)
  await eventually('the first batch', () => collector.received === 1)
  t.same(new Set(await ask(gateway, 10)), new Set([200]), 'a slow collector slows no request')
  const lost = await counted(gateway, 'dropped_total', 'signal="traces",reason="full"')
  t.ok(lost > 0 && lost < 20, `${lost} of 20 spans`)
  t.equal(warnings(gateway).length, 1)
  gate.open()
  await eventually('the rest', async () => {
    await clock.advance(2_000)
    return collector.spans.length === 22 - lost
  })
  await eventually('the line', () => warnings(gateway).length === 2)
  t.match(JSON.parse(warnings(gateway)[1] ?? ''), { lost })
})

t.test('a collector that does not answer in time is tried again', async (t) => {
  const { gateway, collector, clock } = await scene(t, ', timeout: 3s')
  const never = new Gate()
  collector.answer = async (index) => {
    if (index === 0) await never.opened
    return { status: 200 }
  }
  await ask(gateway)
  await clock.advance(2_000)
  await eventually('the first try', () => collector.received === 1)
  await clock.advance(3_000)
  await eventually('the second one', async () => {
    await clock.advance(1_000)
    return collector.spans.length === 2
  })
  never.open()
  t.match(JSON.parse(warnings(gateway)[0] ?? ''), { problem: 'timeout' })
})

t.test('the collector says when it is to be asked again', async (t) => {
  const { gateway, collector, clock } = await scene(t)
  collector.answer = (index) => (index === 0 ? { status: 429, headers: { 'retry-after': '20' } } : { status: 200 })
  await ask(gateway)
  await clock.advance(2_000)
  await eventually('its answer', () => warnings(gateway).length === 1)
  await clock.armed(20_000)
  await clock.advance(19_999)
  t.equal(collector.received, 1)
  await clock.advance(1)
  await eventually('the second one', () => collector.spans.length === 2)
})

t.test('what a collector takes for wrong is not sent again', async (t) => {
  const { gateway, collector, clock } = await scene(t)
  collector.answer = (index) => ({ status: index === 0 ? 401 : 200 })
  await ask(gateway)
  await clock.advance(2_000)
  await eventually('the loss', async () => (await counted(gateway, 'dropped_total', 'signal="traces",reason="refused"')) === 2)
  t.match(JSON.parse(warnings(gateway)[0] ?? ''), { problem: 'status 401' })
  await ask(gateway)
  await clock.advance(2_000)
  await eventually('the next batch', () => collector.spans.length === 2)
})

t.test('what a collector takes in part is counted', async (t) => {
  const { gateway, collector, clock } = await scene(t)
  // partial_success { rejected_spans: 1, error_message: "no" }
  collector.answer = () => ({ status: 200, body: Buffer.from([0x0a, 6, 0x08, 1, 0x12, 2, 0x6e, 0x6f]) })
  await ask(gateway)
  await clock.advance(2_000)
  await eventually('the count', async () => (await counted(gateway, 'dropped_total', 'signal="traces",reason="rejected"')) === 1)
  t.equal(await counted(gateway, 'exported_total', 'signal="traces"'), 1)
})

t.test('the end of the process does not wait for a collector that is away', async (t) => {
  const gateway = await startGateway(yaml(REFUSING_URL))
  t.same(await ask(gateway, 2), [200, 200])
  const watch = startWatch()
  await gateway.close()
  t.ok(watch() < 5_000)
  t.match(gateway.logs.join(''), /ECONNREFUSED/)
})

t.test('compressed', async (t) => {
  const collector = await startCollector()
  t.teardown(() => collector.close())
  const gateway = await startGateway(yaml(collector.url, ', compression: gzip'))
  await ask(gateway)
  await gateway.close()
  t.equal(collector.exports[0]?.headers['content-encoding'], 'gzip')
  t.equal(collector.spans.length, 2)
  t.same(collector.problems, [])
})

t.test('a reload sends what waits to where it was to go, and what comes to the new place', async (t) => {
  const [former, next] = [await startCollector(), await startCollector()]
  const gateway = await startGateway(yaml(former.url), { directory: t.testdir() })
  t.teardown(async () => {
    await former.close()
    await next.close()
  })
  await ask(gateway, 1)
  t.equal((await gateway.reconfigure(yaml(next.url))).kind, 'applied')
  await ask(gateway, 2)
  await eventually('the former', () => former.spans.length === 2)
  t.equal((await gateway.reconfigure(yaml(next.url, ', enabled: false'))).kind, 'applied')
  await ask(gateway, 1)
  await gateway.close()
  t.equal(next.spans.length, 4)
  t.equal(former.spans.length, 2)
})
