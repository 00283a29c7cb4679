/** What one plugin sees of the exchange, and the one way in which it can change it. */
import type { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { NativeSearch } from '../../dialects/canon/native-search.ts'
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
import type { Cancel, Stage } from '../../plugin-api/index.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { ChainDependencies } from '../dependencies.ts'
import { CancelSource, type Guarded, narrow } from '../exchange.ts'
import { searchersOf, searchNatively } from '../route/native-search.ts'
import { ExchangeView } from './exchange-view.ts'

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
    this.before ??= copyOf(this.exchange.request.canonical())
    this.edits++
    this.exchange.request.edit(by, change)
  }

  override charge(nano: number, what: string): boolean {
    return this.bill(nano, what)
  }

  override addErrorMetadata(metadata: JsonObject): void {
    if (this.open) this.exchange.trail.addErrorMetadata(metadata)
  }

  override searchers(search: NativeSearch): 'all' | 'some' | 'none' {
    const { able, all } = searchersOf(this.exchange, search, this.upstreams, false)
    return able.length === 0 ? 'none' : all ? 'all' : 'some'
  }

  override searchNatively(search: NativeSearch): boolean {
    const { able } = searchersOf(this.exchange, search, this.upstreams, false)
    if (!this.open || able.length === 0) return false
    this.before ??= copyOf(this.exchange.request.canonical())
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
    const request = exchange.request.canonical()
    for (const key of Object.keys(request)) if (!Object.hasOwn(before, key)) delete request[key as keyof CanonicalRequest]
    Object.assign(request, before)
    exchange.request.edits.length -= edits
    if (this.endpointsBefore) narrow(exchange, this.endpointsBefore)
    this.before = undefined
    this.edits = 0
  }

  /** What is wrong with the request as the plugin has left it; undefined where it has the form of one. */
  get malformed(): string | undefined {
    if (this.edits === 0) return undefined
    const { items, tools, sampling } = this.exchange.request.canonical() as { items: unknown; tools: unknown; sampling: unknown }
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
