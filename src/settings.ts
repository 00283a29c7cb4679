/** From a configuration to what the chain is composed of. */
import { shippedPlugins } from '../plugins/registry.ts'
import type { ProviderPreferences } from './canon/gateway-fields.ts'
import type { Catalog } from './catalog/catalog.ts'
import type { Config } from './config/types.ts'
import { compilePatterns } from './guardrails/index.ts'
import type { ChainSettings, GuardrailSetting, KeyLookup, PluginSetting } from './pipeline/parts.ts'
import type { ApiKey } from './plugin-api/key.ts'
import type { KeyStore } from './store/keys.ts'

/** Keys of the file by digest, then those of the store. */
export function keyLookup(keys: readonly ApiKey[], store: KeyStore): KeyLookup {
  const byHash = new Map(keys.map((key) => [key.hash, key]))
  return { find: (hash) => byHash.get(hash) ?? store.find(hash) }
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
