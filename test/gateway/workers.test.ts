/** Workers as processes: one port, one ledger, one set of keys, one configuration, one end. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FakeClock } from '../support/clock.ts'
import { audit, rowsOf } from '../support/crash/audit.ts'
import { fileText, freePorts, SECRET } from '../support/crash/configuration.ts'
import { familyOf, left } from '../support/crash/processes.ts'
import { BookkeepingProvider } from '../support/crash/provider.ts'
import { runProgram } from '../support/program.ts'
import { RawClient } from '../support/raw.ts'
import { Gate, startUpstream, sseAnswer } from '../support/upstream.ts'
import { answerFor, framesFor } from '../support/wire.ts'
import { askOnce, command, type Crew, metricsOf, ready, serveGroup, serveWorkers, socketsOf, until } from '../support/workers.ts'

const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }

async function configured(t: Test, provider: string, more: Partial<Parameters<typeof fileText>[0]> = {}) {
  const directory = t.testdir()
  const file = join(directory, 'headgate.yaml')
  const store = join(directory, 'ledger.db')
  const [port, admin] = await freePorts(2)
  const write = (extra: Partial<Parameters<typeof fileText>[0]> = {}): void =>
    writeFileSync(file, fileText({ port, admin, store, provider, ...more, ...extra }))
  write()
  return { file, store, write }
}

/** Ends only when the gate opens. */
const heldBack = ([first, ...rest]: readonly string[], gate: Gate) => sseAnswer([first, gate.step, ...rest])

/** One request to every worker: connections are dealt out in turn. */
const toAll = <T>(count: number, ask: () => Promise<T>): Promise<T[]> =>
  Array.from({ length: count }).reduce<Promise<T[]>>(async (before, _) => [...(await before), await ask()], Promise.resolve([]))

async function rows(admin: string) {
  return rowsOf(await (await fetch(`${admin}/ledger/export`)).text())
}

async function verified(t: Test, admin: string): Promise<void> {
  t.match(await (await fetch(`${admin}/ledger/verify`)).json(), { ok: true, open: 0 })
}

t.test('two workers on one port: keys, configuration, metrics and the end are one', async (t) => {
  const gate = new Gate()
  const upstream = await startUpstream((seen) =>
    seen.json.stream === true ? heldBack(framesFor(seen.path, { text: ['one ', 'two'] }), gate) : answerFor(seen, { text: ['ok'] }),
  )
  t.teardown(() => upstream.close())
  const { file, store, write } = await configured(t, upstream.url)
  const crew = await serveGroup(t, file, 2)
  const [one, two] = crew.workers()
  t.equal(crew.workers().length, 2)
  t.equal(crew.out().match(/listens on/g)?.length, 1, 'one banner')
  t.match(crew.out(), /, 2 workers/)

  await t.test('both answer', async (t) => {
    const before = [socketsOf(one), socketsOf(two)]
    const clients = await toAll(8, () => RawClient.open(crew.url))
    for (const client of clients) client.send(`GET /v1/key HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${SECRET}\r\n\r\n`)
    for (const client of clients) await client.until(/"limit":1000/)
    t.same([socketsOf(one) - before[0], socketsOf(two) - before[1]], [4, 4], 'connections are dealt out in turn')
    for (const client of clients) client.close()
  })

  await t.test('metrics are of both', async (t) => {
    const replies = await toAll(6, () => askOnce(crew.url, { key: SECRET, body: QUESTION }))
    t.same(replies.map(({ status }) => status), Array(6).fill(200))
    const metric = await metricsOf(crew.admin)
    t.equal(metric('headgate_requests_total{client="chat",status="200"'), 6)
    t.equal(metric('headgate_added_latency_seconds_count'), 6)
    t.equal(metric('headgate_workers'), 2)
    for (const worker of ['owner', '1', '2']) t.ok(metric(`headgate_process_memory_bytes{kind="resident",worker="${worker}"}`) > 1e7)
    await verified(t, crew.admin)
  })

  await t.test('a generation is found by every worker, and the key shows what both have spent', async (t) => {
    const { id } = await askOnce(crew.url, { key: SECRET, body: QUESTION })
    await until('the generation at all workers', async () => {
      const found = await toAll(4, () => askOnce(crew.url, { key: SECRET, path: `/v1/generation?id=${id}` }))
      return found.every(({ status }) => status === 200) || undefined
    })
    const spent = (await rows(crew.admin)).reduce((sum, row) => sum + row.cost_nano, 0)
    for (const { text } of await toAll(2, () => askOnce(crew.url, { key: SECRET, path: '/v1/key' })))
      t.equal(Math.round((JSON.parse(text) as { data: { usage: number } }).data.usage * 1e9), spent)
  })

  await t.test('a key that is disabled is refused by all within a second', async (t) => {
    const made = (await command(crew.admin, { verb: 'create', fields: { name: 'brief' } })) as { key: string }
    const ask = () => askOnce(crew.url, { key: made.key, body: QUESTION })
    t.same((await toAll(4, ask)).map(({ status }) => status), [200, 200, 200, 200])
    await command(crew.admin, { verb: 'disable', key: 'brief' })
    const since = performance.now()
    await until('the refusal', async () => ((await toAll(4, ask)).every(({ status }) => status === 401) ? true : undefined))
    t.ok(performance.now() - since < 1000)
  })

  await t.test('a reload reaches both, a broken file neither, not even a worker that starts anew', async (t) => {
    const models = (slug: string) => async (): Promise<boolean> =>
      (await askOnce(crew.url, { key: SECRET, path: '/v1/models' })).text.includes(`"${slug}"`)
    write({ models: 'acme/two' })
    process.kill(crew.pid, 'SIGHUP')
    await until('the new model', async () => (await toAll(4, models('acme/two'))).every(Boolean) || undefined)
    t.equal((await metricsOf(crew.admin))('headgate_reloads_total'), 1)
    writeFileSync(file, 'server: { prot: 1 }\n')
    process.kill(crew.pid, 'SIGHUP')
    await until('the refusal', async () => (await metricsOf(crew.admin))('headgate_reload_failures_total') || undefined)
    process.kill(one, 'SIGKILL')
    await until('the replacement', async () => (await metricsOf(crew.admin))('headgate_worker_restarts_total') || undefined)
    await ready(crew.admin)
    t.notOk(crew.workers().includes(one))
    t.same(await toAll(4, models('acme/two')), [true, true, true, true])
  })

  await t.test('a signal to the whole group lets both end what they have begun', async (t) => {
    const body = { ...QUESTION, model: 'acme/two', stream: true, }
    const asked = upstream.requests.length
    const streams = [1, 2].map(() => askOnce(crew.url, { key: SECRET, body }))
    await until('both streams at the provider', () => (upstream.requests.length === asked + 2 ? true : undefined))
    const family = familyOf(crew.pid)
    process.kill(-crew.pid, 'SIGINT')
    await crew.until(/draining 2 workers/)
    await crew.until(/worker 1: draining 1/)
    await crew.until(/worker 2: draining 1/)
    t.equal((await fetch(`${crew.admin}/readyz`)).status, 503)
    gate.open()
    for (const { text } of await Promise.all(streams)) t.ok(text.endsWith('data: [DONE]\n\n'))
    t.match(await crew.exited, { code: 0 })
    t.same(left(family), [], 'no process is left')
    t.notOk(existsSync(`${store}-worker-1`) || existsSync(`${store}-worker-2`), 'and no journal: all is in the store')
  })
})

/** Asks until told to stop, whatever becomes of a connection. @returns what was received whole. */
async function pressed(crew: Crew, ending: () => boolean, random: () => number): Promise<string[]> {
  const received: string[] = []
  const one = async (): Promise<void> => {
    while (!ending()) {
      const stream = random() < 0.5
      const reply = await askOnce(crew.url, { key: SECRET, body: { ...QUESTION, stream } }).catch(() => undefined)
      if (reply?.status === 200 && (!stream || reply.text.endsWith('data: [DONE]\n\n')) && !reply.text.includes('"error":{')) received.push(reply.id)
    }
  }
  await Promise.all(Array.from({ length: 16 }, one))
  return received
}

t.test('kill -9 of a worker, then of all: nothing is lost, nothing is there twice', async (t) => {
  const clock = new FakeClock(11)
  const random = (): number => clock.random()
  const provider = new BookkeepingProvider(random)
  const url = await provider.listen()
  t.teardown(() => provider.close())
  const { file, store } = await configured(t, url)
  const crew = await serveWorkers(t, file, 3)
  let ending = false
  const load = pressed(crew, () => ending, random)
  await provider.reached(150)
  const [victim] = crew.workers()
  process.kill(victim, 'SIGKILL')
  await until('the replacement', async () => (await metricsOf(crew.admin))('headgate_worker_restarts_total') || undefined)
  await ready(crew.admin)
  await provider.reached(provider.received + 150)
  const family = familyOf(crew.pid)
  ending = true
  for (const { pid } of family) process.kill(pid, 'SIGKILL')
  const received = await load
  await crew.exited
  t.ok([1, 2, 3].some((slot) => existsSync(`${store}-worker-${slot}`)), 'journals of workers are left')

  const next = await serveWorkers(t, file, 1)
  t.notOk(existsSync(`${store}-worker-2`) || existsSync(`${store}-worker-3`), 'those of workers that are no more are taken in')
  await verified(t, next.admin)
  const all = await rows(next.admin)
  const found = audit(all, provider.calls)
  t.same(found.problems, [])
  t.match(found, { lost: 0, double: 0 })
  const settled = new Set(all.filter(({ status }) => status === 'completed').map(({ id }) => id))
  t.same(received.filter((id) => !settled.has(id)), [], 'what a caller has read to its end is settled')
  t.ok(received.length > 100, `${received.length} replies were read whole`)
  next.child.kill('SIGTERM')
  t.match(await next.exited, { code: 0 })
})

t.test('the lease of a dead worker is free again: a key spends its limit to the last cent, and not more', async (t) => {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['ok'] }))
  t.teardown(() => upstream.close())
  const { file } = await configured(t, upstream.url, { price: '{ request: "1.00" }', limit: '60.00' })
  const crew = await serveWorkers(t, file, 2)
  const ask = () => askOnce(crew.url, { key: SECRET, body: QUESTION })
  t.same(new Set((await toAll(10, ask)).map(({ status }) => status)), new Set([200]))
  process.kill(crew.workers()[0], 'SIGKILL')
  await until('the replacement', async () => (await metricsOf(crew.admin))('headgate_worker_restarts_total') || undefined)
  await ready(crew.admin)
  const replies = await Promise.all(Array.from({ length: 80 }, ask))
  const count = (status: number): number => replies.filter((reply) => reply.status === status).length
  t.same([count(200), count(402)], [50, 30])
  await until('the rows of all', async () => ((await rows(crew.admin)).length === 60 ? true : undefined))
  t.equal((await rows(crew.admin)).reduce((sum, row) => sum + row.cost_nano, 0), 60e9)
  crew.child.kill('SIGTERM')
  t.match(await crew.exited, { code: 0 })
})

t.test('what cannot start says why, and leaves nothing behind', async (t) => {
  const { file } = await configured(t, 'http://127.0.0.1:1')
  for (const bad of ['0', '64', '-1', 'two', '1.5', '']) {
    const program = runProgram(['serve', '--config', file, `--workers=${bad}`])
    t.match(await program.exited, { code: 2 }, bad)
    t.match(program.err(), /--workers: expected a number from 1 to 63, or auto/)
  }
  const first = await serveWorkers(t, file, 'auto')
  const second = runProgram(['serve', '--config', file, '--workers', '2'])
  t.match(await second.exited, { code: 1 })
  t.match(second.err(), /in use/)
  first.child.kill('SIGTERM')
  t.match(await first.exited, { code: 0 })
})
