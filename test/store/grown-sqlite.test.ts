/**
 * Checks of an embedded ledger of many keys beside requests: no turn of the event loop takes longer where there are three times as many.
 * Runs with `npm run test:servers`, since it takes long.
 */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { keepLocally } from '../../src/cluster/bookkeeping.ts'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { openStore } from '../../src/store/open.ts'
import { FakeClock } from '../support/clock.ts'
import { DAY_MS, threeSizes } from '../support/grown/sizes.ts'
import { fillSqlite } from '../support/grown/sqlite.ts'
import { watchTurns } from '../support/longest-turn.ts'

t.setTimeout(240_000)
const MIDDLE = { rows: 20_000, keys: 7_000, carriedKeys: 700, days: 60 }
/** Milliseconds of processor time of this thread, so that other programs of the machine do not count. */
const MAX_TURN_MS = 80

for (const size of threeSizes(MIDDLE))
  t.test(`a check of ${size.keys} keys leaves each turn of the event loop short`, async (t) => {
    const file = join(t.testdir(), 'headgate.db')
    const clock = new FakeClock()
    fillSqlite(file, size, Math.floor(clock.now()) - 2 * DAY_MS)
    const store = openStore(`sqlite:${file}`, { clock })
    t.teardown(() => store.close())
    const bookkeeping = keepLocally(store, clock)
    const verify = (full = false) => watchTurns(() => verifyLedger(bookkeeping.ledger, { full, now: clock.now() }))
    const carried = 21 * size.carriedKeys * size.days
    const charged = 10 * size.rows
    // The first one compiles, too.
    for (const [name, full, wanted] of [
      ['the first', false, { generations: size.rows, charged, carried, before: undefined }],
      ['the next', false, { generations: 0, carried, before: { generations: size.rows } }],
      ['one of all', true, { generations: size.rows, charged, carried }],
    ] as const) {
      const { result, longest } = await verify(full)
      t.match(result, { ok: true, problems: [], ...wanted }, name)
      t.ok(longest < MAX_TURN_MS, `${name}: ${longest.toFixed(1)} ms`)
    }
    const folded = await watchTurns(async () => {
      for (let rolled = 1; rolled > 0; ) {
        rolled = store.journal instanceof SqliteJournal ? store.journal.roll(clock.now(), 1_000) : 0
        await nextTurn()
      }
    })
    t.ok(folded.longest < MAX_TURN_MS, `folding: ${folded.longest.toFixed(1)} ms`)
    t.match((await verify(true)).result, { ok: true, carried }, 'also when the days have become months')
  })
