/** Judgements as they are shown to the caller (docs/contract.md#plugins). */
import { entryAt } from '../../core/entry-at.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Judgement, ModeratorName } from './types.ts'

export interface ModerationFinding {
  readonly engine: ModeratorName
  /** Categories, those with the highest score first. */
  readonly reasons: readonly string[]
  /** By category, where there are scores: the highest of all texts. */
  readonly scores: Readonly<Record<string, number>>
  /** The beginning and the end of the first text that was flagged. */
  readonly flagged: string
}

/** Characters of a flagged text that are shown. */
const MAX_SHOWN = 100
const CUT = '...'

/** @returns undefined where nothing was found. */
export function buildFinding(engine: ModeratorName, judgements: readonly Judgement[]): ModerationFinding | undefined {
  if (judgements.length === 0) return undefined
  const best = new Map<string, number | undefined>()
  for (const { reasons } of judgements) {
    for (const { category, score } of reasons) {
      const before = best.get(category)
      best.set(category, score === undefined ? before : Math.max(score, before ?? 0))
    }
  }
  const sorted = [...best].sort(([, a = 0], [, b = 0]) => b - a)
  const scores: Record<string, number> = {}
  for (const [category, score] of sorted) if (score !== undefined) scores[category] = score
  return { engine, reasons: sorted.map(([category]) => category), scores, flagged: shortened(entryAt(judgements, 0).part) }
}

/** At most 100 characters, cut in the middle. */
function shortened(text: string): string {
  if (text.length <= MAX_SHOWN) return text
  const head = Math.ceil((MAX_SHOWN - CUT.length) / 2)
  return `${text.slice(0, head)}${CUT}${text.slice(text.length - (MAX_SHOWN - CUT.length - head))}`.toWellFormed()
}

/** The data of a stage: the categories, and never the text. */
export function findingData({ reasons, scores }: ModerationFinding): JsonObject {
  return { reasons: [...reasons], ...(Object.keys(scores).length > 0 ? { scores: { ...scores } } : {}) }
}

/** `error.metadata` of a request that is refused. @param model slug that the caller sent. */
export function findingMetadata(finding: ModerationFinding, model: string): JsonObject {
  return { ...findingData(finding), flagged_input: finding.flagged, provider_name: finding.engine, model_slug: model }
}

export function moderationMessage({ reasons }: Pick<ModerationFinding, 'reasons'>): string {
  return `Request blocked by moderation: ${reasons.join(', ')}`
}
