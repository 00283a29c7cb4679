/** The exchange as the plugin API shows it: one flat object, whatever records the pipeline keeps. */
import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../../core/json.ts'
import type { GatewayFields } from '../../dialects/canon/gateway-fields.ts'
import type { NativeSearch } from '../../dialects/canon/native-search.ts'
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
import type { ClientDialect } from '../../dialects/types.ts'
import type { ApiKey, AttemptRecord, Cancel, Planned as PlannedView, Stage } from '../../plugin-api/index.ts'
import type { Endpoint, Model } from '../../routing/catalog/types.ts'
import type { Aimed, Planned } from '../exchange.ts'

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
    return this.exchange.trail.attempts
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
    const { request, wish } = this.exchange
    return request.gateway.plugins === wish.plugins ? request.gateway : { ...request.gateway, plugins: [...wish.plugins] }
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
    return this.exchange.wish.requested
  }
  get strategy(): string {
    return this.exchange.wish.strategy
  }
  get models(): readonly Model[] {
    return (this.exchange.route ?? this.exchange.wish).models
  }
  get endpoints(): readonly Endpoint[] {
    return this.exchange.route?.endpoints ?? []
  }
  get candidates(): readonly Endpoint[] {
    return this.exchange.plan?.candidates ?? []
  }
  get stages(): Stage[] {
    return this.exchange.trail.stages
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
    this.exchange.trail.addErrorMetadata(metadata)
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
