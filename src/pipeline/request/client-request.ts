/** The request of a client, from the moment that its body has been read and checked; and what it needs of an endpoint, read as cheaply as possible. */

import { type Json, type JsonObject, jsonBytes } from '../../core/json.ts'
import type { PriceMoment } from '../../core/price.ts'
import { requestedTier } from '../../core/service-tiers.ts'
import type { CompactionFacts } from '../../dialects/canon/compaction.ts'
import { findMedia, isTextFile, type Media, payloadLength } from '../../dialects/canon/media.ts'
import { COUNTED_MEDIA_TOKENS, estimatedNeed } from '../../dialects/canon/need.ts'
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
import type { GatewayFields } from '../../dialects/canon/request-fields.ts'
import type { ClientDialect } from '../../dialects/types.ts'
import { estimateFromBytes, estimateTokens, TOOL_PROMPT_TOKENS, tokensOfLengths } from '../../ledger/settlement.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Tier, TokenNeed } from '../../routing/index.ts'
import { RequestBody } from './request-body.ts'
import { type RequestNeed, readNeed } from './request-need.ts'

export interface ReadBody {
  readonly client: ClientDialect
  readonly body: JsonObject
  /** Its length in UTF-8. */
  readonly bytes: number
  /** The same in characters, as JavaScript counts them. */
  readonly characters: number
  readonly gateway: GatewayFields
  /** False where the body surely holds text alone. */
  readonly mayHoldMedia: boolean
  /** False where its tools are all functions, or it has none. */
  readonly hasOtherTools: boolean
}

/** Facts that both the hold and the settlement need: computed once, since the body may have been released by then. */
export interface Notes {
  weight?: Weight
  media?: MediaNeed
  promptEstimate?: number
  /** Count of tokens by a server. */
  counted?: TokenNeed['counted']
}

interface MediaNeed {
  /** Kinds of input beside text. */
  readonly modalities: ReadonlySet<string>
  readonly images: number
}

/** Size of the input of a request with media, or of one that was edited. */
interface Weight {
  /** Media that had been fetched when this was computed. */
  readonly fetched: ReadonlyMap<string, string> | undefined
  /** Bytes of all that may be sent but the encoded bytes of media, whatever the field: providers read more fields than we know. */
  readonly text: number
  /** Tokens of media: by the piece, by their size, and the most that they can be. */
  readonly counted: number
  readonly sized: number
  readonly most: number
}

export class ClientRequest {
  readonly client: ClientDialect
  readonly bytes: number
  readonly characters: number
  readonly gateway: GatewayFields
  readonly stream: boolean
  readonly mayHoldMedia: boolean
  readonly hasOtherTools: boolean
  /** Names of the layers that changed the canonical form, in order. */
  readonly edits: string[] = []
  /** True once a layer has changed the canonical form: the pass lane is out. */
  edited = false
  /** With what a preset or a stored prompt has added, and but for the inputs of an embedding, in which guardrails hide what is not to go out. */
  body: JsonObject
  readonly payload: RequestBody
  /** Compaction items of the body; undefined for nearly all. Items of the gateway's own are messages by now. */
  compaction: CompactionFacts | undefined
  /** In its present form. */
  need: RequestNeed
  /** Facts that have been computed of this form of the request. */
  noted: Notes = {}
  private canon: CanonicalRequest | undefined

  constructor({ client, body, bytes, characters, gateway, mayHoldMedia, hasOtherTools }: ReadBody) {
    this.client = client
    this.body = body
    this.payload = new RequestBody(body)
    this.bytes = bytes
    this.characters = characters
    this.gateway = gateway
    this.stream = body.stream === true
    this.mayHoldMedia = mayHoldMedia
    this.hasOtherTools = hasOtherTools
    this.need = readNeed(this)
  }

  /** The canonical form, built on first use. */
  canonical(): CanonicalRequest {
    this.canon ??= this.client.decodeRequest(this.body)
    return this.canon
  }

  /** Changes the canonical form; `by` names the layer or plugin. */
  edit(by: string, change: (draft: CanonicalRequest) => void): void {
    change(this.canonical())
    this.edits.push(by)
    this.changed()
  }

  /** The canonical form is as it was before its last edits. */
  undo(edits: number): void {
    this.edits.length -= edits
    this.changed()
  }

  /** Has been sent. What a layer has changed is not in the bytes of the body. */
  release(): void {
    if (this.edited) this.payload.keepParsed()
    else {
      const released = this.payload.release(this.body)
      if (released !== this.body) this.canon = undefined
      this.body = released
    }
  }

  /** Puts another body in place of the one that was sent. */
  replaceBody(body: JsonObject): void {
    this.body = body
    this.changed()
  }

  private changed(): void {
    this.edited = this.edits.length > 0
    this.noted = {}
    this.need = readNeed(this)
  }
}

/** An exchange, as far as what its request needs is read from it. */
interface WithRequest {
  readonly request: ClientRequest
  readonly head: { readonly at: number }
  /** Media that the request names by address, once they are fetched. */
  readonly run: { readonly media: ReadonlyMap<string, string> | undefined }
}

/** Least that the hold counts for one image, sound, video or file; stated in the operations manual. */
export const HELD_MEDIA_TOKENS = 20_000

const NO_MEDIA: MediaNeed = { modalities: new Set(), images: 0 }

function mediaNeed(request: ClientRequest): MediaNeed {
  if (!request.mayHoldMedia) return NO_MEDIA
  const { noted } = request
  if (noted.media) return noted.media
  const modalities = new Set<string>()
  let images = 0
  for (const { part, replayed } of findMedia(request.canonical())) {
    if (replayed) continue
    modalities.add(part.media)
    if (part.media === 'image') images++
  }
  noted.media = { modalities, images }
  return noted.media
}

/** Kinds of input beside text; undefined where there are none. */
export function inputModalities({ request }: WithRequest): ReadonlySet<string> | undefined {
  const { modalities } = mediaNeed(request)
  return modalities.size > 0 ? modalities : undefined
}

export function imageCount({ request }: WithRequest): number {
  return mediaNeed(request).images
}

/**
 * Tokens that must fit into an endpoint's context: input and the caller's own output cap, erring high.
 * @param smallest context in question; where even a token per byte fits it, nothing is counted more closely.
 */
export function contextNeed(exchange: WithRequest, smallest: number): TokenNeed {
  // Each input has the context to itself; the endpoint's rule decides about one that is too long.
  if (exchange.request.client.embedding) return { input: 0, cap: 0 }
  const { edited, need } = exchange.request
  const { cap = 0, textBytes } = need
  if (textBytes + cap <= smallest) return { input: textBytes, cap }
  const most = edited ? Number.POSITIVE_INFINITY : needBound(exchange)
  if (most + cap <= smallest) return { input: most, cap }
  const { noted } = exchange.request
  noted.promptEstimate ??= estimatedNeed(exchange.request.canonical(), estimateTokens).prompt
  return { input: noted.promptEstimate, cap, counted: noted.counted }
}

/** The smallest context of these endpoints, in tokens; Infinity where none declares one. */
export function smallestContext(endpoints: readonly Endpoint[]): number {
  let smallest = Number.POSITIVE_INFINITY
  for (const { context = smallest } of endpoints) smallest = Math.min(smallest, context)
  return smallest
}

/** More than the canonical form of a tool has beyond the caller's. */
const TOOL_TOKENS = 64

/** At least the estimate of the body as it came: its text has all texts in it. To measure each costs as much as to parse them (330 KB: 0.3 ms). */
function needBound(exchange: WithRequest): number {
  const { body, bytes, characters, mayHoldMedia } = exchange.request
  const tools = Array.isArray(body.tools) ? body.tools.length : 0
  let tokens = tokensOfLengths(bytes, characters) + tools * TOOL_TOKENS
  if (mayHoldMedia) for (const _ of findMedia(exchange.request.canonical())) tokens += COUNTED_MEDIA_TOKENS
  return tokens
}

/** True where the body as it came is all text that a provider gets. */
const isPlain = ({ request: { mayHoldMedia, edited } }: WithRequest): boolean => !mayHoldMedia && !edited

/** Found once, since a large body is released when it was sent, and the settlement of a caller that leaves reads this later. */
function weighRequest(exchange: WithRequest): Weight {
  const { request, run } = exchange
  const { noted } = request
  if (noted.weight && noted.weight.fetched === run.media) return noted.weight
  const canon = request.canonical()
  let text = request.edited ? jsonBytes(canon as unknown as Json) : request.bytes
  for (const { part } of findMedia(canon)) text -= payloadLength(part)
  let [counted, sized, most] = [0, 0, 0]
  for (const part of heavyMedia(exchange)) {
    counted += COUNTED_MEDIA_TOKENS
    sized += Math.max(COUNTED_MEDIA_TOKENS, mediaEstimate(part))
    most += mediaBound(part)
  }
  noted.weight = { fetched: run.media, text, counted, sized, most }
  return noted.weight
}

/** Notes all that the settlement reads of the conversation, before that goes. What else it needs has been noted for the hold. */
export function noteForSettlement(exchange: WithRequest): void {
  const { request } = exchange
  mediaNeed(request)
  if (!isPlain(exchange)) weighRequest(exchange)
}

/** All but files of plain text, which are text; with the bytes of what was fetched. */
export function* heavyMedia(exchange: WithRequest): Generator<Media> {
  if (isPlain(exchange)) return
  const fetched = exchange.run.media
  for (const { part } of findMedia(exchange.request.canonical())) {
    const url = fetched?.get(part.url ?? '')
    if (!isTextFile(part)) yield url === undefined ? part : { ...part, url }
  }
}

/** Tokens of the input where no provider counted them: media by the piece, not by their bytes. */
export function inputEstimate(exchange: WithRequest): number {
  if (isPlain(exchange)) return estimateFromBytes(exchange.request.bytes)
  const { text, counted } = weighRequest(exchange)
  return estimateFromBytes(text) + counted
}

/**
 * Tokens of the input that a provider was sent and did not report: what a caller that leaves is charged. Other than for the
 * context, media count by their size, since a document of hundreds of pages or an hour of video may be nearly all of it.
 */
export function sentEstimate(exchange: WithRequest, endpoint: Endpoint): number {
  if (isPlain(exchange)) return Math.min(estimateFromBytes(exchange.request.bytes), endpoint.context ?? Number.POSITIVE_INFINITY)
  const { text, sized } = weighRequest(exchange)
  return Math.min(estimateFromBytes(text) + sized, endpoint.context ?? Number.POSITIVE_INFINITY)
}

/** Tokens of an image at the usual resolution, and the least of any other medium. */
const IMAGE_TOKENS = 1_500
/**
 * Bytes per token. A page of a document is some 50 KB and 2,500 tokens, text and picture together; sound is 32 tokens and about
 * 4 KB a second, video 263 tokens and ten times as many bytes (Anthropic: PDF support; Gemini API: audio, video understanding).
 */
const BYTES_PER_MEDIA_TOKEN = { file: 20, audio: 128, video: 150 } as const

/** Tokens that the hold counts for one part: of all but images, whose size models limit, four times the estimate. */
export function mediaBound(part: Media): number {
  return part.media === 'image' ? HELD_MEDIA_TOKENS : Math.max(HELD_MEDIA_TOKENS, 4 * mediaEstimate(part))
}

function mediaEstimate(part: Media): number {
  const { media } = part
  if (media === 'image') return IMAGE_TOKENS
  const encoded = payloadLength(part)
  // The size of what stands elsewhere is not known.
  if (encoded === 0) return HELD_MEDIA_TOKENS
  return Math.max(IMAGE_TOKENS, Math.ceil((encoded * 3) / 4 / BYTES_PER_MEDIA_TOKEN[media]))
}

/** Facts that select the price overrides of these endpoints; undefined, and nothing is counted, where each has but one price. */
export function priceMoment(exchange: WithRequest, endpoints: readonly Endpoint[]): PriceMoment | undefined {
  for (const { price } of endpoints) {
    if (typeof price === 'object' && price.overrides !== undefined) return { at: exchange.head.at, promptTokens: inputEstimate(exchange) }
  }
  return undefined
}

/** Tokens that an input with media, or one that was edited, cannot pass: no token of a byte-level vocabulary is shorter than a byte. */
export function weighedBound(exchange: WithRequest): number {
  const { text, most } = weighRequest(exchange)
  return text + TOOL_PROMPT_TOKENS + most
}

/** The tier that `service_tier` selects endpoints of. */
export function parseTier(value: unknown): Tier | undefined {
  const tier = requestedTier(value)
  return tier === 'default' ? undefined : tier
}
