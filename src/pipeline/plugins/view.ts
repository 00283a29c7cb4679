/**
 * View of one plugin on the exchange: one flat object whatever records the pipeline keeps, the one way in which the plugin can change it,
 * and its settings, a request's `plugins` list over the operator's.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { badField, type Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { NativeSearch } from '../../dialects/canon/native-search.ts'
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
import type { GatewayFields, PluginEntry } from '../../dialects/canon/request-fields.ts'
import type { ClientDialect } from '../../dialects/types.ts'
import type { ApiKey, AttemptRecord, Cancel, Planned as PlannedView, Stage } from '../../plugin-api/index.ts'
import type { Endpoint, Model } from '../../routing/catalog/types.ts'
import type { ChainDependencies, PluginSetting } from '../dependencies.ts'
import { type Aimed, CancelSource, type Guarded, narrow, type Planned } from '../exchange.ts'
import { findSearchers, searchNatively } from '../route/native-search.ts'

/** For those that may read it and change nothing of its cost: those that choose models, or say whether they act. */
export class ExchangeView implements PlannedView {
  protected readonly exchange: Aimed & Partial<Pick<Planned, 'route' | 'plan'>>

  constructor(exchange: Aimed & Partial<Pick<Planned, 'route' | 'plan'>>) {
    this.exchange = exchange
  }

  get id(): string {
    return this.exchange.head.id
  }
  get seq(): number {
    return this.exchange.head.seq
  }
  get tag(): string {
    return this.exchange.head.tag
  }
  get client(): ClientDialect {
    return this.exchange.request.client
  }
  get headers(): IncomingHttpHeaders {
    return this.exchange.head.headers
  }
  get at(): number {
    return this.exchange.head.at
  }
  get started(): number {
    return this.exchange.head.started
  }
  get wantsMetadata(): boolean {
    return this.exchange.head.wantsMetadata
  }
  get attempts(): AttemptRecord[] {
    return this.exchange.history.attempts
  }
  get depth(): number {
    return this.exchange.head.depth
  }
  get key(): ApiKey {
    return this.exchange.auth.key
  }
  get body(): JsonObject {
    return this.exchange.request.body
  }
  get gateway(): GatewayFields {
    const { request, demand } = this.exchange
    return request.gateway.plugins === demand.plugins ? request.gateway : { ...request.gateway, plugins: [...demand.plugins] }
  }
  get stream(): boolean {
    return this.exchange.request.stream
  }
  get mayHoldMedia(): boolean {
    return this.exchange.request.mayHoldMedia
  }
  get edited(): boolean {
    return this.exchange.request.edited
  }
  get requested(): string {
    return this.exchange.demand.requested
  }
  get strategy(): string {
    return this.exchange.demand.strategy
  }
  get models(): readonly Model[] {
    return (this.exchange.route ?? this.exchange.demand).models
  }
  get endpoints(): readonly Endpoint[] {
    return this.exchange.route?.endpoints ?? []
  }
  get candidates(): readonly Endpoint[] {
    return this.exchange.plan?.candidates ?? []
  }
  get stages(): Stage[] {
    return this.exchange.history.stages
  }
  get cancel(): Cancel {
    return this.exchange.head.cancel
  }

  request(): CanonicalRequest {
    return this.exchange.request.canonical()
  }

  edit(by: string, change: (draft: CanonicalRequest) => void): void {
    this.exchange.request.edit(by, change)
  }

  addErrorMetadata(metadata: JsonObject): void {
    this.exchange.history.addErrorMetadata(metadata)
  }

  memory(bytes: number): Promise<void> | undefined {
    return this.exchange.head.connection.reserve?.(bytes)
  }

  charge(_nano: number, _what: string): boolean {
    return false
  }

  searchers(_search: NativeSearch): 'all' | 'some' | 'none' {
    return 'none'
  }

  searchNatively(_search: NativeSearch): boolean {
    return false
  }
}

export class PluginView extends ExchangeView {
  /** Of this plugin alone. */
  private readonly own: Stage[] = []
  /** True while the plugin may change the request. */
  open = false
  edits = 0
  declare protected readonly exchange: Guarded
  private readonly bill: (nano: number, what: string) => boolean
  private readonly upstreams: ChainDependencies['upstreams']
  private source: CancelSource | undefined
  private before: CanonicalRequest | undefined
  private endpointsBefore: readonly Endpoint[] | undefined
  private kept = false

  constructor(exchange: Guarded, upstreams: ChainDependencies['upstreams'], bill: (nano: number, what: string) => boolean) {
    super(exchange)
    this.upstreams = upstreams
    this.bill = bill
  }

  override get stages(): Stage[] {
    return this.own
  }

  /** Ends with the exchange, and with the plugin's own time. */
  override get cancel(): Cancel {
    if (!this.source) {
      const source = new CancelSource()
      this.source = source
      this.exchange.head.cancel.onAbort((reason) => source.abort(reason))
    }
    return this.source
  }

  /** Nothing happens once the plugin's time is over: what comes late must not change a request that is on its way. */
  override edit(by: string, change: (draft: CanonicalRequest) => void): void {
    if (!this.open) return
    this.before ??= copyRequest(this.exchange.request.canonical())
    this.edits++
    this.exchange.request.edit(by, change)
  }

  override charge(nano: number, what: string): boolean {
    return this.bill(nano, what)
  }

  override addErrorMetadata(metadata: JsonObject): void {
    if (this.open) this.exchange.history.addErrorMetadata(metadata)
  }

  override searchers(search: NativeSearch): 'all' | 'some' | 'none' {
    const { able, all } = findSearchers(this.exchange, search, this.upstreams, false)
    return able.length === 0 ? 'none' : all ? 'all' : 'some'
  }

  override searchNatively(search: NativeSearch): boolean {
    const { able } = findSearchers(this.exchange, search, this.upstreams, false)
    if (!this.open || able.length === 0) return false
    this.before ??= copyRequest(this.exchange.request.canonical())
    this.edits++
    this.endpointsBefore ??= this.exchange.route.endpoints
    searchNatively(this.exchange, search, able, undefined)
    return true
  }

  /** The plugin's time is over. @param reason why, where it had not answered. */
  close(reason?: Fault): void {
    this.open = false
    if (reason !== undefined) this.source?.abort(reason)
  }

  /** Keeps the plugin's changes, whatever becomes of its view on the reply. */
  keep(): void {
    this.kept = true
    this.before = undefined
  }

  /** Reverts the plugin's changes and removes its stages, unless they are to stay. */
  undo(): void {
    if (this.kept) return
    this.stages.length = 0
    const { before, exchange, edits } = this
    if (!before) return
    const request = exchange.request.canonical()
    for (const key of Object.keys(request)) if (!Object.hasOwn(before, key)) delete request[key as keyof CanonicalRequest]
    Object.assign(request, before)
    exchange.request.undo(edits)
    if (this.endpointsBefore) narrow(exchange, this.endpointsBefore)
    this.before = undefined
    this.edits = 0
  }

  /** Field that the plugin has left in a wrong form; undefined where the request is well-formed. */
  get malformed(): string | undefined {
    if (this.edits === 0) return undefined
    const { items, tools, sampling } = this.exchange.request.canonical() as { items: unknown; tools: unknown; sampling: unknown }
    if (!Array.isArray(items) || !items.every(isItem)) return 'items'
    if (!Array.isArray(tools) || !tools.every((tool) => isObject(tool) && typeof tool.kind === 'string')) return 'tools'
    return isObject(sampling) ? undefined : 'sampling'
  }
}

/** Deep enough: what plugins change they replace. */
function copyRequest(request: CanonicalRequest): CanonicalRequest {
  return {
    ...request,
    items: [...request.items],
    tools: [...request.tools],
    sampling: { ...request.sampling },
    used: new Set(request.used),
  }
}

function isItem(item: unknown): boolean {
  if (!isObject(item)) return false
  switch (item.kind) {
    case 'message':
      return typeof item.role === 'string' && hasParts(item)
    case 'result':
      return typeof item.callId === 'string' && hasParts(item)
    case 'call':
      return typeof item.callId === 'string' && typeof item.name === 'string' && typeof item.args === 'string'
    case 'opaque':
      return isObject(item.of)
    default:
      return item.kind === 'reasoning'
  }
}

function hasParts({ parts }: JsonObject): boolean {
  return Array.isArray(parts) && parts.every((part) => isObject(part) && (part.kind !== 'text' || typeof part.text === 'string'))
}

/** Words of the configuration beside a plugin's own settings: no request sets them. */
const OPERATORS: ReadonlySet<string> = new Set(['locked', 'on_error', 'timeout'])

/** @throws Fault 400 for an id that no plugin has, and for one that is named twice. */
export function checkIds(entries: readonly PluginEntry[], known: ReadonlySet<string>): void {
  for (const [i, { id }] of entries.entries()) {
    if (!known.has(id)) throw badField(`plugins[${i}].id`, `no such plugin; expected one of: ${[...known].join(', ')}`)
    if (entries.findIndex((entry) => entry.id === id) !== i) throw badField(`plugins[${i}].id`, 'named twice, expected it once')
  }
}

/** A plugin's settings for one request: the operator's, with the request's entry on top. @throws Fault 400 naming the path. */
export function mergeConfig(setting: PluginSetting, entries: readonly PluginEntry[]): unknown {
  const { plugin, defaults } = setting
  const i = entries.findIndex(({ id }) => id === plugin.id)
  const entry = entries[i]
  if (!entry) return plugin.parse(defaults, `plugins.defaults.${plugin.id}`)
  const path = `plugins[${i}]`
  checkEntry(setting, entry, path)
  // To name a plugin that acts is to switch it on, whatever it is by default.
  const on = plugin.shape || plugin.tap ? { enabled: true } : {}
  return plugin.parse({ ...defaults, ...on, ...entries[i] }, path)
}

function checkEntry({ plugin, defaults, locked }: PluginSetting, entry: PluginEntry, path: string): void {
  for (const key of Object.keys(entry)) {
    if (OPERATORS.has(key) || plugin.reserved?.includes(key))
      throw badField(`${path}.${key}`, 'is set by the operator alone, expected no such field')
    if (locked && key !== 'id')
      throw badField(`${path}.${key}`, `the operator has locked this plugin, expected { "id": "${plugin.id}" } alone`)
  }
  if (locked && defaults.enabled === false) throw badField(`${path}.id`, 'the operator has switched this plugin off')
}
