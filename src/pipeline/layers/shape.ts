/** 8. Request plugins, in the configured order; they see the abilities of the resolved endpoints. */
import type { PluginEntry } from '../../canon/gateway-fields.ts'
import { badField } from '../../core/faults.ts'
import type { Host, Resolved } from '../../plugin-api/index.ts'
import type { Exchange } from '../exchange.ts'
import type { PluginSetting } from '../parts.ts'
import type { At, Layer } from '../reply.ts'

interface Active {
  setting: PluginSetting
  config: unknown
}

export function shape(plugins: readonly PluginSetting[], host: Host): Layer<At<Resolved>> {
  const known = new Set(plugins.map(({ plugin }) => plugin.id))
  return (next) =>
    function shaped(exchange) {
      exchange.gateway.plugins.forEach((entry, i) => {
        if (!known.has(entry.id)) throw badField(`plugins[${i}].id`, `no such plugin; expected one of: ${[...known].join(', ')}`)
      })
      const active = activePlugins(exchange, plugins)
      if (active.length === 0) return next(exchange)
      for (const { setting } of active) if (acts(setting)) exchange.pluginIds = [...exchange.pluginIds, setting.plugin.id]
      return run(exchange, active, host).then(() => next(exchange))
    }
}

function activePlugins(exchange: Exchange, plugins: readonly PluginSetting[]): Active[] {
  const entries = exchange.gateway.plugins
  const active: Active[] = []
  for (const setting of plugins) {
    const entry = entries.find(({ id }) => id === setting.plugin.id)
    const wanted = entry ? entry.enabled !== false : setting.defaults.enabled === true || setting.plugin.implied?.(exchange) === true
    // An entry that is switched off is still checked: its mistakes are the caller's to know.
    const config = entry || wanted ? configOf(setting, entries) : undefined
    if (wanted) active.push({ setting, config })
  }
  return active
}

/** False for a plugin that has said all it has to say when it chose the models. */
function acts({ plugin }: PluginSetting): boolean {
  return plugin.shape !== undefined || plugin.tap !== undefined
}

/** A plugin's settings for one request: the operator's, with the request's entry on top. @throws Fault 400 naming the path. */
export function configOf({ plugin, defaults }: PluginSetting, entries: readonly PluginEntry[]): unknown {
  const i = entries.findIndex(({ id }) => id === plugin.id)
  return i === -1 ? plugin.parse(defaults, 'plugins') : plugin.parse({ ...defaults, ...entries[i] }, `plugins[${i}]`)
}

async function run(exchange: Exchange, active: readonly Active[], host: Host): Promise<void> {
  for (const { setting, config } of active) {
    const waiting = setting.plugin.shape?.(exchange, config, host)
    if (waiting) await waiting
    const tap = setting.plugin.tap?.(exchange, config, host)
    if (tap) exchange.taps = [...(exchange.taps ?? []), tap]
  }
}
