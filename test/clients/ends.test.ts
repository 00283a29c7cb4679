/**
 * No failure of a provider reads as a success: ends, error frames and error bodies, known, unknown and half written, of every wire in every
 * lane, against the official clients of OpenAI and Anthropic, whole and streamed, by their plain calls, their helpers and the loops in
 * which they run tools. `ends.long.ts` draws 100,000 cases; `HEADGATE_SEED` draws those of a run again.
 */
import t from 'tap'
import { seed } from '../support/seed.ts'
import { startPart } from './support/drawn-ends.ts'

t.setTimeout(7_000_000)
t.test(`no failure reads as a success (seed ${seed()})`, async (t) => {
  const read = await startPart(t, 'official')
  await read(t, { count: 600, seed: seed() })
})
