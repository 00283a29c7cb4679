/** Judges texts by category: over a moderation endpoint, a classifier model or a list of the operator's own words, for the guardrail engine and the plugin alike. */
import { isObject } from '../../core/json.ts'
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
import type { EngineVerdict, ExternalEngine, ModerationEngineSettings } from '../engine.ts'
import { itemPassages } from '../passages.ts'
import { classifierModerator } from './classifier.ts'
import { endpointModerator } from './endpoint.ts'
import { buildFinding } from './finding.ts'
import { lexiconModerator } from './lexicon.ts'
import type { Moderator } from './moderator.ts'
import type { ModerationSettings, ModeratorName } from './types.ts'

export { buildFinding, findingData, findingMetadata, type ModerationFinding, moderationMessage } from './finding.ts'
export type { Moderator } from './moderator.ts'

export * from './types.ts'

const WAYS: Readonly<Record<ModeratorName, (settings: ModerationSettings) => Moderator>> = {
  openai: endpointModerator,
  classifier: classifierModerator,
  lexicon: lexiconModerator,
}

export function createModerator(settings: ModerationSettings): Moderator {
  return WAYS[settings.engine](settings)
}

/**
 * The texts of a request that the plugin judges.
 * Texts of messages, reasoning, arguments and results; parts of one message as one text, for a provider may join them.
 */
export function moderatedTexts(request: CanonicalRequest): string[] {
  const texts: string[] = []
  for (const item of request.items) {
    for (const passage of itemPassages(item)) texts.push(passage.texts.join('\n'))
  }
  return texts
}

const PLACEHOLDER = '[MODERATED]'
const NOTHING: EngineVerdict = { entities: [], patterns: [], replaced: new Map() }

/**
 * A moderator as the engine of a guardrail.
 * Redacts the whole text, since a category does not name the words that it is about.
 */
export function moderationEngine({ open, action, moderation }: ModerationEngineSettings): ExternalEngine {
  const moderator = createModerator(moderation)
  return {
    name: moderator.name,
    stage: 'moderation',
    open,
    async ask({ texts, direction }, context): Promise<EngineVerdict> {
      const judgements = await moderator.judge(texts, direction, context)
      const finding = buildFinding(moderator.name, judgements)
      if (!finding) return NOTHING
      const replaced = new Map(action === 'redact' ? judgements.map(({ text }) => [text, choosePlaceholder(text)]) : [])
      const patterns = [...new Set(judgements.flatMap(({ matched }) => matched))]
      return { action, entities: finding.reasons, patterns, label: finding.reasons.join(', '), replaced, moderation: finding }
    },
  }
}

/** Arguments of a tool stay an object. */
function choosePlaceholder(text: string): string {
  if (!/^\s*\{/.test(text)) return PLACEHOLDER
  try {
    return isObject(JSON.parse(text)) ? JSON.stringify({ text: PLACEHOLDER }) : PLACEHOLDER
  } catch {
    return PLACEHOLDER
  }
}
