/** All that plugins and server tools may import of the program. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { End, StreamEvent } from '../dialects/canon/events.ts'
import type { Block } from '../dialects/canon/fold.ts'
import type { CanonicalRequest, Opaque, ToolSpec } from '../dialects/canon/request.ts'
import type { Usage } from '../dialects/canon/usage.ts'
import type { Model } from '../routing/catalog/types.ts'
import type { FileStore } from '../services/files/types.ts'
import type { Planned, Read, Resolved } from './exchange.ts'
import type { ApiKey } from './key.ts'

export type { Clock } from '../core/clock.ts'
export { asFault, badField, Fault } from '../core/faults.ts'
export { asObjects, isObject, type Json, type JsonObject, objectWithin } from '../core/json.ts'
export { nanoFromUsd } from '../core/money-text.ts'
export { type FunctionSpec, isDeferred, loaded } from '../dialects/canon/deferred-tools.ts'
export type * from '../dialects/canon/events.ts'
export type { Block } from '../dialects/canon/fold.ts'
export type { NativeSearch } from '../dialects/canon/native-search.ts'
export { type Estimate, estimatedNeed, fixedTokens, itemTokens } from '../dialects/canon/need.ts'
export type * from '../dialects/canon/request.ts'
export type { Usage } from '../dialects/canon/usage.ts'
export {
  buildFinding,
  createModerator,
  findingData,
  findingMetadata,
  type Judgement,
  MODERATORS,
  type ModerationFinding,
  type ModerationSettings,
  type Moderator,
  type ModeratorName,
  moderatedTexts,
  moderationMessage,
} from '../guardrails/moderation/index.ts'
export { schemaFit } from '../machines/json-schema/schema-fit.ts'
export { linearRegex } from '../machines/linear-regex/linear-regex.ts'
export type { Endpoint, Model, Price } from '../routing/catalog/types.ts'
export {
  type DocumentFailure,
  type DocumentKind,
  type DocumentLimits,
  type DocumentSource,
  type DocumentText,
  documentKind,
  type ReadOptions,
  readDocument,
} from '../services/documents/index.ts'
export type { FileFacts, FileStore, KeyFiles, StoredFile } from '../services/files/types.ts'
export { McpConnection, McpError } from '../services/mcp/connection.ts'
export { type McpEntry, parseMcpEntry } from '../services/mcp/entry.ts'
export { type RemoteTool, remoteTools } from '../services/mcp/remote-tools.ts'
export { mcpSettings, settingsOnce } from '../services/mcp/settings.ts'
export { domainRules, type Fetched, type FetchFailure, guardedFetch, OutboundPolicy } from '../services/outbound/index.ts'
export { callService } from '../services/outbound/service-call.ts'
export {
  addressPolicy,
  type FetchLimits,
  type FetchSettings,
  fetchPage,
  type Page,
  type PageAccount,
  PageError,
  type PageOptions,
  type PageRequest,
  pageAccount,
  pageAccountName,
  parseFetchLimits,
  parseFetchSettings,
} from '../services/pages/index.ts'
export { type PanelFields, panelFields } from '../services/panel/fields.ts'
export { type Panel, panelFor } from '../services/panel/seats.ts'
export { type Container, openSandbox, type Ran, type Sandbox, sandboxSettings } from '../services/sandbox/index.ts'
export * from '../services/search/index.ts'
export type * from './exchange.ts'
export type * from './key.ts'

export interface Host {
  readonly clock: Clock
  /** Text to tokens, erring high: no provider's tokenizer is exact for another's. */
  estimateTokens(text: string): number
  /** Files that callers have uploaded, by the identity of the key. */
  readonly files: FileStore
}

/** A plugin's view on the events of a reply. Synchronous; `emit` hands events on. */
export interface Tap {
  /** `observe` reads beside the stream; `mutate` replaces it and forces the translate lane. */
  readonly mode: 'observe' | 'mutate'
  push(event: StreamEvent, emit: (event: StreamEvent) => void): void
  /**
   * The answer is over, or has broken off: what is still held goes on now. Called after the last event of each answer of a
   * provider that a reply is made of, so perhaps more than once.
   */
  finish?(emit: (event: StreamEvent) => void): void
}

/** Facts for a plugin that stands for a choice among models. */
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
  readonly data?: JsonObject | undefined
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

/**
 * The version of this interface: it rises when a plugin that was written against the one before may no longer work. Additions leave it.
 */
export const API_VERSION = 1

/** Facts of a request; all that are stated must hold. */
export interface ImpliedBy {
  /** The request may hold images, sounds, videos or files. */
  readonly media?: true
  /** Its models are chosen by this strategy. */
  readonly strategy?: string
  /** Its first model has a context of so many tokens at most. */
  readonly context?: number
}

export interface Plugin<Config = unknown> {
  readonly id: string
  /** `API_VERSION` of the interface that it was written against: one of another version is refused when it is loaded. Absent: the present one. */
  readonly apiVersion?: number
  /** Name of its stage in the routing metadata; its id where absent. */
  readonly stage?: string
  /** Settings that are the operator's alone, such as keys and prices: a request that sets one is refused. */
  readonly reserved?: readonly string[]
  /** Operator's settings with the request's own entry on top. @throws Fault 400 naming the path. */
  parse(settings: JsonObject, path: string): Config
  /** True where the plugin acts although the request does not name it. */
  readonly implied?: (exchange: Resolved) => boolean
  /** Requests of which `implied` may be true; all of them where absent. It is called for no other, so that most requests are not looked at. */
  readonly impliedBy?: ImpliedBy
  /** Default of `on_error`: a request ends with the plugin's failure, or goes on without it; `fail` if unset. */
  readonly onError?: 'fail' | 'skip'
  /** True: a request may name it, and its `enabled` has no effect there. */
  readonly ignoreRequestEnabled?: true
  /** Milliseconds that `shape` may take, where the operator does not say; 30,000 by default. */
  readonly timeout?: number
  /** True where it calls a service outside the gateway: a plan does not run it. */
  readonly remote?: boolean
  /**
   * A kind of input that it turns into words, so that an endpoint need not take it: `always`, or `otherwise` where the
   * first model, or every endpoint, does not. It gets the settings unchecked.
   */
  readonly reads?: { readonly input: string; when(settings: JsonObject): 'always' | 'otherwise' | 'never' }
  /** Nano-dollars that it may charge for the request at most: they are held before it begins. Without it nothing can be charged. */
  bound?(exchange: Resolved, config: Config): number
  /** Changes the request before it is planned. */
  shape?(exchange: Resolved, config: Config, host: Host): void | Promise<void>
  /** In a plan, where `shape` is not run because it costs money or calls other services: the changes that are known without. */
  preview?(exchange: Resolved, config: Config): void
  tap?(exchange: Planned, config: Config, host: Host): Tap | undefined
  readonly router?: ModelRouter<Config>
}

/** A tool's call of a model, on the caller's own key and hold. */
export interface ModelCall {
  /** A request in the form of `POST /v1/responses`, without `stream`. */
  body: JsonObject
  /** Reads along while the answer comes; without it the answer is requested whole. */
  onEvent?: (event: StreamEvent) => void
  /** Ends the call before its time, as the end of the request does. */
  signal?: AbortSignal
}

export interface ModelAnswer {
  /** Slug that served. */
  model: string
  /** The text of its messages, joined. */
  text: string
  blocks: readonly Block[]
  end: End
  /** Over all turns, and what they cost in nano-dollars; both are part of the request's own already. */
  usage: Usage
  cost: number
}

/** Inputs of one call of a tool. */
export interface ToolHost extends Host {
  readonly key: ApiKey
  /** Id of the caller's dialect: `responses`, `chat` or `messages`. */
  readonly client: string
  readonly brand: string
  /** Of the call, as the model gave it. */
  readonly callId: string
  /** Of the tool's functions the one that is called, by its own name. */
  readonly function: string
  /** 0 for a caller's request, 1 for one that a tool of it makes, and so on. */
  readonly depth: number
  /** Models that the key may use, in catalogue order. */
  readonly models: readonly Model[]
  /** Slug of the model that called. */
  readonly model: string
  /** The request of the running turn; not to be changed. */
  request(): CanonicalRequest
  /** @throws Fault where the model does not answer; nothing is charged for such a call. */
  generate(call: ModelCall): Promise<ModelAnswer>
  /**
   * Takes memory for what is held until the call has ended, out of `server.body_memory`. To be called before the bytes are kept.
   * @returns a promise where there is no room now; it rejects with a Fault 503 where there is none in time.
   */
  memory(bytes: number): Promise<void> | undefined
  /** Shows a caller that streams how far the call is: `data` goes out as an event of this `type`, with the place of the tool's item. */
  progress(type: string, data: JsonObject): void
}

/** Item for the caller in place of the `<brand>:<name>` item. */
export type ShownItem =
  /** A call of the model, for the caller to carry out. */
  | { kind: 'call'; call: { id: string; name: string }; args: string }
  /** An output item, whole. */
  | { kind: 'server' | 'opaque'; of: Opaque }

export interface ToolOutcome {
  /** Text that the model receives. */
  output: string
  /** Fields of the `<brand>:<name>` output item, without `id`, `type` and `status`. */
  item: JsonObject
  status: 'completed' | 'failed'
  /** Nano-dollars added to the exchange. */
  cost?: number
  /** Searches of the web that it ran, and pages that it fetched. */
  searches?: number
  fetches?: number
  /** Engine that searched the web, and the number of results that the model was shown. */
  found?: { engine: string; results: number }
  /** In place of the item of its own. */
  shown?: readonly ShownItem[]
  /** The call is the caller's to carry out: the reply ends once the other calls of the turn have ended. */
  handOver?: true
  /** Tools that the model may call from the next turn on, beside those that it has. */
  offers?: readonly ToolSpec[]
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

/** One function as the model sees it. */
export interface ToolFunction {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject
}

/** Meaning for the model of an item that the caller sends back: its call of a function of the tool, or the answer. */
export type Recalled =
  | { kind: 'call'; callId: string; function: string; args: string }
  | { kind: 'result'; callId: string; text: string; error?: boolean }

/** A call of an earlier reply that waited for the caller, and goes on before the first turn. */
export interface ResumedCall {
  callId: string
  /** By the tool's own name for it. */
  function: string
  args: JsonObject
}

/** One tool of one request: it remembers from call to call. Calls of one turn run at the same time. */
export interface ToolSession {
  /** Nano-dollars that its calls may cost at most, together: they are held before the first turn. */
  readonly bound: number
  /** A view on the events of the reply, over all turns. */
  readonly tap?: Tap
  /** Functions for the model in place of the tool's one: several, or none. */
  readonly functions?: readonly ToolFunction[]
  /** True for another tool of the request that the model is not shown yet. */
  withholds?(spec: ToolSpec): boolean
  /** Tools that it is shown from the first turn on, beside the others. */
  readonly offers?: readonly ToolSpec[]
  /** Items for the caller before the first turn. */
  readonly opening?: readonly ShownItem[]
  /** Undefined for an item that is not the tool's. A result without its call before it is left out. */
  recalls?(item: Opaque): readonly Recalled[] | undefined
  /** They are run first; the caller is shown what their outcomes name as `shown`, and nothing else of them. */
  readonly resumes?: readonly ResumedCall[]
  run(args: JsonObject, host: ToolHost, signal: AbortSignal): ToolOutcome | Promise<ToolOutcome>
  /** Called once, when the request has ended. */
  close?(): void
}

/** Facts of the request for a tool that it offers. */
export interface ToolContext {
  readonly key: ApiKey
  readonly client: string
  readonly brand: string
  readonly depth: number
  readonly models: readonly Model[]
  readonly headers: IncomingHttpHeaders
  /** True for a tool, named without the brand word, that could be offered as things are configured. */
  runs(tool: string): boolean
  /**
   * Checks server tools that this one hands on to a model of its own, each with its parameters, as if the request had
   * them itself; none of them is started. @param path of the list. @throws Fault 400 naming the path.
   */
  checkTools(list: readonly JsonObject[], path: string): void
  /** The request as it is before the first turn; not to be changed. */
  request(): CanonicalRequest
  /** True where no service outside the gateway may be called: the request is only planned. */
  readonly plan: boolean
  /** All tools of the request, as the caller sent them, and which of them this one is. */
  readonly tools: readonly ToolSpec[]
  readonly place: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** A server tool that costs money, keeps count, or needs what the operator has configured. */
export interface SessionTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  /** Id of the plugin under whose name the operator configures the tool. */
  readonly plugin: string
  /** False where the operator's settings do not suffice, so that no other tool offers it of its own accord. */
  ready?(settings: JsonObject): boolean
  /**
   * Called once per request that offers the tool.
   * @param parameters the caller's. @param at path of the tool in the request, such as `tools[0]`.
   * @param settings the operator's own of that plugin, without what the request says of it.
   * @throws Fault 400 naming the path.
   */
  begin(parameters: JsonObject, at: string, settings: JsonObject, context: ToolContext): ToolSession | Promise<ToolSession>
}
