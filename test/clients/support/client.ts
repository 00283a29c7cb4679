/** Requests that every client makes, and reports that it gives, in the same words, whatever its own interface looks like. */

import type { WireName } from '../../support/wire.ts'

/** Abilities that a client may lack: structured output, to show reasoning, or to send it back with its encrypted part. */
export type Ability = 'schema' | 'reasoning' | 'replay'

export interface Lack {
  ability: Ability
  why: string
  /** Only with these upstream dialects; absent: with all. */
  from?: readonly WireName[]
  /** Only in streams; absent: in whole replies, too. */
  streamed?: true
}

/** Wires whose signed reasoning stands in no tool call of a chat reply; Gemini's does. */
export const APART: readonly WireName[] = ['openai-chat', 'openai-responses', 'anthropic']

export interface Ask {
  model: string
  prompt: string
  stream: boolean
  /** Base64 of a PNG that goes with the prompt. */
  image?: string
  /** Offers `WEATHER`, runs it, and goes on until the model answers. */
  tool?: boolean
  /** Asks for `CAPITAL`, which the client parses. */
  schema?: boolean
  /** Asks for visible reasoning. */
  reasoning?: boolean
  topP?: number
  signal?: AbortSignal
  /** Hears every delta of text; only while streaming. */
  onText?: (delta: string) => void
}

export interface Told {
  text: string
  reasoning?: string
  /** The structured answer, parsed by the client. */
  value?: unknown
  /** Of the last answer; `input` includes `cached`, `output` includes `reasoning`. */
  usage: { input?: number; output?: number; cached?: number; reasoning?: number }
}

export type Status = 400 | 401 | 404 | 429

export interface Client {
  readonly name: string
  ask(ask: Ask): Promise<Told>
  /** Asks with a key that nobody gave out. */
  askAsStranger(ask: Ask): Promise<Told>
  /** Name of the class that the client throws for a status. */
  readonly classes: Readonly<Record<Status, string>>
  /** Number of times that the client repeats a request that got 429, by its defaults; absent: never. */
  readonly retries?: number
  /** The HTTP status that one of these errors tells. */
  errorStatus(error: unknown): number | undefined
}

export const STRANGER = 'sk-router-v1-ffffffffffffffffffffffffffffffff'

/** A picture of one pixel. */
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const WEATHER = {
  name: 'weather',
  description: 'The weather of a place',
  schema: {
    type: 'object',
    properties: { place: { type: 'string', description: 'Name of the place' } },
    required: ['place'],
    additionalProperties: false,
  },
} as const

/** Result of the tool, which the provider must be told. */
export const weatherSentence = (args: { place: string }): string => `It rains frogs in ${args.place}.`

export const CAPITAL = {
  name: 'capital',
  schema: {
    type: 'object',
    properties: { capital: { type: 'string' }, inhabitants: { type: 'integer' } },
    required: ['capital', 'inhabitants'],
    additionalProperties: false,
  },
} as const
