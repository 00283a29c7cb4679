/** The section `plugins`: what its schema cannot say, and what it comes to. */
import { dirname, resolve } from 'node:path'
import type { JsonObject } from '../core/json.ts'
import { LATER_PLUGINS, PLUGINS } from './schema/plugins.ts'
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'
import { hint } from './suggest.ts'
import type { PluginSource, PluginsConfig } from './types.ts'
import { milliseconds } from './units.ts'

/** Whether the operator's own plugins have the ids that are named is known once they are loaded. */
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

/** @param file of the configuration. */
export function resolvePlugins({ plugins }: RawConfig, file: string): PluginsConfig {
  const { order = [], defaults = {}, load = [] } = plugins ?? {}
  const resolved: PluginsConfig = { order: [...order], defaults: {}, rules: {}, load: load.map((name) => sourceOf(name, file)) }
  for (const [id, settings] of Object.entries(defaults)) {
    if (settings === undefined) continue
    const { locked = false, on_error: onError, timeout, ...own } = settings
    resolved.defaults[id] = own as JsonObject
    if (!locked && onError === undefined && timeout === undefined) continue
    resolved.rules[id] = {
      locked,
      ...(onError === undefined ? {} : { onError }),
      ...(timeout === undefined ? {} : { timeout: milliseconds(timeout) }),
    }
  }
  return resolved
}

/** What begins like a path is one; all else is the name of a package. */
function sourceOf(name: string, file: string): PluginSource {
  return /^(\.{0,2}\/|[A-Za-z]:[\\/])/.test(name) ? { name, path: resolve(dirname(file), name) } : { name }
}
