/**
 * The ends of `ends.test.ts`: 100,000 cases by the official clients, then 10,000 by those of others, in slices of 1,000. Each slice has a
 * seed of its own, the first that of the run. A case that is wrong is written to the error stream at once, as `WRONG, PART:SEED@CASE`, and
 * `HEADGATE_SLICES=PART:SEED@CASE node test/clients/ends.long.ts` has it read again. `PART:SEED` is a whole slice, `PART:SEED*10` ten.
 */
import t from 'tap'
import { seed } from '../support/seed.ts'
import { type Part, startPart } from './support/drawn-ends.ts'
import { sliceName, SLICE, namedSlices } from './support/end-slices.ts'

const slices = namedSlices(process.env.HEADGATE_SLICES, seed())

t.setTimeout(7_000_000)
for (const part of ['official', 'others'] satisfies Part[]) {
  const own = slices.filter((slice) => slice.part === part)
  if (own.length === 0) continue
  t.test(`no failure reads as a success: ${part}`, async (t) => {
    t.setTimeout(7_000_000)
    const read = await startPart(t, part)
    for (const [at, slice] of own.entries()) {
      await t.test(`slice ${sliceName(slice)}`, (t) => read(t, { count: SLICE, seed: slice.seed, name: sliceName(slice), only: slice.only }))
      console.error(`ends, ${sliceName(slice)}: ${at + 1} of ${own.length} slices`)
    }
  })
}
