/** Request plugins, in the configured order; they see the abilities of the resolved endpoints. */
import type { PluginEntry } from '../../dialects/canon/request-fields.ts'
import type { ChainDependencies, PluginSetting } from '../dependencies.ts'
import type { Guarded } from '../exchange.ts'
import type { Layer } from '../layer.ts'
import { extendHold, extendUnwritten } from '../money/fixed-hold.ts'
import { mayBeImplied } from '../route/resolve.ts'
import { PluginRun, type RunDependencies } from './run.ts'
import { checkIds, ExchangeView, mergeConfig } from './view.ts'

export function shapeLayer(plugins: readonly PluginSetting[], dependencies: ChainDependencies): Layer<Guarded> {
  return shapingLayer(plugins, dependencies, { hold: (exchange, bound) => extendHold('plugins', exchange, bound, dependencies) })
}

/** In a plan: a plugin that costs money or calls other services is not run, and its bound is reserved until the plan is made. */
export function shapeForPlan(plugins: readonly PluginSetting[], dependencies: ChainDependencies): Layer<Guarded> {
  const hold = (exchange: Guarded, bound: number): Promise<void> => extendUnwritten('plugins', exchange, bound, dependencies.credit)
  return shapingLayer(plugins, dependencies, { hold, only: (run) => run.bound === 0 && run.setting.plugin.remote !== true })
}

/** Those that may act on a request which names none. */
export function impliedPlugins(plugins: readonly PluginSetting[]): readonly PluginSetting[] {
  return plugins.filter((setting) => acts(setting) && mayActUnnamed(setting))
}

interface Ways {
  /** Called before the first plugin begins, where some may cost money. */
  hold: (exchange: Guarded, bound: number) => Promise<void>
  /** Those that are run. */
  only?: (run: PluginRun) => boolean
}

function shapingLayer(plugins: readonly PluginSetting[], dependencies: RunDependencies, { hold, only }: Ways): Layer<Guarded> {
  const known = new Set(plugins.map(({ plugin }) => plugin.id))
  const implied = impliedPlugins(plugins)
  return (next) =>
    function handle(exchange) {
      const entries = exchange.demand.plugins
      if (entries.length === 0 && implied.length === 0) return next(exchange)
      if (entries.length > 0) checkIds(entries, known)
      const runs = startRuns(exchange, entries.length > 0 ? plugins : implied, dependencies)
      if (!runs) return next(exchange)
      exchange.history.pluginRuns = runs
      exchange.history.pluginIds = [...exchange.history.pluginIds, ...runs.map((run) => run.setting.plugin.id)]
      const bound = runs.reduce((sum, run) => sum + (run.lives ? run.bound : 0), 0)
      const acting = only ? runs.filter(only) : runs
      if (only) for (const run of runs) if (!only(run)) run.preview()
      const waiting = bound > 0 ? hold(exchange, bound).then(() => shapes(acting, 0)) : shapes(acting, 0)
      return waiting ? waiting.then(() => next(exchange)) : next(exchange)
    }
}

/** Settings of plugins that do not act are still checked: their mistakes are the caller's to know. */
function startRuns(exchange: Guarded, plugins: readonly PluginSetting[], dependencies: RunDependencies): PluginRun[] | undefined {
  const entries = exchange.demand.plugins
  let runs: PluginRun[] | undefined
  let view: ExchangeView | undefined
  for (const setting of plugins) {
    const entry = entries.length > 0 ? entries.find(({ id }) => id === setting.plugin.id) : undefined
    if (!entry && !(acts(setting) && mayBeImplied(exchange, setting))) continue
    if (entry && (isOff(entry, setting) || !acts(setting))) mergeConfig(setting, entries)
    else {
      view ??= new ExchangeView(exchange)
      const run = entry ? new PluginRun(exchange, setting, dependencies) : runUnnamed(exchange, setting, { view, dependencies })
      if (!run) continue
      if (run.lives) run.begin(entries)
      runs ??= []
      runs.push(run)
    }
  }
  return runs
}

interface Unnamed {
  view: ExchangeView
  dependencies: RunDependencies
}

function runUnnamed(exchange: Guarded, setting: PluginSetting, { view, dependencies }: Unnamed): PluginRun | undefined {
  try {
    return isOn(setting, view) ? new PluginRun(exchange, setting, dependencies) : undefined
  } catch (thrown) {
    const run = new PluginRun(exchange, setting, dependencies)
    run.stumbled(thrown)
    return run
  }
}

function isOff({ enabled }: PluginEntry, { plugin }: PluginSetting): boolean {
  return enabled === false && plugin.ignoreRequestEnabled !== true
}

/** False for a plugin that only chooses models. */
function acts({ plugin }: PluginSetting): boolean {
  return plugin.shape !== undefined || plugin.tap !== undefined
}

function mayActUnnamed({ plugin, defaults }: PluginSetting): boolean {
  return defaults.enabled === true || (defaults.enabled !== false && plugin.implied !== undefined)
}

function isOn({ plugin, defaults }: PluginSetting, view: ExchangeView): boolean {
  return defaults.enabled === true || (defaults.enabled !== false && plugin.implied?.(view) === true)
}

/** One after the other, from the given place on. @returns a promise only where a plugin waits for something. */
function shapes(runs: readonly PluginRun[], from: number): Promise<void> | undefined {
  for (let i = from; i < runs.length; i++) {
    const run = runs[i]
    if (!run?.lives) continue
    const waiting = run.shape()
    if (waiting) return waiting.then(() => settled(run)).then(() => shapes(runs, i + 1))
    settled(run)
  }
  return undefined
}

function settled(run: PluginRun): void {
  run.listen()
  run.updateStage()
}
