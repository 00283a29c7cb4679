/** Settings of a moderation, and its judgement of a text. */

import { MODERATORS } from '../../config/fields/moderation.ts'

export { MODERATORS }
export type ModeratorName = (typeof MODERATORS)[number]

export interface ModerationSettings {
  /** `openai`: an endpoint of that format; `classifier`: a model of the Llama Guard family; `lexicon`: words of the operator's own. */
  readonly engine: ModeratorName
  /** Whole address, or one that ends with /v1. */
  readonly url?: string | undefined
  readonly key?: string | undefined
  readonly model?: string | undefined
  /** Milliseconds for each call. */
  readonly timeout: number
  /** Least score by category. One without is judged by the endpoint itself. */
  readonly thresholds?: Readonly<Record<string, number>> | undefined
  /** Categories that do not count. */
  readonly ignored?: readonly string[] | undefined
  /** Phrases by category. */
  readonly lexicon?: Readonly<Record<string, readonly string[]>> | undefined
}

/** A category that a text falls into. */
export interface Reason {
  readonly category: string
  /** 0 to 1, where there is one. */
  readonly score?: number
}

/** The finding about one text. */
export interface Judgement {
  /** The text as it was given. */
  readonly text: string
  /** The part of it that was judged: long texts are judged in slices. */
  readonly part: string
  readonly reasons: readonly Reason[]
  /** The part that matched, if known. */
  readonly matched: readonly string[]
}
