/** Tiers of coding models. */
import type { Model } from '../../src/plugin-api/index.ts'

export type Tier = 'high' | 'medium' | 'low'

const HIGH = 0.66
const MEDIUM = 0.33

/** Neighbours of an empty tier in the order in which they stand in, the stronger one first. */
const INSTEAD: Readonly<Record<Tier, readonly Tier[]>> = {
  high: ['high', 'medium', 'low'],
  medium: ['medium', 'high', 'low'],
  low: ['low', 'medium', 'high'],
}

/** @param score from 0 to 1. */
export function scoreTier(score: number): Tier {
  if (score >= HIGH) return 'high'
  return score >= MEDIUM ? 'medium' : 'low'
}

/** From 0 to 1; a model without a score counts as the weakest. */
export function codingScore({ scores }: Pick<Model, 'scores'>): number {
  return scores.coding ?? scores.general ?? 0
}

/** The models of the wanted tier, or of its first neighbour that has any. */
export function tierFor(models: readonly Model[], wanted: Tier): { tier: Tier; members: Model[] } {
  for (const tier of INSTEAD[wanted]) {
    const members = models.filter((model) => scoreTier(codingScore(model)) === tier)
    if (members.length > 0) return { tier, members }
  }
  return { tier: wanted, members: [] }
}
