/** Random lives: what callers, providers, operators and the network do to several processes that share one record. */
import fc from 'fast-check'
import type { Call, Mode } from '../../cluster/scripted-record.ts'

export const PROCESSES = 3
/** `parent` issued `one` and `two`. */
export const KEYS = ['parent', 'one', 'two', 'three'] as const
export type Key = (typeof KEYS)[number]
/** Keys, and the budgets above them. */
export const ACCOUNTS = [...KEYS, 'team', 'organisation', 'root'] as const
export type Account = (typeof ACCOUNTS)[number]

/** The nearest first, until a step moves a key. */
export const PAYERS: Readonly<Record<Key, readonly Account[]>> = {
  parent: ['team', 'organisation', 'root'],
  one: ['parent', 'team', 'organisation', 'root'],
  two: ['parent', 'team', 'organisation', 'root'],
  three: ['organisation', 'root'],
}

/** Payers that an operator moves the third key to. */
export const PLACES = [['organisation', 'root'], ['team', 'organisation', 'root'], ['root'], []] as const satisfies readonly Account[][]

/** End of an exchange. `over` reports more than its cap allows; `failed over` pays the second provider alone, `nonsense` reports what is not possible. */
export const ENDS = ['completed', 'over', 'left', 'left early', 'deadline', 'slow', 'provider failed', 'failed over', 'nonsense'] as const
export type End = (typeof ENDS)[number]

export type Step =
  | { do: 'request'; process: number; key: Key; full: number; share: number; times: number }
  | { do: 'end'; pick: number; end: End; part: number }
  | { do: 'turn'; pick: number; part: number; full: number }
  | { do: 'crash'; process: number }
  | { do: 'start'; process: number }
  | { do: 'fault'; process: number; mode: Mode; call: Call }
  | { do: 'wait'; ms: number }
  /** An operator gives back a share of what a key has spent, perhaps twice by one request. */
  | { do: 'refund'; key: Key; share: number; twice: boolean }
  /** An operator changes a limit, or adds a budget where there is none of that number. */
  | { do: 'bound'; key: Account; index: number; bound: Bound }
  /** An operator moves the third key, which has open requests perhaps. */
  | { do: 'move'; place: number }
  /** The clock on the wall moves on, also over the ends of windows. */
  | { do: 'leap'; hours: number }

/** Limits that nobody has changed are multiples of this, so that a changed one has a value of its own. */
export const LIMIT_STEP = 32

const bound = fc.record({
  limit: fc.integer({ min: 2, max: 90 }).map((steps) => steps * LIMIT_STEP),
  limitReset: fc.constantFrom(null, 'daily', 'weekly', 'monthly'),
})
export type Bound = typeof bound extends fc.Arbitrary<infer T> ? T : never

const process = fc.nat(PROCESSES - 1)
const part = fc.constantFrom(0, 0.1, 0.5, 0.9, 1)
const pick = fc.nat(9)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('request' as const),
      process,
      key: fc.constantFrom(...KEYS),
      full: fc.oneof(fc.nat(200), fc.nat(2000)),
      share: fc.constantFrom(0.1, 0.5, 1, 1),
      times: fc.constantFrom(1, 1, 1, 3),
    }),
  },
  { weight: 7, arbitrary: fc.record({ do: fc.constant('end' as const), pick, end: fc.constantFrom(...ENDS), part }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('turn' as const), pick, part, full: fc.nat(400) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const), process }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('start' as const), process }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      process,
      mode: fc.constantFrom<Mode>('refuse', 'lose', 'hang', 'delay', 'pass', 'pass'),
      call: fc.constantFrom<Call>('lease', 'take', 'giveBack', 'pulse', 'endLeases'),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(0, 30, 30, 300, 300, 1100) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('bound' as const), key: fc.constantFrom(...ACCOUNTS), index: fc.nat(2), bound }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      key: fc.constantFrom(...KEYS),
      share: fc.constantFrom(0.1, 0.5, 1),
      twice: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('move' as const), place: fc.nat(PLACES.length - 1) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('leap' as const), hours: fc.constantFrom(1, 13, 24, 24 * 7, 24 * 32) }) },
)

export const STEPS = fc.array(step, { minLength: 6, maxLength: 30 })

/** Limits of each key and of the budgets above them; and by how many minutes each process's clock is wrong. */
export const TERMS = fc.record({
  parent: fc.array(bound, { minLength: 0, maxLength: 3 }),
  one: fc.array(bound, { minLength: 1, maxLength: 3 }),
  two: fc.array(bound, { minLength: 0, maxLength: 2 }),
  three: fc.array(bound, { minLength: 0, maxLength: 2 }),
  team: fc.array(bound, { minLength: 0, maxLength: 3 }),
  organisation: fc.array(bound, { minLength: 0, maxLength: 3 }),
  root: fc.array(bound, { minLength: 0, maxLength: 3 }),
  skews: fc.oneof(
    fc.constant<number[]>([0, 0, 0]),
    fc.constant<number[]>([0, 0, 0]),
    fc.array(fc.constantFrom(0, 1, -1, 90, -90, 60 * 24 * 3, -60 * 24 * 3, 60 * 24 * 40), { minLength: PROCESSES, maxLength: PROCESSES }),
  ),
})
export type Terms = typeof TERMS extends fc.Arbitrary<infer T> ? T : never
