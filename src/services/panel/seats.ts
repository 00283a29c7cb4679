/** The models of a panel: those that the caller names, else the operator's preset, else a choice from the catalogue. */

import { badField } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Endpoint, Model } from '../../routing/catalog/types.ts'
import { type PanelFields, panelFields } from './fields.ts'

export interface Panel {
  /** Slugs, the first one leading. */
  models: readonly string[]
  /** Undefined where the calling model is to analyse the answers itself. */
  analyst: string | undefined
}

/** Presets that exist without configuration. */
const SUGGESTED = ['general-high', 'general-budget', 'general-fast'] as const
type Suggested = (typeof SUGGESTED)[number]
const USUAL: Suggested = 'general-high'

const SEATS = 3
const FAST_SEATS = 2

/**
 * @param wanted the caller's own fields: they count more than any of the operator's, and a list of models more than a preset.
 * @param settings the operator's, with `presets` by name.
 * @param models that the key may use, in catalogue order.
 * @param path of the caller's fields. @throws Fault 400 for a preset that there is not.
 */
export function panelFor(wanted: PanelFields, settings: JsonObject, models: readonly Model[], path: string): Panel {
  const own = panelFields(settings, 'plugins.defaults.fusion')
  const preset = (name: string): Panel => findPreset(name, settings, models, `${path}.preset`)
  const chosen = wanted.preset === undefined ? undefined : preset(wanted.preset)
  // Looks through the whole catalogue.
  const usual = (): Panel => preset(own.preset ?? USUAL)
  return {
    models: wanted.models ?? chosen?.models ?? own.models ?? usual().models,
    analyst: wanted.analyst ?? chosen?.analyst ?? own.analyst ?? (own.preset === undefined ? undefined : usual().analyst),
  }
}

function findPreset(name: string, { presets }: JsonObject, models: readonly Model[], path: string): Panel {
  const set = isObject(presets) ? presets : {}
  const written = set[name]
  if (isObject(written)) {
    const { models: named = [], analyst } = panelFields(written, `plugins.defaults.fusion.presets.${name}`)
    return { models: named, analyst: analyst ?? named[0] }
  }
  if (!isSuggested(name))
    throw badField(path, `no such preset; expected one of: ${[...new Set([...SUGGESTED, ...Object.keys(set)])].join(', ')}`)
  return suggested(name, models)
}

function isSuggested(name: string): name is Suggested {
  return SUGGESTED.some((one) => one === name)
}

/** The best by their scores, the cheapest, or the two whose output costs least, each of another author where there are enough. */
function suggested(name: Suggested, all: readonly Model[]): Panel {
  const models = all.filter(({ kind, output }) => kind === 'generate' && output.includes('text'))
  const best = seated(
    [...models].sort((a, b) => quality(b) - quality(a) || order(modelCost(b), modelCost(a))),
    SEATS,
  )
  if (name === 'general-high') return { models: best, analyst: best[0] }
  if (name === 'general-budget') {
    const cheap = [...models].sort((a, b) => order(modelCost(a), modelCost(b)))
    return { models: seated(cheap, SEATS), analyst: best[0] }
  }
  const light = seated(
    [...models].sort((a, b) => order(modelCost(a, 0), modelCost(b, 0))),
    FAST_SEATS,
  )
  return { models: light, analyst: light[0] }
}

function seated(ranked: readonly Model[], seats: number): string[] {
  const authors = new Set<string>()
  const firsts: string[] = []
  const others: string[] = []
  for (const { slug } of ranked) {
    const author = slug.replace(/\/.*$/s, '')
    if (authors.has(author)) others.push(slug)
    else {
      authors.add(author)
      firsts.push(slug)
    }
  }
  return [...firsts, ...others].slice(0, seats)
}

function quality({ scores }: Model): number {
  const values = Object.values(scores)
  return values.length === 0 ? 0 : values.reduce((sum, score) => sum + score, 0) / values.length
}

/** Of the cheapest endpoint, output and `input` times the input; infinite where no price is known. */
function modelCost({ endpoints }: Model, input = 1): number {
  return Math.min(Number.POSITIVE_INFINITY, ...endpoints.map(({ price }) => rate(price, input)))
}

function rate(price: Endpoint['price'], input: number): number {
  if (price === 'free') return 0
  return price === 'unpriced' ? Number.POSITIVE_INFINITY : Number(price.completion) + input * Number(price.prompt)
}

/** Infinite ones are equal. */
function order(a: number, b: number): number {
  return a === b ? 0 : a - b
}
