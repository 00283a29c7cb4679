/** Identity of a conversation, so that it can stay where its prompt is cached (docs/contract.md#sticky-sessions). */

import { hash } from 'node:crypto'
import { randomTag } from '../../core/ids.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { type OrderPreferences, orderFor } from '../../routing/index.ts'
import type { ClientRequest } from '../request/client-request.ts'

/** Used where processes share no secret. Without one, prompts could be tried against a conversation's name. */
const SECRET = `${randomTag()}${randomTag()}`

/** Characters of a message that distinguish conversations. */
const ROOM = 2048
/** Messages among which the first of each kind is looked for, and parts of one that are read. */
const MESSAGES = 16
const PARTS = 32
const DEPTH = 3

/**
 * Body `session_id`, else header `x-session-id`, else `prompt_cache_key`, else a digest of the first instructions and
 * the first message. The last two are looked for only where they can matter: with a choice that a cache can make cheaper.
 * @param secret that digests are made with; processes that have it in common give a conversation the same name.
 */
export function conversationName(
  { gateway, body }: Pick<ClientRequest, 'gateway' | 'body'>,
  endpoints: readonly Endpoint[],
  secret: string = SECRET,
): { name: string; named: boolean } | undefined {
  if (gateway.sessionId) return { name: `s${gateway.sessionId}`, named: true }
  if (endpoints.length < 2 || !endpoints.some(cachesCheaper)) return undefined
  const { prompt_cache_key: cacheKey } = body
  if (typeof cacheKey === 'string' && cacheKey !== '') return { name: `k${digest(cacheKey, secret)}`, named: false }
  const opening = firstWords(body)
  return opening === undefined ? undefined : { name: `h${digest(opening, secret)}`, named: false }
}

/** A conversation stays nowhere where a list dictates the order of the primary model's endpoints (docs/contract.md#sticky-sessions). */
export function mayStay(preferences: Pick<OrderPreferences, 'order' | 'order_from'>, endpoints: readonly Endpoint[]): boolean {
  return orderFor(endpoints, preferences) === undefined
}

/** True where a cached token costs less than a fresh one. */
export function cachesCheaper({ price }: Endpoint): boolean {
  return typeof price === 'object' && price.cached !== undefined && price.cached < price.prompt
}

function digest(text: string, secret: string): string {
  return hash('sha256', secret + text, 'base64url')
}

/** Beginning of the conversation, bounded: it stays the same while messages are added. Undefined where there is no message yet. */
function firstWords(body: JsonObject): string | undefined {
  const { messages, input } = body
  let instructions: Json | undefined = body.instructions ?? body.system
  const listed = messages ?? input
  if (typeof listed === 'string') return openingText(instructions, listed)
  if (!Array.isArray(listed)) return undefined
  const end = Math.min(listed.length, MESSAGES)
  for (let i = 0; i < end; i++) {
    const message = listed[i]
    if (!isObject(message) || typeof message.role !== 'string') continue
    if (message.role !== 'system' && message.role !== 'developer') return openingText(instructions, message.content)
    instructions ??= message.content
  }
  return undefined
}

function openingText(instructions: Json | undefined, first: Json | undefined): string {
  return `${excerpt(instructions)}\n${excerpt(first)}`
}

/** The beginning of a message and its length. A string and one text part of the same words are the same. */
function excerpt(content: Json | undefined): string {
  const found = { text: '', length: 0 }
  collect(content, found, 0)
  return `${found.length}:${found.text}`
}

function collect(value: Json | undefined, found: { text: string; length: number }, depth: number): void {
  if (typeof value === 'string') {
    found.length += value.length
    if (found.text.length < ROOM) found.text += value.slice(0, ROOM - found.text.length)
  } else if (Array.isArray(value)) {
    const end = Math.min(value.length, PARTS)
    for (let i = 0; i < end; i++) collect(value[i], found, depth)
  } else if (isObject(value) && depth < DEPTH) {
    if (typeof value.text === 'string') collect(value.text, found, depth)
    // Marks of what to cache move on from turn to turn, and ids come and go; the content does not.
    else for (const key in value) if (!FLEETING.has(key)) collect(value[key], found, depth + 1)
  }
}

const FLEETING: ReadonlySet<string> = new Set(['cache_control', 'prompt_cache_breakpoint', 'id'])
