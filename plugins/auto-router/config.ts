import { badField, type JsonObject } from '../../src/plugin-api/index.ts'

/** Bands of the price scale, in percent of the candidates. */
export const TIERS = { low: [0, 20], medium: [20, 40], high: [40, 60], xhigh: [60, 80], max: [80, 100] } as const

export type CostTier = keyof typeof TIERS

export interface AutoConfig {
  /** False: the prompt is not looked at. */
  enabled: boolean
  allowed: readonly string[] | undefined
  excluded: readonly string[]
  /** 0 for quality whatever it costs, 10 for the cheapest. */
  tradeoff: number
  /** Set: it rules, and the trade-off does not. */
  tier: CostTier | undefined
  pin: boolean
  /** Source of the settings, for messages. */
  path: string
}

const DEFAULT_TRADEOFF = 7
const MAX_TRADEOFF = 10
const MAX_PATTERNS = 1024
const MAX_PATTERN_LENGTH = 1024
const MAX_CHARACTERS = 65_536

/** @throws Fault 400 naming the field under `path`. */
export function parseConfig(settings: JsonObject, path: string): AutoConfig {
  const { enabled = true, cost_quality_tradeoff: tradeoff = DEFAULT_TRADEOFF, cost_tier: tier, pin_model: pin = false } = settings
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  if (typeof pin !== 'boolean') throw badField(`${path}.pin_model`, 'expected true or false')
  if (typeof tradeoff !== 'number' || !Number.isInteger(tradeoff) || tradeoff < 0 || tradeoff > MAX_TRADEOFF)
    throw badField(`${path}.cost_quality_tradeoff`, `expected a whole number from 0 to ${MAX_TRADEOFF}`)
  if (tier !== undefined && !isTier(tier)) throw badField(`${path}.cost_tier`, `expected one of ${Object.keys(TIERS).join(', ')}`)
  const allowed = parsePatterns(settings.allowed_models, `${path}.allowed_models`)
  const excluded = parsePatterns(settings.excluded_models, `${path}.excluded_models`) ?? []
  return { enabled, allowed, excluded, tradeoff, tier, pin, path }
}

function isTier(value: unknown): value is CostTier {
  return typeof value === 'string' && Object.hasOwn(TIERS, value)
}

/** @throws Fault 400 for more than 1024 patterns, for one of more than 1024 characters, and for more than 65536 characters together. */
function parsePatterns(value: unknown, path: string): string[] | undefined {
  if (value === undefined) return undefined
  if (!Array.isArray(value)) throw badField(path, 'expected a list of model patterns')
  if (value.length > MAX_PATTERNS) throw badField(path, `expected at most ${MAX_PATTERNS} patterns`)
  let characters = 0
  return value.map((pattern: unknown, i) => {
    if (typeof pattern !== 'string' || pattern.length > MAX_PATTERN_LENGTH)
      throw badField(`${path}[${i}]`, `expected a model pattern of at most ${MAX_PATTERN_LENGTH} characters`)
    characters += pattern.length
    if (characters > MAX_CHARACTERS) throw badField(path, `expected at most ${MAX_CHARACTERS} characters in all patterns`)
    return pattern
  })
}
