/**
 * No failure of a provider reads as a success: ends, error frames and error bodies, known, unknown and half written, of every wire in every
 * lane, against the official clients of OpenAI and Anthropic, whole and streamed, by their plain calls, their helpers and the loops in
 * which they run tools. `npm run test:long` draws 100,000 cases; `HEADGATE_SEED` draws those of a run again.
 */
import t from 'tap'
import { runs, seed } from '../support/seed.ts'
import { startPrograms } from './support/end-programs.ts'
import { officialReaders, toolLoops } from './support/end-readers.ts'
import { readDrawn, startEnds } from './support/end-scene.ts'

const NAMES = ['openai, chat', 'openai, responses', 'anthropic']

t.setTimeout(7_000_000)
t.test(`no failure reads as a success (seed ${seed()})`, async (t) => {
  const ends = await startEnds(t)
  const programs = startPrograms(t, { Python: NAMES.map((name) => `${name}, in Python`), Go: NAMES.map((name) => `${name}, in Go`) })
  await readDrawn(t, ends, {
    count: runs(600, 100_000),
    clients: (account) => ({ ...officialReaders(account), ...toolLoops(account), ...programs(account) }),
  })
})
