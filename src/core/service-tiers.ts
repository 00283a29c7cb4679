/** Service tiers that endpoints of their own are declared for; an endpoint without one serves the provider's usual tier. */
export const SERVICE_TIERS = ['flex', 'priority', 'ultrafast'] as const

export type ServiceTier = (typeof SERVICE_TIERS)[number]

/** True for a tier that is dearer and quicker than the usual one: its endpoints come first where it is requested, and others follow. */
export function isQuickTier(tier: ServiceTier | undefined): tier is Exclude<ServiceTier, 'flex'> {
  return tier === 'priority' || tier === 'ultrafast'
}

/**
 * Tiers that callers may request, with their meaning here: OpenAI's five, of which `auto` leaves the choice to the provider and `scale` is
 * capacity that is paid for otherwise; `fast` (docs/contract.md#responses-reply); and the names that presets of providers have
 * (`service_tiers`, in `config/providers/`). Messages callers have Anthropic's `standard_only` beside these.
 */
const REQUESTED: Readonly<Record<string, ServiceTier | 'default' | undefined>> = {
  auto: undefined,
  default: 'default',
  flex: 'flex',
  priority: 'priority',
  scale: undefined,
  fast: 'priority',
  ultrafast: 'ultrafast',
  on_demand: 'default',
  performance: 'priority',
  standard: 'default',
}

export const REQUESTED_TIERS = Object.keys(REQUESTED)

/** Anthropic: Create a Message, `service_tier`. */
export const STANDARD_ONLY = 'standard_only'

/** @param word of any client format. @returns undefined where it selects none. */
export function requestedTier(word: unknown): ServiceTier | 'default' | undefined {
  if (word === STANDARD_ONLY) return 'default'
  return typeof word === 'string' && Object.hasOwn(REQUESTED, word) ? REQUESTED[word] : undefined
}

export const ALL_TIERS: ReadonlySet<ServiceTier> = new Set(SERVICE_TIERS)
