/** One key's credit over one process and over workers: what fits is served, and nothing more. */
import t from 'tap'
import { place, race } from '../../support/credit-race.ts'

t.test('one process', async (t) => race(t, await place(t, { programs: 1 })))

t.test('two workers', async (t) => race(t, await place(t, { programs: 1, workers: 2 })))
