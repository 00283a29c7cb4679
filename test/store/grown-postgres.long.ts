/**
 * Every statement on PostgreSQL with 10 million generations, 200,000 keys and 400 days of sums for 2,500 of them, each within its limit of time.
 * It may be done in parts: HEADGATE_GROWN_FOLDER names a folder whose database is filled once, and which keeps what each operation took; the
 * next call goes on with the first one that has not been done. HEADGATE_GROWN_MOST has it end after so many seconds, at the end of an operation.
 * Seen whole, files on a disk, two processors at a load of 1 to 16 (2026-11-30): no statement at its limit, 24 minutes after the fill of 3.
 * Long is what goes through the whole ledger in pages: the sums of use 197 s and, made again, 461 s, windows computed anew 325 s, a full check
 * 202 s, a first check 125 s, an export 89 s, retention of an eighth 36 s, the next check 14 s. The sum of all keys took 2.6 s, the list of all
 * of them 1.6 s, the sums of each key over a week 0.15 s; a batch, a lease, a return and a pulse at most 0.03 s.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { operations } from '../support/grown/operations.ts'
import { fillPostgres } from '../support/grown/postgres.ts'
import { startPostgres } from '../support/postgres.ts'

t.setTimeout(20_000_000)
/** Smaller for a look: HEADGATE_GROWN=0.1 has a tenth. */
const SCALE = Number(process.env.HEADGATE_GROWN ?? 1)
const WHOLE = { rows: 10_000_000 * SCALE, keys: 200_000 * SCALE, carriedKeys: 2_500 * SCALE, days: 400 }
const FOLDER = process.env.HEADGATE_GROWN_FOLDER
const MAX_SECONDS = Number(process.env.HEADGATE_GROWN_MOST ?? Number.POSITIVE_INFINITY)

interface Done {
  readonly rows: number
  /** Milliseconds since the epoch: when the database was filled. */
  readonly now: number
  /** Seconds of each operation, in their order. */
  readonly seconds: Record<string, number>
}

const file = FOLDER === undefined ? undefined : join(FOLDER, 'done.json')

function doneBefore(): Done | undefined {
  if (file === undefined || !existsSync(file)) return undefined
  const done = JSON.parse(readFileSync(file, 'utf8')) as Done
  if (done.rows !== WHOLE.rows) throw new Error(`${FOLDER} has ${done.rows} rows, not ${WHOLE.rows}`)
  return done
}

const server = await startPostgres(t, FOLDER)

if (server)
  t.test('no statement meets its limit of 5 s', async (t) => {
    const url = await server.database('grown')
    const begun = performance.now()
    const seconds = (since: number) => (performance.now() - since) / 1000
    await (await openPostgres(url, { clock: new FakeClock() })).close()
    let done = doneBefore()
    if (!done) {
      await fillPostgres(server, url, WHOLE)
      done = { rows: WHOLE.rows, now: Date.now(), seconds: {} }
      t.pass(`filled: ${seconds(begun).toFixed(1)} s`)
    }
    const keep = () => file !== undefined && writeFileSync(file, JSON.stringify(done, undefined, 2))
    keep()
    const record = await openPostgres(url, { clock: new FakeClock() })
    t.teardown(() => record.close())
    for (const [name, work] of operations(t, { server, url, record, now: Date.now() })) {
      const before = done.seconds[name]
      if (before !== undefined) {
        t.pass(`${name}: ${before.toFixed(1)} s, before`)
        continue
      }
      if (seconds(begun) > MAX_SECONDS) {
        t.comment(`${name} and what follows: the next call`)
        return
      }
      const since = performance.now()
      await work()
      done.seconds[name] = seconds(since)
      keep()
      t.pass(`${name}: ${done.seconds[name]?.toFixed(1)} s`)
    }
  })
