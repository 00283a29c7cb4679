/** The only door for plugins and server tools. */
import type { StreamEvent } from '../canon/events.ts'
import type { Model } from '../catalog/types.ts'
import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { Planned, Read, Resolved } from './exchange.ts'

export type * from '../canon/events.ts'
export { type Estimate, estimatedNeed, fixedTokens, itemTokens } from '../canon/need.ts'
export type * from '../canon/request.ts'
export type { Endpoint, Model, Price } from '../catalog/types.ts'
export type { Clock } from '../core/clock.ts'
export { badField, Fault } from '../core/faults.ts'
export { isObject, type Json, type JsonObject } from '../core/json.ts'
export * from '../search/index.ts'
export type * from './exchange.ts'
export type * from './key.ts'

export interface Host {
  readonly clock: Clock
  /** Text to tokens, erring high: no provider's tokenizer is exact for another's. */
  estimateTokens(text: string): number
}

/** A plugin's view on the events of a reply. Synchronous; `emit` hands events on. */
export interface Tap {
  /** `observe` reads beside the stream; `mutate` replaces it and forces the translate lane. */
  readonly mode: 'observe' | 'mutate'
  push(event: StreamEvent, emit: (event: StreamEvent) => void): void
}

/** What a plugin that stands for a choice among models is shown. */
export interface RouterView {
  /** Models that the key may use, in catalogue order, each with an endpoint that the request's hard filters leave. */
  readonly models: readonly Model[]
  /** The part of the slug behind the brand word and its slash, without variants: `auto`. */
  readonly name: string
  /** Variants of the slug, such as `nitro`. */
  readonly variants: ReadonlySet<string>
  /** The model that this conversation was given last, while it is remembered and still among `models`. */
  readonly sticky: Model | undefined
  /** Output tokens per second of the model's fastest endpoint of late; undefined where too little is known. */
  speed(model: Model): number | undefined
  /** USD per million prompt and completion tokens of the cheapest endpoint; 0 for free, undefined where unknown. */
  price(model: Model): { prompt: number; completion: number } | undefined
  /** Uniform in [0, 1), from the injected source. */
  random(): number
}

export interface RouterChoice {
  /** The primary model first, then its fallbacks: at least one. */
  readonly models: readonly Model[]
  /** Shown as `data` of the plugin's stage in the routing metadata. */
  readonly data?: JsonObject
  readonly summary?: string
}

/** A slug such as `router/auto` that stands for a choice among models. */
export interface ModelRouter<Config = unknown> {
  /** Names behind the brand word: `auto` answers for `router/auto`. */
  readonly names: readonly string[]
  readonly strategy: string
  /** @throws Fault 404 where no model fits. */
  choose(exchange: Read, config: Config, view: RouterView): RouterChoice
}

export interface Plugin<Config = unknown> {
  readonly id: string
  /** Settings that are the operator's alone, such as keys and prices: a request that sets one is refused. */
  readonly reserved?: readonly string[]
  /** Operator's settings with the request's own entry on top. @throws Fault 400 naming the path. */
  parse(settings: JsonObject, path: string): Config
  /** True where the plugin acts although the request does not name it. */
  readonly implied?: (exchange: Resolved) => boolean
  /** Whether a request ends with the plugin's failure or goes on without it, where the operator does not say; `fail` by default. */
  readonly onError?: 'fail' | 'skip'
  /** Milliseconds that `shape` may take, where the operator does not say; 30,000 by default. */
  readonly timeout?: number
  /** True where it asks somebody outside the gateway: a plan does not run it. */
  readonly remote?: boolean
  /** Nano-dollars that it may charge for the request at most: they are held before it begins. Without it nothing can be charged. */
  bound?(exchange: Resolved, config: Config): number
  /** Changes the request before it is planned. */
  shape?(exchange: Resolved, config: Config, host: Host): void | Promise<void>
  tap?(exchange: Planned, config: Config, host: Host): Tap | undefined
  readonly router?: ModelRouter<Config>
}

export interface ToolOutcome {
  /** What the model is told. */
  output: string
  /** Fields of the `<brand>:<name>` output item, without `id`, `type` and `status`. */
  item: JsonObject
  status: 'completed' | 'failed'
  /** Nano-dollars added to the exchange. */
  cost?: number
  /** Searches of the web that it ran. */
  searches?: number
  /** Why it failed, for the operator's log, which leaves out the message. */
  cause?: unknown
}

/** A tool that the gateway runs itself, offered to the model as a function. */
export interface ServerTool {
  /** Without the brand word: `datetime`. */
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments that the model fills in. */
  readonly parameters: JsonObject
  /** Checks the caller's `parameters`. @throws Fault 400 naming the path. */
  parse(parameters: JsonObject, path: string): JsonObject
  run(args: JsonObject, parameters: JsonObject, host: Host, signal: AbortSignal): ToolOutcome | Promise<ToolOutcome>
}

/** One tool of one request: it remembers from call to call. Calls of one turn run at the same time. */
export interface ToolSession {
  /** Nano-dollars that its calls may cost at most, together: they are held before the first turn. */
  readonly bound: number
  /** A view on the events of the reply, over all turns. */
  readonly tap?: Tap
  run(args: JsonObject, host: Host, signal: AbortSignal): ToolOutcome | Promise<ToolOutcome>
}

/** A server tool that costs money, keeps count, or needs what the operator has configured. */
export interface SessionTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  /** Id of the plugin under whose name the operator configures the tool. */
  readonly plugin: string
  /**
   * Called once per request that offers the tool.
   * @param parameters the caller's. @param at path of the tool in the request, such as `tools[0]`.
   * @param settings the operator's own of that plugin, without what the request says of it.
   * @throws Fault 400 naming the path.
   */
  begin(parameters: JsonObject, at: string, settings: JsonObject): ToolSession
}
