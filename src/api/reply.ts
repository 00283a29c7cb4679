import type { JsonObject } from '../core/json.ts'

/** What an operation answers. Refusals are thrown as faults. */
export interface ApiReply {
  readonly status: number
  readonly body: JsonObject
}

export function ok(body: JsonObject): ApiReply {
  return { status: 200, body }
}
