import { classifierModerator } from './classifier.ts'
import { endpointModerator } from './endpoint.ts'
import { lexiconModerator } from './lexicon.ts'
import type { Moderator } from './moderator.ts'
import type { ModerationSettings, ModeratorName } from './types.ts'

export { findingData, findingMetadata, findingOf, type ModerationFinding, moderationMessage } from './finding.ts'
export type { Moderator } from './moderator.ts'
export { moderatedTexts } from './texts.ts'
export * from './types.ts'

const WAYS: Readonly<Record<ModeratorName, (settings: ModerationSettings) => Moderator>> = {
  openai: endpointModerator,
  classifier: classifierModerator,
  lexicon: lexiconModerator,
}

export function moderatorOf(settings: ModerationSettings): Moderator {
  return WAYS[settings.engine](settings)
}
