/** A request of this wire for providers that know functions alone: tools, choice and history in the same words in each turn. */
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { ALLOWED_TOOLS } from '../canon/allowed-tools.ts'
import type { Flattened, NameClash } from '../canon/client-tools.ts'
import { type FunctionSpec, loaded, shownTools } from '../canon/deferred-tools.ts'
import { nativeObject } from '../canon/native.ts'
import type { CanonicalRequest, Item, Opaque, ToolChoice, ToolSpec } from '../canon/request.ts'
import { CALL, type FlatTool, flatName, flatTools, isClientTool, type Lost, SEARCH, SHELL } from './client-tools.ts'
import { flatItem, type History, namespacedCall, shellCallIds } from './functions-only-history.ts'
import { withRunningCalls } from './running-calls.ts'
import { WIRE } from './wire.ts'

/** Losses that the flat form does not have: a namespace stands in the name, and what is deferred is kept back here. */
const NAMESPACE_BESIDE = 'input.function_call.namespace'
const DEFERRED_BESIDE = 'tools.function.defer_loading'

const isAdded = ({ dialect, type }: Opaque): boolean => dialect === WIRE && type === 'additional_tools'

/** Tools without `inItems`: no item holds them any more. */
function listed({ inItems: _, ...spec }: FunctionSpec): FunctionSpec {
  return spec
}

class Flattening {
  readonly tools: ToolSpec[] = []
  readonly own = new Map<string, Opaque>()
  readonly lost: Lost = new Set()
  changed = false
  private readonly names = new Set<string>()
  private readonly found = new Set<string>()
  /** The caller searches for tools itself. */
  searches = false

  /** The first tool of a name counts, so that the list stays the same when later turns find it once more. */
  private add({ spec, own }: FlatTool): void {
    if (own?.type === CALL.search) this.searches = true
    if (this.names.has(spec.name)) return
    this.names.add(spec.name)
    if (own) this.own.set(spec.name, own)
    this.tools.push(spec)
  }

  list(tool: ToolSpec): void {
    if (tool.kind === 'function') this.add({ spec: listed(tool) })
    else if (tool.kind === 'opaque' && isClientTool(tool.of)) {
      this.changed = true
      for (const flat of flatTools(tool.of.data, this.lost) ?? []) this.add(flat)
    } else this.tools.push(tool)
  }

  /** Tools among the items: functions are in the list of tools already. */
  addAll(tools: readonly JsonObject[]): void {
    this.changed = true
    for (const data of tools)
      if (data.type !== 'function') this.list({ kind: 'opaque', of: { dialect: WIRE, type: String(data.type), data } })
  }

  item(item: Item, history: History): Item[] {
    if (item.kind === 'opaque' && isAdded(item.of)) {
      this.addAll(asObjects(item.of.data.tools))
      return []
    }
    const flat = item.kind === 'opaque' ? flatItem(item.of, history) : item.kind === 'call' ? namespacedCall(item) : undefined
    const now = flat?.item ?? item
    if (now.kind === 'call') this.found.add(now.name)
    if (!flat) return [item]
    this.changed = true
    if (flat.own && now.kind === 'call' && !this.own.has(now.name)) this.own.set(now.name, flat.own)
    return [now]
  }

  /** Tools that a search has found are offered from then on. */
  offer(tools: readonly JsonObject[]): FunctionSpec[] {
    const flat = tools.flatMap((tool) => flatTools(tool, this.lost) ?? [])
    for (const { spec, ...tool } of flat) {
      this.found.add(spec.name)
      this.add({ ...tool, spec: loaded(spec) })
    }
    return flat.map(({ spec }) => spec)
  }

  /** A deferred tool of a caller that searches for tools itself is not shown before it is found. */
  get shown(): ToolSpec[] {
    return this.searches ? shownTools(this.tools, this.found) : this.tools
  }

  /** A name without its namespace means the function of that name, else the only tool that has it in any namespace. */
  calledName({ type, name, namespace }: JsonObject): string | undefined {
    if (type === SEARCH || type === SHELL) return this.names.has(type) ? type : undefined
    if (type !== 'function' && type !== 'custom') return undefined
    const flat = flatName(String(name), namespace)
    if (this.names.has(flat)) return flat
    const spaced = [...this.own].filter(([, { data }]) => data.name === name).map(([each]) => each)
    return spaced.length === 1 ? spaced[0] : flat
  }

  private namesIn(namespace: Json | undefined): string[] {
    return [...this.own].filter(([, { data }]) => data.namespace === namespace).map(([name]) => name)
  }

  choice(choice: ToolChoice): ToolChoice {
    if (choice.mode === 'named') return { mode: 'named', name: this.calledName({ type: 'function', name: choice.name }) ?? choice.name }
    if (choice.mode !== 'opaque' || choice.of.dialect !== WIRE) return choice
    const { data, type } = choice.of
    if (type === ALLOWED_TOOLS) {
      const tools = asObjects(data.tools).flatMap((tool) => this.allowed(tool))
      return { mode: 'opaque', of: { ...choice.of, data: { ...data, tools } } }
    }
    const name = this.calledName({ ...data, type })
    return name === undefined ? choice : { mode: 'named', name }
  }

  private allowed(tool: JsonObject): JsonObject[] {
    const name = this.calledName(tool)
    const names = tool.type === 'namespace' ? this.namesIn(tool.name) : name === undefined ? [] : [name]
    return names.length === 0 ? [tool] : names.map((each) => ({ type: 'function', name: each }))
  }
}

/** True for an item that may have to be written in another form. */
function isOwnItem(item: Item): boolean {
  return item.kind === 'opaque' || (item.kind === 'call' && nativeObject(item, WIRE) !== undefined)
}

/** @returns undefined where the request says nothing that other wires do not know. */
export function flatten(request: CanonicalRequest): Flattened | undefined {
  if (!request.tools.some(({ kind }) => kind === 'opaque') && !request.items.some(isOwnItem)) return undefined
  const flat = new Flattening()
  for (const tool of request.tools) flat.list(tool)
  const shellCalls = shellCallIds(request.items)
  const settled = withRunningCalls(request.items, shellCalls, flat.lost)
  if (settled) flat.changed = true
  const history: History = { shellCalls, lost: flat.lost, offer: (tools) => flat.offer(tools) }
  const items = (settled ?? request.items).flatMap((item) => flat.item(item, history))
  if (!flat.changed) return undefined
  const flattened: CanonicalRequest = { ...request, tools: flat.shown, items }
  if (request.toolChoice) flattened.toolChoice = flat.choice(request.toolChoice)
  const kept = flat.searches ? [NAMESPACE_BESIDE, DEFERRED_BESIDE] : [NAMESPACE_BESIDE]
  for (const name of kept) flat.lost.delete(name)
  if (request.extras) {
    const fields = Object.entries(request.extras.fields).filter(([name]) => !kept.includes(name))
    flattened.extras = { ...request.extras, fields: Object.fromEntries(fields) }
  }
  return { request: flattened, own: flat.own, dropped: [...flat.lost] }
}

/** Tools of different kinds or namespaces that would be functions of one name; `at` is the place of the later one. */
export function nameClash({ tools, items }: CanonicalRequest): NameClash | undefined {
  const seen = new Map<string, string>()
  const nothing: Lost = new Set()
  const clashIn = (flat: readonly FlatTool[], at: string): NameClash | undefined => {
    for (const { spec, own } of flat) {
      const identity = JSON.stringify(own ?? null)
      const before = seen.get(spec.name)
      if (before !== undefined && before !== identity) return { at, name: spec.name }
      seen.set(spec.name, identity)
    }
    return undefined
  }
  for (const [index, tool] of tools.entries()) {
    const at = tool.kind === 'function' && tool.inItems ? 'input' : `tools[${index}]`
    const flat =
      tool.kind === 'function' ? [{ spec: tool }] : tool.kind === 'opaque' && isClientTool(tool.of) ? flatTools(tool.of.data, nothing) : []
    const clash = clashIn(flat ?? [], at)
    if (clash) return clash
  }
  for (const item of items) {
    if (item.kind !== 'opaque' || !isAdded(item.of)) continue
    for (const tool of asObjects(item.of.data.tools)) {
      const clash = tool.type === 'function' || !isObject(tool) ? undefined : clashIn(flatTools(tool, nothing) ?? [], 'input')
      if (clash) return clash
    }
  }
  return undefined
}
