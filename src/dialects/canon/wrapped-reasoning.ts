/**
 * Reasoning that is foreign to the caller's wire, in the one opaque field that its clients send back unchanged:
 * `hg.` and base64url of JSON that names its family. Encrypted reasoning of this wire stands in that field as it is.
 */
import { isObject } from '../../core/json.ts'

const MARK = 'hg.'

export interface WrappedReasoning {
  /** The family that can take the reasoning back. */
  format?: string | undefined
  /** Of the reasoning item, or of the call that the reasoning belongs to. */
  id?: string | undefined
  /** Reasoning that only its provider can read. */
  encrypted?: string | undefined
  /** Of `text`, which must come back unchanged. */
  signature?: string | undefined
  /** True where the shown text is a summary. */
  summary?: boolean | undefined
  /** The text itself, where it is not shown as it is. */
  text?: string | undefined
}

export function wrapReasoning(envelope: WrappedReasoning): string {
  return MARK + Buffer.from(JSON.stringify(envelope)).toString('base64url')
}

/** True for the text of an envelope: only the translate lane can put back what it holds. */
export function isWrappedReasoning(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith(MARK)
}

/** @returns undefined for what is none or cannot be read. */
export function unwrapReasoning(text: unknown): WrappedReasoning | undefined {
  if (!isWrappedReasoning(text)) return undefined
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(text.slice(MARK.length), 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const envelope: WrappedReasoning = {}
  for (const key of ['format', 'id', 'encrypted', 'signature', 'text'] as const) {
    const member = value[key]
    if (typeof member === 'string') envelope[key] = member
  }
  if (value.summary === true) envelope.summary = true
  return envelope
}
