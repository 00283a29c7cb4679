/** The ends of `ends.test.ts` as clients of others take them; `ends.long.ts` draws 10,000 of them. */
import t from 'tap'
import { seed } from '../support/seed.ts'
import { startPart } from './support/drawn-ends.ts'

t.setTimeout(7_000_000)
t.test(`no failure reads as a success to clients of others (seed ${seed()})`, async (t) => {
  const read = await startPart(t, 'others')
  await read(t, { count: 400, seed: seed() })
})
