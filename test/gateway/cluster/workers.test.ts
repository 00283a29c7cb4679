/** Workers as processes: one port, one ledger, one set of keys, one configuration, one end. */
import { existsSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { SECRET } from '../../support/crash/configuration.ts'
import { left, processFamily } from '../../support/crash/processes.ts'
import { eventually, realTime } from '../../support/eventually.ts'
import { runProgram } from '../../support/program.ts'
import { RawClient } from '../../support/raw.ts'
import { Gate, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { answerFor, framesFor } from '../../support/wire.ts'
import {
  askOnce,
  command,
  configured,
  fetchMetrics,
  inTurn,
  pidSockets,
  QUESTION,
  ready,
  rows,
  serveGroup,
  serveWorkers,
  verified,
} from '../../support/workers.ts'

/** Connections of which, dealt out by chance, every worker gets some. */
const MANY = 32

/** Ends only when the gate opens. */
const heldBack = ([first, ...rest]: readonly string[], gate: Gate) => sseAnswer([first, gate.step, ...rest])

t.test('two workers on one port: keys, configuration, metrics and the end are one', async (t) => {
  const gate = new Gate()
  const upstream = await startUpstream((seen) =>
    seen.json.stream === true ? heldBack(framesFor(seen.path, { text: ['one ', 'two'] }), gate) : answerFor(seen, { text: ['ok'] }),
  )
  t.teardown(() => upstream.close())
  const few = { key: 'sk-router-v1-few00000000000000000', body: QUESTION }
  const keys = `- { name: app, key: "${SECRET}", limit: "1000.00" }\n    - { name: few, key: "${few.key}", limits: { requests: 5 } }`
  const { file, store, write } = await configured(t, upstream.url, { keys })
  const workerPool = await serveGroup(t, file, 2)
  const [one, two] = workerPool.workers()
  t.equal(workerPool.workers().length, 2)
  t.equal(workerPool.out().match(/listens on/g)?.length, 1, 'one banner')
  t.match(workerPool.out(), /, 2 workers/)

  await t.test('both answer', async (t) => {
    const before = [pidSockets(one), pidSockets(two)]
    const clients = await inTurn(MANY, () => RawClient.open(workerPool.url))
    for (const client of clients) client.send(`GET /v1/key HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${SECRET}\r\n\r\n`)
    for (const client of clients) await client.until(/"limit":1000/)
    const [first, second] = [pidSockets(one) - before[0], pidSockets(two) - before[1]]
    t.equal(first + second, MANY)
    t.ok(first > 0 && second > 0, `${first} and ${second} connections`)
    for (const client of clients) client.close()
  })

  await t.test('metrics are of both', async (t) => {
    const replies = await inTurn(6, () => askOnce(workerPool.url, { key: SECRET, body: QUESTION }))
    t.same(
      replies.map(({ status }) => status),
      Array(6).fill(200),
    )
    const metric = await fetchMetrics(workerPool.admin)
    t.equal(metric('headgate_requests_total{client="chat",status="200"'), 6)
    t.equal(metric('headgate_added_latency_seconds_count'), 6)
    t.equal(metric('headgate_workers'), 2)
    for (const worker of ['owner', '1', '2']) t.ok(metric(`headgate_process_memory_bytes{kind="resident",worker="${worker}"}`) > 1e7)
    await verified(t, workerPool.admin)
  })

  await t.test('a generation is found by every worker, and the key shows what both have spent', async (t) => {
    const { id } = await askOnce(workerPool.url, { key: SECRET, body: QUESTION })
    await eventually('the generation at all workers', async () => {
      const found = await inTurn(MANY, () => askOnce(workerPool.url, { key: SECRET, path: `/v1/generation?id=${id}` }))
      return found.every(({ status }) => status === 200) || undefined
    })
    // Each worker hands in its rows when it has time for that.
    const agree = await eventually('what both have spent, at both', async () => {
      const spent = (await rows(workerPool.admin)).reduce((sum, row) => sum + row.cost_nano, 0)
      const shown = await inTurn(2, () => askOnce(workerPool.url, { key: SECRET, path: '/v1/key' }))
      return shown.every(({ text }) => Math.round((JSON.parse(text) as { data: { usage: number } }).data.usage * 1e9) === spent)
    })
    t.ok(agree)
  })

  await t.test('a rate limit counts what all of them serve', async (t) => {
    const statuses = (await inTurn(MANY, () => askOnce(workerPool.url, few))).map(({ status }) => status)
    const taken = statuses.filter((status) => status === 200).length
    t.ok(taken >= 5 && taken < 10, `${taken}: not 5 for each of them`)
    t.equal(statuses.filter((status) => status === 429).length, MANY - taken)
  })

  await t.test('a key that is disabled is refused by all within a second', async (t) => {
    const made = (await command(workerPool.admin, { verb: 'create', fields: { name: 'brief' } })) as { key: string }
    const ask = () => askOnce(workerPool.url, { key: made.key, body: QUESTION })
    t.same(
      (await inTurn(MANY, ask)).map(({ status }) => status),
      Array(MANY).fill(200),
    )
    await command(workerPool.admin, { verb: 'disable', key: 'brief' })
    await realTime(1000)
    t.same(
      (await inTurn(MANY, ask)).map(({ status }) => status),
      Array(MANY).fill(401),
    )
  })

  await t.test('a reload reaches both, a broken file neither, not even a worker that starts anew', async (t) => {
    const models = (slug: string) => async (): Promise<boolean> =>
      (await askOnce(workerPool.url, { key: SECRET, path: '/v1/models' })).text.includes(`"${slug}"`)
    write({ models: 'acme/two' })
    process.kill(workerPool.pid, 'SIGHUP')
    await eventually('the new model', async () => (await inTurn(MANY, models('acme/two'))).every(Boolean) || undefined)
    t.equal((await fetchMetrics(workerPool.admin))('headgate_reloads_total'), 1)
    writeFileSync(file, 'server: { prot: 1 }\n')
    process.kill(workerPool.pid, 'SIGHUP')
    await eventually('the refusal', async () => (await fetchMetrics(workerPool.admin))('headgate_reload_failures_total') || undefined)
    process.kill(one, 'SIGKILL')
    await eventually('the replacement', async () => (await fetchMetrics(workerPool.admin))('headgate_worker_restarts_total') || undefined)
    await ready(workerPool.admin)
    t.notOk(workerPool.workers().includes(one))
    t.same(await inTurn(MANY, models('acme/two')), Array(MANY).fill(true))
  })

  await t.test('a signal to the whole group lets both end what they have begun', async (t) => {
    const body = { ...QUESTION, model: 'acme/two', stream: true }
    const asked = upstream.requests.length
    const streams = Array.from({ length: 8 }, () => askOnce(workerPool.url, { key: SECRET, body }))
    await eventually('the streams at the provider', () => (upstream.requests.length === asked + 8 ? true : undefined))
    const family = processFamily(workerPool.pid)
    process.kill(-workerPool.pid, 'SIGINT')
    await workerPool.until(/draining 2 workers/)
    await workerPool.until(/worker 1: draining \d/)
    await workerPool.until(/worker 2: draining \d/)
    t.equal((await fetch(`${workerPool.admin}/readyz`)).status, 503)
    gate.open()
    for (const { text } of await Promise.all(streams)) t.ok(text.endsWith('data: [DONE]\n\n'))
    t.match(await workerPool.exited, { code: 0 })
    t.same(left(family), [], 'no process is left')
    t.notOk(existsSync(`${store}-worker-1`) || existsSync(`${store}-worker-2`), 'and no journal: all is in the store')
  })
})

t.test('a start that fails prints the reason and leaves nothing behind', async (t) => {
  const { file } = await configured(t, 'http://127.0.0.1:1')
  const wrong = ['0', '64', '-1', '1.5', ''].map((bad) => ({ bad, program: runProgram(['serve', '--config', file, `--workers=${bad}`]) }))
  for (const { bad, program } of wrong) {
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

t.test('lists with sums of money come from workers too', async (t) => {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['ok'] }))
  t.teardown(() => upstream.close())
  const boss = 'sk-router-v1-boss0000000000000000'
  const keys = `- { name: app, key: "${SECRET}", limit: "1000.00" }\n    - { name: boss, key: "${boss}", management: true }`
  const { file } = await configured(t, upstream.url, { keys })
  const workerPool = await serveGroup(t, file, 2)
  const body = { ...QUESTION, session_id: 'counted' }
  t.equal((await askOnce(workerPool.url, { key: SECRET, body })).status, 200)
  const today = new Date().toISOString().slice(0, 10)
  for (const path of [`/v1/activity/keys?since=${today}`, '/v1/sessions', '/v1/activity', '/v1/slices', '/v1/slices/generations']) {
    const listed = async () => {
      const reply = await askOnce(workerPool.url, { key: boss, path, method: 'GET' })
      t.equal(reply.status, 200, path)
      return JSON.parse(reply.text).data as { usage?: number; cost?: number }[]
    }
    if (path === '/v1/activity') t.ok(Array.isArray(await listed()))
    else await eventually(path, async () => (await listed()).length === 1)
  }
  t.equal(workerPool.workers().length, 2, 'nothing has ended')
})
