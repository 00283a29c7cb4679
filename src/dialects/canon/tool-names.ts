/** Names of tools that are longer than a provider takes: shortened in the request, and the caller's own again in the reply. */
import { createHash } from 'node:crypto'
import type { StreamEvent } from './events.ts'
import type { CanonicalRequest, Item, ToolChoice, ToolSpec } from './request.ts'

/** The caller's names by those that the provider is sent. */
export type SentNames = ReadonlyMap<string, string>

/** Hexadecimal digits of the digest that ends a shortened name. */
const DIGEST = 12

/** The same name always becomes the same, since later turns repeat the calls of earlier ones. */
function shortened(name: string, most: number): string {
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST)
  return `${name.slice(0, most - DIGEST - 1)}_${digest}`
}

function longNames({ tools, toolChoice, items }: CanonicalRequest, most: number): Set<string> | undefined {
  let found: Set<string> | undefined
  const look = (name: string): void => {
    if (name.length <= most) return
    found ??= new Set()
    found.add(name)
  }
  for (const tool of tools) if (tool.kind === 'function') look(tool.name)
  for (const item of items) if (item.kind === 'call') look(item.name)
  if (toolChoice?.mode === 'named') look(toolChoice.name)
  return found
}

/**
 * A copy of the request in which no function has a longer name; undefined where none has one now.
 * @param most characters that the provider takes.
 */
export function withShortNames(request: CanonicalRequest, most: number): { request: CanonicalRequest; names: SentNames } | undefined {
  const long = longNames(request, most)
  if (long === undefined) return undefined
  const names = new Map<string, string>()
  const sent = new Map<string, string>()
  for (const name of long) {
    const short = shortened(name, most)
    sent.set(name, short)
    names.set(short, name)
  }
  const nameOf = (name: string): string => sent.get(name) ?? name
  const tool = (spec: ToolSpec): ToolSpec => (spec.kind === 'function' ? { ...spec, name: nameOf(spec.name) } : spec)
  const item = (each: Item): Item => (each.kind === 'call' ? { ...each, name: nameOf(each.name) } : each)
  const choice = (chosen: ToolChoice): ToolChoice => (chosen.mode === 'named' ? { mode: 'named', name: nameOf(chosen.name) } : chosen)
  const { tools, items, toolChoice } = request
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
