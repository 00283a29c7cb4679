/**
 * Requirements of guardrails on models and endpoints: lists, zero retention by author, data policy, price (docs/contract.md#guardrails).
 */

import { ORGANIZATION, personName } from '../../core/levels.ts'
import { slugAuthor } from '../../core/model-family.ts'
import type { PriceMoment } from '../../core/price.ts'
import { ALL_TIERS } from '../../core/service-tiers.ts'
import { WORKSPACE } from '../../core/workspace.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { allowsModel, type Ceiling, listExcludes, listNames, namesModel, overCeiling, parseCeiling } from '../../routing/index.ts'
import type { GuardrailBudget, GuardrailSetting } from './guardrail-setting.ts'

export interface BoundTerms {
  /** The first thing that some guardrail has against the endpoint. @param moment decides between prices where there are several. */
  bar(endpoint: Endpoint, moment: PriceMoment | undefined): { detail: string; from: string } | undefined
  /** Some guardrail sets a ceiling on the price. */
  readonly priced: boolean
}

/** Guardrails that hold for one key, made once per key and configuration. */
export interface Bound {
  readonly terms: BoundTerms | undefined
  readonly budgets: readonly GuardrailBudget[]
  readonly requireParameters: boolean
}

const bounds = new WeakMap<readonly GuardrailSetting[], WeakMap<ApiKey, Bound>>()

/** Keys issued through sign-in inherit the guardrails of the key that issued them. */
export function holdsFor(guardrail: Pick<GuardrailSetting, 'id' | 'keys' | 'identities' | 'levels' | 'users'>, key: ApiKey): boolean {
  const { name, identity, consent, issuer, token, byPolicy } = key
  const { id, keys, identities, levels, users } = guardrail
  if (keys === undefined && identities === undefined && levels === undefined && users === undefined) return true
  if ((levels !== undefined || users !== undefined) && holdsAbove(guardrail, issuer ?? key)) return true
  if (byPolicy?.guardrails.includes(id)) return true
  // A claim names the caller, which must not pass for a key of that name.
  if (token) return token.guardrails.includes(id)
  if (keys?.has(name) || identities?.has(identity)) return true
  if (issuer) return holdsFor(guardrail, issuer)
  // Of a key of the file the identity is its name.
  return consent !== undefined && (keys?.has(consent.by) || identities?.has(consent.by)) === true
}

/** True where it is assigned to a level of the key's place. A key without one is in the default workspace. */
function holdsAbove({ levels, users }: Pick<GuardrailSetting, 'levels' | 'users'>, { levels: found, place }: ApiKey): boolean {
  if (levels?.has(found?.workspace ?? WORKSPACE) || levels?.has(found?.organization ?? ORGANIZATION)) return true
  // A person whom an identity provider names need not be a member any more to be the one that was meant.
  const named = place?.isAnyone && place.member !== undefined ? personName(place.member) : undefined
  const user = found?.user ?? named
  return user !== undefined && users?.has(user) === true
}

/** Budgets for a key. A guardrail that holds for the issuer of a key has one budget for both, kept at the issuer. */
export function budgetsFor(guardrails: readonly GuardrailSetting[], { issuer }: Pick<ApiKey, 'issuer'>): readonly GuardrailBudget[] {
  return guardrails.flatMap((guardrail) => {
    const { budget } = guardrail
    if (!budget) return []
    return issuer && holdsFor(guardrail, issuer) ? [{ ...budget, level: 1 }] : [budget]
  })
}

/** Requirements on endpoints for all requests of a key. */
export function termsFor(guardrails: readonly GuardrailSetting[], key: ApiKey): BoundTerms | undefined {
  return boundFor(guardrails, key).terms
}

/** Bounds of the guardrails that hold for a key: its budgets, which endpoints may serve, and whether every parameter must be taken. */
export function boundFor(guardrails: readonly GuardrailSetting[], key: ApiKey): Bound {
  let byKey = bounds.get(guardrails)
  if (!byKey) {
    byKey = new WeakMap()
    bounds.set(guardrails, byKey)
  }
  let bound = byKey.get(key)
  if (!bound) {
    bound = bindGuardrails(
      guardrails.filter((guardrail) => holdsFor(guardrail, key)),
      key,
    )
    byKey.set(key, bound)
  }
  return bound
}

function bindGuardrails(guardrails: readonly GuardrailSetting[], key: ApiKey): Bound {
  const compiled = guardrails.filter((guardrail) => guardrail.bounds).map(compile)
  const terms: BoundTerms | undefined =
    compiled.length === 0
      ? undefined
      : {
          priced: compiled.some(({ ceiling }) => ceiling.length > 0),
          bar(endpoint, moment) {
            for (const each of compiled) {
              const detail = objection(endpoint, each, moment)
              if (detail !== undefined) return { detail: `${detail} of the guardrail ${each.name}`, from: each.name }
            }
            return undefined
          },
        }
  return {
    terms,
    budgets: budgetsFor(guardrails, key),
    requireParameters: guardrails.some(({ settings }) => settings.requireParameters),
  }
}

interface CompiledTerms extends Pick<GuardrailSetting, 'name' | 'settings' | 'zdr'> {
  readonly ceiling: Ceiling
}

function compile({ name, settings, zdr }: GuardrailSetting): CompiledTerms {
  return { name, settings, zdr, ceiling: parseCeiling(settings.maxPrice) }
}

/** Authors whose models have a switch of their own for zero retention; all others share one. */
const ZDR_GROUPS: ReadonlyMap<string, string> = new Map([
  ['anthropic', 'anthropic'],
  ['openai', 'openai'],
  ['google', 'google'],
  ['x-ai', 'xai'],
  ['xai', 'xai'],
])

function objection(endpoint: Endpoint, { settings, zdr, ceiling }: CompiledTerms, moment: PriceMoment | undefined): string | undefined {
  const { provider, price } = endpoint
  const { slug } = endpoint.model
  const { ignoredModels, allowedProviders, ignoredProviders } = settings
  if (!allowsModel(settings.allowedModels, slug)) return 'not among the allowed models'
  if (ignoredModels?.some((entry) => namesModel(entry, slug))) return 'among the ignored models'
  if (allowedProviders && !listNames(allowedProviders, endpoint, ALL_TIERS)) return 'not among the allowed providers'
  if (ignoredProviders && listExcludes(ignoredProviders, endpoint)) return 'among the ignored providers'
  if (!provider.zdr && zdr.has(ZDR_GROUPS.get(slugAuthor(slug)) ?? 'other')) return 'without the zero retention'
  const { enableFreeModelTraining: training, enableFreeModelPublication: publication, enablePaidModelTraining: paid } = settings
  if (provider.dataCollection !== 'deny' && !(price === 'free' ? training && publication : paid)) return 'against the data policy'
  const over = overCeiling(endpoint, ceiling, moment)
  return over === undefined ? undefined : `${over}, the ceiling`
}
