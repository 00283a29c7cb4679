/**
 * Handling of failures by clients in Go, Java, Python and Rust with their defaults: a 429 that passes, a request that the provider refuses, and
 * a stream that breaks. Those in JavaScript are in `support/exercise.ts`.
 */
import t, { type Test } from 'tap'
import { sseAnswer } from '../support/upstream.ts'
import { framesFor, upstreamError } from '../support/wire.ts'
import { type Run, languageRuns } from './support/certified.ts'
import { type House, dialectModel, startHouse } from './support/house.ts'
import { type ProgramLanguage, missing, PROGRAMS } from './support/language-programs.ts'
import { type Account, QUESTIONS, type RunTask } from './support/task.ts'
import { startTaskProgram } from './support/task-program.ts'

const houseAccount = ({ gateway: { url, key } }: House): Account => ({ url, key, model: dialectModel('openai-chat') })
const LIMITED = () => upstreamError(429, 'slow down please', { 'retry-after': '1' })

async function limited(t: Test, { repeats }: Run, run: RunTask, house: House): Promise<void> {
  house.script(LIMITED, { text: ['It ', 'rains.'] }, { text: ['An ', 'umbrella.'] })
  const answers = await run(houseAccount(house)).catch((error: unknown) => String(error))
  t.same(repeats ? answers : typeof answers, repeats ? ['It rains.', 'An umbrella.'] : 'string')
  t.equal(house.seen().length, repeats ? QUESTIONS.length + 1 : 1)
}

async function refused(t: Test, { saysWhy }: Run, run: RunTask, house: House): Promise<void> {
  house.script(() => upstreamError(400, 'the sky is not a colour'))
  const answers = await run(houseAccount(house)).catch((error: unknown) => String(error))
  t.type(answers, 'string')
  if (saysWhy !== false) t.match(answers, 'the sky is not a colour')
  t.equal(house.seen().length, 1, 'it is not repeated')
}

async function broken(t: Test, _client: Run, run: RunTask, house: House): Promise<void> {
  house.script((seen) => sseAnswer(framesFor(seen.path, { text: ['one', 'two', 'three', 'four'] }).slice(0, -4), { after: 'close' }))
  const answers = await run(houseAccount(house)).catch((error: unknown) => String(error))
  t.type(answers, 'string', 'no half of an answer is taken for a whole one')
  t.equal(house.seen().length, 1)
}

async function fail(t: Test, language: ProgramLanguage): Promise<void> {
  const { command, args } = PROGRAMS[language]
  const house = await startHouse(t)
  const startRun = startTaskProgram(t, command, args)
  for (const client of languageRuns(language).filter(({ repeats }) => repeats !== undefined))
    await t.test(client.program, async (t) => {
      const run = startRun(client.program)
      await t.test('a 429 that passes', (t) => limited(t, client, run, house))
      await t.test('a refusal', (t) => refused(t, client, run, house))
      if (client.stream) await t.test('a stream that breaks', (t) => broken(t, client, run, house))
    })
}

// Most of it is waiting, so the languages do it beside each other.
t.jobs = 4
for (const language of Object.keys(PROGRAMS) as ProgramLanguage[])
  t.test(`clients in ${language}`, { skip: missing(language), buffered: true }, (t) => fail(t, language))
