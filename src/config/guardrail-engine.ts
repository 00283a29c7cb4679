/** The engine of a guardrail: from what is written to plain data, and which settings belong to which type. */
import type { Static } from 'typebox'
import type { EngineSettings } from '../guardrails/engine.ts'
import type { Action } from '../guardrails/rule.ts'
import { moderationFields } from './fields/moderation.ts'
import type { Path } from './problems.ts'
import type { Resolved } from './resolved.ts'
import type { engine } from './schema/guardrail-filters.ts'
import type { Source } from './source.ts'

type RawEngine = Static<typeof engine>

export function engineSettings(settings: Resolved<typeof engine>, action: Action): EngineSettings {
  const { type, timeout, onError, url, key } = settings
  const terms = { open: onError === 'open', action }
  if (type !== 'moderation') {
    const { entities, threshold, language } = settings
    return { ...terms, type, url: url ?? '', timeout, language, ...defined({ key, entities, threshold }) }
  }
  const { engine, model, thresholds, ignoredCategories: ignored, lexicon } = settings
  return { ...terms, type, moderation: { engine, timeout, ...defined({ url, key, model, thresholds, ignored, lexicon }) } }
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** Which settings are whose; those that all have are not named. */
const OF_PRESIDIO = ['entities', 'threshold', 'language'] as const
const OF_MODERATION = ['engine', 'model', 'thresholds', 'ignored_categories', 'lexicon'] as const

/** @param at path of the engine. */
export function checkEngine(engine: RawEngine, at: Path, main: Source): void {
  const { type } = engine
  // Which settings belong to it is not known.
  if (main.isWrong([...at, 'type'])) return
  const foreign = (keys: readonly (keyof RawEngine)[], whose: string): void => {
    for (const key of keys)
      if (engine[key] !== undefined) main.report([...at, key], `this is a setting of ${whose}, expected no such key`, 'key')
  }
  if (type !== 'presidio') foreign(OF_PRESIDIO, 'presidio')
  if (type === 'moderation') checkModeration(engine, at, main)
  else {
    foreign(OF_MODERATION, 'moderation')
    if (engine.url === undefined && !main.mayHave(at, 'url')) main.report(at, `${type} without an address, expected url`)
  }
}

function checkModeration(raw: RawEngine, at: Path, main: Source): void {
  const { engine = moderationFields.engine.default } = raw
  if (main.isWrong([...at, 'engine'])) return
  // OpenAI's own endpoint, which is the default address, requires a key.
  const needed = {
    openai: raw.url === undefined && !main.mayHave(at, 'url') ? (['key'] as const) : [],
    classifier: ['url', 'model'],
    lexicon: ['lexicon'],
  } as const
  const useless = { openai: ['lexicon'], classifier: ['lexicon', 'thresholds'], lexicon: ['url', 'key', 'model', 'thresholds'] } as const
  for (const key of needed[engine])
    if (raw[key] === undefined && !main.mayHave(at, key)) main.report(at, `moderation by ${engine} needs ${key}, expected it as well`)
  for (const key of useless[engine])
    if (raw[key] !== undefined) main.report([...at, key], `moderation by ${engine} has no use for it, expected no such key`, 'key')
}
