/** Reloads the configuration on SIGHUP and when its files change. */
import { createHash } from 'node:crypto'
import { readFileSync, unwatchFile, watchFile } from 'node:fs'
import type { Clock, Timer } from '../core/clock.ts'
import { counter, type MetricRegistry } from '../machines/metrics/metrics.ts'
import type { Config } from './config.ts'
import { camelCase } from './resolved.ts'
import { configSchema } from './schema/root.ts'
import type { Rule } from './validate.ts'

const reloads = counter('reloads_total', 'Configuration reloads that were taken.')
const failures = counter('reload_failures_total', 'Configuration reloads that were refused.')

/** Editors write a file in several steps: changes within so many milliseconds count as one. */
const SETTLE = 100
/** Milliseconds between two looks at a file. */
const LOOK = 500

export type Reload =
  | { kind: 'applied'; config: Config }
  /** The new file needs a restart for these settings: the old one stays. */
  | { kind: 'refused'; reasons: string[] }
  /** The new file is broken: the old one stays. `error` is a `ConfigError` unless something else went wrong. */
  | { kind: 'failed'; error: unknown }

export interface WatchOptions {
  /** Loads the file anew with the environment and the overrides of the start; a promise where plugins are to be loaded. */
  load: () => Config | Promise<Config>
  onReload: (reload: Reload) => void
  clock: Clock
  /** Counts the reloads. Absent in a worker: it reloads with its owner, which counts once for all. */
  metrics?: MetricRegistry | undefined
  /** Source of SIGHUP; the process by default. */
  signals?: SignalSource | undefined
  /** Watches a file; `fs.watchFile` by default. @returns a function that ends it. */
  watchFile?: ((file: string, changed: () => void) => () => void) | undefined
}

export interface SignalSource {
  on(signal: 'SIGHUP', listener: () => void): unknown
  off(signal: 'SIGHUP', listener: () => void): unknown
}

export interface ConfigWatch {
  /** Reloads now, as SIGHUP does. @returns a promise where it takes time. */
  reload(): Promise<void> | undefined
  close(): void
}

/** Watches the files of `config` until closed. Every outcome is reported; what is applied becomes the next one's old configuration. */
export function watchConfig(config: Config, options: WatchOptions): ConfigWatch {
  return new Watcher(config, options)
}

class Watcher implements ConfigWatch {
  private current: Config
  private seen: string
  private timer: Timer | undefined
  private stops: (() => void)[] = []
  private running: Promise<void> | undefined
  private closed = false
  private readonly options: WatchOptions
  private readonly signals: SignalSource
  private readonly onSignal = (): void => void this.reload()

  constructor(config: Config, options: WatchOptions) {
    this.current = config
    this.options = options
    this.signals = options.signals ?? process
    this.seen = digest(config.files)
    this.signals.on('SIGHUP', this.onSignal)
    this.watchFiles()
  }

  reload(): Promise<void> | undefined {
    this.timer?.cancel()
    this.timer = undefined
    // One after the other, so that the file as it is now is what comes to hold.
    this.running = this.running ? this.running.then(() => this.once()) : this.once()
    const { running } = this
    void running?.finally(() => {
      if (this.running === running) this.running = undefined
    })
    return running
  }

  close(): void {
    this.closed = true
    this.timer?.cancel()
    this.signals.off('SIGHUP', this.onSignal)
    for (const stop of this.stops) stop()
    this.stops = []
  }

  private once(): Promise<void> | undefined {
    this.seen = digest(this.current.files)
    const notify = (reload: Reload): void => {
      if (this.closed) return
      this.options.metrics?.of(reload.kind === 'applied' ? reloads : failures).add()
      this.options.onReload(reload)
    }
    let next: Config | Promise<Config>
    try {
      next = this.options.load()
    } catch (error) {
      notify({ kind: 'failed', error })
      return undefined
    }
    if (next instanceof Promise) {
      return next.then(
        (config) => {
          if (!this.closed) notify(this.taken(config))
        },
        (error: unknown) => notify({ kind: 'failed', error }),
      )
    }
    notify(this.taken(next))
    return undefined
  }

  private taken(next: Config): Reload {
    const reasons = restartReasons(this.current, next)
    if (reasons.length > 0) return { kind: 'refused', reasons }
    const files = this.current.files.join('\0')
    this.current = next
    if (next.files.join('\0') !== files) {
      this.seen = digest(next.files)
      this.watchFiles()
    }
    return { kind: 'applied', config: next }
  }

  private watchFiles(): void {
    for (const stop of this.stops) stop()
    const begin = this.options.watchFile ?? lookedAt
    this.stops = this.current.files.map((file) => begin(file, () => this.settle()))
    // What changes before the first look would be taken for how it was.
    this.settle()
  }

  private settle(): void {
    this.timer?.cancel()
    this.timer = this.options.clock.after(SETTLE, () => {
      this.timer = undefined
      if (digest(this.current.files) !== this.seen) this.reload()
    })
  }
}

/** Changes of anything but the content, and a file written twice alike, are no change. */
function digest(files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const file of files) {
    try {
      hash.update(readFileSync(file)).update('\0')
    } catch {
      hash.update('\0missing\0')
    }
  }
  return hash.digest('hex')
}

/**
 * Looked at from time to time, which sees renames, links that are swapped and network mounts alike. The events of the
 * system are those of a whole directory, and where the journal or the log lies beside the file, each of their writes is one.
 */
function lookedAt(file: string, changed: () => void): () => void {
  watchFile(file, { persistent: false, interval: LOOK }, changed)
  return () => unwatchFile(file, changed)
}

/** Paths of the entries, in the words of the file. */
function fixedPaths({ properties = {} }: Rule): string[][] {
  return Object.entries(properties).flatMap(([name, rule]) => (rule.atStart ? [[name]] : fixedPaths(rule).map((path) => [name, ...path])))
}

function valueAt(config: Config, path: readonly string[]): string | undefined {
  const value = path.reduce<unknown>((section, name) => (section as Record<string, unknown> | undefined)?.[camelCase(name)], config)
  return JSON.stringify(value)
}

/**
 * Settings that a reload cannot change: entries of the schema that a process reads once.
 * Names of the settings that differ and need a restart; empty where a reload will do.
 */
export function restartReasons(old: Config, next: Config): string[] {
  return fixedPaths(configSchema as Rule)
    .filter((path) => valueAt(old, path) !== valueAt(next, path))
    .map((path) => path.join('.'))
}
