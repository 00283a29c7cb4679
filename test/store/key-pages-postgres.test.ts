/** Sums of each key apart on PostgreSQL come in pages of keys, and each generation counts once, whatever is added up between two pages. */
import t from 'tap'
import { asFault } from '../../src/core/faults.ts'
import type { UseGroup, UsePage, UseQuery } from '../../src/ledger/types.ts'
import { openPostgres, type PostgresRecord } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { clocked } from '../support/postgres-clock.ts'
import { generation } from './record-contract.ts'

t.setTimeout(240_000)
const DAY = 86_400_000
const NOON = Date.UTC(2026, 0, 8, 12)
const KEYS = 3_000
const ROWS = 6_000
const LIMITS = { connect: 30_000, statement: 30_000 }

const server = await startPostgres(t)
if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

/** Sums by key, and how many pages of keys came before the last one. */
interface Read {
  readonly pages: number
  readonly sums: ReadonlyMap<string, { requests: number; failed: number; cost: bigint; input: number; saved: number }>
}

/** @param between done after each page but the last. */
async function readAll(record: PostgresRecord, query: UseQuery, between: () => Promise<unknown>): Promise<Read> {
  const sums = new Map<string, { requests: number; failed: number; cost: bigint; input: number; saved: number }>()
  let pages = 0
  for (let after: string | undefined = ''; after !== undefined; ) {
    if (after !== '') await between()
    const page: UsePage = await record.ledger.usePage(query, after)
    if (page.next?.startsWith('keys ')) pages++
    for (const row of page.rows) {
      const sum = sums.get(row.key ?? '') ?? { requests: 0, failed: 0, cost: 0n, input: 0, saved: 0 }
      // Above the watermark rows say how they ended, and sums have counted it.
      sum.failed += row.failed ?? (row.answered ? 0 : row.requests)
      sum.requests += row.requests
      sum.cost += BigInt(row.cost)
      sum.input += row.input
      sum.saved += row.cacheSaved
      sums.set(row.key ?? '', sum)
    }
    after = page.next
  }
  return { pages, sums }
}

/** Since the epoch: the first day that is not closed; 0 while none is. */
async function closedDay(server: TestPostgres, url: string): Promise<number> {
  return Number((await server.query(url, 'SELECT day::int FROM use_closed'))[0]?.day)
}

function suite(server: TestPostgres): void {
  t.test('pages of keys', async (t) => {
    const url = await server.database()
    const clock = new FakeClock(1, NOON)
    const record = await openPostgres(url, { clock, limits: LIMITS })
    t.teardown(() => record.close())
    await clocked(record, clock, server, url)
    const today = Math.floor(clock.now() / DAY) * DAY
    const expected = new Map<string, { requests: number; failed: number; cost: bigint; input: number; saved: number }>()
    const rows = Array.from({ length: ROWS }, (_, index) => {
      const at = today - 3 * DAY + Math.floor((index * 3 * DAY) / ROWS)
      const key = `k${String((index * 7919) % KEYS).padStart(5, '0')}`
      const row = generation(at * 4096 + (index % 4096), key, index + 1, at)
      const facts = `{"model":"m${index % 2}","provider":"P${index % 3}","cache_discount":0.25}`
      const status = index % 5 === 0 ? ('failed' as const) : ('completed' as const)
      const settled = { ...row.settled, facts, status }
      const sum = expected.get(key) ?? { requests: 0, failed: 0, cost: 0n, input: 0, saved: 0 }
      expected.set(key, {
        requests: sum.requests + 1,
        failed: sum.failed + (status === 'failed' ? 1 : 0),
        cost: sum.cost + BigInt(index + 1),
        input: sum.input + settled.input,
        saved: sum.saved + 250_000_000,
      })
      return { ...row, settled }
    })
    await record.take('n1', rows)
    for (let round = 0; round < 4; round++) await record.roll(0, 500)
    const days = { from: today - 4 * DAY, until: today + DAY, byKey: true }
    const apart: UseGroup[][] = [[], ['day'], ['model'], ['day', 'model'], ['model', 'provider'], ['day', 'model', 'provider']]
    let rolled = 0
    let raised = 0
    const agree = async (groups: UseGroup[], most: number): Promise<void> => {
      const before = await server.query(url, 'SELECT seq::text FROM use_below')
      // Its first pages are small, whatever another one has read before.
      const reader = await openPostgres(url, { clock, limits: LIMITS })
      const { pages, sums } = await readAll(reader, { ...days, apart: groups }, async () => {
        rolled += await record.roll(0, most)
      })
      await reader.close()
      t.ok(pages >= 2, `${groups.join(', ') || 'keys alone'}: ${pages} pages`)
      const after = await server.query(url, 'SELECT seq::text FROM use_below')
      raised += after[0]?.seq === before[0]?.seq ? 0 : 1
      t.same(new Map([...sums].sort()), new Map([...expected].sort()), 'each generation counts once')
    }
    for (const groups of apart) await agree(groups, 100)
    t.ok(rolled > 500)
    t.equal(raised, apart.length, 'the watermark has risen between pages of each')

    t.comment('while days are closed')
    while ((await record.roll(0, 500)) >= 500 && (await closedDay(server, url)) === 0);
    for (const groups of apart) await agree(groups, 300)
    while ((await record.roll(0, 5_000)) >= 5_000);
    t.ok((await closedDay(server, url)) > 0)

    t.comment('with sums of closed days')
    const more = rows.slice(0, 1_500).map(({ hold, settled }, index) => {
      const seq = (today + DAY / 4) * 4096 + index
      return { hold: { ...hold, seq }, settled: { ...settled, seq, at: today + DAY / 4 } }
    })
    raised = 0
    await record.take('n1', more)
    for (const { hold, settled } of more) {
      const sum = expected.get(hold.key)
      if (!sum) throw new Error(`no ${hold.key}`)
      sum.requests++
      sum.failed += settled.status === 'failed' ? 1 : 0
      sum.cost += BigInt(settled.cost)
      sum.input += settled.input
      sum.saved += 250_000_000
    }
    for (const groups of apart) await agree(groups, 60)
    t.ok(raised > 1, `the watermark has risen ${raised} times`)

    t.comment('a rebuild between two pages')
    const reader = await openPostgres(url, { clock, limits: LIMITS })
    t.teardown(() => reader.close())
    const first = await reader.ledger.usePage({ ...days, apart: [] }, '')
    await record.ledger.rebuildUse()
    t.match(await reader.ledger.usePage({ ...days, apart: [] }, first.next ?? '').catch(asFault), {
      code: 'unavailable',
      message: 'The sums of use were made anew meanwhile',
    })
  })
}
