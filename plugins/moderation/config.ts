/** Settings of the plugin: all of them are the operator's. */
import {
  badField,
  createModerator,
  isObject,
  type Json,
  type JsonObject,
  MODERATORS,
  type ModerationSettings,
  type Moderator,
  type ModeratorName,
  nanoFromUsd,
} from '../../src/plugin-api/index.ts'

export interface ModerationConfig {
  /** Undefined where the operator has configured no moderator and the request does not name the plugin. */
  moderator: Moderator | undefined
  /** Nano-dollars that a judged request costs. */
  price: number
}

/** Milliseconds for each call; the time of all of them is the plugin's own. */
const TIMEOUT = 10_000
/** Settings each of which configures a moderator. */
const CONFIGURING = ['engine', 'url', 'key', 'model', 'lexicon'] as const

/** @throws Fault 400 naming the path; it says what is to be configured where no moderator is. */
export function parseConfig(settings: JsonObject, path: string): ModerationConfig {
  const price = parsePrice(settings.price, `${path}.price`)
  if (CONFIGURING.some((key) => settings[key] !== undefined)) return { moderator: moderatorFor(settings, path), price }
  const operators = path.startsWith('plugins.')
  // A request that names the plugin wants it, whatever else it says.
  if (!operators || settings.enabled === true)
    throw badField(
      operators ? `${path}.engine` : `${path}.id`,
      'needs a moderator: the operator has to configure plugins.defaults.moderation, such as engine: openai with its key',
    )
  return { moderator: undefined, price }
}

/** Lists of words are compiled once, and not for every request. */
const compiled = new WeakMap<object, { ignored: Json | undefined; moderator: Moderator }>()

function moderatorFor(settings: JsonObject, path: string): Moderator {
  const { lexicon, ignored_categories: ignored } = settings
  const known = isObject(lexicon) ? compiled.get(lexicon) : undefined
  if (known && known.ignored === ignored) return known.moderator
  const moderator = createModerator(parseSettings(settings, path))
  if (isObject(lexicon)) compiled.set(lexicon, { ignored, moderator })
  return moderator
}

function parseSettings(settings: JsonObject, path: string): ModerationSettings {
  const engine = parseEngine(settings, path)
  const { thresholds, lexicon } = settings
  const url = parseText(settings.url, `${path}.url`)
  if (url !== undefined && !/^https?:\/\//.test(url)) throw badField(`${path}.url`, 'expected an http or https address')
  const model = parseText(settings.model, `${path}.model`)
  if (engine === 'classifier' && url === undefined) throw badField(`${path}.url`, 'expected the address of the classifier')
  if (engine === 'classifier' && model === undefined) throw badField(`${path}.model`, 'expected the model that judges')
  if (engine === 'lexicon' && !isObject(lexicon)) throw badField(`${path}.lexicon`, 'expected lists of words by category')
  return {
    engine,
    url,
    key: parseText(settings.key, `${path}.key`),
    model,
    timeout: TIMEOUT,
    thresholds: thresholds === undefined ? undefined : parseNumbers(thresholds, `${path}.thresholds`),
    ignored: settings.ignored_categories === undefined ? undefined : parseWords(settings.ignored_categories, `${path}.ignored_categories`),
    lexicon: isObject(lexicon) ? parseLists(lexicon, `${path}.lexicon`) : undefined,
  }
}

function parseEngine({ engine = 'openai' }: JsonObject, path: string): ModeratorName {
  const found = MODERATORS.find((one) => one === engine)
  if (!found) throw badField(`${path}.engine`, `expected one of: ${MODERATORS.join(', ')}`)
  return found
}

function parseText(value: Json | undefined, path: string): string | undefined {
  if (value !== undefined && (typeof value !== 'string' || value === '')) throw badField(path, 'expected a text')
  return value
}

/** Texts of one category, as many as a list of the configuration may have: operators keep long lists of words. */
const MAX_WORDS = 10_000

function parseWords(value: Json | undefined, path: string): string[] {
  if (Array.isArray(value) && value.length > MAX_WORDS) throw badField(path, `expected at most ${MAX_WORDS} texts`)
  if (!Array.isArray(value) || !value.every((word) => typeof word === 'string' && word.trim() !== ''))
    throw badField(path, 'expected a list of texts')
  return value as string[]
}

function parseLists(lists: JsonObject, path: string): Record<string, string[]> {
  return Object.fromEntries(Object.entries(lists).map(([category, words]) => [category, parseWords(words, `${path}.${category}`)] as const))
}

function parseNumbers(value: Json, path: string): Record<string, number> {
  if (!isObject(value)) throw badField(path, 'expected least scores by category')
  for (const [category, least] of Object.entries(value)) {
    if (typeof least !== 'number' || !(least >= 0 && least <= 1)) throw badField(`${path}.${category}`, 'expected a score from 0 to 1')
  }
  return value as Record<string, number>
}

function parsePrice(price: Json | undefined, path: string): number {
  if (price === undefined) return 0
  const nano = typeof price === 'string' ? nanoFromUsd(price) : undefined
  if (nano === undefined) throw badField(path, 'expected USD per request as a decimal in quotes, such as "0.001"')
  return nano
}
