/**
 * The ends of `ends.test.ts`: 100,000 cases by the official clients, in ten rounds with a gateway and clients of their own, then 10,000 by
 * those of others. The rounds have the seed of the run and those behind it; with `HEADGATE_SEED` a round that failed comes first, and
 * `HEADGATE_ROUNDS` says how many there are.
 */
import t from 'tap'
import { seed } from '../support/seed.ts'
import { readByOfficial, readByOthers } from './support/drawn-ends.ts'

const ROUNDS = Number(process.env.HEADGATE_ROUNDS ?? 10)
const CASES = 10_000

t.setTimeout(7_000_000)
for (let round = 0; round < ROUNDS; round++) {
  const drawn = { count: CASES, seed: seed() + round, name: `round ${round + 1} of ${ROUNDS}` }
  t.test(`no failure reads as a success: ${drawn.name} (seed ${drawn.seed})`, (t) => readByOfficial(t, drawn))
}
t.test(`no failure reads as a success to clients of others (seed ${seed()})`, (t) =>
  readByOthers(t, { count: CASES, seed: seed(), name: 'clients of others' }),
)
