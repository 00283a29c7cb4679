/** Commands in containers: a folder that stays, and processes that do not. */
import { spawn } from 'node:child_process'
import type { Clock, Timer } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import { argvFor, IN_MEMORY } from './argv.ts'
import { bubblewrapFeatures } from './bubblewrap.ts'
import { Folders, holdsMore } from './folders.ts'
import { type Ran, runProcess } from './process.ts'
import { ENVIRONMENT } from './program.ts'
import { type SandboxSettings, sandboxSettings } from './settings.ts'

interface Waiting {
  key: string
  go: () => void
}

/** So many at once, and half of them for one key; the others wait in line. */
class Slots {
  private free: number
  private readonly each: number
  private readonly held = new Map<string, number>()
  private readonly line: Waiting[] = []

  constructor(count: number) {
    this.free = count
    this.each = Math.ceil(count / 2)
  }

  /** @throws the signal's reason where it ends before there is a place. */
  async take(key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { key, go: resolve }
    const leave = (): void => {
      const at = this.line.indexOf(waiting)
      if (at === -1) return
      this.line.splice(at, 1)
      reject(signal.reason)
    }
    this.line.push(waiting)
    signal.addEventListener('abort', leave, { once: true })
    this.serve()
    await promise.finally(() => signal.removeEventListener('abort', leave))
  }

  give(key: string): void {
    const held = (this.held.get(key) ?? 1) - 1
    if (held > 0) this.held.set(key, held)
    else this.held.delete(key)
    this.free++
    this.serve()
  }

  private serve(): void {
    while (this.free > 0) {
      const at = this.line.findIndex(({ key }) => (this.held.get(key) ?? 0) < this.each)
      if (at === -1) return
      const [next] = this.line.splice(at, 1)
      if (!next) return
      const { key, go } = next
      this.free--
      this.held.set(key, (this.held.get(key) ?? 0) + 1)
      go()
    }
  }
}

export type { Ran } from './process.ts'
export { type SandboxSettings, sandboxSettings } from './settings.ts'

/** The key and the name of a container. */
export interface Container {
  readonly key: string
  readonly id: string
  /** Milliseconds that it is kept after its last command. */
  readonly sleepAfter: number
}

export interface RunOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Milliseconds, and bytes shown of each stream; the operator's limits hold as well. */
  readonly time?: number | undefined
  readonly output?: number | undefined
}

const SWEEP = 60_000

export class Sandbox {
  readonly settings: SandboxSettings
  private readonly folders: Folders
  private readonly slots: Slots
  private sweeping: Timer | undefined
  private runs = 0

  constructor(settings: SandboxSettings) {
    this.settings = settings
    this.folders = new Folders(settings.folder, settings.way.type === 'bubblewrap' && process.getuid?.() === 0)
    this.slots = new Slots(settings.limits.atOnce)
  }

  /** @throws Error where nothing can be run, or the signal's reason. */
  async run(command: string, container: Container, { clock, signal, time, output }: RunOptions): Promise<Ran> {
    const { limits } = this.settings
    await this.slots.take(container.key, signal)
    try {
      const most = Math.min(time ?? limits.time, limits.time)
      const folder = await this.folders.open(container.key, container.id, {
        until: clock.now() + most + container.sleepAfter,
        most: limits.containers,
      })
      const { way } = this.settings
      const features = way.type === 'bubblewrap' ? await bubblewrapFeatures(way.program) : undefined
      const argv = argvFor(this.settings, command, { folder, name: `headgate-${process.pid}-${++this.runs}`, features })
      const tooBig = (): Promise<boolean> => holdsMore(folder, limits.disk)
      const memory = { bytes: limits.memory, folders: way.type === 'bubblewrap' ? IN_MEMORY : [] }
      const bounds = { clock, signal, time: most, output: Math.min(output ?? limits.output, limits.output), tooBig, memory }
      const ran = await runProcess(argv, bounds).finally(() => stop(argv.stop))
      const full = ran.killed === 'disk' || (await tooBig())
      if (full) await this.folders.remove(folder)
      else await this.folders.keep(folder, clock.now() + container.sleepAfter)
      this.sweepLater(clock)
      return full ? { ...ran, killed: 'disk' } : ran
    } finally {
      this.slots.give(container.key)
    }
  }

  /** Sweeps again later, as long as containers are left. */
  private sweepLater(clock: Clock): void {
    this.sweeping ??= clock.after(SWEEP, () => {
      this.sweeping = undefined
      this.folders.sweep(clock.now()).then(
        (left) => {
          if (left > 0) this.sweepLater(clock)
        },
        () => {},
      )
    })
  }
}

/** Containers that a killed client of a container engine may have left. */
function stop([program, ...rest]: readonly string[]): void {
  if (program === undefined) return
  const child = spawn(program, rest, { stdio: 'ignore', env: ENVIRONMENT })
  child.on('error', () => {})
  child.unref()
}

const sandboxes = new WeakMap<JsonObject, Sandbox | null>()

/**
 * The sandbox of the operator's settings of the plugin `shell`: one for each configuration.
 * @returns undefined where none is configured.
 */
export function openSandbox(settings: JsonObject): Sandbox | undefined {
  let found = sandboxes.get(settings)
  if (found === undefined) {
    const own = sandboxSettings(settings.sandbox, 'plugins.defaults.shell.sandbox')
    found = own ? new Sandbox(own) : null
    sandboxes.set(settings, found)
  }
  return found ?? undefined
}
