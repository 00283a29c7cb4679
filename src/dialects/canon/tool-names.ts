/** Names of tools that a provider does not take: replaced in the request, and the caller's own again in the reply. */
import { createHash } from 'node:crypto'
import { offeredTools } from './allowed-tools.ts'
import type { StreamEvent } from './events.ts'
import type { CanonicalRequest, Item, ToolChoice, ToolSpec } from './request.ts'

/** The caller's names by those that the provider is sent. */
export type SentNames = ReadonlyMap<string, string>

/** Which names of functions a provider takes, of the 1 to 128 letters, digits, dashes and underscores that callers may use. */
export interface NameRule {
  /** Most characters. */
  readonly most: number
  /** True where the first character must be a letter or an underscore. */
  readonly beginsWithLetter?: true
}

/** Hexadecimal digits of the digest that ends a name of ours. */
const DIGEST = 12

const LETTER = /^[A-Za-z_]/

/** The same name always becomes the same, since later turns repeat the calls of earlier ones; different ones never do. */
function taken(name: string, { most, beginsWithLetter }: NameRule): string {
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST)
  const from = beginsWithLetter && !LETTER.test(name) ? `_${name}` : name
  return `${from.slice(0, most - DIGEST - 1)}_${digest}`
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
export function withTakenNames(request: CanonicalRequest, rule: NameRule): { request: CanonicalRequest; names: SentNames } | undefined {
  const refused = namesNotTaken(request, rule)
  if (refused === undefined) return undefined
  const names = new Map<string, string>()
  const sent = new Map<string, string>()
  for (const name of refused) {
    const other = taken(name, rule)
    sent.set(name, other)
    names.set(other, name)
  }
  const nameOf = (name: string): string => sent.get(name) ?? name
  const tool = (spec: ToolSpec): ToolSpec => (spec.kind === 'function' ? { ...spec, name: nameOf(spec.name) } : spec)
  const item = (each: Item): Item => (each.kind === 'call' ? { ...each, name: nameOf(each.name) } : each)
  const choice = (chosen: ToolChoice): ToolChoice => (chosen.mode === 'named' ? { mode: 'named', name: nameOf(chosen.name) } : chosen)
  const { items } = request
  // A choice of some tools names them by the caller's names.
  const { tools, toolChoice } = offeredTools(request)
  const copy = { ...request, tools: tools.map(tool), items: items.map(item), ...(toolChoice ? { toolChoice: choice(toolChoice) } : {}) }
  return { request: copy, names }
}

/** Gives calls the caller's names, in place. @param from number of the first event that may have another one. */
export function restoreNames(events: readonly StreamEvent[], names: SentNames, from = 0): void {
  for (let i = from; i < events.length; i++) {
    const event = events[i]
    if (event?.type !== 'block-start' || !event.call) continue
    const name = names.get(event.call.name)
    if (name !== undefined) event.call.name = name
  }
}
