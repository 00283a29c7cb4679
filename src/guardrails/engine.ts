/** Request to an engine outside the gateway, and the answers that it may give. */
import type { Clock } from '../core/clock.ts'
import type { ModerationFinding } from './moderation/finding.ts'
import type { ModerationSettings } from './moderation/types.ts'
import type { Action } from './settings/recognisers.ts'

/** The parts of a request that an engine receives. */
export interface EngineQuestion {
  readonly texts: readonly string[]
  /** Name of the guardrail, name of the key, and the model as the caller named it. */
  readonly guardrail: string
  readonly key: string
  readonly model: string
  readonly direction: 'input' | 'output'
}

export interface EngineVerdict {
  /** Absent: the engine found nothing. */
  readonly action?: Action | undefined
  /** Kinds of what it found, for stages. */
  readonly entities: readonly string[]
  /** Texts that matched, for the caller whose request is blocked. */
  readonly patterns: readonly string[]
  /** Label in the message of a block. */
  readonly label?: string
  /** Texts in place of the originals, where the action is redact. */
  readonly replaced: ReadonlyMap<string, string>
  /** Of a moderation: its finding, for the stage and the error. */
  readonly moderation?: ModerationFinding
}

/** The parts of the exchange that an engine needs. */
export interface EngineContext {
  readonly clock: Clock
  /** Calls `fn` when the caller has gone. @returns a function that takes it back. */
  onAbort(fn: () => void): () => void
}

/** Called over HTTP. Rejects if it does not answer in time, or with an unexpected reply. */
export interface ExternalEngine {
  /** Name in stages. */
  readonly name: string
  /** Name of its stage; `content-filter` by default. */
  readonly stage?: 'content-filter' | 'moderation'
  /** True: where it fails, the request goes on unread by it. */
  readonly open: boolean
  ask(question: EngineQuestion, context: EngineContext): Promise<EngineVerdict>
}

interface EngineTerms {
  readonly open: boolean
  /** The action of a finding where the engine itself returns none. */
  readonly action: Action
}

export interface ServiceSettings extends EngineTerms {
  readonly type: 'presidio' | 'webhook'
  /** Whole address of a webhook; root of a Presidio analyser. */
  readonly url: string
  /** Milliseconds for each call. */
  readonly timeout: number
  /** Sent as `Authorization: Bearer`. */
  readonly key?: string
  /** Of Presidio: kinds looked for, all by default; the least score; the language of the texts. */
  readonly entities?: readonly string[]
  readonly threshold?: number
  readonly language: string
}

export interface ModerationEngineSettings extends EngineTerms {
  readonly type: 'moderation'
  readonly moderation: ModerationSettings
}

export type EngineSettings = ServiceSettings | ModerationEngineSettings
