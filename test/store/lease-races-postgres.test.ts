/** Random work of processes that share keys on one PostgreSQL, over many connections at once: credit is exact, and never over a limit. */
import pg from 'pg'
import t, { type Test } from 'tap'
import { Fault } from '../../src/core/faults.ts'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { openPostgres, type PostgresRecord } from '../../src/store/postgres/record.ts'
import type { SettledRows } from '../../src/store/record.ts'
import { FakeClock } from '../support/clock.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { clocked } from '../support/postgres-clock.ts'
import { runs, seed } from '../support/seed.ts'
import { ask, generation, leaseFrom, nodePulse } from './record-contract.ts'

t.setTimeout(600_000)
const LIMIT = 5_000
const PROCESSES = 6
/** Some are paid for by a key that others share. */
const NAMES = [{ key: 'a' }, { key: 'b', payer: 'p' }, { key: 'c', payer: 'p' }] as const
type Name = (typeof NAMES)[number]
const STEPS = 60

const server = await startPostgres(t)
if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

/** A process as far as its money goes: it spends what it was granted, and nothing whose grant is unknown. */
class Spender {
  readonly node: string
  readonly charges = new Map<string, number>()
  private readonly record: PostgresRecord
  private readonly random: () => number
  private readonly left = new Map<string, number>()
  private readonly rows: SettledRows[] = []
  private turn = 0
  private static seq = 0

  constructor(node: string, record: PostgresRecord, random: () => number) {
    this.node = node
    this.record = record
    this.random = random
  }

  /** Several steps at once, as requests of one process are. */
  async work(): Promise<void> {
    for (let count = 0; count < STEPS; count += 3) {
      await Promise.all([this.step(), this.step(), this.step()])
      if (this.random() < 0.1) await this.startAgain()
    }
    await this.startAgain()
  }

  private async step(): Promise<void> {
    const name = NAMES[Math.floor(this.random() * NAMES.length)] ?? NAMES[0]
    const kind = this.random()
    if (kind < 0.4) return this.lease(name)
    if (kind < 0.8) return this.spend(name)
    if (kind < 0.95) return this.giveBack(name)
    await this.sure(() => this.record.pulse(nodePulse(this.node, undefined, 60_000)))
  }

  private async lease(name: Name): Promise<void> {
    const amount = 1 + Math.floor(this.random() * 300)
    const allowances = 'payer' in name ? [{ limit: LIMIT }, { limit: LIMIT, level: 1 }] : [{ limit: LIMIT }]
    const recallsFirst = this.random() < 0.3
    const wanted = { ...ask(name.key, amount, { turn: ++this.turn, recallsFirst, want: amount * 2 }), ...name, allowances }
    const { granted } = await leaseFrom(this.record, this.node, wanted).catch(granted0)
    this.left.set(name.key, (this.left.get(name.key) ?? 0) + granted)
  }

  private async spend(name: Name): Promise<void> {
    const left = this.left.get(name.key) ?? 0
    const cost = Math.floor(left * this.random())
    this.left.set(name.key, left - cost)
    const row = generation(++Spender.seq, name.key, cost, 0)
    this.rows.push({ ...row, hold: { ...row.hold, ...name } })
    this.charges.set(name.key, (this.charges.get(name.key) ?? 0) + cost)
    const batch = this.rows.slice(-1 - Math.floor(this.random() * 3))
    await this.sure(() => this.record.take(this.node, batch))
  }

  private async giveBack(name: Name): Promise<void> {
    const left = this.left.get(name.key) ?? 0
    const amount = Math.floor(left * this.random())
    this.left.set(name.key, left - amount)
    await this.record.giveBack(this.node, name, amount, ++this.turn).catch(granted0)
  }

  /** As after a crash: what its journal has is forwarded again, then its leases end. */
  private async startAgain(): Promise<void> {
    this.left.clear()
    await this.sure(() => this.record.take(this.node, this.rows))
    await this.sure(() => this.record.endLeases(this.node))
  }

  /** Connections are cut now and then: the same again is right. Anything else is not. */
  private async sure(call: () => Promise<unknown>): Promise<void> {
    for (;;) {
      const failed = await call().then(() => undefined, cut)
      if (!failed) return
    }
  }
}

/** @throws where a call failed for another reason than a cut connection. */
function cut(thrown: unknown): Fault {
  if (thrown instanceof Fault && /shut down|connection ended/.test(thrown.message)) return thrown
  throw thrown
}

/** Unknown grant, of which nothing is spent. */
function granted0(thrown: unknown): { granted: number } {
  cut(thrown)
  return { granted: 0 }
}

/** Ends connections of the server's, those in the middle of a call too. */
const CUT = `SELECT count(pg_terminate_backend(pid))::int AS count FROM (
  SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'headgate' AND state = 'active' ORDER BY random() LIMIT 2) AS found`
const SUMS = `SELECT key, sum(spent)::int AS spent, sum(leased)::int AS leased FROM balance_shard GROUP BY key ORDER BY key`
const LEASES = `SELECT account AS key, sum(amount)::int AS leased FROM (
    SELECT key AS account, granted - used AS amount FROM lease JOIN lease_used USING (key, payer, node)
    UNION ALL SELECT payer, granted - used FROM lease JOIN lease_used USING (key, payer, node) WHERE payer <> '') AS each
  GROUP BY account HAVING sum(amount) <> 0 ORDER BY account`

/** Draws the same numbers for the same seed. */
function createRandom(first: number): () => number {
  let state = first >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

async function round(t: Test, server: TestPostgres, number: number): Promise<void> {
  const url = await server.database()
  const clock = new FakeClock()
  const limits = { connect: 30_000, statement: 30_000 }
  const records = await Promise.all(
    Array.from({ length: PROCESSES }, async () => clocked(await openPostgres(`${url}?pool=3`, { clock, limits }), clock, server, url)),
  )
  const spenders = records.map((record, index) => new Spender(`n${index}`, record, createRandom(seed() + number * 100 + index)))
  const watcher = new pg.Client({ connectionString: url })
  await watcher.connect()
  t.teardown(() => watcher.end())
  let running = true
  let [looks, most, cuts] = [0, 0, 0]
  const watch = async (): Promise<void> => {
    while (running) {
      for (const { spent, leased } of (await watcher.query<{ spent: number; leased: number }>(SUMS)).rows) {
        most = Math.max(most, spent + leased)
        if (leased < 0) throw new Error(`leased ${leased}`)
      }
      if (++looks % 40 === 0) cuts += (await watcher.query<{ count: number }>(CUT)).rows[0]?.count ?? 0
      if (looks % 50 === 0) await records[0]?.forgetLost(120_000).catch(granted0)
    }
  }
  const watching = watch()
  try {
    await Promise.all(spenders.map((spender) => spender.work()))
  } finally {
    running = false
    await watching
  }
  const [first] = records
  if (!first) throw new TypeError('expected a record')
  t.ok(most > LIMIT / 2 && most <= LIMIT, `${most} of ${LIMIT} at most, looked ${looks} times, ${cuts} connections cut`)
  t.same(await server.query(url, LEASES), [], 'no lease is left')
  const charged = (key: string) => spenders.reduce((sum, { charges }) => sum + (charges.get(key) ?? 0), 0)
  const sums = ['a', 'b', 'c', 'p'].map((key) => ({ key, spent: key === 'p' ? charged('b') + charged('c') : charged(key), leased: 0 }))
  t.same(await server.query(url, SUMS), sums, 'each charge once')
  t.match(await verifyLedger(first.ledger, { full: true }), { ok: true, problems: [] })
  await Promise.all(records.map((record) => record.close()))
}

function suite(server: TestPostgres): void {
  t.test('leases, batches, returns, ends and cut connections at once', async (t) => {
    for (let number = 0; number < runs(4, 200); number++) await round(t, server, number)
  })
}
