/** The nine canonical events. A result is folded events: streaming and non-streaming share one path. */
import type { Fault } from '../../core/faults.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Opaque } from './request.ts'
import type { Usage } from './usage.ts'

/**
 * text, refusal: the message. reasoning: raw reasoning text. summary: one reasoning summary part.
 * call: a tool call whose deltas are argument text. media: an image or audio answer (whole, in `of`).
 * opaque: an output item that only its own dialect understands (whole, in `of`).
 * server: the output item of a tool that the gateway ran (whole, in `of`; `of.type` is `<brand>:<name>`).
 */
export type BlockKind = 'text' | 'refusal' | 'reasoning' | 'summary' | 'call' | 'media' | 'opaque' | 'server'

/**
 * Unified end of a turn; chat's finish_reason has the same words but for `unknown`, which it writes as `error`.
 * error: the provider has failed; decoders report it as a fault.
 * unknown: an answer that is kept and charged, but that no one may take for a finished one: `ends.ts`.
 */
export type EndReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error' | 'unknown'

/** A type within a reply that nothing knows (`StreamWords`). */
export interface StreamWord {
  /** `item`: an item or a block of the reply. `part`: what one consists of, and pieces of it. */
  readonly kind: 'event' | 'item' | 'part'
  readonly word: string
}

/** End of a turn. */
export interface End {
  reason: EndReason
  /** The provider's own word. */
  raw?: string | undefined
  /** The stop sequence that was met, where the provider reports it. */
  sequence?: string | undefined
  /** Service tier that the provider says it served: `default`, or one of `core/service-tiers.ts`. */
  tier?: string | undefined
  /** The provider's word for the tier where it is not known: then the price is not known either. */
  unknownTier?: string | undefined
  /** Types of events, items and parts of the reply that nothing knows. */
  unknownWords?: readonly StreamWord[] | undefined
  /** OpenAI's `system_fingerprint`: the configuration of the provider that answered. */
  fingerprint?: string | undefined
  /** The provider has paused: it goes on with the turn once it gets back its own output unchanged. */
  paused?: true
  /** A message that came meanwhile has stopped the answer. Only the Responses wire has a word for it: the same word of another means nothing. */
  steered?: true
}

/**
 * Facts about a block, beside its text. Their `data`:
 * annotation: a flat `url_citation`, `file_citation` or `file_path` as the Responses API has them (docs/contract.md#output-items);
 *   members that only the provider's own wire knows stand in `native: { dialect, data }`.
 * signature: `{ signature, format? }`, of the reasoning block. encrypted: `{ data, id?, format? }`, reasoning that only its provider can read.
 * progress: `{ type, … }`, of a server block: how far the tool is. outcome: what the item of a server block has become, in place of what it began with.
 * logprobs: `{ content }` or `{ refusal }`, entries as in the contract. format: `{ format }`, the family that can take the reasoning back.
 */
export type NoteKind = 'annotation' | 'signature' | 'encrypted' | 'logprobs' | 'format' | 'progress' | 'outcome'

/**
 * The `format` of encrypted or signed reasoning names the family of providers that can take it back:
 * `anthropic-claude-v1`, `openai-responses-v1`, `google-gemini-v1`.
 */
export type ReasoningFormat = string

/** Dialect of an opaque that every dialect understands: `image` `{ url, media_type? }`, `audio` `{ data, format?, transcript? }`. */
export const COMMON = 'common'

/** Type of an opaque event with members of the reply itself, beside its content: its own wire writes them at the end. */
export const MEMBERS = 'members'

/** Target of a call block. */
export type Called = {
  id: string
  name: string
  /** Set where the function stands for a tool of another kind: type of the item that the caller's dialect writes, and its own members. */
  own?: Opaque | undefined
}

export type StreamEvent =
  /** `fingerprint` as in the end, which a reply that is cut does not have. */
  | { type: 'start'; model?: string; fingerprint?: string }
  | {
      type: 'block-start'
      /** Rises by one per block over the whole exchange. */
      block: number
      kind: BlockKind
      /** Blocks that share it belong to one output item (a message with two parts, a reasoning item with summaries). */
      item?: string | undefined
      call?: Called | undefined
      of?: Opaque | undefined
    }
  | { type: 'block-delta'; block: number; text: string }
  | { type: 'block-note'; block: number; note: NoteKind; data: JsonObject }
  | { type: 'block-end'; block: number }
  /** Cumulative: the last one counts. Before the end it may count one side alone, or searches alone (`inputUnknown`, `outputUnknown`). */
  | { type: 'usage'; usage: Usage }
  | ({ type: 'end' } & End)
  | { type: 'fault'; fault: Fault }
  | { type: 'opaque'; of: Opaque }

/** Tokens of an image where they are not reported: one of 1024 × 1024 (ai.google.dev, Gemini API pricing). */
export const IMAGE_TOKENS = 1_290

/** Size of an image or a sound of an answer, in bytes of text, of which 2.5 are a token. */
export const MEDIA_BYTES = IMAGE_TOKENS * 2.5

/** The end that an event carries. */
export function toEnd({ type: _type, ...end }: { type: 'end' } & End): End {
  return end
}

/**
 * True for an event that carries content: the commit point of a stream.
 * A block that merely opens is not content (an empty answer must still be able to fall back);
 * a call, media, opaque or server block is, since its name alone is information for the caller.
 */
export function isContent(event: StreamEvent): boolean {
  if (event.type === 'block-delta') return event.text.length > 0
  if (event.type === 'block-start')
    return event.kind !== 'text' && event.kind !== 'reasoning' && event.kind !== 'summary' && event.kind !== 'refusal'
  // The family of the reasoning to come is no content.
  return event.type === 'block-note' && event.note !== 'format'
}

/**
 * True for the beginning of another answer within a stream: a service between has lost the first one and goes on with a second, and the
 * two are no answer together. Others repeat the beginning of the same answer, which says nothing (github.com/vercel/ai/pull/18332).
 */
export function isAnother(id: Json | undefined, first: Json | undefined): boolean {
  return typeof id === 'string' && id !== '' && typeof first === 'string' && id !== first
}

const TEXTLESS: ReadonlySet<NoteKind> = new Set(['signature', 'encrypted', 'logprobs', 'format'])

/** True for a note whose data holds readable text, such as the title of a source. */
export function hasTexts(note: NoteKind): boolean {
  return !TEXTLESS.has(note)
}
