/** Interface of every moderation engine. */
import type { EngineContext, EngineQuestion } from '../engine.ts'
import type { Judgement, ModeratorName } from './types.ts'

export interface Moderator {
  readonly name: ModeratorName
  /** Returns judgements of the flagged texts. Rejects if it does not answer in time, or with an unexpected reply. */
  judge(texts: readonly string[], direction: EngineQuestion['direction'], context: EngineContext): Promise<Judgement[]>
}
