/** Reads a configuration with the secrets that it refers to and the plugins that it names, and looks at the secrets again from time to time. */
import { dirname } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/expand.ts'
import { type LoadOptions, loadConfig } from '../config/load.ts'
import { SecretReferences } from '../config/secret-references.ts'
import { type Clock, systemClock, type Timer } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import { fileText } from '../core/program-files.ts'
import { counter, type MetricRegistry } from '../machines/metrics/metrics.ts'
import { type SecretPlace, type SecretReading, Secrets } from '../services/secrets/index.ts'
import { withPlugins } from './plugin-list.ts'

const failures = counter(
  'secret_failures_total',
  'Secrets of the configuration that could not be read again. Their last value stayed in use.',
)

/** Handling of secrets while the gateway runs. */
export interface SecretWatch {
  /** Milliseconds between two looks. */
  every(): number
  /** Reads the configuration anew. */
  changed(): void
  readonly log: Log
  readonly metrics: MetricRegistry
}

export class ConfigReader {
  private readonly path: string
  private readonly env: Environment
  private readonly clock: Clock
  private readonly secrets = new Secrets()
  private references: readonly string[] = []
  private values: SecretReading['values'] = {}
  private watch: SecretWatch | undefined
  private timer: Timer | undefined

  /** @param path of the YAML file. @param env for `${NAME}`. */
  constructor(path: string, env: Environment, clock: Clock = systemClock) {
    this.path = path
    this.env = env
    this.clock = clock
  }

  /** @returns a promise only where there are secrets to read, or plugins to load. @throws ConfigError */
  whole(options: LoadOptions = {}): Config | Promise<Config> {
    const read = this.bare(options)
    const whole = (config: Config): Config | Promise<Config> => withPlugins(config, { env: this.known, text: options.text })
    return read instanceof Promise ? read.then(whole) : whole(read)
  }

  /** The same without the code of plugins, for what runs none. */
  bare(options: LoadOptions = {}): Config | Promise<Config> {
    const text = options.text ?? readIfThere(this.path)
    const references = text === undefined ? undefined : new SecretReferences(this.path, text, this.env)
    this.references = references?.all ?? []
    if (!references || references.all.length === 0) return loadConfig(this.path, this.env, options)
    return this.read(references.all).then(({ failed, kept }) => {
      if (failed.size > 0) references.refuse(failed)
      return { ...loadConfig(this.path, this.known, options), staleSecrets: [...kept.keys()] }
    })
  }

  /** Looks at the secrets from time to time. @returns a function that ends it. */
  follow(watch: SecretWatch): () => void {
    this.watch = watch
    this.arm(watch)
    return () => {
      this.watch = undefined
      this.timer?.cancel()
    }
  }

  private get known(): Environment {
    return { ...this.env, ...this.values }
  }

  private get place(): SecretPlace {
    return { env: this.env, directory: dirname(this.path), clock: this.clock }
  }

  private arm(watch: SecretWatch): void {
    this.timer = this.clock.after(watch.every(), () => void this.look(watch))
  }

  private async look(watch: SecretWatch): Promise<void> {
    const before = this.values
    await this.read(this.references)
    if (this.watch !== watch) return
    if (Secrets.differs(before, this.values)) watch.changed()
    this.arm(watch)
  }

  private async read(references: readonly string[]): Promise<SecretReading> {
    const reading = await this.secrets.read(references, this.place)
    this.values = reading.values
    for (const [reference, why] of reading.kept) {
      this.watch?.log.error({ secret: reference, why }, 'a secret cannot be read, its last value stays in use')
      this.watch?.metrics.of(failures).add()
    }
    return reading
  }
}

/** For commands that read a configuration once. @throws ConfigError */
export function loadWhole(path: string, env: Environment, options: LoadOptions = {}): Config | Promise<Config> {
  return new ConfigReader(path, env).whole(options)
}

/** The same without the code of plugins. @throws ConfigError */
export async function readConfig(path: string, env: Environment, options: LoadOptions = {}): Promise<Config> {
  return new ConfigReader(path, env).bare(options)
}

/** @returns undefined for a file that cannot be read, which the loading of the configuration reports. */
function readIfThere(path: string): string | undefined {
  try {
    return fileText(path)
  } catch {
    return undefined
  }
}
