/** Many random lives, one after the other, on stores that take over from each other before their time runs out. */
import fc from 'fast-check'
import type { Test } from 'tap'
import type { LedgerReader } from '../../../src/ledger/types.ts'
import { verifyLedger } from '../../../src/ledger/verify.ts'
import type { Market } from './market.ts'
import { STEPS, type Step, TERMS, type Terms } from './steps.ts'
import { World } from './world.ts'

export interface OpenMarket {
  readonly market: Market
  readonly ledger: LedgerReader
  close(): Promise<void>
}

/** Sequences are exact up to 2039; no life leaps over the rest. */
const LATEST = Date.UTC(2036, 0, 1)

/** Lives on one store: every pulse looks at all processes that it knows, and nothing here forgets those of earlier lives. */
const LIVES_PER_STORE = 100

/** Lives that have shown mistakes. */
const KNOWN: [Terms, Step[]][] = [
  [
    // At the end a return was under way that had begun before the last charge was handed in.
    {
      parent: [{ limit: 64, limitReset: null }],
      one: [{ limit: 64, limitReset: null }],
      two: [],
      skews: [0, 0, 0],
    },
    [
      { do: 'request', process: 0, key: 'two', full: 1, share: 0.1, times: 1 },
      { do: 'fault', process: 0, mode: 'delay', call: 'lease' },
      { do: 'request', process: 0, key: 'two', full: 1, share: 0.1, times: 1 },
      { do: 'end', pick: 0, end: 'completed', part: 1 },
      { do: 'fault', process: 0, mode: 'refuse', call: 'take' },
      { do: 'request', process: 0, key: 'parent', full: 32, share: 0.1, times: 1 },
    ],
  ],
  [
    // At the end an ask came through that its process had given up, after a return of all that the record knew of.
    { parent: [], one: [{ limit: 64, limitReset: null }], two: [], skews: [0, 0, 0] },
    [
      { do: 'bound', key: 'parent', index: 0, bound: { limit: 64, limitReset: null } },
      { do: 'request', process: 2, key: 'parent', full: 1, share: 0.1, times: 1 },
      { do: 'fault', process: 2, mode: 'delay', call: 'lease' },
      { do: 'turn', pick: 0, part: 0, full: 2 },
      { do: 'request', process: 0, key: 'parent', full: 17, share: 0.1, times: 3 },
      { do: 'end', pick: 0, end: 'completed', part: 0 },
      { do: 'start', process: 0 },
      { do: 'leap', hours: 1 },
      { do: 'end', pick: 0, end: 'completed', part: 0 },
      { do: 'leap', hours: 1 },
      { do: 'bound', key: 'parent', index: 0, bound: { limit: 64, limitReset: null } },
    ],
  ],
  [
    // At the end an ask whose asker had been refused after two seconds was still out.
    { parent: [{ limit: 64, limitReset: null }], one: [{ limit: 64, limitReset: null }], two: [], skews: [0, 0, 0] },
    [
      { do: 'fault', process: 0, mode: 'hang', call: 'lease' },
      { do: 'request', process: 0, key: 'parent', full: 1, share: 0.1, times: 1 },
      { do: 'fault', process: 1, mode: 'refuse', call: 'lease' },
      { do: 'wait', ms: 1100 },
      { do: 'wait', ms: 1100 },
      { do: 'end', pick: 0, end: 'completed', part: 0 },
      { do: 'request', process: 1, key: 'parent', full: 1, share: 0.1, times: 1 },
      { do: 'wait', ms: 0 },
    ],
  ],
]

/** @param open makes an empty store. @param runs how many lives, and the seed. */
export async function liveMany(t: Test, open: () => Promise<OpenMarket>, runs: { numRuns: number; seed?: number }): Promise<void> {
  let place = await open()
  let [lives, generations, unrecovered] = [0, 0, 0]
  const closed = async (): Promise<void> => {
    const { ok, problems } = await verifyLedger(place.ledger)
    if (!ok) throw new Error(problems.join('; '))
    await place.close()
  }
  await fc.assert(
    fc.asyncProperty(TERMS, STEPS, async (terms, steps) => {
      if (lives === LIVES_PER_STORE || place.market.clock.now() > LATEST) {
        await closed()
        place = await open()
        lives = 0
      }
      lives++
      const { market } = place
      const world = new World(market, terms)
      await market.quiet()
      for (const step of steps) await world.run(step)
      await world.over()
      generations += world.model.charges.length
      unrecovered += world.model.unrecovered
    }),
    { ...runs, examples: KNOWN, includeErrorInReport: true },
  )
  await closed()
  t.ok(generations > runs.numRuns, `${runs.numRuns} lives, ${generations} generations`)
  t.ok(unrecovered > 0, 'some usage passed what any allowance could pay')
}
