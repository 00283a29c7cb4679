/** The store of record on PostgreSQL: the common contract, and what only it can suffer. */
import pg from 'pg'
import t, { type Test } from 'tap'
import { asFault, type Fault } from '../../src/core/faults.ts'
import { generationId } from '../../src/core/ids.ts'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { openPostgres, type PostgresRecord, type PostgresReport } from '../../src/store/postgres/record.ts'
import type { SettledRows } from '../../src/store/record.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { clocked } from '../support/postgres-clock.ts'
import { verify } from '../support/verify-records.ts'
import { ask, balance, generation, leaseFrom, nodePulse, recordContract } from './record-contract.ts'
import { apiKey, settleRow } from './samples.ts'

const DAY = 86_400_000
const MOST = Number.MAX_SAFE_INTEGER
const server = await startPostgres(t)
if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

async function catchFault(run: Promise<unknown>): Promise<Fault> {
  try {
    await run
  } catch (thrown) {
    return asFault(thrown)
  }
  throw new Error('expected a fault')
}

function suite(server: TestPostgres): void {
  recordContract(t, 'postgres', async (clock) => {
    const url = await server.database()
    let record = await clocked(await openPostgres(url, { clock }), clock, server, url)
    return {
      record,
      reopen: async () => {
        await record.close()
        record = await clocked(await openPostgres(url, { clock }), clock, server, url)
        return record
      },
      close: () => record.close(),
    }
  })
  sharing(server)
  keeping(server)
  failing(server)
}

async function opened(t: Test, url: string, clock = new FakeClock(), limits?: { connect: number; statement: number }) {
  const news: PostgresReport[] = []
  const plain = await openPostgres(url, { clock, limits, report: (item) => news.push(item) })
  const record = server ? await clocked(plain, clock, server, url.split('?')[0]) : plain
  t.teardown(() => record.close())
  return { record, clock, news, now: () => clock.now() }
}

function sharing(server: TestPostgres): void {
  t.test('several processes with pools of their own share one limit', async (t) => {
    const url = await server.database()
    const records = await Promise.all(Array.from({ length: 5 }, async () => (await opened(t, `${url}?pool=3`)).record))
    for (const [index, record] of records.entries()) await record.pulse(nodePulse(`n${index}`))
    const answers = await Promise.all(
      records.flatMap((record, index) => Array.from({ length: 40 }, () => leaseFrom(record, `n${index}`, ask('a', 6, { want: 100 })))),
    )
    const sum = answers.reduce((all, answer) => all + answer.granted, 0)
    t.ok(
      answers.every(({ granted }) => granted === 0 || granted >= 6),
      'all or nothing',
    )
    t.ok(sum > 994 && sum <= 1000, `${sum} of 1000`)
    t.match(await balance(records[0], 'a'), { spent: 0, leased: sum })
    t.equal((await records[4].pulse(nodePulse('n4'))).nodes, 5)
  })

  t.test('batches over many keys in any order never wait in a circle', async (t) => {
    const url = await server.database()
    const { record, clock, now } = await opened(t, `${url}?pool=8`)
    const keys = Array.from({ length: 12 }, (_, index) => `k${index}`)
    const shuffled = <T>(items: readonly T[]): T[] =>
      items
        .map((item) => ({ item, place: clock.random() }))
        .sort((a, b) => a.place - b.place)
        .map(({ item }) => item)
    const rows: SettledRows[] = Array.from({ length: 300 }, (_, index) => generation(index + 1, keys[index % 12], 1, now()))
    const work = Array.from({ length: 40 }, (_, index) => async () => {
      const node = `n${index % 4}`
      await record.take(node, shuffled(rows).slice(0, 150))
      for (const key of shuffled(keys).slice(0, 3)) await leaseFrom(record, node, ask(key, 2))
      for (const key of shuffled(keys).slice(0, 3)) await record.giveBack(node, { key }, 1, 1)
    })
    await Promise.all(work.map((run) => run()))
    await record.take('n0', rows)
    t.equal(await record.spentByAll(), 300n)
    const verdict = await verifyLedger(record.ledger)
    t.match(verdict, { ok: true, generations: 300, charged: 300, problems: [] })
    await clock.advance(10_000)
    const leased = (await record.balances(keys)).reduce((sum, { leased }) => sum + leased, 0)
    const freed = [...(await record.forgetLost(0)).values()].reduce((sum, amount) => sum + amount, 0)
    t.equal(freed, leased, 'balances and leases agree')
    t.ok((await record.balances(keys)).every(({ leased }) => leased === 0))
  })

  t.test('two processes may draw the same sequence', async (t) => {
    const { record, now } = await opened(t, await server.database())
    const row = generation(7, 'a', 1, now())
    const rows = ['cccccccccccc', 'aaaaaaaaaaaa', 'bbbbbbbbbbbb'].map((tag) => ({ ...row, hold: { ...row.hold, tag } }))
    await record.take('n1', rows)
    await record.take('n2', [...rows, generation(6, 'a', 1, now())])
    const ids: string[] = []
    for await (const { id } of record.ledger.export()) ids.push(id)
    t.same(
      ids.slice(1),
      ['aaaaaaaaaaaa', 'bbbbbbbbbbbb', 'cccccccccccc'].map((tag) => generationId(7, tag)),
    )
    t.match(await record.ledger.find(generationId(7, 'bbbbbbbbbbbb')), { hold: { tag: 'bbbbbbbbbbbb' } })
    t.match(await verifyLedger(record.ledger), { ok: true, generations: 4 })
  })

  t.test('a verification while rows come in', async (t) => {
    const { record, now } = await opened(t, await server.database())
    const batch = (from: number) => Array.from({ length: 100 }, (_, index) => generation(from + index, `k${index % 3}`, index, now()))
    await record.take('n1', batch(1))
    let running = true
    const writing = (async () => {
      for (let from = 1000; running; from += 1000) await record.take('n1', batch(from))
    })()
    for (let round = 0; round < 5; round++) t.same((await verifyLedger(record.ledger)).problems, [])
    running = false
    await writing
    t.ok((await verifyLedger(record.ledger, { full: true })).ok)
  })

  t.test('a window whose sum or beginning was changed is found by ledger verify', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, url)
    await record.take('n1', [generation(1, 'a', 40, now()), generation(2, 'b', 2, now())])
    t.match(await verifyLedger(record.ledger), { ok: true, problems: [] })
    await server.query(url, "UPDATE balance_shard SET daily = daily - 1 WHERE key = 'a' AND daily > 0")
    t.match(await verifyLedger(record.ledger, { full: true }), {
      ok: false,
      problems: [/^key a: settlements of its daily window sum to 40, 39 are recorded$/],
    })
    await server.query(url, "UPDATE balance_shard SET daily = daily + 1 WHERE key = 'a' AND daily > 0")
    await server.query(url, `UPDATE balance_shard SET month = month + 40 * ${DAY}::bigint WHERE key = 'b'`)
    t.match(await verifyLedger(record.ledger, { full: true }), {
      ok: false,
      problems: [/^key b: its monthly window begins at .*, ahead of now$/],
    })
  })

  t.test('a process that is far behind in the changes of keys forgets what it knew', async (t) => {
    const url = await server.database()
    const { record } = await opened(t, url)
    await record.keys.put(apiKey('a'))
    const { cursor } = await record.pulse(nodePulse('n1'))
    await server.query(url, "INSERT INTO key_change SELECT n, repeat('b', 64) FROM generate_series(2, 10002) AS n")
    t.same((await record.pulse(nodePulse('n1', cursor))).changed, ['b'.repeat(64)], 'many changes of one key are one')
    await record.keys.put(apiKey('c'))
    t.same(await server.query(url, 'SELECT min(number)::int AS first, max(number)::int AS last FROM key_change'), [
      { first: 4, last: 10003 },
    ])
    t.equal((await record.pulse(nodePulse('n1', cursor))).changed, undefined)
    t.same((await record.pulse(nodePulse('n1', '10002'))).changed, ['c'.repeat(64)])
    t.equal((await record.pulse(nodePulse('n1', '10004'))).changed, undefined, 'a database that was set back')
  })

  t.test('who leases before the first pulse is lost until then', async (t) => {
    const { record } = await opened(t, await server.database())
    await leaseFrom(record, 'n1', ask('a', 600))
    t.match(await leaseFrom(record, 'n2', ask('a', 600)), { granted: 0, waitingFor: 0 })
    t.same([...(await record.forgetLost(0))], [['n1', 600]])
    t.match(await leaseFrom(record, 'n2', ask('a', 600)), { granted: 600 })
  })
}

function keeping(server: TestPostgres): void {
  t.test('old generations leave their sums', async (t) => {
    const { record, clock, now } = await opened(t, await server.database())
    const start = now()
    const rows = Array.from({ length: 90 }, (_, index) => {
      const at = start + index * 3_600_000
      return generation(at * 4096 + 1, index % 2 === 0 ? 'a' : 'b', index, index % 3 === 0 ? 0 : at + 5)
    })
    await record.take('n1', rows)
    await clock.advance(60 * DAY)
    const before = await record.ledger.spent()
    const limit = start + 70 * 3_600_000
    t.equal(await record.prune(limit, 30), 30)
    t.equal(await record.ledger.find(generationId(rows[29].hold.seq, rows[29].hold.tag)), undefined, 'the oldest first')
    t.ok(await record.ledger.find(generationId(rows[30].hold.seq, rows[30].hold.tag)))
    t.match(await verifyLedger(record.ledger), { ok: true, generations: 60, problems: [] })
    const counts = await Promise.all([record.prune(limit, 30), record.prune(limit, 30), record.prune(limit, 30)])
    let left = 40 - counts.reduce((sum, count) => sum + count, 0)
    t.ok(left < 40, 'at least one of them')
    while (left > 0) left -= await record.prune(limit, 7)
    t.equal(left, 0)
    t.equal(await record.prune(limit, 30), 0)
    const carried = await record.ledger.carried()
    const sum = (key: number) => rows.slice(0, 70).reduce((all, { settled }, index) => (index % 2 === key ? all + settled.cost : all), 0)
    t.same(
      carried,
      new Map([
        ['a', sum(0)],
        ['b', sum(1)],
      ]),
    )
    t.same(await record.ledger.spent(), before, 'what was spent stays')
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: true, generations: 20, problems: [] })
  })

  t.test('a process whose clock is ahead removes nothing that the database calls young', async (t) => {
    const { record, clock, now } = await opened(t, await server.database())
    const keep = 32 * DAY
    const finding = {
      generation: 'g',
      key: 'a',
      guardrail: 'g',
      name: 'g',
      direction: 'input',
      stage: 'pattern',
      action: 'flagged',
    } as const
    const detail = { entities: [], engines: [], count: 1, hashes: [] }
    await record.take('n1', [generation(now() * 4096, 'a', 5, now())])
    await record.guardrails.note([{ ...finding, at: now(), id: 'f', detail }])
    await clock.advance(1000)
    const before = now() + 40 * DAY - keep
    t.equal(await record.prune(before, 100, keep), 0)
    t.equal(await record.guardrails.prune(before, 100, keep), 0)
    await clock.advance(keep)
    t.equal(await record.prune(now() - keep - 1001, 100, keep), 0, 'nor what its own clock calls young')
    t.equal(await record.prune(now() - keep, 100, keep), 1)
    t.equal(await record.guardrails.prune(now() - keep, 100, keep), 1)
  })

  t.test('what was carried over counts by the day of the charge, never in the future, and is exact', async (t) => {
    const url = await server.database()
    const { record, clock, now } = await opened(t, url)
    const row = (seq: number, cost: number, at: number) => ({ ...generation(seq, 'a', 0, 0), settled: settleRow(seq, cost, { at }) })
    await record.take('n1', [row(now() * 4096, MOST, now() + DAY), row(now() * 4096 + 1, MOST, now() + DAY), row(now() * 4096 + 2, 5, 0)])
    await clock.advance(1)
    t.equal(await record.prune(now(), 100), 3)
    const day = Math.floor(now() / DAY)
    t.same(await server.query(url, 'SELECT key, day::int, count::int, cost::text FROM carried ORDER BY day'), [
      { key: 'a', day, count: 3, cost: String(2n * BigInt(MOST) + 5n) },
    ])
    t.same(await record.ledger.carried(), new Map([['a', 2n * BigInt(MOST) + 5n]]))
    t.same(verify([], await record.ledger.spent(), await record.ledger.carried()).problems, [])
  })

  t.test('what PostgreSQL cannot write does not hold up a batch', async (t) => {
    const { record, now } = await opened(t, await server.database())
    const row = generation(1, 'a', 5, now())
    const strange = {
      hold: { ...row.hold, model: 'local/a\0b', endpoint: "'; drop" },
      settled: { ...row.settled, facts: '{"user":"\ud800"}' },
    }
    await record.take('n1', [strange, generation(2, 'a', 6, now())])
    t.match(await record.ledger.find(generationId(1, row.hold.tag)), { hold: { model: 'local/a\ufffdb', endpoint: "'; drop" } })
    t.match(await balance(record, 'a'), { spent: 11 })
    const key = await record.keys.put(apiKey('a', { name: 'a\0b', creator: '\0' }))
    t.match(key, { name: 'a\ufffdb', creator: '\ufffd' }, 'nor is a key with such a name an outage')
  })

  t.test('larger batches than one statement takes', async (t) => {
    const { record, now } = await opened(t, await server.database())
    const rows = Array.from({ length: 1203 }, (_, index) => generation(index + 1, `k${index % 7}`, 2, now()))
    await record.take('n1', rows)
    t.equal(await record.spentByAll(), 2406n)
    t.match(await verifyLedger(record.ledger), { ok: true, generations: 1203 })
  })
}

/** Each operation of a record, by its name. */
const OPERATIONS: Readonly<Record<string, (record: PostgresRecord) => Promise<unknown>>> = {
  take: (record) => record.take('n1', [generation(900, 'secret-key', 5, 0)]),
  lease: (record) => leaseFrom(record, 'n1', ask('secret-key', 5)),
  giveBack: (record) => record.giveBack('n1', { key: 'secret-key' }, 1, 1),
  pulse: (record) => record.pulse(nodePulse('n1')),
  balances: (record) => record.balances(['secret-key']),
  spentByAll: (record) => record.spentByAll(),
  forgetLost: (record) => record.forgetLost(1),
  prune: (record) => record.prune(1, 1),
  find: (record) => record.keys.find('a'.repeat(64)),
  put: (record) => record.keys.put(apiKey('a')),
  change: (record) => record.keys.change('a'.repeat(64), (key) => key),
  remove: (record) => record.keys.remove('a'.repeat(64)),
  list: (record) => record.keys.list(),
  generation: (record) => record.ledger.find(generationId(1, 'abcdefghijkl')),
  spent: async (record) => record.ledger.spent(),
  carried: async (record) => record.ledger.carried(),
  export: async (record) => {
    for await (const _ of record.ledger.export()) break
  },
}

function failing(server: TestPostgres): void {
  const discreet = (t: Test, fault: Fault, name: string) => {
    t.match(fault, { code: 'unavailable', status: 503, retryAfter: 1 }, name)
    t.notMatch(
      `${fault.message} ${fault.cause} ${fault.stack}`,
      /postgres:\/\/|headgate@|127\.0\.0\.1|secret-key|aaaa/,
      `${name} says nothing of rows`,
    )
  }

  t.test('a server that dies: every operation says so, and all that was committed is there when it is back', async (t) => {
    const { record, now } = await opened(t, await server.database())
    await record.keys.put(apiKey('a', { limit: 7 }))
    await record.take('n1', [generation(1, 'a', 30, now())])
    await leaseFrom(record, 'n1', ask('a', 100))
    await server.kill9()
    for (const [name, run] of Object.entries(OPERATIONS)) discreet(t, await catchFault(run(record)), name)
    await server.restart()
    t.match(await record.keys.find('a'.repeat(64)), { limit: 7 })
    t.match(await balance(record, 'a'), { spent: 30, leased: 100 })
    await record.take('n1', [generation(1, 'a', 30, now()), generation(2, 'a', 5, now())])
    t.match(await balance(record, 'a'), { spent: 35, leased: 95 })
    for (const [name, run] of Object.entries(OPERATIONS)) await t.resolves(run(record), name)
  })

  t.test('a server that says nothing is not waited for, and is used again when it speaks', async (t) => {
    const { record, now } = await opened(t, `${await server.database()}?pool=2`, undefined, { connect: 300, statement: 300 })
    await record.pulse(nodePulse('n1'))
    server.freeze()
    t.teardown(() => server.thaw())
    for (const name of ['lease', 'put', 'pulse', 'take', 'list']) discreet(t, await catchFault(OPERATIONS[name](record)), name)
    server.thaw()
    await record.take('n1', [generation(1, 'a', 30, now())])
    t.match(await balance(record, 'a'), { spent: 30 })
    t.ok(await record.keys.put(apiKey('b')))
  })

  t.test('a statement that waits for a lock too long gives up', async (t) => {
    const url = await server.database()
    const { record } = await opened(t, url, undefined, { connect: 300, statement: 300 })
    await leaseFrom(record, 'n1', ask('a', 1))
    const blocked = server.query(url, 'BEGIN; SELECT * FROM balance_shard FOR UPDATE; SELECT pg_sleep(1.5)')
    const held =
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(1.5)%' AND wait_event = 'PgSleep'"
    await eventually('the lock is held', async () => (await server.query(url, held))[0]?.n === 1)
    t.match(await catchFault(leaseFrom(record, 'n1', ask('a', 1))), { code: 'unavailable', message: /timed out/ })
    await blocked
    t.match(await leaseFrom(record, 'n1', ask('a', 1)), { granted: 1 })
  })

  t.test('each purpose has connections of its own, and few requests wait for those of changes and readings', async (t) => {
    const url = await server.database()
    const { record } = await opened(t, url)
    const blocker = new pg.Client({ connectionString: url })
    await blocker.connect()
    t.teardown(() => blocker.end())
    await blocker.query('BEGIN')
    await blocker.query('LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE')
    const outcome = (run: Promise<unknown>): Promise<Fault | undefined> => run.then(() => undefined, asFault)
    const waiting = {
      readings: Array.from({ length: 80 }, () => outcome(Promise.resolve(record.keys.list()))),
      changes: Array.from({ length: 80 }, () => outcome(Promise.resolve(record.keys.put(apiKey('a'))))),
    }
    await record.take('n1', [generation(1, 'a', 30, 1)])
    t.match(await leaseFrom(record, 'n1', ask('a', 100)), { granted: 100 })
    await record.pulse(nodePulse('n1'))
    t.match(await balance(record, 'a'), { spent: 30, leased: 100 })
    await blocker.query('ROLLBACK')
    const refused = async (runs: Promise<Fault | undefined>[]) =>
      (await Promise.all(runs)).filter((fault) => fault?.retryAfter === 1 && fault.message.startsWith('Too many')).length
    t.equal(await refused(waiting.readings), 80 - 2 - 64)
    t.equal(await refused(waiting.changes), 80 - 1 - 64)
    t.equal((await record.keys.list()).length, 1, 'the next one goes through')
    const used = "SELECT application_name AS name, count(*)::int AS n FROM pg_stat_activity WHERE application_name LIKE 'headgate %'"
    t.same(await server.query(url, `${used} AND datname = current_database() GROUP BY 1 ORDER BY 1`), [
      { name: 'headgate changes', n: 1 },
      { name: 'headgate look-ups', n: 1 },
      { name: 'headgate readings', n: 2 },
    ])
  })

  t.test('a lost connection that nobody used is told of', async (t) => {
    const url = await server.database()
    const { record, news } = await opened(t, `${url}?pool=1`)
    await record.pulse(nodePulse('n1'))
    await server.query(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'headgate'")
    await eventually('the news', () => news.length > 0)
    t.same(news, [{ kind: 'connection-lost', reason: 'shut down, 57P01' }])
    t.match(await record.pulse(nodePulse('n1')), { nodes: 1 }, 'the next one is new')
  })

  t.test('what cannot be opened says why, without its URL', async (t) => {
    const clock = new FakeClock()
    const url = await server.database()
    const missing = url.replace(/test_\d+$/, 'no_such_place')
    t.match(await catchFault(openPostgres(missing, { clock })), { code: 'unavailable', message: /no such database/ })
    const nobody = await catchFault(openPostgres('postgres://me:hidden@127.0.0.1:1/db', { clock }))
    t.match(nobody, { code: 'unavailable', message: /ECONNREFUSED/ })
    t.notMatch(`${nobody.message} ${nobody.stack}`, /hidden/)
    t.match(await catchFault(openPostgres(`${url}?sslmode=require`, { clock })), { code: 'unavailable', message: /no TLS/ })
    for (const bad of ['mysql://x/y', 'postgres:', 'postgres://[', `${url}?pool=0`, `${url}?pool=65`, `${url}?pool=x`])
      t.match(await catchFault(openPostgres(bad, { clock })), { code: 'bad_request', metadata: { field: 'store.url' } }, bad)
    const { record } = await opened(t, `${url}?sslmode=disable&pool=1`)
    await Promise.all(Array.from({ length: 5 }, (_, index) => record.pulse(nodePulse(`n${index}`))))
    t.same(
      await server.query(
        url,
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'headgate' AND datname = current_database()",
      ),
      [{ n: 1 }],
    )
    await record.close()
    await record.close()
    t.match(await catchFault(record.spentByAll()), { code: 'unavailable' })
  })
}
