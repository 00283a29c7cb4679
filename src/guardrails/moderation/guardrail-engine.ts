/** A moderator as the engine of a guardrail. */
import { isObject } from '../../core/json.ts'
import type { EngineVerdict, ExternalEngine, ModerationEngineSettings } from '../engine.ts'
import { findingOf } from './finding.ts'
import { moderatorOf } from './index.ts'

const PLACEHOLDER = '[MODERATED]'
const NOTHING: EngineVerdict = { entities: [], patterns: [], replaced: new Map() }

/** Redacts the whole text, since a category does not name the words that it is about. */
export function moderationEngine({ open, action, moderation }: ModerationEngineSettings): ExternalEngine {
  const moderator = moderatorOf(moderation)
  return {
    name: moderator.name,
    stage: 'moderation',
    open,
    async ask({ texts, direction }, context): Promise<EngineVerdict> {
      const judgements = await moderator.judge(texts, direction, context)
      const finding = findingOf(moderator.name, judgements)
      if (!finding) return NOTHING
      const replaced = new Map(action === 'redact' ? judgements.map(({ text }) => [text, placeholderOf(text)]) : [])
      const patterns = [...new Set(judgements.flatMap(({ matched }) => matched))]
      return { action, entities: finding.reasons, patterns, label: finding.reasons.join(', '), replaced, moderation: finding }
    },
  }
}

/** Arguments of a tool stay an object. */
function placeholderOf(text: string): string {
  if (!/^\s*\{/.test(text)) return PLACEHOLDER
  try {
    return isObject(JSON.parse(text)) ? JSON.stringify({ text: PLACEHOLDER }) : PLACEHOLDER
  } catch {
    return PLACEHOLDER
  }
}
