/** `headgate plugins`: which plugins there are, which are on, and what the operator has set. */

import { loadWhole } from '../app/config-reader.ts'
import { listedPlugins, pluginSettings } from '../app/plugin-list.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/problems.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import type { PluginSetting } from '../pipeline/dependencies.ts'
import { CONSOLE, type Streams } from './console.ts'
import { table } from './plan-table.ts'
import { SHIPPED_CONFIG } from './shipped-config.ts'

export interface PluginFlags {
  config?: string
  json?: boolean
}

/** When a plugin acts: on every request, where it sees the need, where a request names it or its slug, or never. */
type Acts = 'always' | 'by itself' | 'on request' | 'on its slug' | 'never'

interface PluginFacts {
  id: string
  /** The entry of `plugins.load`, or `headgate`. */
  from: string
  acts: Acts
  /** Slugs that it chooses models for. */
  slugs: string[]
  locked: boolean
  on_error: 'fail' | 'skip'
  timeout_ms: number
  defaults: JsonObject
}

/** @returns the exit code: 1 where the configuration or one of its plugins cannot be used. */
export async function plugins(
  words: readonly string[],
  { config: file = SHIPPED_CONFIG, json }: PluginFlags,
  streams: Streams = CONSOLE,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<number> {
  if (words.length > 0) {
    streams.error('headgate: plugins: expected no words behind it')
    return 2
  }
  try {
    const facts = pluginFacts(await loadWhole(file, env))
    streams.out(json ? JSON.stringify({ data: facts, total_count: facts.length }, undefined, 2) : factsTable(facts))
    return 0
  } catch (error) {
    streams.error(error instanceof ConfigError ? error.message : `headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

/** In the order in which they run. */
function pluginFacts(config: Config): PluginFacts[] {
  const from = new Map(listedPlugins(config).map((listed) => [listed.plugin.id, listed.from]))
  return pluginSettings(config).map((setting) => ({
    id: setting.plugin.id,
    from: from.get(setting.plugin.id) ?? 'headgate',
    acts: pluginActs(setting),
    slugs: (setting.plugin.router?.names ?? []).map((name) => `${config.brand.word}/${name}`),
    locked: setting.locked,
    on_error: setting.onError,
    timeout_ms: setting.timeout,
    defaults: withoutSecrets(setting.defaults),
  }))
}

function pluginActs({ plugin, defaults, locked }: PluginSetting): Acts {
  const shapes = plugin.shape !== undefined || plugin.tap !== undefined
  if (!shapes) return plugin.router ? 'on its slug' : 'never'
  if (defaults.enabled === true) return 'always'
  if (defaults.enabled === false) return locked ? 'never' : 'on request'
  return plugin.implied && !plugin.router ? 'by itself' : 'on request'
}

function factsTable(facts: readonly PluginFacts[]): string {
  const rows = facts.map(({ id, from, acts, slugs, locked, on_error: onError, timeout_ms: timeout, defaults }) => [
    id,
    [...(acts === 'on its slug' ? [] : [acts]), ...slugs].join(', '),
    locked ? 'yes' : '',
    onError,
    `${timeout / 1000} s`,
    from,
    Object.keys(defaults).length === 0 ? '' : JSON.stringify(defaults),
  ])
  return table(['plugin', 'acts', 'locked', 'on error', 'time', 'from', 'settings'], rows)
}

const SECRET = /key|token|secret|password|authorization|credential/i

/** Hides values whose name looks like that of a secret, wherever they stand. */
function withoutSecrets(settings: JsonObject): JsonObject {
  const shown = (value: Json | undefined, name: string): Json => {
    if (Array.isArray(value)) return value.map((one) => shown(one, name))
    if (isObject(value)) return withoutSecrets(value)
    return typeof value === 'string' && SECRET.test(name) ? '***' : (value ?? null)
  }
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, shown(value, name)]))
}
