/** Service tiers that endpoints of their own are declared for; an endpoint without one serves the provider's usual tier. */
export const SERVICE_TIERS = ['flex', 'priority', 'ultrafast'] as const

export type ServiceTier = (typeof SERVICE_TIERS)[number]

/** True for a tier that is dearer and quicker than the usual one: its endpoints come first where it is requested, and others follow. */
export function isQuickTier(tier: ServiceTier | undefined): tier is Exclude<ServiceTier, 'flex'> {
  return tier === 'priority' || tier === 'ultrafast'
}

export const ALL_TIERS: ReadonlySet<ServiceTier> = new Set(SERVICE_TIERS)
