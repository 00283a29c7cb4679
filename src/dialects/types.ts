/** A dialect adapter, split by direction: N client and M upstream dialects cost N + M adapters. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { Clock } from '../core/clock.ts'
import type { Fault, FaultFacts } from '../core/faults.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { JsonSource } from '../machines/json-bytes/json-source.ts'
import type { Framing } from '../machines/sse/framing.ts'
import type { VectorForm, WrittenVector } from '../machines/vectors/written.ts'
import type { ClientTools } from './canon/client-tools.ts'
import type { ClientCompaction } from './canon/compaction.ts'
import type { End, StreamEvent } from './canon/events.ts'
import type { Folded } from './canon/fold.ts'
import type { SearchWire } from './canon/native-search.ts'
import type { OutsideTable } from './canon/outside-input.ts'
import type { FieldNames, ParameterTable } from './canon/parameters.ts'
import type { Preset, StoredPrompts } from './canon/presets.ts'
import type { FileFamily, TakenFiles } from './canon/provider-files.ts'
import type { CanonicalRequest, DialectId, Opaque, Part } from './canon/request.ts'
import type { CapWire, GatewayFields } from './canon/request-fields.ts'
import type { TokenCounter } from './canon/token-counter.ts'
import type { NameRule } from './canon/tool-names.ts'
import type { RunningReport, Usage } from './canon/usage.ts'
import type { Encoded, Sent, Target, VersionDemand } from './encoded-request.ts'
import type { LocalRun, LocalSink } from './local-run.ts'
import type { Quirks } from './quirks.ts'
import type { ErrorReply, Final, ReplyContext } from './reply.ts'
import type { SocketAnswer, SocketRequest } from './socket-request.ts'

export type { Encoded, Sent, Target, VersionDemand } from './encoded-request.ts'
export type { ErrorReply, Final, ReplyContext } from './reply.ts'
export type { SocketAnswer, SocketBody, SocketRequest } from './socket-request.ts'

export interface StreamEncoder {
  /** Bytes for a batch of events; '' for none. `start`, `usage`, `end` and `fault` never write: `finish` does. */
  push(events: readonly StreamEvent[]): string
  /** Closes open blocks and writes the one terminal event, usage and `[DONE]`. Called exactly once. */
  finish(final: Final): string
  /** The same with one character per byte, where it is at hand so. */
  finishBytes?(final: Final): string
}

export interface ClientDialect {
  readonly id: DialectId
  /** Fields of the body that cap the output tokens, the one that counts first; absent where there is no output. */
  readonly capFields?: readonly string[] | undefined
  /** Names of the parts of a request in this format. */
  readonly fields?: FieldNames | undefined
  /** Field of the body that names the region in which the model is to run; absent where the format has none. */
  readonly regionField?: string | undefined
  /** True for a request that fills the provider's cache and wants no answer; absent where the format has none. */
  fillsCache?(body: JsonObject): boolean
  /** True where the format has a word for a turn that its provider has paused: the caller goes on with it. */
  readonly showsPauses?: true | undefined
  /** Owner of the ids in the format's `file_id`; absent where it has none. */
  readonly files?: FileFamily | undefined
  /** True where callers of a stream look for an overflow of the context among its events, not in the status of the reply. */
  readonly overflowInStream?: true | undefined
  /**
   * True where the body of a stream that has failed ends without its last chunk: many clients of the format take any other end for the end of
   * the answer, whatever the last event says. The event comes first, so those that read it have it.
   */
  readonly cutsFailures?: true | undefined
  /** True for callers whose client demands more of a reply than the format does; absent where no such client is known. */
  demands?(headers: IncomingHttpHeaders): boolean
  /** Present where requests name a version of the format. */
  readonly versions?: {
    /** @returns undefined where the request names none. */
    named(headers: IncomingHttpHeaders): string | undefined
    /** True where requests and replies of that version can be translated without loss. */
    isKnown(version: string): boolean
  }
  /** True for callers that take the last block of a reply alone for its answer; absent where no such client is known. */
  readsLastBlock?(headers: IncomingHttpHeaders): boolean
  /** True for callers whose types have two names of one text as one member, and refuse the second; absent where no such client is known. */
  refusesTwoNames?(headers: IncomingHttpHeaders): boolean
  /** Header in which the SDKs of the format expect the id of the request; absent where that is `X-Request-Id`. */
  readonly requestIdHeader?: string | undefined
  /** `times` where clients of the format read Anthropic's headers for what is left of a limit per minute; absent where OpenAI's. */
  readonly rateForm?: 'times' | undefined
  /** Present where requests may also come as messages of a WebSocket. */
  readonly socket?: SocketFormat | undefined
  /** The dialect of a body, where the path does not say it. @throws Fault 400. */
  recognise?(body: JsonObject, headers: IncomingHttpHeaders): ClientDialect
  /** Writes out a stored prompt that the body names. @throws Fault 400. */
  expand?(body: JsonObject, prompts: StoredPrompts): JsonObject
  /**
   * Lays a preset's parameters under what an unchecked body sends, and its system prompt in front of the conversation.
   * What the operator wrote never makes a body wrong: a value that the dialect cannot say is left out.
   */
  withPreset?(body: JsonObject, preset: Preset): JsonObject
  /** @param headers of the request, where it has its own. @throws Fault 400 naming the field, or unmet rules of the contract. */
  check(body: JsonObject, headers?: IncomingHttpHeaders): void
  decodeRequest(body: JsonObject): CanonicalRequest
  /** Names of the dialect for the gateway's fields; laid over the shared ones. */
  gatewayFields?(body: JsonObject): Partial<GatewayFields>
  /** Tools of providers that stand elsewhere than in `tools`, with the path of what names them. */
  nativeTools?(body: JsonObject): { path: string; of: Opaque }[]
  /** Present where the format has tools that callers run and other formats do not know. */
  readonly clientTools?: ClientTools | undefined
  /** The error body of a plain HTTP reply, where it is not the standard one. */
  faultBody?: ((fault: Fault, facts: FaultFacts) => JsonObject) | undefined
  /** Present where the format knows compaction. */
  readonly compaction?: ClientCompaction | undefined
  /** Present where the operation answers with vectors instead of words. */
  readonly embedding?: EmbeddingClient | undefined
  /** Present where the operation counts the input's tokens instead of answering: the body of its reply. */
  countBody?(count: { tokens: number; estimated: boolean }): JsonObject
  /**
   * Lifecycle events at the head of a stream, written once, with one character per byte; absent where the dialect has none. The caller
   * sets `ctx.opened`. @param source of a large body, from which events may show what they show of the request.
   */
  open?(ctx: ReplyContext, source?: JsonSource): string
  /** True where the lifecycle events show what the provider has counted, so that they are written when they go out. */
  readonly opensLate?: boolean
  /** One debug chunk holding the body that is about to go upstream. */
  debug(ctx: ReplyContext, upstreamBody: JsonObject): string
  /** `ctx.opened` is true by the time that `push` is called. */
  streamEncoder(ctx: ReplyContext): StreamEncoder
  /** The whole non-streaming reply as JSON text. */
  encodeResult(folded: Folded, ctx: ReplyContext, final: Final): string
}

/** Requests as messages of a WebSocket; each event of the reply is a message, too. */
export interface SocketFormat {
  /** The dialect of such requests. */
  readonly client: ClientDialect
  /** False where the handshake names a version of the format that is not known. */
  knows(headers: IncomingHttpHeaders): boolean
  /** @returns undefined for a message that wants no reply. @throws Fault 400. */
  read(message: Buffer): SocketRequest | SocketAnswer | undefined
  /** @param last the reply's last event. @returns the conversation with the reply in it, undefined where the reply has failed. */
  after(conversation: Buffer, last: Buffer): Buffer | undefined
  /** A failure in place of a reply, as a message. @param json the dialect's `faultBody`. @param headers those of a reply over HTTP. */
  headed(json: string, headers: OutgoingHttpHeaders): string
  /** Beginning of the JSON of an event of a lane, in place of its brace; '' for the connection's own lane. */
  laneMark(lane: string | undefined): string
}

export interface StreamDecoder {
  /** One frame. Malformed data becomes a `fault` event, never a throw. */
  feed(data: string, event: string | undefined, out: StreamEvent[]): void
  /** The upstream closed: a missing end becomes a `fault` event. */
  end(out: StreamEvent[]): void
  /** The provider's own id of the reply, where it has come. */
  readonly replyId?: string | undefined
  /** Set where the provider is requested to count along. */
  readonly running?: RunningReport | undefined
}

/** Facts that the pass lane reads off a reply on its way through. */
export interface PassFacts {
  /** The last cumulative report; of one side alone where no report has counted the other. */
  usage?: Usage | undefined
  /** Count of a stream before its first content. */
  firstUsage?: Usage | undefined
  /** Members at the beginning of a stream that only one format has. */
  beginning?: Opaque | undefined
  end?: End | undefined
  fault?: Fault | undefined
  /** The provider's own id of the reply, where it has come. */
  replyId?: string | undefined
  /** Set where the provider is requested to count along. */
  running?: RunningReport | undefined
  /** Bytes of content that the last running report covers. */
  counted?: number
}

export interface PassStream extends PassFacts {
  /**
   * Takes raw upstream bytes, cut anywhere; returns what goes to the client as a binary (latin1) string, '' for none.
   * Content frames travel verbatim but for `id`, `model` and `sequence_number`; lifecycle and usage frames are ours.
   */
  feed(chunk: Buffer): string
  /** Called when the upstream closed; sets `fault` where its end was missing. Returns what was still held. */
  close(): string
  /** True once a content frame has been returned: the commit point. */
  readonly committed: boolean
  /** True where `feed` returned only words of the model the last time: nothing that its provider signed or encrypted. */
  readonly plain: boolean
  /** Bytes of content frames returned so far, for the estimate after an abort. */
  readonly relayed: number
  /** Images among them, each of them `MEDIA_BYTES`. */
  readonly images: number
  /** As `StreamEncoder.finish`, with one character per byte. */
  finish(final: Final): string
}

export interface PassResult extends PassFacts {
  /** The upstream's body with our envelope, as JSON text. */
  finish(final: Final): string
}

/** Client and upstream speak the same wire: bodies and frames travel with a short list of patches. */
export interface PassWire {
  readonly client: DialectId
  /** Beginnings, in frames and whole replies, of values that the provider signed or encrypted; with the flag `g`. */
  readonly signed: RegExp
  /** False where the caller's preferences or the provider's quirks need more than the patches: the translate lane serves them. */
  admits(body: JsonObject, target: Target): boolean
  request(body: JsonObject, target: Target): Encoded
  result(body: JsonObject, ctx: ReplyContext): PassResult
  stream(ctx: ReplyContext, quirks?: Quirks): PassStream
}

/** By their names in lower case. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Addresses and refusals of a provider, for every operation. */
export interface ProviderWire {
  readonly id: DialectId
  /**
   * An error status, or an error inside a 200. Never quotes the provider's key or internals.
   * @param headers of the reply, where it is an error as a whole.
   */
  decodeFault(status: number, body: Json | undefined, headers?: ReplyHeaders): Fault
  /** For callers of the pass-through; absent where the form is the standard one. */
  errorReply?(fault: Fault): ErrorReply
  /** Name and value of the header that carries the provider's key. */
  auth(key: string): [name: string, value: string]
  /** Headers of every call, such as the version of the API. @param quirks of the provider. */
  headers?(quirks: Quirks): Readonly<Record<string, string>>
  /** Header in which a call names the version of the API; absent where there is none. */
  readonly versionHeader?: string
}

export interface UpstreamDialect extends ProviderWire {
  /** As its own clients read the limits of a key; by default durations. */
  readonly rateForm?: 'times' | undefined
  encodeRequest(request: CanonicalRequest, target: Target): Encoded
  /** Absent where streams are server-sent events. */
  readonly framing?: Framing | undefined
  /** @param quirks of the endpoint that answers; by default none. @param sent what the request was encoded to. */
  streamDecoder(quirks?: Quirks, sent?: Sent): StreamDecoder
  /**
   * A whole reply as events, ending with `usage` and `end` (or `fault`). Malformed bodies become a `fault` event.
   * @param quirks of the endpoint that answers; by default none.
   */
  decodeResult(body: JsonObject, out: StreamEvent[], quirks?: Quirks, sent?: Sent): void
  /** Names of the parts of a request on this wire. */
  readonly fields?: FieldNames | undefined
  /** Outcome of each parameter: the encoder keeps to it, and endpoints are chosen by it. */
  readonly parameters: ParameterTable
  readonly cap: CapWire
  /** Most stop sequences that the wire takes, where it is not the provider that says so. */
  readonly mostStops?: number
  /** True where reasoning that the provider signs or encrypts is bound to the account; absent where it never is. */
  bindsReasoning?(quirks: Quirks): boolean
  /** Names of functions that the wire takes; absent where it takes all that callers may use. */
  readonly toolNames?: NameRule
  /** False for a tool of its own wire that not every provider of it has, where this one has it not. */
  hasTool?(of: Opaque, quirks: Quirks): boolean
  /** True for a tool of another dialect's own kinds that this wire can say; without it none but those of its own wire. */
  takesTool?(of: Opaque): boolean
  /** Files of a provider that the wire can name by their ids; absent where it can name none. */
  readonly files?: TakenFiles | 'all'
  /** Form in which the wire requests the provider's own search of the web, for endpoints that have one (`canon/native-search.ts`). */
  webSearch?(quirks: Quirks): SearchWire
  /** Input that its providers add themselves; absent where they add none beside what the request names by address. */
  readonly outside?: OutsideTable
  /** Wire of opaque parts, items and tools that are written back verbatim. */
  readonly wire: DialectId
  /** The provider's list of models, where it is not the OpenAI one under `/models`. */
  readonly listing?: {
    /** Operations whose lists are joined. */
    readonly paths: readonly string[]
    /** Base URL of the lists; absent where it is the provider's. @param baseUrl of the provider. */
    base?(baseUrl: string): string
    /** In the OpenAI form: `{ data: [{ id, created?, context_length? }] }`. */
    read(body: JsonObject): JsonObject
    /** True where self-hosted servers have it as well, which report more of their models elsewhere. */
    readonly ofServers?: true
  }
  /** Counting the tokens of a request at the provider, if it offers that; `sees` is true for input outside of the body that is counted. */
  readonly countTokens?: TokenCounter<Target, Encoded>
  readonly pass?: PassWire
  /** Has a finished request name the version that its caller names, whose wire is the same; absent where the caller's says nothing to the provider. */
  nameVersion?(encoded: Encoded, demand: VersionDemand): void
  /** Present where the provider lives inside this process: no HTTP, events straight away. */
  run?(request: CanonicalRequest, target: Target, clock: Clock, sink: LocalSink): LocalRun
}

/** The input of one vector. */
export type EmbeddingInput =
  | { readonly kind: 'text'; readonly text: string }
  /** Ids of the model's own tokens. */
  | { readonly kind: 'tokens'; readonly tokens: readonly number[] }
  /** Texts and media that give one joint vector. */
  | { readonly kind: 'parts'; readonly parts: readonly Part[] }

export interface EmbeddingSettings {
  /** Encoding of the vectors for the caller. */
  readonly form: VectorForm
  /** Numbers of each vector; the model's own where absent. */
  readonly dimensions?: number
  /** Purpose of the vectors, such as `search_query`. */
  readonly inputType?: string
  readonly user?: string
}

export interface EmbeddingAsk {
  readonly inputs: readonly EmbeddingInput[]
  readonly settings: EmbeddingSettings
}

/** The client's side of an operation that answers with vectors. */
export interface EmbeddingClient {
  /** Request of a checked body. */
  ask(body: JsonObject): EmbeddingAsk
  /** Path of an input, or of a part of it, in the body, such as `input[2].content[0]`. */
  inputPath(body: JsonObject, input: number, part?: number): string
  /** The whole reply in order: the vectors' own bytes with an envelope around them. */
  encode(vectors: readonly WrittenVector[], ctx: ReplyContext, final: Final): Buffer[]
}

/** Everything about an endpoint that an embedding may depend on. */
export interface EmbeddingTarget extends Pick<Target, 'model' | 'quirks' | 'user'> {
  /** Inputs of the model: `text`, `image` and others. */
  readonly reads: readonly string[]
  /** Treatment of an input that is longer than the model takes; undefined: what the provider makes of it. */
  readonly longInput?: 'truncate' | 'reject' | undefined
}

/** Parts for which a wire has no form. */
export interface EmbeddingLack {
  /** Number of the input and of its part; a name where it is a field of the request. */
  readonly at: { input: number; part?: number } | string
  /** In words that end a sentence about the provider, such as `takes text only`. */
  readonly why: string
}

/** A provider's reply with the vectors' numbers in their places, read. */
export interface Embedded {
  /** Of each input, in order, the number of its vector in the order in which the vectors came. */
  readonly vectors: readonly number[]
  readonly usage?: Usage
}

export interface VectorSink {
  vectors(batch: readonly Float32Array[]): void
  fail(fault: Fault): void
  end(usage: Usage): void
}

/** A provider's format of embeddings. */
export interface EmbeddingWire extends ProviderWire {
  /** Most of one call: inputs, and estimated tokens where the provider bounds them. */
  readonly most: { readonly inputs: number; readonly tokens?: number | undefined }
  /** Names of the parts of a request on this wire. */
  readonly fields?: FieldNames | undefined
  /** Treatment of an input that is too long, by the provider; `configurable` where a field of the request decides it. */
  readonly longInput: 'rejects' | 'truncates' | 'configurable'
  /** The first requested thing that the wire cannot express; undefined where it can express all. */
  lacks(ask: EmbeddingAsk, target: EmbeddingTarget): EmbeddingLack | undefined
  encode(ask: EmbeddingAsk, target: EmbeddingTarget): Encoded
  /** Members of a reply whose values are vectors, or lists of them. */
  readonly keys: ReadonlySet<string>
  /** @throws Fault `upstream_garbled` where the reply is none. */
  decode(body: JsonObject): Embedded
  /** Present where the provider lives inside this process. */
  run?(ask: EmbeddingAsk, target: EmbeddingTarget, clock: Clock, sink: VectorSink): LocalRun
}
