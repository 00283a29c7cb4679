/**
 * The ends of `ends.test.ts` as clients of others take them: go-openai, langchaingo, eino, Mistral's clients, agent-framework and haystack.
 * Some of them look at less than the formats say. Where they take an end wrongly from the provider itself as well, that stands in `KNOWN`.
 */
import t from 'tap'
import { runs, seed } from '../support/seed.ts'
import { startPrograms } from './support/end-programs.ts'
import { type KnownReading, readDrawn, startEnds } from './support/end-scene.ts'
import { mistralReaders } from './support/mistral-reader.ts'

const KNOWN: readonly KnownReading[] = [
  {
    reader: 'haystack, chat',
    why: 'it has no finish reason where a streamed one is none of its five words, so neither has the answer one of success',
    applies: ({ isGood, stream }, { kind }) => !isGood && stream && kind === 'silent',
  },
  {
    reader: 'haystack, responses',
    why: 'it takes the reason max_messages of an incomplete response, which OpenAI documents, for the end that there is otherwise',
    applies: ({ drawn, wire }, { kind }) =>
      wire === 'openai-responses' && kind === 'finished' && /"kind":"word".*"bad":"(?:max_messages|steered)"/.test(drawn),
  },
]

t.setTimeout(7_000_000)
t.test(`no failure reads as a success to clients of others (seed ${seed()})`, async (t) => {
  const ends = await startEnds(t)
  const programs = startPrograms(t, {
    Python: ['mistral, in Python', 'agent-framework, chat', 'agent-framework, responses', 'haystack, chat', 'haystack, responses'],
    Go: ['go-openai', 'langchaingo', 'eino'],
  })
  const clients = (account: Parameters<typeof programs>[0]) => ({ ...mistralReaders(account), ...programs(account) })
  await readDrawn(t, ends, { count: runs(400, 10_000), clients, known: KNOWN })
})
