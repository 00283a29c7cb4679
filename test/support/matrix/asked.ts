/** Request of a caller, free of any dialect: the clients write it, and the providers' bodies are read back to it. */
import type { JsonObject } from '../../../src/core/json.ts'

/** An image or a file is a public or a data URL. */
export type AskedPart = { text: string } | { image: string } | { file: string; name: string }

export interface AskedCall {
  id: string
  name: string
  args: JsonObject
}

export interface AskedResult {
  /** Of the call that it answers. */
  id: string
  parts: readonly AskedPart[]
}

export type AskedTurn =
  | { user: readonly AskedPart[] }
  | { assistant: string }
  | { calls: readonly AskedCall[] }
  | { results: readonly AskedResult[] }
  /** A whole reply that the same client got before, put back as its documentation says. */
  | { replayed: JsonObject }

export interface AskedTool {
  name: string
  description: string
  schema: JsonObject
}

export type AskedChoice = 'auto' | 'none' | 'required' | { name: string }

export interface Asked {
  system?: string
  turns: readonly AskedTurn[]
  tools?: readonly AskedTool[]
  choice?: AskedChoice
  /** One call at a time. */
  serial?: boolean
  schema?: { name: string; schema: JsonObject }
  effort?: string
  cap?: number
  stop?: readonly string[]
  temperature?: number
}

/** A part as a provider sees it. Calls are counted over the whole conversation; a result names the number of its call. */
export type SeenPart =
  | { text: string }
  | { image: string }
  | { file: string }
  | { call: { name: string; args: JsonObject } }
  | { result: number; parts: SeenPart[] }
  | { reasoning: string; signed: string }

export interface SeenTurn {
  role: 'user' | 'assistant'
  parts: SeenPart[]
}

export interface SeenRequest {
  system: string
  turns: SeenTurn[]
  tools: AskedTool[]
  choice: AskedChoice | undefined
  serial: boolean
  schema: JsonObject | undefined
  cap: number | undefined
  stop: string[]
  temperature: number | undefined
  /** Request for reasoning as the provider gets it, in its own words. */
  reasoning: JsonObject
}

/** Turns of one role that follow each other are one. */
export function mergedTurns(turns: readonly SeenTurn[]): SeenTurn[] {
  const merged: SeenTurn[] = []
  for (const turn of turns) {
    const last = merged.at(-1)
    if (last?.role === turn.role) last.parts.push(...turn.parts)
    else if (turn.parts.length > 0) merged.push({ role: turn.role, parts: [...turn.parts] })
  }
  return merged
}

const seenPart = (part: AskedPart): SeenPart => ('file' in part ? { file: part.file } : part)

/** The turns that a provider must see, whatever its wire. Replayed replies are not among them. */
export function expectedTurns(asked: Asked): SeenTurn[] {
  const turns: SeenTurn[] = []
  const ids: string[] = []
  for (const turn of asked.turns) {
    if ('user' in turn) turns.push({ role: 'user', parts: turn.user.map(seenPart) })
    else if ('assistant' in turn) turns.push({ role: 'assistant', parts: [{ text: turn.assistant }] })
    else if ('calls' in turn) {
      ids.push(...turn.calls.map((call) => call.id))
      turns.push({ role: 'assistant', parts: turn.calls.map(({ name, args }) => ({ call: { name, args } })) })
    } else if ('results' in turn)
      turns.push({
        role: 'user',
        parts: turn.results.map((result) => ({ result: ids.indexOf(result.id), parts: result.parts.map(seenPart) })),
      })
  }
  return mergedTurns(turns)
}
