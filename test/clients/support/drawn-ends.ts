/** Drawn ends of answers as clients read them: the official ones by all of their ways, and those of others. */
import type { Test } from 'tap'
import type { EndCase } from './end-cases.ts'
import { namesIn, type ProgramClients, startPrograms } from './end-programs.ts'
import { officialReaders, toolLoops } from './end-readers.ts'
import { type Drawn, type KnownReading, startReading } from './end-scene.ts'
import { mistralReaders } from './mistral-reader.ts'
import type { Account, Read } from './task-program.ts'

const NAMES = ['openai, chat', 'openai, responses', 'anthropic']

/** Those of OpenAI and Anthropic, in JavaScript, Python and Go. */
const OFFICIAL: ProgramClients = {
  Python: NAMES.map((name) => `${name}, in Python`),
  Go: NAMES.map((name) => `${name}, in Go`),
}

/** A response that is incomplete for a reason that OpenAI documents, and that these clients do not know: it goes on as it came. */
const isReason = ({ wire, drawn }: EndCase): boolean =>
  wire === 'openai-responses' && /"kind":"word".*"bad":"(?:max_messages|steered)"/.test(drawn)

const KNOWN: readonly KnownReading[] = [
  {
    reader: 'haystack, chat',
    why: 'it has no finish reason where a streamed one is none of its five words, so neither has the answer one of success',
    applies: ({ isGood, stream }, { kind }) => !isGood && stream && kind === 'silent',
  },
  {
    reader: 'haystack, responses',
    why: 'it takes the reason max_messages of an incomplete response, which OpenAI documents, for the end that there is otherwise',
    applies: (one, { kind }) => kind === 'finished' && isReason(one),
  },
  {
    reader: 'agent-framework, responses',
    why: 'it has no finish reason for max_messages and steered (`_get_finish_reason_from_openai_response` of agent-framework-openai)',
    applies: (one, { kind }) => kind === 'silent' && isReason(one),
  },
]

/**
 * go-openai, langchaingo, eino, Mistral's clients, agent-framework and haystack. Some of them look at less than the formats say. Where they
 * take an end wrongly from the provider itself as well, that stands in `KNOWN`.
 */
const OTHERS: ProgramClients = {
  Python: ['mistral, in Python', 'agent-framework, chat', 'agent-framework, responses', 'haystack, chat', 'haystack, responses'],
  Go: ['go-openai', 'langchaingo', 'eino'],
}

const PARTS = {
  official: { programs: OFFICIAL, own: (account: Account) => ({ ...officialReaders(account), ...toolLoops(account) }), known: [] },
  others: { programs: OTHERS, own: mistralReaders, known: KNOWN },
} as const

export type Part = keyof typeof PARTS

/** Starts the clients of a part and what they talk to. @returns what has them read a slice of cases. */
export function startPart(t: Test, part: Part): Promise<(t: Test, drawn: Drawn) => Promise<void>> {
  const { programs, own, known } = PARTS[part]
  const built = startPrograms(t, programs)
  const createReaders = (account: Account): Record<string, Read> => ({ ...own(account), ...built(account) })
  const names = [...Object.keys(own({ url: 'http://localhost', key: 'none' })), ...namesIn(programs)]
  return startReading(t, { createReaders, names, known })
}
