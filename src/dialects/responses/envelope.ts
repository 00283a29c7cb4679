/**
 * Seals of other families on this wire. A client replays what this API documents of a reasoning item and nothing else,
 * so `encrypted_content` carries all that the sealing family needs, as text that tells what it is.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { stringOf } from './wire.ts'

const MARK = 'hg.'

/** Formats of the families that seal on this wire. */
const OWN_FAMILY = /responses/

/** True for reasoning that a provider of this wire can open. */
export function isOwnFormat(format: string): boolean {
  return OWN_FAMILY.test(format)
}

/** What another family needs to take its reasoning back. */
export interface Sealed {
  format: string
  /** What only the family can read. */
  data?: string
  /** Of `text`, which must come back unchanged. */
  signature?: string
  id?: string
  text?: string
}

/** As it stands in `encrypted_content`. */
export function wrapSealed(sealed: Sealed): string {
  return MARK + Buffer.from(JSON.stringify(sealed), 'utf8').toString('base64url')
}

export function isWrapped(content: Json | undefined): content is string {
  return typeof content === 'string' && content.startsWith(MARK)
}

/** @returns undefined for what is malformed. */
export function openSealed(content: string): Sealed | undefined {
  let told: unknown
  try {
    told = JSON.parse(Buffer.from(content.slice(MARK.length), 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
  if (!isObject(told) || typeof told.format !== 'string') return undefined
  const sealed: Sealed = { format: told.format }
  for (const key of ['data', 'signature', 'id', 'text'] as const) {
    const value = stringOf(told[key])
    if (value !== undefined) sealed[key] = value
  }
  return sealed.data === undefined && sealed.signature === undefined ? undefined : sealed
}

/** True for a reasoning item that a provider of this wire must not see as it is. */
export function isForeign(item: JsonObject): boolean {
  return isWrapped(item.encrypted_content) || (typeof item.format === 'string' && !isOwnFormat(item.format))
}
