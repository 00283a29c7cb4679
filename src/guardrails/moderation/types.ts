/** What judges texts, and what it says of them. */
import type { EngineContext, EngineQuestion } from '../engine.ts'

export const MODERATORS = ['openai', 'classifier', 'lexicon'] as const
export type ModeratorName = (typeof MODERATORS)[number]

export interface ModerationSettings {
  /** `openai`: an endpoint of that format; `classifier`: a model of the Llama Guard family; `lexicon`: words of the operator's own. */
  readonly engine: ModeratorName
  /** Whole address, or one that ends with /v1. */
  readonly url?: string
  readonly key?: string
  readonly model?: string
  /** Milliseconds for each call. */
  readonly timeout: number
  /** Least score by category. One without is judged by the endpoint itself. */
  readonly thresholds?: Readonly<Record<string, number>>
  /** Categories that do not count. */
  readonly ignored?: readonly string[]
  /** Phrases by category. */
  readonly lexicon?: Readonly<Record<string, readonly string[]>>
}

/** A category that a text falls into. */
export interface Reason {
  readonly category: string
  /** 0 to 1, where there is one. */
  readonly score?: number
}

/** What is wrong with one text. */
export interface Judgement {
  /** The text as it was given. */
  readonly text: string
  /** The part of it that was judged: long texts are judged in slices. */
  readonly part: string
  readonly reasons: readonly Reason[]
  /** What of it matched, where that is known. */
  readonly matched: readonly string[]
}

export interface Moderator {
  readonly name: ModeratorName
  /** Of the texts those that something is wrong with. Rejects where it does not answer in time, or not as agreed. */
  judge(texts: readonly string[], direction: EngineQuestion['direction'], context: EngineContext): Promise<Judgement[]>
}
