/**
 * Names of tools as a provider is sent them: those that it does not take are replaced, and a tool of a namespace has one name.
 * The reply has the caller's own again.
 */
import { createHash } from 'node:crypto'
import { offeredTools } from './allowed-tools.ts'
import type { StreamEvent } from './events.ts'
import type { CanonicalRequest, Item, Opaque, ToolChoice, ToolSpec } from './request.ts'

/** Tools behind the names that the provider was sent. */
export interface SentNames {
  /** The caller's names by those that took their place. */
  readonly renamed?: ReadonlyMap<string, string> | undefined
  /** Form in which the caller's format writes calls of functions that stand for tools of other kinds, by the function's name. */
  readonly own?: OwnCalls | undefined
}

export type OwnCalls = ReadonlyMap<string, Opaque>

/** Which names of functions a provider takes, of the 1 to 128 letters, digits, dashes and underscores that callers may use. */
export interface NameRule {
  /** Most characters. */
  readonly most: number
  /** True where the first character must be a letter or an underscore. */
  readonly beginsWithLetter?: true
}

/** Hexadecimal digits of the digest that ends a name of ours. */
const DIGEST = 12

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const LETTER = /^[A-Za-z_]/

/** The same name always becomes the same, since later turns repeat the calls of earlier ones; different ones never do. */
function taken(name: string, { most, beginsWithLetter }: NameRule): string {
  const digest = sha256(name).slice(0, DIGEST)
  const from = beginsWithLetter && !LETTER.test(name) ? `_${name}` : name
  return `${from.slice(0, most - DIGEST - 1)}_${digest}`
}

/** Between a namespace and its tool. */
const JOINT = '__'

/** The longest name that OpenAI's formats and Gemini's take, and the digits that end a name that is not simply joined. */
const FLAT = { longest: 64, digits: 8 }

/**
 * The name of the function that stands for a tool of a namespace. It depends on the two names alone, so that each turn
 * and each process sends the same, and prompts stay cached. Two tools never have the same one: a name in which the joint
 * could be elsewhere ends with a digest of both.
 */
export function flattenTool(namespace: string, tool: string): string {
  const joined = namespace + JOINT + tool
  const isClear = joined.indexOf(JOINT) === namespace.length && !joined.includes(JOINT, namespace.length + 1)
  if (isClear && joined.length <= FLAT.longest && /^[A-Za-z0-9_-]+$/.test(joined)) return joined
  const begin = joined.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, FLAT.longest - FLAT.digits - 1)
  return `${begin}_${sha256(`${namespace}\0${tool}`).slice(0, FLAT.digits)}`
}

function namesNotTaken({ tools, toolChoice, items }: CanonicalRequest, { most, beginsWithLetter }: NameRule): Set<string> | undefined {
  let found: Set<string> | undefined
  const look = (name: string): void => {
    if (name.length <= most && (!beginsWithLetter || name === '' || LETTER.test(name))) return
    found ??= new Set()
    found.add(name)
  }
  for (const tool of tools) if (tool.kind === 'function') look(tool.name)
  for (const item of items) if (item.kind === 'call') look(item.name)
  if (toolChoice?.mode === 'named') look(toolChoice.name)
  return found
}

/** A copy of the request in which each function has a name that the provider takes; undefined where each has one now. */
export function withTakenNames(
  request: CanonicalRequest,
  rule: NameRule,
): { request: CanonicalRequest; names: ReadonlyMap<string, string> } | undefined {
  const refused = namesNotTaken(request, rule)
  if (refused === undefined) return undefined
  const names = new Map<string, string>()
  const sent = new Map<string, string>()
  for (const name of refused) {
    const other = taken(name, rule)
    sent.set(name, other)
    names.set(other, name)
  }
  const sentName = (name: string): string => sent.get(name) ?? name
  const tool = (spec: ToolSpec): ToolSpec => (spec.kind === 'function' ? { ...spec, name: sentName(spec.name) } : spec)
  const item = (each: Item): Item => (each.kind === 'call' ? { ...each, name: sentName(each.name) } : each)
  const choice = (chosen: ToolChoice): ToolChoice => (chosen.mode === 'named' ? { mode: 'named', name: sentName(chosen.name) } : chosen)
  const { items } = request
  // A choice of some tools names them by the caller's names.
  const { tools, toolChoice } = offeredTools(request)
  const copy = { ...request, tools: tools.map(tool), items: items.map(item), ...(toolChoice ? { toolChoice: choice(toolChoice) } : {}) }
  return { request: copy, names }
}

/** Gives calls the caller's names, in place. @param from number of the first event that may have another one. */
export function restoreNames(events: readonly StreamEvent[], { renamed, own }: SentNames, from = 0): void {
  for (let i = from; i < events.length; i++) {
    const event = events[i]
    if (event?.type !== 'block-start' || !event.call) continue
    const { call } = event
    call.name = renamed?.get(call.name) ?? call.name
    const form = own?.get(call.name)
    if (form) call.own = form
  }
}
