/**
 * Every statement on PostgreSQL at three sizes: none may read more pages of a store that is three times as large. Runs with `npm run test:servers`; `grown.long.ts` has the whole size.
 */
import t from 'tap'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { operations } from '../support/grown/operations.ts'
import { fillPostgres, WatchedStatements, watchedUrl } from '../support/grown/postgres.ts'
import { threeSizes } from '../support/grown/sizes.ts'
import { startPostgres } from '../support/postgres.ts'

t.setTimeout(280_000)
const MIDDLE = { rows: 9_000, keys: 12_000, carriedKeys: 200, days: 60 }
/** From the middle size to the large one. */
const MAX_GROWTH = 1.6
/** Milliseconds; pages say what grows, whatever else the machine does. */
const LIMITS = { connect: 30_000, statement: 30_000 }
/** Pages below which a difference says nothing: a page of 500 sums that a check keeps writes some 2,700, and is not full at the smaller sizes. */
const FEW = 3_000

const server = await startPostgres(t)

if (server)
  t.test('what a statement reads does not grow with keys, days and rows', async (t) => {
    const watched = new WatchedStatements()
    const found = new Map<string, { pages: number; text: string }[]>()
    for (const size of threeSizes(MIDDLE)) {
      const url = await server.database()
      await (await openPostgres(url, { clock: new FakeClock() })).close()
      await fillPostgres(server, url, size)
      const record = await openPostgres(watchedUrl(url), { clock: new FakeClock(), limits: LIMITS })
      for (const [name, work] of operations(t, { server, url, record, now: Date.now() })) {
        const begun = performance.now()
        const reads = await watched.of(work)
        const worst = reads.reduce((a, b) => (b.pages > a.pages ? b : a), { pages: 0, text: '' })
        found.set(name, [...(found.get(name) ?? []), worst])
        t.ok(
          reads.length > 0 || name === 'vacuum',
          `${name} at ${size.rows} rows: ${reads.length} statements, ${worst.pages} pages at most, ${Math.round(performance.now() - begun)} ms`,
        )
      }
      t.match(await verifyLedger(record.ledger, { full: true, now: Date.now() }), { ok: true, problems: [] }, 'all of it together')
      await record.close()
    }
    for (const [name, reads] of found) {
      const [small = 0, middle = 0, large = 0] = reads.map(({ pages }) => pages)
      const shown = `${name}: ${small}, ${middle}, ${large} pages`
      t.ok(large <= FEW || large <= middle * MAX_GROWTH, `${shown} in ${reads.at(-1)?.text.slice(0, 300)}`)
    }
  })
