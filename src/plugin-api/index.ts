/** The only door for plugins and server tools. */
import type { StreamEvent } from '../canon/events.ts'
import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { Planned, Resolved } from './exchange.ts'

export type * from '../canon/events.ts'
export { type Estimate, estimatedNeed, fixedTokens, itemTokens } from '../canon/need.ts'
export type * from '../canon/request.ts'
export type { Clock } from '../core/clock.ts'
export { badField, Fault } from '../core/faults.ts'
export { isObject, type Json, type JsonObject } from '../core/json.ts'
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

export interface Plugin<Config = unknown> {
  readonly id: string
  /** Operator's settings with the request's own entry on top. @throws Fault 400 naming the path. */
  parse(settings: JsonObject, path: string): Config
  /** True where the plugin acts although the request does not name it. */
  readonly implied?: (exchange: Resolved) => boolean
  /** Changes the request before it is planned. */
  shape?(exchange: Resolved, config: Config, host: Host): void | Promise<void>
  tap?(exchange: Planned, config: Config, host: Host): Tap | undefined
}

export interface ToolOutcome {
  /** What the model is told. */
  output: string
  /** Fields of the `<brand>:<name>` output item, without `id`, `type` and `status`. */
  item: JsonObject
  status: 'completed' | 'failed'
  /** Nano-dollars added to the exchange. */
  cost?: number
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
