/** Content of a recorded reply, free of any format; each reader of a provider format returns it. None of them uses the sources. */
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'

export interface ExpectedCall {
  /** Empty where the provider gave none. */
  id: string
  name: string
  /** Parsed; the text itself where it is no JSON. */
  args: Json
}

export interface ExpectedCitation {
  url: string
  title: string
}

/** Tokens. `input` counts what was read from the cache and written to it, `output` the reasoning. */
export interface ExpectedUsage {
  input: number
  output: number
  cached: number
  written: number
  reasoning: number
}

/** `error`: the provider ended the turn because the model went wrong. */
export type ExpectedEnd = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error'

export interface Expected {
  text: string
  reasoning: string
  /** Signatures, and reasoning that only its provider can read; each in all the forms in which the provider sends it. */
  secrets: string[][]
  /** Of them those that sign a text. */
  ofText: Set<string>
  refusal: string
  calls: ExpectedCall[]
  citations: ExpectedCitation[]
  end: ExpectedEnd
  /** The provider's own word for the end. */
  word: string
  /** Absent where the provider reports none. */
  usage?: ExpectedUsage
}

export const nothing = (): Expected => ({
  text: '',
  reasoning: '',
  secrets: [],
  ofText: new Set(),
  refusal: '',
  calls: [],
  citations: [],
  end: 'stop',
  word: '',
})

export const object = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
export const list = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])
export const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
export const number = (value: Json | undefined): number => (typeof value === 'number' ? value : 0)

/** Arguments of a call as a value; none at all are an empty object. */
export function parseArgs(value: Json | undefined): Json {
  if (typeof value !== 'string') return value ?? {}
  if (value.trim() === '') return {}
  try {
    return JSON.parse(value) as Json
  } catch {
    return value
  }
}

/** The data of each event of a stream (WHATWG HTML §9.2.6), parsed, without the end mark. */
export function eventsIn(stream: string): JsonObject[] {
  const events: JsonObject[] = []
  for (const block of stream.replaceAll('\r\n', '\n').split('\n\n')) {
    const data = block
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(line.startsWith('data: ') ? 6 : 5))
      .join('\n')
    if (data !== '' && data !== '[DONE]') events.push(JSON.parse(data) as JsonObject)
  }
  return events
}
