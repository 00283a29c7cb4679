/**
 * Deferred tools for providers that defer none. A tool with `defer_loading` is "only loaded when returned via tool_reference from
 * tool search" (Tool.defer_loading, @anthropic-ai/sdk 1.14.0); blocks of the beta mid-conversation-tool-changes-2026-07-01 offer and
 * withdraw tools, too. Claude Code defers a placeholder that is never to be called, and finds the others by a tool of its own.
 */
import { asString, isObject, type JsonObject } from '../../core/json.ts'
import type { Flattened } from '../canon/client-tools.ts'
import { type FunctionSpec, foundText, isDeferred, shownTools } from '../canon/deferred-tools.ts'
import type { CanonicalRequest, Item, Opaque, Part, ToolSpec } from '../canon/request.ts'
import { isCustomTool } from './check.ts'
import { functionTool } from './decode-request.ts'
import { WIRE } from './wire.ts'

/** A loss that other wires do not have: what is deferred is kept back here. */
const DEFERRED_BESIDE = 'tools.custom.defer_loading'

const isReference = (part: Part): part is { kind: 'opaque'; of: Opaque } =>
  part.kind === 'opaque' && part.of.dialect === WIRE && part.of.type === 'tool_reference'

/** The list of tools has the content of these blocks. */
const isChange = (part: Part): boolean =>
  part.kind === 'opaque' && part.of.dialect === WIRE && /^tool_(?:addition|removal)$/.test(part.of.type)

function speaksOfTools(item: Item): boolean {
  return item.kind === 'message' ? item.parts.some(isChange) : item.kind === 'result' && item.parts.some(isReference)
}

/** Changes of the tools by the conversation. */
class ToolChanges {
  readonly found = new Set<string>()
  readonly removed = new Set<string>()
  readonly added: FunctionSpec[] = []

  take(item: Item): void {
    if (item.kind === 'call') this.found.add(item.name)
    else if (item.kind === 'message') for (const part of item.parts) this.change(part)
    else if (item.kind === 'result')
      for (const part of item.parts) {
        if (!isReference(part)) continue
        this.find(String(part.of.data.tool_name))
      }
  }

  private find(name: string): void {
    this.found.add(name)
    this.removed.delete(name)
  }

  private change(part: Part): void {
    if (part.kind !== 'opaque' || part.of.dialect !== WIRE) return
    const { type, data } = part.of
    const tool = isObject(data.tool) ? data.tool : {}
    if (type === 'tool_addition') this.offer(tool)
    else if (type === 'tool_removal' && typeof tool.name === 'string') {
      this.removed.add(tool.name)
    }
  }

  private offer({ name, definition }: JsonObject): void {
    if (isObject(definition) && isCustomTool(definition)) this.added.push(functionTool(definition))
    const added = asString(name) ?? (isObject(definition) ? asString(definition.name) : undefined)
    if (added === undefined) return
    this.find(added)
  }
}

function inWords(item: Item, specs: ReadonlyMap<string, FunctionSpec>): Item[] {
  if (item.kind === 'message' && item.parts.some(isChange)) {
    const parts = item.parts.filter((part) => !isChange(part))
    return parts.length === 0 ? [] : [{ ...item, parts }]
  }
  if (item.kind !== 'result' || !item.parts.some(isReference)) return [item]
  const names = item.parts.filter(isReference).map(({ of }) => String(of.data.tool_name))
  const text: Part = { kind: 'text', text: foundText(names.map((name) => specs.get(name) ?? { name })) }
  const first = item.parts.findIndex(isReference)
  return [{ ...item, parts: item.parts.flatMap((part, at) => (at === first ? [text] : isReference(part) ? [] : [part])) }]
}

/** The request for a provider that defers no tools; undefined where it says nothing of the kind. */
export function withFoundTools(request: CanonicalRequest): Flattened | undefined {
  if (!request.tools.some(isDeferred) && !request.items.some(speaksOfTools)) return undefined
  const changes = new ToolChanges()
  for (const item of request.items) changes.take(item)
  const listed = new Set(request.tools.map((tool) => (tool.kind === 'function' ? tool.name : '')))
  const all: ToolSpec[] = [...request.tools, ...changes.added.filter(({ name }) => !listed.has(name))]
  const specs = new Map(all.flatMap((tool) => (tool.kind === 'function' ? [[tool.name, tool] as const] : [])))
  if (request.toolChoice?.mode === 'named') changes.found.add(request.toolChoice.name)
  const tools = shownTools(all, changes.found).filter((tool) => tool.kind !== 'function' || !changes.removed.has(tool.name))
  const flat: CanonicalRequest = { ...request, tools, items: request.items.flatMap((item) => inWords(item, specs)) }
  if (request.extras) {
    const { [DEFERRED_BESIDE]: _, ...fields } = request.extras.fields
    flat.extras = { ...request.extras, fields }
  }
  return { request: flat, own: new Map(), dropped: [] }
}
