/**
 * Versions of Anthropic's API, which every call names. Replies have one form in all of them: 2026-10-21 takes less than 2023-06-01, and
 * nothing else of the Messages API differs (platform.claude.com, "Migrating to API version 2026-10-21"; the types of
 * npm @anthropic-ai/sdk 0.137.0 and 1.0.0 differ in nothing else).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Encoded, VersionDemand } from '../types.ts'

export const VERSION_HEADER = 'anthropic-version'

/** The one that takes all that the gateway writes: calls whose caller names none have it. */
export const USUAL_VERSION = '2023-06-01'

/** Name of the usual one at Vertex AI, in the body; later ones have the same name there (platform.claude.com, Claude on Vertex AI; Versions). */
export const VERTEX_VERSION = 'vertex-2023-10-16'

const KNOWN: ReadonlySet<string> = new Set([USUAL_VERSION, '2026-10-21'])

/** Fields that each version after the usual one refuses, whatever their value (the page named above, "Sampling parameters are removed"). */
const REMOVED = ['temperature', 'top_p', 'top_k'] as const

/** Characters of a header (RFC 9110, 5.5), without spaces. */
const TOKEN = /^[\x21-\x7e]{1,64}$/

/** @returns the version that a caller names; undefined where it names none. */
export function versionIn(headers: IncomingHttpHeaders): string | undefined {
  const named = headers[VERSION_HEADER]
  return typeof named === 'string' && TOKEN.test(named) ? named : undefined
}

/** True for a version whose requests and replies can be translated without loss. */
export const isKnownVersion = (version: string): boolean => KNOWN.has(version)

/**
 * Has the call name the version that the caller names. What a preset, a plugin or the configuration has added, and that version refuses,
 * is no mistake of the caller's: such a call has the usual version.
 */
export function nameVersion(encoded: Encoded, { version, sent }: VersionDemand): void {
  if (version === USUAL_VERSION) return
  const { body } = encoded
  if (REMOVED.some((name) => body[name] !== undefined && (sent[name] ?? null) === null)) return
  if (body.anthropic_version === VERTEX_VERSION) body.anthropic_version = version
  else encoded.version = version
}
