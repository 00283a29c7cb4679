/** Many random lives on stores that take over from each other before their time runs out. */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import type { Test } from 'tap'
import type { LedgerReader } from '../../../src/ledger/reader.ts'
import { verifyLedger } from '../../../src/ledger/verify.ts'
import { LONG } from '../seed.ts'
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

const NO_LIMITS = { three: [], team: [], organisation: [], root: [] }

/** Lives that have shown mistakes. */
const KNOWN: [Terms, Step[]][] = [
  [
    // At the end a return was under way that had begun before the last charge was handed in.
    {
      parent: [{ limit: 64, limitReset: null }],
      one: [{ limit: 64, limitReset: null }],
      two: [],
      skews: [0, 0, 0],
      ...NO_LIMITS,
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
    { parent: [], one: [{ limit: 64, limitReset: null }], two: [], skews: [0, 0, 0], ...NO_LIMITS },
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
    { parent: [{ limit: 64, limitReset: null }], one: [{ limit: 64, limitReset: null }], two: [], skews: [0, 0, 0], ...NO_LIMITS },
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
  [
    // A part that cost nothing was given back while the row with its floor was all that the journal of a crash would have.
    { parent: [{ limit: 64, limitReset: null }], one: [{ limit: 64, limitReset: null }], two: [], skews: [0, 0, 0], ...NO_LIMITS },
    [
      { do: 'request', process: 0, key: 'parent', full: 1, share: 0.1, times: 1 },
      { do: 'request', process: 1, key: 'parent', full: 8, share: 0.1, times: 1 },
      { do: 'leap', hours: 1 },
      { do: 'turn', pick: 1, part: 0, full: 32 },
      { do: 'request', process: 0, key: 'parent', full: 0, share: 0.1, times: 1 },
      { do: 'request', process: 0, key: 'parent', full: 28, share: 0.1, times: 1 },
      { do: 'crash', process: 1 },
      { do: 'request', process: 0, key: 'one', full: 29, share: 0.5, times: 3 },
    ],
  ],
]

/** Sums over many lives. */
interface Lived {
  readonly generations: number
  readonly unrecovered: number
}

/** Lives one after the other. @param open makes an empty store. @param runs how many lives, and the seed. */
export async function live(open: () => Promise<OpenMarket>, runs: Runs): Promise<Lived> {
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
  return { generations, unrecovered }
}

interface Runs {
  numRuns: number
  seed?: number
}

/** Work of a thread of lives: the file beside this one that opens its stores, and what that needs. */
export interface Task {
  readonly market: 'sqlite-market' | 'postgres-market'
  readonly given: string
  readonly runs: Runs
}

/**
 * Lives in threads of their own, in the long run one for each processor: the hooks by which tap follows every promise, which take
 * a third of the time, hold in the main thread alone.
 */
export async function liveMany(t: Test, { market, given, runs }: Task): Promise<void> {
  const threads = LONG ? availableParallelism() : 1
  const tasks = Array.from({ length: threads }, (_, index) => {
    const own = { numRuns: Math.ceil(runs.numRuns / threads), ...(runs.seed === undefined ? {} : { seed: runs.seed + index }) }
    return inThread({ market, given, runs: own })
  })
  const lived = await Promise.all(tasks)
  const generations = lived.reduce((sum, each) => sum + each.generations, 0)
  t.ok(generations > runs.numRuns, `${runs.numRuns} lives, ${generations} generations`)
  t.ok(
    lived.some(({ unrecovered }) => unrecovered > 0),
    'some usage passed what any allowance could pay',
  )
}

function inThread(task: Task): Promise<Lived> {
  const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: task })
  return new Promise((resolve, reject) => {
    worker.on('message', ({ lived, problem }: Answer) => {
      if (lived) resolve(lived)
      else reject(new Error(problem))
    })
    worker.on('error', reject)
    worker.on('exit', (code) => reject(new Error(`the thread ended with code ${code}`)))
  })
}

/** The answer of a thread: one of the two. */
export interface Answer {
  readonly lived?: Lived
  readonly problem?: string
}
