import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Json, JsonObject } from '../core/json.ts'

/** What an operation answers. Refusals are thrown as faults. */
export interface ApiReply {
  readonly status: number
  readonly body: JsonObject
}

export function ok(body: JsonObject): ApiReply {
  return { status: 200, body }
}

/** Rows of a list that are written at once. */
const PART = 500

/** JSON of a body. A list of thousands of rows is written in parts, and what else is ready goes on in between. */
export async function jsonTextOf(body: JsonObject): Promise<string> {
  if (!Object.values(body).some(isLong)) return JSON.stringify(body)
  const members: string[] = []
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue
    members.push(`${JSON.stringify(name)}:${isLong(value) ? await listText(value) : JSON.stringify(value)}`)
  }
  return `{${members.join(',')}}`
}

const isLong = (value: Json | undefined): value is Json[] => Array.isArray(value) && value.length > PART

async function listText(rows: readonly Json[]): Promise<string> {
  const parts: string[] = []
  for (let at = 0; at < rows.length; at += PART) {
    parts.push(JSON.stringify(rows.slice(at, at + PART)).slice(1, -1))
    await nextTurn()
  }
  return `[${parts.join(',')}]`
}
