/** A request's `plugins` list over the operator's settings. */

import { badField } from '../../core/faults.ts'
import type { PluginEntry } from '../../dialects/canon/gateway-fields.ts'
import type { PluginSetting } from '../dependencies.ts'

/** Words of the configuration beside a plugin's own settings: no request sets them. */
const OPERATORS: ReadonlySet<string> = new Set(['locked', 'on_error', 'timeout'])

/** @throws Fault 400 for an id that no plugin has, and for one that is named twice. */
export function checkIds(entries: readonly PluginEntry[], known: ReadonlySet<string>): void {
  for (const [i, { id }] of entries.entries()) {
    if (!known.has(id)) throw badField(`plugins[${i}].id`, `no such plugin; expected one of: ${[...known].join(', ')}`)
    if (entries.findIndex((entry) => entry.id === id) !== i) throw badField(`plugins[${i}].id`, 'named twice, expected it once')
  }
}

/** A plugin's settings for one request: the operator's, with the request's entry on top. @throws Fault 400 naming the path. */
export function configOf(setting: PluginSetting, entries: readonly PluginEntry[]): unknown {
  const { plugin, defaults } = setting
  const i = entries.findIndex(({ id }) => id === plugin.id)
  const entry = entries[i]
  if (!entry) return plugin.parse(defaults, `plugins.defaults.${plugin.id}`)
  const path = `plugins[${i}]`
  checkEntry(setting, entry, path)
  // To name a plugin that acts is to switch it on, whatever it is by default.
  const on = plugin.shape || plugin.tap ? { enabled: true } : {}
  return plugin.parse({ ...defaults, ...on, ...entries[i] }, path)
}

function checkEntry({ plugin, defaults, locked }: PluginSetting, entry: PluginEntry, path: string): void {
  for (const key of Object.keys(entry)) {
    if (OPERATORS.has(key) || plugin.reserved?.includes(key))
      throw badField(`${path}.${key}`, 'is set by the operator alone, expected no such field')
    if (locked && key !== 'id')
      throw badField(`${path}.${key}`, `the operator has locked this plugin, expected { "id": "${plugin.id}" } alone`)
  }
  if (locked && defaults.enabled === false) throw badField(`${path}.id`, 'the operator has switched this plugin off')
}
