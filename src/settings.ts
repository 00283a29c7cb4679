/** From a configuration to what the chain is composed of. */
import type { ProviderPreferences } from './canon/gateway-fields.ts'
import type { Catalog } from './catalog/catalog.ts'
import type { Config } from './config/types.ts'
import { fileGuardrails } from './guardrail-settings.ts'
import type { ChainSettings, GuardrailSetting, KeyLookup } from './pipeline/parts.ts'
import type { ApiKey, RateLimits } from './plugin-api/key.ts'
import { pluginSettings } from './plugin-list.ts'
import type { KeyStore } from './store/keys.ts'

/**
 * Keys of the file by digest, then those of the store.
 * @param limits for keys of the store that set none of their own; those of the file have them already.
 */
export function keyLookup(keys: readonly ApiKey[], store: KeyStore, limits: RateLimits = {}): KeyLookup {
  const byHash = new Map(keys.map((key) => [key.hash, key]))
  /** A store gives the same object as long as a key is unchanged. */
  const limited = new WeakMap<ApiKey, ApiKey>()
  const withLimits = (key: ApiKey | undefined): ApiKey | undefined => {
    if (!key) return undefined
    let found = limited.get(key)
    if (!found) {
      found = { ...key, limits: { ...limits, ...key.limits } }
      limited.set(key, found)
    }
    return found
  }
  const stored = (hash: string): ReturnType<KeyLookup['find']> => {
    const key = store.find(hash)
    return key instanceof Promise ? key.then(withLimits) : withLimits(key)
  }
  return { find: (hash) => byHash.get(hash) ?? stored(hash) }
}

/** @param stored guardrails beside those of the file. */
export function chainSettings(config: Config, catalog: Catalog, keys: KeyLookup, stored: readonly GuardrailSetting[] = []): ChainSettings {
  return {
    keys,
    catalog,
    plugins: pluginSettings(config),
    guardrails: [...fileGuardrails(config), ...stored],
    prompts: config.prompts,
    presets: config.presets,
    defaultModel: config.defaultModel,
    provider: config.provider as ProviderPreferences | undefined,
    maxBody: config.server.maxBody,
    jsonDepth: config.server.jsonDepth,
    deadline: config.server.deadline,
    silence: config.server.silence,
  }
}
