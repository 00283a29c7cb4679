/**
 * One client request and all that is known of it: a readonly record per stage, set by the layer of that stage. A layer takes the
 * type of the stage above it, so that reading a later record does not compile.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/faults.ts'
import type { GenerationId } from '../core/ids.ts'
import type { GatewayFields, PluginEntry, SortKey } from '../dialects/canon/request-fields.ts'
import type { ClientDialect } from '../dialects/types.ts'
import type { AnswerPolicy, Vault } from '../guardrails/index.ts'
import type { Cancel } from '../plugin-api/exchange.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Endpoint, Model } from '../routing/catalog/types.ts'
import type { MergedPreferences, Tier } from '../routing/index.ts'
import type { ClientConnection } from './client-connection.ts'
import type { GuardrailBudget, GuardrailSetting } from './guard/guardrail-setting.ts'
import { Costs } from './money/hold.ts'
import type { ClientRequest } from './request/client-request.ts'
import { Run, Trail } from './run.ts'

const nothing = (): void => {}

/** The end of an exchange before its time: the caller left, or the deadline passed. */
export class CancelSource implements Cancel {
  reason: Fault | undefined
  /** Nearly always one attempt waits, so the first has a place of its own. */
  private first: ((reason: Fault) => void) | undefined
  private others: ((reason: Fault) => void)[] | undefined
  private controller: AbortController | undefined

  get aborted(): boolean {
    return this.reason !== undefined
  }

  onAbort(fn: (reason: Fault) => void): () => void {
    if (this.reason) {
      fn(this.reason)
      return nothing
    }
    if (!this.first) {
      this.first = fn
      return () => {
        if (this.first === fn) this.first = undefined
      }
    }
    this.others ??= []
    this.others.push(fn)
    return () => {
      this.others = this.others?.filter((other) => other !== fn)
    }
  }

  abort(reason: Fault): void {
    if (this.reason) return
    this.reason = reason
    const { first, others } = this
    this.first = undefined
    this.others = undefined
    first?.(reason)
    if (others) for (const fn of others) fn(reason)
    this.controller?.abort(reason)
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController()
      if (this.aborted) this.controller.abort(this.reason)
    }
    return this.controller.signal
  }
}

/** What the head of the request says. */
export interface Head {
  readonly id: string
  readonly seq: number
  readonly tag: string
  /** By the path. The dialect of the request is that of its own record: a plan learns it from the body. */
  readonly client: ClientDialect
  readonly headers: IncomingHttpHeaders
  /** Milliseconds since the epoch, and on the monotonic clock. */
  readonly at: number
  readonly started: number
  readonly cancel: CancelSource
  readonly wantsMetadata: boolean
  readonly connection: ClientConnection
  readonly clock: Clock
  readonly brand: string
  readonly costs: Costs
  /** 0 for a caller's request, 1 for one that a tool of it makes, and so on. */
  readonly depth: number
}

/** Set by `authenticate`. */
export interface Auth {
  readonly key: ApiKey
}

/** What a dynamic suffix of the slug wants. */
export interface Variant {
  readonly sort?: SortKey
  readonly tiers?: ReadonlySet<Tier>
}

/** Another model that a tool of the provider calls. */
export interface Advisor {
  /** The provider's own name of it. */
  readonly model: string
  /** Calls that it may get at most. */
  readonly uses: number
  /** Endpoints of the catalogue with that name; the provider of the one that serves decides which it is. */
  readonly endpoints: readonly Endpoint[]
}

/** What request, key and account want of the routing. Set by `resolve`, before any endpoint is looked at. */
export interface Wish {
  /** The slug as the caller sent it. */
  readonly requested: string
  readonly strategy: string
  readonly variant: Variant
  /** Models that the request names, the primary one first; none where a router chooses. */
  readonly models: readonly Model[]
  /** Entries of plugins: those of the request, and the one that the slug stands for. */
  readonly plugins: readonly PluginEntry[]
  readonly preferences: MergedPreferences
  /** What guardrails let the key spend. */
  readonly budgets: readonly GuardrailBudget[]
  /** Other models that tools of the provider call. */
  readonly advisors: readonly Advisor[]
}

/** Set by `resolve`. A later layer that cannot use an endpoint sets a record with fewer. */
export interface Route {
  /** The primary one first. */
  readonly models: readonly Model[]
  /** After the hard filters, in catalogue order: at least one. */
  readonly endpoints: readonly Endpoint[]
}

/** What reads answers for a key. */
export interface OutputGuardrails {
  readonly policy: AnswerPolicy | undefined
  /** Guardrails that call an engine. */
  readonly asking: readonly GuardrailSetting[]
}

/** Set by `guard` where some guardrail reads texts, and by `reread` for what later turns add. */
export interface Guard {
  /** What reads the answer; undefined where no guardrail does. */
  readonly answers: OutputGuardrails | undefined
  /** What guardrails hid in the request and the answer brings back. */
  readonly vault: Vault | undefined
  /** What guardrails have read: items that later turns add are not among them, nor edits after these. */
  readonly read: { readonly edits: number; readonly items: WeakSet<object> } | undefined
}

const NO_GUARD: Guard = { answers: undefined, vault: undefined, read: undefined }

/** A conversation that may stay on one endpoint. */
export interface Conversation {
  /** Its name in the sticky sessions, under the key and the model. Holds no word of the prompt. */
  readonly name: string
  /** The caller named it: it stays from its first success on. Else only what the provider's cache has shown to pay. */
  readonly named: boolean
  /** Endpoint id that it had when this request was planned. */
  readonly pinned: string | undefined
}

/** The output cap of one endpoint for one turn, in tokens. */
export interface OutputCap {
  readonly endpoint: Endpoint
  readonly tokens: number
  /** True where the credit that is left lowered it. */
  readonly lowered: boolean
}

/** Set by `plan`, anew for each turn of a tool loop. */
export interface Plan {
  /** In the order in which they are to be tried. */
  readonly candidates: readonly Endpoint[]
  /** Undefined where the request is not to stay on an endpoint. */
  readonly conversation: Conversation | undefined
  /** Set where tools are offered and there is a choice of endpoints: it is among the taps. */
  readonly watch: { begin(): void; readonly verdict: 'fine' | 'broken' | undefined } | undefined
  /** Output caps that the hold pays for; undefined where no limit applies, without entry where output costs nothing. */
  readonly outputCaps: readonly OutputCap[] | undefined
}

interface Records {
  auth: Auth
  request: ClientRequest
  wish: Wish
  route: Route
  guard: Guard
  plan: Plan
}

/** An exchange whose head has come. */
export interface Received {
  readonly head: Head
  readonly trail: Trail
  readonly run: Run
}
export interface Authenticated extends Received {
  readonly auth: Auth
}
export interface Accepted extends Authenticated {
  readonly request: ClientRequest
}
export interface Aimed extends Accepted {
  readonly wish: Wish
}
export interface Routed extends Aimed {
  readonly route: Route
}
export interface Guarded extends Routed {
  readonly guard: Guard
}
export interface Planned extends Guarded {
  readonly plan: Plan
}

/** An exchange that may have come to the choice of models. */
export interface MaybeAimed {
  readonly wish?: Wish | undefined
}

/** An exchange that may have been planned. */
export interface MaybePlanned {
  readonly plan?: Plan | undefined
}

export interface ExchangeStart {
  id: GenerationId
  client: ClientDialect
  headers: IncomingHttpHeaders
  connection: ClientConnection
  clock: Clock
  brand: string
  wantsMetadata: boolean
  /** Of an exchange that a tool of another one makes: the costs that it adds to, how deep it lies, and when that one began. */
  within?: { costs: Costs; depth: number; at: number }
}

/** All of it, for those above all layers: a record is undefined where the exchange did not come so far. */
export class Exchange implements Received {
  readonly head: Head
  readonly trail = new Trail()
  readonly run: Run
  readonly auth: Auth | undefined = undefined
  readonly request: ClientRequest | undefined = undefined
  readonly wish: Wish | undefined = undefined
  readonly route: Route | undefined = undefined
  readonly guard: Guard | undefined = NO_GUARD
  readonly plan: Plan | undefined = undefined

  constructor({ id: { id, seq, tag }, client, headers, connection, clock, brand, wantsMetadata, within }: ExchangeStart) {
    const at = within?.at ?? clock.now()
    this.head = {
      id,
      seq,
      tag,
      client,
      headers,
      at,
      started: clock.monotonic(),
      cancel: new CancelSource(),
      wantsMetadata,
      connection,
      clock,
      brand,
      costs: within?.costs ?? new Costs(),
      depth: within?.depth ?? 0,
    }
    this.run = new Run({ id, created: Math.floor(at / 1000), model: '', provider: '', body: {}, brand, sequence: 0, opened: false })
  }
}

/** Sets the record of a stage. @returns the exchange, of which that record may be read now. */
export function advance<From extends Received, Stage extends keyof Records>(
  exchange: From,
  stage: Stage,
  record: Records[Stage],
): From & { readonly [Name in Stage]: Records[Name] } {
  const records: Partial<Records> = exchange as unknown as Partial<Records>
  records[stage] = record
  return exchange as From & { readonly [Name in Stage]: Records[Name] }
}

/** Has fewer endpoints serve: a layer cannot use the others. */
export function narrow<From extends Routed>(exchange: From, endpoints: readonly Endpoint[]): From {
  return advance(exchange, 'route', { ...exchange.route, endpoints })
}

/** All that is known by now, for layers that act on the way up: those below may have set records, or have failed before. */
export function knownOf<From extends Received>(exchange: From): From & Exchange {
  return exchange as From & Exchange
}

/** The dialect of the caller: until the body is read, by the path. */
export function clientOf({ head, request }: Pick<Exchange, 'head' | 'request'>): ClientDialect {
  return request?.client ?? head.client
}

/** Headers with the id of the generation, which the SDKs of the caller's format show as the id of the request, and that of the trace. */
export function idHeaders(exchange: Pick<Exchange, 'head' | 'request' | 'trail'>): Record<string, string> {
  const { id } = exchange.head
  const headers: Record<string, string> = { 'X-Generation-Id': id, [clientOf(exchange).requestIdHeader ?? 'X-Request-Id']: id }
  const { trace } = exchange.trail
  if (trace) headers['X-Trace-Id'] = trace.traceId
  return headers
}

/** The slug as the caller sent it, as far as it is known. */
export function requestedOf({ wish, request }: Exchange): string {
  return wish?.requested ?? (request ? nameIn(request.gateway) : '')
}

function nameIn({ requested, model, models }: GatewayFields): string {
  return requested ?? model ?? models[0] ?? ''
}

/** What the hold pays of the endpoint's output; undefined where no limit applies to it. A list of one is the usual case. */
export function capOf({ plan }: MaybePlanned, endpoint: Endpoint): OutputCap | undefined {
  return plan?.outputCaps?.find((cap) => cap.endpoint === endpoint)
}
