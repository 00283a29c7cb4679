/**
 * No failure of a provider reads as a success: ends, error frames and error bodies, known, unknown and half written, of every wire in every
 * lane, against the official clients of OpenAI and Anthropic, whole and streamed, by their plain calls, their helpers and the loops in
 * which they run tools. `npm run test:long` draws 100,000 cases; `HEADGATE_SEED` draws those of a run again.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import type { Lane } from '../support/lanes.ts'
import { runs, seed } from '../support/seed.ts'
import { caseOf, drawnCase, type EndCase } from './support/end-cases.ts'
import { officialReaders, STREAMS_ONLY, toolLoops } from './support/end-readers.ts'
import { startEnds, wrongReading } from './support/end-scene.ts'
import { type Read, startReaders } from './support/task-program.ts'

const PYTHON_FOLDER = fileURLToPath(new URL('./python/', import.meta.url))
const PYTHON = process.env.HEADGATE_TEST_PYTHON ?? `${PYTHON_FOLDER}.venv/bin/python`
const GO = fileURLToPath(new URL('./go/.build/task', import.meta.url))

const IN_PYTHON = ['openai, chat', 'openai, responses', 'anthropic'].map((name) => `${name}, in Python`)
const IN_GO = ['openai, chat', 'openai, responses', 'anthropic'].map((name) => `${name}, in Go`)

const scene = await startEnds(t)

const programs: ReturnType<typeof startReaders>[] = []
if (existsSync(PYTHON)) programs.push(startReaders(t, { command: PYTHON, args: [`${PYTHON_FOLDER}ends.py`], clients: IN_PYTHON }))
else t.comment('NOT INSTALLED: test/clients/python/.venv, see .ci/run: no clients in Python')
if (existsSync(GO)) programs.push(startReaders(t, { command: GO, args: ['ends'], clients: IN_GO }))
else t.comment('NOT BUILT: test/clients/go/.build, see .ci/run: no clients in Go')

/** The readers of each lane. */
const readers = new Map<Lane, Record<string, Read>>()
for (const [lane, account] of scene.accounts)
  readers.set(lane, Object.assign({}, officialReaders(account), toolLoops(account), ...programs.map((program) => program(account))))
const NAMES = Object.keys(readers.get('translate') ?? {})

/** At once. */
const WORKERS = 24

t.setTimeout(7_000_000)
t.test(`no failure reads as a success (seed ${seed()})`, async (t) => {
  const count = runs(600, 100_000)
  const values = fc.tuple(drawnCase, fc.constantFrom(...NAMES), fc.constantFrom<Lane>('pass', 'observe', 'translate'))
  const drawn = fc.sample(values, { numRuns: count, seed: seed() })
  const found: string[] = []
  const kinds = new Map<string, number>()
  let next = 0
  const work = async (): Promise<void> => {
    while (next < drawn.length && found.length < 20) {
      const number = next++
      const [any, reader, lane] = drawn[number]
      const one: EndCase = caseOf({ ...any, stream: any.stream || STREAMS_ONLY.has(reader) })
      const read = readers.get(lane)?.[reader]
      if (!read) throw new Error(`no reader ${reader}`)
      const reading = await scene.read(number, one, read)
      const key = `${one.isGood ? 'good' : 'bad'} ${reading.kind}`
      kinds.set(key, (kinds.get(key) ?? 0) + 1)
      const fault = wrongReading(reader, one, reading)
      if (fault) found.push(`case ${number}, lane ${lane}: ${fault}`)
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, work))
  t.same(found, [])
  t.comment(`${NAMES.length} readers: ${JSON.stringify(Object.fromEntries(kinds))}`)
  const bad = (kinds.get('bad raised') ?? 0) + (kinds.get('bad shown') ?? 0)
  t.ok(bad > count / 2, `${count} cases, ${bad} of them failures`)
})
