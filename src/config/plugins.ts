/** The section `plugins`: what its schema cannot say, and what it comes to. */
import { dirname, resolve } from 'node:path'
import { type JsonObject, present } from '../core/json.ts'
import { type Resolved, resolved } from './resolved.ts'
import { LATER_PLUGINS, PLUGINS, type plugins, policy } from './schema/plugins.ts'
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'
import { hint } from './suggest.ts'

/** Checks the ids that are named; those of the operator's own plugins are known once they are loaded. */
export function checkPlugins({ plugins }: RawConfig, main: Source): void {
  const { order = [], defaults = {}, load = [] } = plugins ?? {}
  const loads = load.length > 0 || main.mayHave(['plugins'], 'load')
  for (const [index, id] of order.entries()) {
    const at = ['plugins', 'order', index]
    if (order.indexOf(id) !== index) main.report(at, 'this plugin is named twice, expected it once')
    else if (loads || PLUGINS.includes(id)) continue
    else if (LATER_PLUGINS.includes(id)) main.report(at, `"${id}" is not available in this version`)
    else main.report(at, `no such plugin${hint(id, PLUGINS)}`)
  }
  for (const id of Object.keys(defaults)) {
    if (loads || PLUGINS.includes(id)) continue
    main.report(
      ['plugins', 'defaults', id],
      LATER_PLUGINS.includes(id) ? 'not available in this version' : `no such plugin${hint(id, PLUGINS)}`,
      'key',
    )
  }
  for (const [index, name] of load.entries()) {
    if (load.indexOf(name) !== index) main.report(['plugins', 'load', index], 'this plugin is loaded twice, expected it once')
  }
}

/** A file or a package with plugins of the operator's own. */
export interface PluginSource {
  /** As the file has it. */
  name: string
  /** Absolute, where it is a file. */
  path?: string
}

export type PluginsConfig = ReturnType<typeof pluginsConfig>

/** Parts what is the plugins' own from what the operator decides beside it. @param file of the configuration. */
export function pluginsConfig({ order, defaults, load }: Resolved<typeof plugins>, file: string) {
  const own: Record<string, JsonObject> = {}
  const rules: Record<string, Resolved<typeof policy>> = {}
  for (const [id, settings] of Object.entries(defaults)) {
    if (settings === undefined) continue
    const { locked, on_error, timeout, ...others } = settings
    own[id] = others as JsonObject
    rules[id] = resolved(policy, present({ locked, on_error, timeout }))
  }
  return { order, defaults: own, rules, load: load.map((name) => pluginSource(name, file)) }
}

/** Source of a plugin: a path if the name begins like one, else a package. */
function pluginSource(name: string, file: string): PluginSource {
  return /^(\.{0,2}\/|[A-Za-z]:[\\/])/.test(name) ? { name, path: resolve(dirname(file), name) } : { name }
}
