/** Parts that every file of this wire shares: its id, its frames, and readers of parsed values. */
import type { Json } from '../../core/json.ts'
import type { ReplyContext } from '../types.ts'

/** One id for client and upstream, so that opaque items and extra fields go back verbatim. */
export const WIRE = 'responses'

export const DONE = 'data: [DONE]\n\n'

/**
 * One event; `fields` is JSON text that begins with a comma, '' for none. Takes the next sequence number. The `event` line equals
 * the type (Open Responses specification, "Streaming").
 */
export function eventFrame(ctx: ReplyContext, type: string, fields: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${ctx.sequence++}${fields}}\n\n`
}

export function asNumber(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}

export function asBoolean(value: Json | undefined): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

export function asStrings(value: Json | undefined): string[] | undefined {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : undefined
}
