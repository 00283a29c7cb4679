/**
 * Ids that a provider gives in its replies: of containers, of files that code has written. Each means something to one account alone, and
 * must be of use to the key that got it alone. So an id gets a signature behind it on its way to the caller
 * (`container_011…~hg1.1.ACCOUNT.SIGNATURE`), and loses it on its way back.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { StreamEvent } from './events.ts'
import type { Opaque } from './request.ts'

/** Beginning of a signature: its first letter is rare, so that a search of a body finds its absence fast. */
export const SIGNED_ID = '~hg1.'
/** Ids have no blanks: a text that ends with one is none. */
const FORM = /^([\x21-\x7d]{1,400})~hg1\.([1-9]\d{0,5})\.([\w-]{8})\.([\w-]{22})$/

export interface SignedId {
  readonly id: string
  /** Number of the key that signed it. */
  readonly key: number
  /** Letters of the account (`reasoning-owner.ts`). */
  readonly account: string
  readonly signature: string
}

export function parseSignedId(text: string): SignedId | undefined {
  const [, id, key, account, signature] = FORM.exec(text) ?? []
  if (id === undefined || account === undefined || signature === undefined) return undefined
  return { id, key: Number(key), account, signature }
}

export const writeSignedId = ({ id, key, account, signature }: SignedId): string => `${id}${SIGNED_ID}${key}.${account}.${signature}`

/** Members of replies that hold an id of the provider's; `container` is an object with one. */
const MEMBERS: ReadonlySet<string> = new Set(['container_id', 'file_id', 'thread_id'])
/** Arguments that the model wrote for a tool of the caller's, and the caller's own statements. */
const NOT_OURS: ReadonlySet<string> = new Set(['input', 'arguments', 'parameters', 'metadata', 'text'])

/** Places in JSON text where one of them may stand: within a string its quotes would have backslashes. */
const MAY_NAME_IDS = /"(?:container_id|file_id|thread_id|container)"\s*:\s*["{]/

/** @returns the very object where it holds none. */
export function withSignedIds(data: JsonObject, sign: (id: string) => string): JsonObject {
  return replaced(data, (name, value, holder) => {
    if (!MEMBERS.has(name) && !(name === 'id' && holder === 'container')) return undefined
    return value === '' || value.includes(SIGNED_ID) ? undefined : sign(value)
  }) as JsonObject
}

/** The same in decoded events, in place. */
export function signEvents(events: StreamEvent[], sign: (id: string) => string): void {
  for (const [index, event] of events.entries()) {
    if (event.type === 'block-note') {
      const data = withSignedIds(event.data, sign)
      if (data !== event.data) events[index] = { ...event, data }
    } else if ((event.type === 'block-start' || event.type === 'opaque') && event.of) {
      const data = withSignedIds(event.of.data, sign)
      if (data !== event.of.data) events[index] = { ...event, of: { ...event.of, data } }
    }
  }
}

/**
 * The same in whole frames of server-sent events, one character per byte: what surrounds an id stays as it came.
 * @returns the very text where it holds none.
 */
export function withSignedText(text: string, sign: (id: string) => string): string {
  if (!MAY_NAME_IDS.test(text)) return text
  return text
    .split('\n')
    .map((line) => (line.startsWith('data:') && MAY_NAME_IDS.test(line) ? withSignedLine(line, sign) : line))
    .join('\n')
}

function withSignedLine(line: string, sign: (id: string) => string): string {
  let message: Json
  try {
    message = JSON.parse(line.slice('data:'.length)) as Json
  } catch {
    return line
  }
  if (!isObject(message)) return line
  const ids = new Set<string>()
  withSignedIds(message, (id) => {
    ids.add(id)
    return id
  })
  let out = line
  // Ids are plain ASCII; one that is not stays as it is, and is of no use to anyone.
  for (const id of ids) if (/^[\x21\x23-\x5b\x5d-\x7e]{8,}$/.test(id)) out = out.replaceAll(`"${id}"`, `"${sign(id)}"`)
  return out
}

/** @returns the body with each signed id as its provider knows it; the very body where it holds none. */
export function withPlainIds(body: JsonObject): JsonObject {
  return replaced(body, (_name, value) => (value.includes(SIGNED_ID) ? parseSignedId(value)?.id : undefined), NOTHING) as JsonObject
}

const NOTHING: ReadonlySet<string> = new Set()

type Replace = (name: string, value: string, holder: string) => string | undefined

function replaced(value: Json, replace: Replace, skipped: ReadonlySet<string> = NOT_OURS, name = '', holder = ''): Json {
  if (typeof value === 'string') return replace(name, value, holder) ?? value
  if (Array.isArray(value)) {
    let copy: Json[] | undefined
    for (let i = 0; i < value.length; i++) {
      const one = value[i] ?? null
      const next = replaced(one, replace, skipped, name, holder)
      if (next === one) continue
      copy ??= [...value]
      copy[i] = next
    }
    return copy ?? value
  }
  if (!isObject(value)) return value
  let copy: JsonObject | undefined
  for (const key in value) {
    const one = value[key]
    if (one === undefined || skipped.has(key)) continue
    const next = replaced(one, replace, skipped, key, name)
    if (next === one) continue
    copy ??= { ...value }
    copy[key] = next
  }
  return copy ?? value
}

/** An id that a request names. */
export interface NamedId {
  /** Path of the member. */
  readonly path: string
  readonly text: string
}

/** Each signed id in a body. */
export function signedIdsIn(body: JsonObject): NamedId[] {
  const found: NamedId[] = []
  const look = (value: Json, path: string): void => {
    if (typeof value === 'string') {
      if (value.includes(SIGNED_ID) && parseSignedId(value)) found.push({ path, text: value })
    } else if (Array.isArray(value)) for (const [i, one] of value.entries()) look(one, `${path}[${i}]`)
    else if (isObject(value))
      for (const key in value) {
        const one = value[key]
        if (one !== undefined) look(one, path === '' ? key : `${path}.${key}`)
      }
  }
  look(body, '')
  return found
}

/** Types of skills that are the provider's own, open to all of its customers (types of @anthropic-ai/sdk 1.12.0, `BetaSkillParams`). */
const PUBLIC_SKILLS: ReadonlySet<Json | undefined> = new Set(['anthropic'])

const isId = (value: Json | undefined): value is string => typeof value === 'string' && value !== ''

/**
 * Ids of what a provider keeps, in the places where a request makes use of them: not where a conversation shows again what a tool of the
 * provider has done. Files among the parts of messages are found in the canonical form.
 * @param added tools that stand elsewhere than in `tools`.
 */
export function resourcesIn(body: JsonObject, added: readonly { path: string; of: Opaque }[]): NamedId[] {
  const found: NamedId[] = []
  const add = (path: string, value: Json | undefined): void => {
    if (isId(value)) found.push({ path, text: value })
    else if (Array.isArray(value)) for (const [i, one] of value.entries()) if (isId(one)) found.push({ path: `${path}[${i}]`, text: one })
  }
  const { container } = body
  if (isObject(container)) {
    add('container.id', container.id)
    for (const [i, skill] of (Array.isArray(container.skills) ? container.skills : []).entries())
      if (isObject(skill) && !PUBLIC_SKILLS.has(skill.type)) add(`container.skills[${i}].skill_id`, skill.skill_id)
  } else add('container', container)
  for (const name of ['cached_content', 'cachedContent']) add(name, body[name])
  const google = isObject(body.extra_body) ? body.extra_body.google : undefined
  if (isObject(google)) for (const name of ['cached_content', 'cachedContent']) add(`extra_body.google.${name}`, google[name])
  for (const [i, tool] of (Array.isArray(body.tools) ? body.tools : []).entries())
    if (isObject(tool) && tool.type !== 'function') addOfTool(tool, `tools[${i}]`, add)
  for (const { path, of } of added) addOfTool(of.data, path, add)
  return found
}

function addOfTool(tool: JsonObject, path: string, add: (path: string, value: Json | undefined) => void): void {
  const { container, environment } = tool
  add(`${path}.vector_store_ids`, tool.vector_store_ids)
  add(`${path}.tunnel_id`, tool.tunnel_id)
  if (isObject(container)) add(`${path}.container.file_ids`, container.file_ids)
  else add(`${path}.container`, container)
  if (!isObject(environment)) return
  add(`${path}.environment.container_id`, environment.container_id)
  add(`${path}.environment.file_ids`, environment.file_ids)
}

/** Fields in which a request names an earlier generation by the id that this gateway gave it. */
export interface NamedGeneration {
  readonly field: 'thread' | 'diagnostics' | 'prompt_cache_options'
  readonly member: string
  readonly text: string
  /** The conversation goes on from it; else it is only compared with. */
  readonly continues: boolean
}

/** Fields whose requests may be named by later ones (types of @anthropic-ai/sdk 1.14.0 and openai 7.59.0). */
const GENERATIONS = [
  { field: 'thread', member: 'previous_message_id', continues: true },
  { field: 'diagnostics', member: 'previous_message_id', continues: false },
  { field: 'prompt_cache_options', member: 'comparison_response_id', continues: false },
] as const

/** True for a request that a later one may name. */
export const mayBeNamed = (body: JsonObject): boolean => GENERATIONS.some(({ field }) => body[field] !== undefined && isObject(body[field]))

export function generationsIn(body: JsonObject): NamedGeneration[] {
  return GENERATIONS.flatMap(({ field, member, continues }) => {
    const holder = body[field]
    const text = isObject(holder) ? holder[member] : undefined
    return isId(text) ? [{ field, member, text, continues }] : []
  })
}
