/** The ends of `ends.test.ts` as langchain4j takes them, on the JDK's own HTTP client. */
import t from 'tap'
import { runs, seed } from '../support/seed.ts'
import { namesIn, startPrograms } from './support/end-programs.ts'
import { type KnownReading, startReading } from './support/end-scene.ts'
import { missing } from './support/language-programs.ts'

const CLIENTS = { Java: ['langchain4j, chat', 'langchain4j, responses', 'langchain4j, anthropic'] }

const KNOWN: readonly KnownReading[] = [
  {
    reader: 'langchain4j, chat',
    why: 'its finish reason is null where the word is none of the five of OpenAI (OpenAiUtils.finishReasonFrom of langchain4j-open-ai 1.19.0)',
    applies: ({ isGood }, { kind }) => !isGood && kind === 'silent',
  },
]

t.setTimeout(7_000_000)
t.test(`no failure reads as a success to langchain4j (seed ${seed()})`, { skip: missing('Java') }, async (t) => {
  const read = await startReading(t, { createReaders: startPrograms(t, CLIENTS), names: namesIn(CLIENTS), known: KNOWN })
  await read(t, { count: runs(150, 10_000), seed: seed() })
})
