/** Drawn ends of answers as clients read them: the official ones by all of their ways, and those of others. */
import type { Test } from 'tap'
import { startPrograms } from './end-programs.ts'
import { officialReaders, toolLoops } from './end-readers.ts'
import { type Drawn, type KnownReading, readDrawn, startEnds } from './end-scene.ts'
import { mistralReaders } from './mistral-reader.ts'

const NAMES = ['openai, chat', 'openai, responses', 'anthropic']

/** Those of OpenAI and Anthropic, in JavaScript, Python and Go. */
export async function readByOfficial(t: Test, drawn: Drawn): Promise<void> {
  const ends = await startEnds(t)
  const programs = startPrograms(t, { Python: NAMES.map((name) => `${name}, in Python`), Go: NAMES.map((name) => `${name}, in Go`) })
  await readDrawn(t, ends, {
    ...drawn,
    clients: (account) => ({ ...officialReaders(account), ...toolLoops(account), ...programs(account) }),
  })
}

const KNOWN: readonly KnownReading[] = [
  {
    reader: 'haystack, chat',
    why: 'it has no finish reason where a streamed one is none of its five words, so neither has the answer one of success',
    applies: ({ isGood, stream }, { kind }) => !isGood && stream && kind === 'silent',
  },
  {
    reader: 'haystack, responses',
    why: 'it takes the reason max_messages of an incomplete response, which OpenAI documents, for the end that there is otherwise',
    applies: ({ drawn }, { kind }) => kind === 'finished' && /"kind":"word".*"bad":"(?:max_messages|steered)"/.test(drawn),
  },
]

/**
 * go-openai, langchaingo, eino, Mistral's clients, agent-framework and haystack. Some of them look at less than the formats say. Where they
 * take an end wrongly from the provider itself as well, that stands in `KNOWN`.
 */
export async function readByOthers(t: Test, drawn: Drawn): Promise<void> {
  const ends = await startEnds(t)
  const programs = startPrograms(t, {
    Python: ['mistral, in Python', 'agent-framework, chat', 'agent-framework, responses', 'haystack, chat', 'haystack, responses'],
    Go: ['go-openai', 'langchaingo', 'eino'],
  })
  const clients = (account: Parameters<typeof programs>[0]) => ({ ...mistralReaders(account), ...programs(account) })
  await readDrawn(t, ends, { ...drawn, clients, known: KNOWN })
}
