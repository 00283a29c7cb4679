/** What every moderation engine does. */
import type { EngineContext, EngineQuestion } from '../engine.ts'
import type { Judgement, ModeratorName } from './types.ts'

export interface Moderator {
  readonly name: ModeratorName
  /** Of the texts those that something is wrong with. Rejects where it does not answer in time, or not as agreed. */
  judge(texts: readonly string[], direction: EngineQuestion['direction'], context: EngineContext): Promise<Judgement[]>
}
