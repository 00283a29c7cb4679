/** From a configuration to what the chain is composed of. */
import { shippedPlugins } from '../plugins/registry.ts'
import type { ProviderPreferences } from './canon/gateway-fields.ts'
import type { Catalog } from './catalog/catalog.ts'
import type { Config } from './config/types.ts'
import { compilePatterns } from './guardrails/index.ts'
import type { ChainSettings, GuardrailSetting, KeyLookup, PluginSetting } from './pipeline/parts.ts'
import type { ApiKey, RateLimits } from './plugin-api/key.ts'
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

export function chainSettings(config: Config, catalog: Catalog, keys: KeyLookup): ChainSettings {
  return {
    keys,
    catalog,
    plugins: pluginSettings(config),
    guardrails: guardrailSettings(config),
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

/** Plugins named in `plugins.order` come first and in that order. */
function pluginSettings(config: Config): PluginSetting[] {
  const { order, defaults } = config.plugins
  const rank = (id: string): number => (order.includes(id) ? order.indexOf(id) : order.length)
  return [...shippedPlugins].sort((a, b) => rank(a.id) - rank(b.id)).map((plugin) => ({ plugin, defaults: defaults[plugin.id] ?? {} }))
}

function guardrailSettings(config: Config): GuardrailSetting[] {
  return config.guardrails.map(({ name, keys, contentFilters }, i) => ({
    name,
    keys: keys ? new Set(keys) : undefined,
    scanner: compilePatterns(contentFilters, `guardrails[${i}].content_filters`),
  }))
}
