/** One plugin at work on one request: held to its time, and its failures are its own. */
import { asFault, Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { PluginEntry } from '../../dialects/canon/request-fields.ts'
import type { Host, Stage, Tap } from '../../plugin-api/index.ts'
import type { ChainDependencies, PluginFailure, PluginSetting } from '../dependencies.ts'
import type { Authenticated, Guarded } from '../exchange.ts'
import { endedEarly } from '../reply/final-fault.ts'
import { InvalidValue, isThenable, strayPromise } from './invalid-values.ts'
import { GuardedTap, type TapOwner } from './stream-failure.ts'
import { mergeConfig, PluginView } from './view.ts'

export interface RunDependencies {
  host: Host
  /** Dialects of providers, for what their own tools can say. */
  upstreams: ChainDependencies['upstreams']
  /** Reports it to the operator. */
  pluginFailure: (exchange: Authenticated, failure: PluginFailure) => void
}

export class PluginRun implements TapOwner {
  readonly setting: PluginSetting
  /** Nano-dollars that it may charge at most; held before it begins. */
  bound = 0
  private readonly exchange: Guarded
  private readonly dependencies: RunDependencies
  private readonly view: PluginView
  private readonly charges: { what: string; nano: number }[] = []
  private charged = 0
  private config: unknown
  private failure: FailureReason | undefined
  /** The request goes on without it. */
  private skipped = false
  /** Whatever it still does is of no effect. */
  private abandoned = false
  private took: number | undefined
  /** Its place in the pipeline. */
  private stage: Stage | undefined

  constructor(exchange: Guarded, setting: PluginSetting, dependencies: RunDependencies) {
    this.exchange = exchange
    this.setting = setting
    this.dependencies = dependencies
    this.view = new PluginView(exchange, dependencies.upstreams, (nano, what) => this.charge(nano, what))
  }

  /** False once it has failed and the request goes on without it. */
  get lives(): boolean {
    return !this.skipped
  }

  get maySkip(): boolean {
    return this.setting.onError === 'skip'
  }

  /** Reads its settings and what it may cost. @throws Fault 400 for wrong settings in the request. */
  begin(entries: readonly PluginEntry[]): void {
    const { plugin } = this.setting
    try {
      const config = mergeConfig(this.setting, entries)
      if (strayPromise(config)) throw new InvalidValue('parse gave a promise')
      this.config = config
      const bound: unknown = plugin.bound ? plugin.bound(this.view, config) : 0
      if (!isAmount(bound)) throw new InvalidValue('bound gave no amount of nano-dollars')
      this.bound = bound
    } catch (thrown) {
      // Settings that the caller has not sent lead to no 400.
      const named = entries.some(({ id }) => id === plugin.id)
      this.failed(thrown instanceof Fault && !named ? new Error('its settings do not fit', { cause: thrown }) : thrown)
    }
  }

  /** @returns a promise only where the plugin gave one; it settles in time, whatever the plugin does. */
  shape(): Promise<void> | undefined {
    const { plugin } = this.setting
    if (!plugin.shape) return undefined
    this.view.open = true
    let waiting: unknown
    try {
      waiting = plugin.shape(this.view, this.config, this.dependencies.host)
      if (isThenable(waiting)) return this.inTime(waiting)
      this.shaped()
    } catch (thrown) {
      this.view.close()
      this.failed(thrown)
    }
    return undefined
  }

  /** In place of `shape` in a plan: what is known of its work without a call to a service. */
  preview(): void {
    const { plugin } = this.setting
    if (!plugin.preview || this.skipped) return
    this.view.open = true
    try {
      plugin.preview(this.view, this.config)
      this.shaped()
    } catch (thrown) {
      this.view.close()
      this.failed(thrown)
    }
    this.updateStage()
  }

  /** Sets up the plugin's view on the reply, where it wants one. */
  listen(): void {
    if (this.skipped) return
    const { plugin } = this.setting
    try {
      const tap: unknown = plugin.tap?.(this.view, this.config, this.dependencies.host)
      if (tap !== undefined && (strayPromise(tap) || !isTap(tap))) throw new InvalidValue('tap gave no tap')
      if (tap) this.exchange.run.taps.push(new GuardedTap(tap, this))
      this.view.keep()
    } catch (thrown) {
      this.failed(thrown)
    }
  }

  /** It threw while it decided whether it acts. */
  stumbled(thrown: unknown): void {
    this.failed(thrown)
  }

  /** Brings the plugin's stage up to date; a plugin that has not acted gets none. */
  updateStage(): void {
    const { view, setting, failure, skipped, took, charges } = this
    const stage = traceStage(view.stages, {
      name: setting.plugin.stage ?? setting.plugin.id,
      edited: view.edits > 0,
      failure,
      skipped,
      took,
      charges,
    })
    if (!stage) return
    if (this.stage) Object.assign(this.stage, stage)
    else {
      this.stage = stage
      this.exchange.history.stages.push(stage)
    }
  }

  tapFailed(thrown: unknown, skip: boolean): void {
    // After a cancellation the rest of the reply is read only for its usage.
    if (this.exchange.head.cancel.aborted) this.skipped = true
    else this.failed(thrown, skip)
  }

  private inTime(waiting: PromiseLike<unknown>): Promise<void> {
    const { exchange, view } = this
    const {
      head: { clock, cancel },
    } = exchange
    const began = clock.monotonic()
    const step = exchange.history.begin({ kind: 'plugin', name: this.setting.plugin.id, started: began })
    return new Promise((resolve, reject) => {
      let over = false
      let release = (): void => {}
      const end = (last: () => void): void => {
        if (over) return
        over = true
        release()
        step.ended = clock.monotonic()
        this.took = Math.round(step.ended - began)
        try {
          last()
          if (this.failure) step.failure = this.failure
          resolve()
        } catch (thrown) {
          step.failure = asFault(thrown).code
          reject(thrown)
        }
      }
      const late = (): void => {
        const fault = new Fault('unavailable', {
          message: `Service temporarily unavailable: the plugin ${this.setting.plugin.id} did not answer in time`,
        })
        this.abandoned = true
        view.close(fault)
        this.failed(fault, this.maySkip, 'timeout')
      }
      const timer = clock.after(this.setting.timeout, () => end(late))
      release = () => timer.cancel()
      const forget = cancel.onAbort((reason) =>
        end(() => {
          this.abandoned = true
          view.close(reason)
          throw endedEarly(exchange, [])
        }),
      )
      release = () => {
        timer.cancel()
        forget()
      }
      if (over) release()
      Promise.resolve(waiting).then(
        () => end(() => this.shaped()),
        (thrown: unknown) =>
          end(() => {
            view.close()
            this.failed(thrown)
          }),
      )
    })
  }

  private shaped(): void {
    const { view } = this
    view.close()
    const { malformed } = view
    if (malformed !== undefined) this.failed(new InvalidValue(`${malformed} of the request are broken`))
  }

  /** @throws Fault unless the request may go on without the plugin. */
  private failed(thrown: unknown, skip = this.maySkip, as?: FailureReason): void {
    const { exchange, setting } = this
    if (exchange.head.cancel.aborted) throw endedEarly(exchange, [])
    // Its own word to the caller, such as a refusal: that is no failure.
    if (thrown instanceof Fault && thrown.origin === 'client') throw thrown
    this.failure = as ?? (thrown instanceof InvalidValue ? 'junk' : 'error')
    this.skipped = skip
    this.view.undo()
    this.updateStage()
    this.dependencies.pluginFailure(exchange, { plugin: setting.plugin.id, reason: this.failure, skipped: skip, cause: thrown })
    if (!skip) throw pluginFault(thrown)
  }

  private charge(nano: number, what: string): boolean {
    const { exchange } = this
    const over = this.abandoned || exchange.run.final !== undefined
    if (over || !isAmount(nano) || this.charged + nano > this.bound) return false
    this.charged += nano
    exchange.head.costs.chargeTool(nano, this.setting.plugin.id, String(what))
    if (nano > 0) this.charges.push({ what: String(what), nano })
    return true
  }
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isTap(value: unknown): value is Tap {
  return (
    isObject(value) && (value.mode === 'observe' || value.mode === 'mutate') && typeof (value as { push?: unknown }).push === 'function'
  )
}

/** The error that the caller gets: it shows nothing of a provider that the plugin called. */
function pluginFault(thrown: unknown): Fault {
  if (!(thrown instanceof Fault)) return new Fault('internal', { cause: thrown })
  return thrown.origin === 'gateway' ? thrown : new Fault('unavailable', { cause: thrown })
}

/** Why a plugin did not do its work: it threw, it did not answer in time, or its result does not match the interface. */
type FailureReason = 'error' | 'timeout' | 'junk'

/** Facts of a plugin's work, beside its own report. */
interface Work {
  /** Of the stage, where the plugin does not name another. */
  name: string
  edited: boolean
  failure: FailureReason | undefined
  /** The request went on without it. */
  skipped: boolean
  /** Milliseconds; undefined where nothing was waited for. */
  took: number | undefined
  charges: readonly { what: string; nano: number }[]
}

const SUMMARIES: Readonly<Record<FailureReason, string>> = {
  error: 'it failed',
  timeout: 'it did not answer in time',
  junk: 'it gave what cannot be used',
}

const NANO = 1_000_000_000

/**
 * The one stage of a plugin in `router_metadata.pipeline`.
 * @param reports of the plugin, in order: a later one overrides an earlier one.
 * @returns undefined for a plugin that has not acted.
 */
function traceStage(reports: readonly unknown[], { name, edited, failure, skipped, took, charges }: Work): Stage | undefined {
  const own = reports.filter(isObject)
  if (own.length === 0 && !edited && !failure && charges.length === 0) return undefined
  const stage: Stage = { type: 'plugin', name }
  const data: JsonObject = {}
  for (const one of own) {
    for (const key of ['type', 'name', 'summary', 'guardrail_id', 'guardrail_scope'] as const) {
      const value = one[key]
      if (typeof value === 'string') stage[key] = value
    }
    if (typeof one.cost_usd === 'number' && Number.isFinite(one.cost_usd)) stage.cost_usd = one.cost_usd
    Object.assign(data, plainData(one.data))
  }
  if (failure) {
    stage.summary = `${skipped ? 'skipped' : 'failed'}: ${SUMMARIES[failure]}`
    Object.assign(data, { skipped, reason: failure })
  }
  if (took !== undefined) data.duration_ms = took
  if (charges.length > 0) {
    stage.cost_usd = charges.reduce((sum, { nano }) => sum + nano, 0) / NANO
    data.charges = charges.map(({ what, nano }) => ({ what, cost_usd: nano / NANO }))
  }
  if (Object.keys(data).length > 0) stage.data = data
  return stage
}

/** The part that JSON can hold: the reply must not fail over the data of a plugin. */
function plainData(data: unknown): JsonObject {
  if (!isObject(data)) return {}
  try {
    return JSON.parse(JSON.stringify(data)) as JsonObject
  } catch {
    return {}
  }
}
