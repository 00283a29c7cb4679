/** Which plugins there are: those that ship with the gateway and the operator's own, each with what the configuration says of it. */
import { type ShippedEntry, shippedPlugins } from '../../plugins/registry.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/expand.ts'
import type { PluginsConfig } from '../config/plugins.ts'
import { ConfigError, type Path } from '../config/problems.ts'
import { Source } from '../config/source.ts'
import { hint } from '../config/suggest.ts'
import { Fault } from '../core/faults.ts'
import { isObject } from '../core/json.ts'
import { fileText } from '../core/program-files.ts'
import type { PluginSetting } from '../pipeline/dependencies.ts'
import { API_VERSION, type Plugin } from '../plugin-api/index.ts'
import { loadModule } from './plugin-modules.ts'

/** Milliseconds, where neither the operator nor the plugin says how long it may take. */
const TIMEOUT = 30_000

export interface ListedPlugin {
  plugin: Plugin
  /** The entry of `plugins.load` that it came from; undefined for one that ships with the gateway. */
  from: string | undefined
}

const shipped: readonly ListedPlugin[] = await Promise.all(
  Object.values<ShippedEntry>(shippedPlugins).map(async ({ load }) => ({ plugin: await load(), from: undefined })),
)
const lists = new WeakMap<PluginsConfig, readonly ListedPlugin[]>()

/** Place of the text of a configuration, for the place of a problem. */
export interface ConfigText {
  text?: string | undefined
  env: Environment
}

/** Loads the plugins that a configuration names, and checks what it says of plugins. @throws ConfigError */
export function withPlugins(config: Config, source: ConfigText): Config | Promise<Config> {
  const ready = (list: readonly ListedPlugin[]): Config => {
    lists.set(config.plugins, list)
    const problem = problemIn(config.plugins, list)
    if (problem) throw problemAt(config, source, problem)
    return config
  }
  return config.plugins.load.length === 0 ? ready(shipped) : loaded(config, source).then(ready)
}

/** In the order in which they run: those that `plugins.order` names come first. @throws Error where `withPlugins` has not been called. */
export function listedPlugins({ plugins }: Config): readonly ListedPlugin[] {
  const { order, load } = plugins
  const list = lists.get(plugins) ?? (load.length === 0 ? shipped : undefined)
  if (!list) throw new Error('the plugins of this configuration have not been loaded')
  const rank = (id: string): number => (order.includes(id) ? order.indexOf(id) : order.length)
  return [...list].sort((a, b) => rank(a.plugin.id) - rank(b.plugin.id))
}

export function pluginSettings(config: Config): PluginSetting[] {
  const { defaults, rules } = config.plugins
  return listedPlugins(config).map(({ plugin }) => {
    const { id, onError = 'fail', timeout = TIMEOUT } = plugin
    const rule = rules[id]
    return {
      plugin,
      defaults: defaults[id] ?? {},
      locked: rule?.locked === true,
      onError: rule?.onError ?? onError,
      timeout: rule?.timeout ?? timeout,
    }
  })
}

interface Found {
  path: Path
  message: string
  at?: 'key'
}

async function loaded(config: Config, source: ConfigText): Promise<readonly ListedPlugin[]> {
  const list = [...shipped]
  for (const [i, entry] of config.plugins.load.entries()) {
    try {
      for (const plugin of exportedPlugins(await loadModule(entry, config.file))) {
        const clash = pluginClash(plugin, list)
        if (clash !== undefined) throw new Error(clash)
        list.push({ plugin, from: entry.name })
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw problemAt(config, source, { path: ['plugins', 'load', i], message: `this plugin cannot be used: ${why}` })
    }
  }
  return list
}

function pluginClash({ id, router }: Plugin, list: readonly ListedPlugin[]): string | undefined {
  const where = (from: string | undefined): string => (from === undefined ? 'ships with the gateway' : `comes from ${from}`)
  for (const { plugin, from } of list) {
    if (plugin.id === id) return `a plugin with the id ${id} ${where(from)}, expected another id`
    const name = router?.names.find((one) => plugin.router?.names.includes(one))
    if (name !== undefined) return `the plugin ${plugin.id}, which ${where(from)}, answers for ${name} already, expected another name`
  }
  return undefined
}

/** The first thing that the configuration says wrongly of a plugin. */
function problemIn({ order, defaults }: PluginsConfig, list: readonly ListedPlugin[]): Found | undefined {
  const ids = list.map(({ plugin }) => plugin.id)
  for (const [place, id] of order.entries())
    if (!ids.includes(id)) return { path: ['plugins', 'order', place], message: `no such plugin${hint(id, ids)}` }
  const unknown = Object.keys(defaults).find((id) => !ids.includes(id))
  if (unknown !== undefined) return { path: ['plugins', 'defaults', unknown], message: `no such plugin${hint(unknown, ids)}`, at: 'key' }
  for (const { plugin } of list) {
    const settings = defaults[plugin.id]
    const found = settings && settingsProblem(plugin, settings)
    if (found) return found
  }
  return undefined
}

/** Verdict of a plugin on settings that it will meet again with every request. */
function settingsProblem(plugin: Plugin, settings: Config['plugins']['defaults'][string]): Found | undefined {
  const path = ['plugins', 'defaults', plugin.id]
  try {
    plugin.parse(settings, path.join('.'))
    return undefined
  } catch (thrown) {
    const named = thrown instanceof Fault ? thrown.metadata?.field : undefined
    const field = typeof named === 'string' && named.startsWith(`${path.join('.')}.`) ? named.slice(path.join('.').length + 1) : undefined
    const [name, ...within] = field?.split(/[.[\]]+/).filter((segment) => segment !== '') ?? []
    // What is missing may come with the request, unless none may set it or there is none that names the plugin.
    const own = (name !== undefined && plugin.reserved?.includes(name)) || settings.enabled === true
    if (name !== undefined && settings[name] === undefined && !own) return undefined
    const problemText = thrown instanceof Error ? thrown.message : 'the plugin takes no such settings'
    const message = named === undefined ? problemText : problemText.replace(`${named}: `, '')
    if (name === undefined) return { path, message, at: 'key' }
    return { path: [...path, name, ...within.map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment))], message }
  }
}

function problemAt(config: Config, { text, env }: ConfigText, { path, message, at }: Found): ConfigError {
  const source = new Source(config.file, text ?? fileText(config.file), env)
  source.report(path, message, at)
  return new ConfigError(source.problems.slice(-1))
}

const ID = /^[a-z][a-z0-9-]{0,63}$/

/**
 * True if what a module gives is a plugin: our compiler does not check the code of other authors.
 * The default export: a plugin or a list of them. @throws Error saying what is missing.
 */
function exportedPlugins({ default: given }: Record<string, unknown>): Plugin[] {
  const list: unknown[] = Array.isArray(given) ? given : [given]
  if (list.length === 0 || given === undefined) throw new Error('expected a default export that is a plugin, or a list of plugins')
  return list.map((one) => {
    const wrong = wrongWith(one)
    if (wrong !== undefined) throw new Error(wrong)
    return one as Plugin
  })
}

function wrongWith(value: unknown): string | undefined {
  if (!isObject(value)) return 'expected a default export that is a plugin, or a list of plugins'
  const plugin: Record<string, unknown> = value
  const { id, onError, timeout, router } = plugin
  if (typeof id !== 'string' || !ID.test(id)) return 'its id: expected up to 64 small letters, digits and dashes'
  if (plugin.apiVersion !== undefined && plugin.apiVersion !== API_VERSION)
    return `${id} was written for version ${String(plugin.apiVersion)} of headgate/plugin-api: this program has version ${API_VERSION}`
  if (typeof plugin.parse !== 'function') return `${id}.parse: expected a function`
  for (const name of ['shape', 'tap', 'implied', 'bound']) {
    if (plugin[name] !== undefined && typeof plugin[name] !== 'function') return `${id}.${name}: expected a function, or nothing`
  }
  if (plugin.impliedBy !== undefined && !isObject(plugin.impliedBy)) return `${id}.impliedBy: expected an object, or nothing`
  if (onError !== undefined && onError !== 'fail' && onError !== 'skip') return `${id}.onError: expected 'fail' or 'skip'`
  if (timeout !== undefined && !(typeof timeout === 'number' && Number.isSafeInteger(timeout) && timeout > 0))
    return `${id}.timeout: expected a whole number of milliseconds above 0`
  if (router !== undefined && !isRouter(router)) return `${id}.router: expected names, a strategy and a function choose`
  if (!plugin.shape && !plugin.tap && !router) return `${id}: expected at least one of shape, tap and router`
  return undefined
}

function isRouter(value: unknown): boolean {
  if (!isObject(value)) return false
  const { names, strategy, choose }: Record<string, unknown> = value
  const named = Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string' && name !== '')
  return named && typeof strategy === 'string' && typeof choose === 'function'
}
