/** The conversation that a coding agent names in words of its own, so that each of its turns finds the provider's cache of the one before. */
import type { IncomingHttpHeaders } from 'node:http'
import { isObject, type JsonObject, stringOf } from '../../core/json.ts'

/** As for `session_id`; a longer one is no id of ours to judge, and is not read. */
const LONGEST = 256

/**
 * Headers with the id of an agent's conversation: Claude Code 2.1.330; Codex 0.169; earlier versions of Codex and pi 0.73.1 (its
 * openai-responses provider, and openai-completions with `sendSessionAffinityHeaders`); opencode 1.18.33, which also sends X-Session-Id.
 */
const HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id', 'x-session-affinity'] as const

/**
 * `metadata.user_id` of Claude Code: at 2.1.330 JSON with `session_id` after the ids of device and account, in earlier versions one
 * word that ends with it (github.com/ujisati/claude-code-provider-proxy/pull/11).
 */
const IN_USER = /(?:"session_id":"|_session_)([\w-]{8,128})(?:"|$)/

/** @returns undefined where the request holds no such id. */
export function agentSession(headers: IncomingHttpHeaders, { metadata }: JsonObject): string | undefined {
  for (const name of HEADERS) {
    const id = headers[name]
    if (typeof id === 'string' && id !== '' && id.length <= LONGEST) return id
  }
  const user = isObject(metadata) ? stringOf(metadata.user_id) : undefined
  return user === undefined ? undefined : IN_USER.exec(user)?.[1]
}
