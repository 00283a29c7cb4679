/** What one plugin sees of the exchange, and the one way in which it can change it. */
import type { IncomingHttpHeaders } from 'node:http'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { GatewayFields } from '../../dialects/canon/gateway-fields.ts'
import type { NativeSearch } from '../../dialects/canon/native-search.ts'
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
import type { ClientDialect } from '../../dialects/types.ts'
import type { ApiKey, AttemptRecord, Cancel, Planned, Stage } from '../../plugin-api/index.ts'
import type { Endpoint, Model } from '../../routing/catalog/types.ts'
import { CancelSource } from '../cancel.ts'
import type { Exchange } from '../exchange.ts'
import type { ChainParts } from '../parts.ts'
import { searchersOf, searchNatively } from '../route/native-search.ts'

export class PluginView implements Planned {
  /** Of this plugin alone. */
  readonly stages: Stage[] = []
  /** True while the plugin may change the request. */
  open = false
  edits = 0
  private readonly exchange: Exchange
  private readonly bill: (nano: number, what: string) => boolean
  private readonly upstreams: ChainParts['upstreams']
  private source: CancelSource | undefined
  private before: CanonicalRequest | undefined
  private endpointsBefore: readonly Endpoint[] | undefined
  private kept = false

  constructor(exchange: Exchange, upstreams: ChainParts['upstreams'], bill: (nano: number, what: string) => boolean) {
    this.exchange = exchange
    this.upstreams = upstreams
    this.bill = bill
  }

  get id(): string {
    return this.exchange.id
  }
  get seq(): number {
    return this.exchange.seq
  }
  get tag(): string {
    return this.exchange.tag
  }
  get client(): ClientDialect {
    return this.exchange.client
  }
  get headers(): IncomingHttpHeaders {
    return this.exchange.headers
  }
  get at(): number {
    return this.exchange.at
  }
  get started(): number {
    return this.exchange.started
  }
  get wantsMetadata(): boolean {
    return this.exchange.wantsMetadata
  }
  get attempts(): AttemptRecord[] {
    return this.exchange.attempts
  }
  get depth(): number {
    return this.exchange.depth
  }
  get key(): ApiKey {
    return this.exchange.key
  }
  get body(): JsonObject {
    return this.exchange.body
  }
  get gateway(): GatewayFields {
    return this.exchange.gateway
  }
  get stream(): boolean {
    return this.exchange.stream
  }
  get mayHoldMedia(): boolean {
    return this.exchange.mayHoldMedia
  }
  get edited(): boolean {
    return this.exchange.edited
  }
  get requested(): string {
    return this.exchange.requested
  }
  get strategy(): string {
    return this.exchange.strategy
  }
  get models(): readonly Model[] {
    return this.exchange.models
  }
  get endpoints(): readonly Endpoint[] {
    return this.exchange.endpoints
  }
  get candidates(): readonly Endpoint[] {
    return this.exchange.candidates
  }

  /** Ends with the exchange, and with the plugin's own time. */
  get cancel(): Cancel {
    if (!this.source) {
      const source = new CancelSource()
      this.source = source
      this.exchange.cancel.onAbort(() => source.abort(this.exchange.cancel.reason))
    }
    return this.source
  }

  request(): CanonicalRequest {
    return this.exchange.request()
  }

  /** Nothing happens once the plugin's time is over: what comes late must not change a request that is on its way. */
  edit(by: string, change: (draft: CanonicalRequest) => void): void {
    if (!this.open) return
    this.before ??= copyOf(this.exchange.request())
    this.edits++
    this.exchange.edit(by, change)
  }

  charge(nano: number, what: string): boolean {
    return this.bill(nano, what)
  }

  addErrorMetadata(metadata: JsonObject): void {
    if (this.open) this.exchange.addErrorMetadata(metadata)
  }

  searchers(search: NativeSearch): 'all' | 'some' | 'none' {
    const { able, all } = searchersOf(this.exchange, search, this.upstreams, false)
    return able.length === 0 ? 'none' : all ? 'all' : 'some'
  }

  searchNatively(search: NativeSearch): boolean {
    const { able } = searchersOf(this.exchange, search, this.upstreams, false)
    if (!this.open || able.length === 0) return false
    this.before ??= copyOf(this.exchange.request())
    this.edits++
    this.endpointsBefore ??= this.exchange.endpoints
    searchNatively(this.exchange, search, able, undefined)
    return true
  }

  /** The plugin's time is over. @param reason why, where it had not answered. */
  close(reason?: unknown): void {
    this.open = false
    if (reason !== undefined) this.source?.abort(reason)
  }

  /** What it has changed stays, whatever becomes of its view on the reply. */
  keep(): void {
    this.kept = true
    this.before = undefined
  }

  /** Takes back what the plugin has changed and said, unless that is to stay. */
  undo(): void {
    if (this.kept) return
    this.stages.length = 0
    const { before, exchange, edits } = this
    if (!before) return
    const request = exchange.request()
    for (const key of Object.keys(request)) if (!Object.hasOwn(before, key)) delete request[key as keyof CanonicalRequest]
    Object.assign(request, before)
    exchange.edits.length -= edits
    if (this.endpointsBefore) exchange.endpoints = this.endpointsBefore
    this.before = undefined
    this.edits = 0
  }

  /** What is wrong with the request as the plugin has left it; undefined where it has the form of one. */
  get malformed(): string | undefined {
    if (this.edits === 0) return undefined
    const { items, tools, sampling } = this.exchange.request() as { items: unknown; tools: unknown; sampling: unknown }
    if (!Array.isArray(items) || !items.every(isItem)) return 'items'
    if (!Array.isArray(tools) || !tools.every((tool) => isObject(tool) && typeof tool.kind === 'string')) return 'tools'
    return isObject(sampling) ? undefined : 'sampling'
  }
}

/** Deep enough: what plugins change they replace. */
function copyOf(request: CanonicalRequest): CanonicalRequest {
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
