/** From a configuration to what the chain is composed of. */

import type { Config } from '../config/config.ts'
import { type Budgets, budgetNamed } from '../core/shared-budget.ts'
import type { PlacedKeys } from '../ledger/placed-keys.ts'
import type { ChainSettings } from '../pipeline/dependencies.ts'
import type { GuardrailSetting } from '../pipeline/guard/guardrail-setting.ts'
import { compilePolicies } from '../pipeline/policy/policy-setting.ts'
import type { CertificateCallers } from '../pipeline/request/authentication/certificate-callers.ts'
import { Callers } from '../pipeline/request/authentication/index.ts'
import type { KeyLookup } from '../pipeline/request/authentication/key-lookup.ts'
import type { TokenCallers } from '../pipeline/request/authentication/token-callers.ts'
import type { ApiKey, RateLimits } from '../plugin-api/key.ts'
import type { Catalog } from '../routing/catalog/catalog.ts'
import { OutboundPolicy } from '../services/outbound/policy.ts'
import { isIssuer, issuerHash, underIssuer } from '../store/issued-keys.ts'
import type { KeyStore, StoredKey } from '../store/keys.ts'
import { fileGuardrails } from './guardrail-settings.ts'
import { pluginSettings } from './plugin-list.ts'

/**
 * Keys of the file, and those of the store; of an issued key with its issuer.
 * @param shared of keys of the store; those of the file have it already.
 */
export function keyLookup(keys: readonly ApiKey[], store: KeyStore, shared: SharedSettings = NOTHING_SHARED): KeyLookup {
  const byIdentity = new Map(keys.map((key) => [key.identity, key]))
  const withLimits = completedBy(shared)
  const withIssuer = issuersAt()
  /** An issued key without its issuer is none. @param issuer as `look` gave it. */
  const issued = (key: StoredKey, issuer: StoredKey | undefined): ApiKey | undefined =>
    key.consent && issuer && isIssuer(key.consent, issuer) ? withIssuer(key, withLimits(issuer)) : undefined
  type Found = StoredKey | undefined
  const complete = (key: Found, look: (hash: string) => Found | Promise<Found>): ReturnType<KeyLookup['find']> => {
    if (!key) return undefined
    if (!key.consent) return withLimits(key)
    const written = byIdentity.get(key.consent.by)
    if (written) return isIssuer(key.consent, written) ? withIssuer(key, written) : undefined
    const issuer = look(issuerHash(key.consent))
    return issuer instanceof Promise ? issuer.then((found) => issued(key, found)) : issued(key, issuer)
  }
  const look = (hash: string): Found | Promise<Found> => store.find(hash)
  return {
    written: new Map(keys.map((key) => [key.hash, key])),
    atHand: (hash) => {
      if (!store.atHand) return undefined
      const found = complete(store.atHand(hash), (issuer) => store.atHand?.(issuer))
      return found instanceof Promise ? undefined : found
    },
    find: (hash, isSuspect) => {
      const found = store.find(hash, isSuspect)
      return found instanceof Promise ? found.then((key) => complete(key, look)) : complete(found, look)
    },
  }
}

/** Settings of the configuration for keys of the store. */
interface SharedSettings {
  /** For those that set none of their own. */
  readonly limits: RateLimits
  readonly budgets: Budgets
}

const NOTHING_SHARED: SharedSettings = { limits: {}, budgets: {} }

/** A store gives the same object as long as a key is unchanged, so that what is made of it is made once. */
function completedBy({ limits, budgets }: SharedSettings): (key: StoredKey) => ApiKey {
  const limited = new WeakMap<StoredKey, ApiKey>()
  return (key) => {
    let found = limited.get(key)
    if (!found) {
      const { parent } = key
      found = { ...key, limits: { ...limits, ...key.limits }, ...(parent === undefined ? {} : { budget: budgetNamed(parent, budgets) }) }
      limited.set(key, found)
    }
    return found
  }
}

function issuersAt(): (key: StoredKey, issuer: ApiKey) => ApiKey {
  const joined = new WeakMap<StoredKey, ApiKey>()
  return (key, issuer) => {
    const known = joined.get(key)
    if (known?.issuer === issuer) return known
    const made = underIssuer<ApiKey>(key, issuer)
    joined.set(key, made)
    return made
  }
}

interface Beside {
  /** Guardrails beside those of the file. */
  readonly stored?: readonly GuardrailSetting[]
  /** Absent where no caller shows a token. */
  readonly tokens?: TokenCallers | undefined
  readonly certificates?: CertificateCallers | undefined
  readonly places?: PlacedKeys | undefined
}

export function chainSettings(
  config: Config,
  catalog: Catalog,
  keys: KeyLookup,
  { stored = [], tokens, certificates, places }: Beside = {},
): ChainSettings {
  return {
    callers: new Callers({ keys, config, tokens, certificates, places }),
    catalog,
    plugins: pluginSettings(config),
    guardrails: [...fileGuardrails(config), ...stored],
    policies: compilePolicies(config.policies),
    // The same addresses as for files that are read: both are parts of a request.
    outbound: new OutboundPolicy({ allowPrivate: privateHosts(config) }),
  }
}

/** Exceptions that the operator has made for files of requests. */
function privateHosts({ plugins }: Config): string[] {
  const { allow_private: hosts } = plugins.defaults['file-parser'] ?? {}
  return Array.isArray(hosts) ? hosts.map(String) : []
}
