import type { OutgoingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Json, JsonObject } from '../core/json.ts'

/** Reply of an operation. Refusals are thrown as faults. */
export interface ApiReply {
  readonly status: number
  readonly body: JsonObject
}

/** Bytes with headers of their own: undefined where only the head was requested. */
export interface BytesReply {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly bytes: Readable | undefined
}

export function ok(body: JsonObject): ApiReply {
  return { status: 200, body }
}

/** Rows of a list that are written at once. */
const PART = 500

/**
 * JSON of a body. A list of thousands of rows is written in pieces, and what else is ready goes on in between: as one text of some
 * megabytes it would be copied three times in one turn of the event loop.
 */
export async function replyJson(body: JsonObject): Promise<string | readonly Buffer[]> {
  if (!Object.values(body).some(isLong)) return JSON.stringify(body)
  const pieces: Buffer[] = []
  let text = '{'
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue
    text += `${text === '{' ? '' : ','}${JSON.stringify(name)}:`
    if (!isLong(value)) {
      text += JSON.stringify(value)
      continue
    }
    for (let at = 0; at < value.length; at += PART) {
      pieces.push(Buffer.from(`${text}${at === 0 ? '[' : ','}${JSON.stringify(value.slice(at, at + PART)).slice(1, -1)}`))
      text = ''
      await nextTurn()
    }
    text = ']'
  }
  return [...pieces, Buffer.from(`${text}}`)]
}

const isLong = (value: Json | undefined): value is Json[] => Array.isArray(value) && value.length > PART
