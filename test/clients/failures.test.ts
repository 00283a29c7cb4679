/**
 * What clients in Go, Java, Python and Rust make of failures by their defaults: a 429 that passes, a request that the provider refuses, and
 * a stream that breaks. Those in JavaScript are in `support/exercise.ts`.
 */
import t, { type Test } from 'tap'
import { sseAnswer } from '../support/upstream.ts'
import { framesFor, upstreamError } from '../support/wire.ts'
import { type House, modelOf, startHouse } from './support/house.ts'
import { type Language, missing, PROGRAMS } from './support/language-programs.ts'
import { type Account, QUESTIONS, type RunTask } from './support/task.ts'
import { startTaskProgram } from './support/task-program.ts'

interface Failing {
  readonly name: string
  readonly stream: boolean
  /** True where the client waits and comes back after a 429 by its defaults. */
  readonly comesBack: boolean | 'by the type of error.code'
  /** False where its error has nothing of what the gateway says; absent: it has the message. */
  readonly saysWhy?: false
}

const both = (name: string, comesBack: Failing['comesBack'], more: Pick<Failing, 'saysWhy'> = {}): Failing[] =>
  [false, true].map((stream) => ({ name: `${name}, ${stream ? 'streamed' : 'whole'}`, stream, comesBack, ...more }))

const CLIENTS: Readonly<Record<Language, readonly Failing[]>> = {
  Go: [
    ...both('openai-go, chat', true),
    ...both('openai-go, responses', true),
    ...both('anthropic-sdk-go', true),
    ...both('go-openai', false),
    ...both('langchaingo', false),
    ...both('eino', false),
  ],
  Java: [
    ...both('openai-java, chat', true),
    ...both('openai-java, responses', true),
    ...both('anthropic-java', true),
    { name: 'langchain4j, chat, whole', stream: false, comesBack: true },
    { name: 'langchain4j, chat, streamed', stream: true, comesBack: false },
    { name: 'langchain4j, responses, streamed', stream: true, comesBack: false },
    { name: 'langchain4j, anthropic, whole', stream: false, comesBack: true },
    { name: 'langchain4j, anthropic, streamed', stream: true, comesBack: false },
    { name: 'spring-ai, whole', stream: false, comesBack: false },
    // The error of its stream has the status alone.
    { name: 'spring-ai, streamed', stream: true, comesBack: false, saysWhy: false },
  ],
  Python: [
    { name: 'openai, chat', stream: true, comesBack: true },
    { name: 'openai, responses', stream: true, comesBack: true },
    { name: 'anthropic', stream: true, comesBack: true },
    { name: 'langchain, chat', stream: true, comesBack: true },
    { name: 'pydantic-ai, chat', stream: true, comesBack: true },
    { name: 'agent-framework, chat', stream: true, comesBack: true },
    { name: 'agent-framework, responses', stream: true, comesBack: true },
  ],
  Rust: [
    ...both('async-openai, chat', 'by the type of error.code'),
    ...both('rig, chat', false),
    ...both('rig, responses', false),
    ...both('rig, anthropic', false),
    ...both('genai, chat', false),
    ...both('genai, anthropic', false),
  ],
}

const accountOf = ({ gateway: { url, key } }: House): Account => ({ url, key, model: modelOf('openai-chat') })
const LIMITED = () => upstreamError(429, 'slow down please', { 'retry-after': '1' })

async function limited(t: Test, { comesBack }: Failing, run: RunTask, house: House): Promise<void> {
  house.script(LIMITED, { text: ['It ', 'rains.'] }, { text: ['An ', 'umbrella.'] })
  const answers = await run(accountOf(house)).catch((error: unknown) => String(error))
  t.same(comesBack ? answers : typeof answers, comesBack ? ['It rains.', 'An umbrella.'] : 'string')
  t.equal(house.seen().length, comesBack ? QUESTIONS.length + 1 : 1)
}

async function refused(t: Test, { saysWhy }: Failing, run: RunTask, house: House): Promise<void> {
  house.script(() => upstreamError(400, 'the sky is not a colour'))
  const answers = await run(accountOf(house)).catch((error: unknown) => String(error))
  t.type(answers, 'string')
  if (saysWhy !== false) t.match(answers, 'the sky is not a colour')
  t.equal(house.seen().length, 1, 'it is not repeated')
}

async function broken(t: Test, _client: Failing, run: RunTask, house: House): Promise<void> {
  house.script((seen) => sseAnswer(framesFor(seen.path, { text: ['one', 'two', 'three', 'four'] }).slice(0, -4), { after: 'close' }))
  const answers = await run(accountOf(house)).catch((error: unknown) => String(error))
  t.type(answers, 'string', 'no half of an answer is taken for a whole one')
  t.equal(house.seen().length, 1)
}

async function fail(t: Test, language: Language): Promise<void> {
  const { command, args } = PROGRAMS[language]
  const house = await startHouse(t)
  const runOf = startTaskProgram(t, command, args)
  for (const client of CLIENTS[language])
    await t.test(client.name, async (t) => {
      const run = runOf(client.name)
      if (typeof client.comesBack === 'boolean') await t.test('a 429 that passes', (t) => limited(t, client, run, house))
      await t.test('a refusal', (t) => refused(t, client, run, house))
      if (client.stream) await t.test('a stream that breaks', (t) => broken(t, client, run, house))
    })
}

// Most of it is waiting, so the languages do it beside each other.
t.jobs = 4
for (const language of Object.keys(CLIENTS) as Language[])
  t.test(`clients in ${language}`, { skip: missing(language), buffered: true }, (t) => fail(t, language))
