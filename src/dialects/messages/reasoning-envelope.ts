/**
 * Reasoning that is not this wire's own, in the two places where callers of this wire keep reasoning and send it back unchanged:
 * `signature` of a thinking block and `data` of a redacted one. An envelope there tells whose it is; an own seal stands there bare.
 */
import { isObject, type JsonObject } from '../../core/json.ts'
import { present, stringOf } from './wire.ts'

const MARK = 'hg.'

export interface Envelope {
  /** Who can take the reasoning back. */
  format?: string
  /** Of the reasoning item, or of the call that the reasoning belongs to. */
  id?: string
  /** Reasoning that only its provider can read. */
  sealed?: string
  signature?: string
  /** True where the block's text is a summary. */
  summary?: boolean
  /** The text itself, where the caller asked not to see it. */
  text?: string
}

/** `hg.` and base64url of JSON. */
export function closeEnvelope(envelope: Envelope): string {
  return MARK + Buffer.from(JSON.stringify(envelope)).toString('base64url')
}

/** True for the text of an envelope: only the translate lane can put back what it holds. */
export function isEnvelope(text: string): boolean {
  return text.startsWith(MARK)
}

/** @returns undefined for a seal of this wire's own. */
export function openEnvelope(text: string): Envelope | undefined {
  if (!isEnvelope(text)) return undefined
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(text.slice(MARK.length), 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { format, id, sealed, signature, summary, text: hidden }: JsonObject = value
  return present({
    format: stringOf(format),
    id: stringOf(id),
    sealed: stringOf(sealed),
    signature: stringOf(signature),
    summary: summary === true ? true : undefined,
    text: stringOf(hidden),
  })
}
