/** Which models stand for choice, and how good each is at a task. */
import type { Model, RouterView } from '../../src/plugin-api/index.ts'
import type { AutoConfig } from './config.ts'
import { modelPrice } from './cost.ts'
import { fitsAny } from './patterns.ts'
import type { Task } from './tasks.ts'

/** Score of a model that has one neither for the task nor in general. */
export const NEUTRAL = 0.5

/** From 0 to 1. */
export function scoreFor(model: Model, task: Task): number {
  return model.scores[task] ?? model.scores.general ?? NEUTRAL
}

/** Models that the lists leave; an exclusion wins over a permission. */
export function listed(models: readonly Model[], { allowed, excluded }: Pick<AutoConfig, 'allowed' | 'excluded'>): Model[] {
  return models.filter(({ slug }) => (allowed === undefined || fitsAny(allowed, slug)) && !fitsAny(excluded, slug))
}

/** Without a list of what is allowed, models without a score stand behind those with one. */
export function ranked(models: readonly Model[], { allowed }: Pick<AutoConfig, 'allowed'>): readonly Model[] {
  if (allowed !== undefined) return models
  const scored = models.filter((model) => Object.keys(model.scores).length > 0)
  return scored.length > 0 ? scored : models
}

/** Best first; of equals the cheaper, then the one that stands first in the catalogue. */
export function bestFirst(models: readonly Model[], task: Task, view: RouterView): Model[] {
  const price = new Map(models.map((model) => [model, modelPrice(model, view) ?? Number.POSITIVE_INFINITY]))
  const dearer = (a: Model, b: Model): number => {
    const [one, other] = [price.get(a) ?? 0, price.get(b) ?? 0]
    return one === other ? 0 : one - other
  }
  return models.toSorted((a, b) => scoreFor(b, task) - scoreFor(a, task) || dearer(a, b))
}
