/** `headgate serve`: starts, says where and how to try it, and ends in order. */
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Owning } from '../app/owner.ts'
import { type Running, start } from '../app/start.ts'
import { programVersion } from '../app/version.ts'
import { WORKER_VARIABLE } from '../cluster/messages.ts'
import { DEVELOPMENT_KEY } from '../config/keys.ts'
import { ConfigError } from '../config/problems.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { isInside } from '../core/program-files.ts'
import { boundYoungSpace, freeCompilerMemory, giveBackMemory } from '../machines/v8-memory/process-memory.ts'
import { SignInLink } from '../server/control-room/sign-in-link.ts'
import { drainOnSignals, type ProcessLike } from '../server/signals.ts'
import { plural } from './console.ts'
import { SHIPPED_CONFIG } from './shipped-config.ts'

export interface ServeFlags {
  config?: string
  host?: string
  port?: string
  'admin-port'?: string
  /** Processes that answer: 1 to 63, or `auto` for one per processor. Absent: this one alone. */
  workers?: string
}

/** Processes that can share one sequence of generations, without the one that owns them. */
const MAX_WORKERS = 63

/** @returns the exit code of a start: 0 where it serves now, 2 where a flag is wrong. */
export async function serve(flags: ServeFlags): Promise<number> {
  // A reader of our output that goes away must not take the gateway with it.
  process.stdout.removeAllListeners('error').on('error', () => {})
  if (process.env[WORKER_VARIABLE] && process.connected) {
    beforeStart()
    const running = await (await import('../app/worker.ts')).work()
    boundYoungSpace(systemClock, () => running.runtime.bodies.hadLargeBody())
    return 0
  }
  for (const name of ['port', 'admin-port'] as const)
    if (!isPort(flags[name])) return refuse(`--${name}: expected a number from 0 to 65535, found ${flags[name]}`)
  const workers = workerCount(flags.workers)
  if (workers === null) return refuse(`--workers: expected a number from 1 to ${MAX_WORKERS}, or auto, found ${flags.workers}`)
  const configFile = flags.config ?? SHIPPED_CONFIG
  if (!isInside(configFile) && !existsSync(configFile)) return refuse(`--config: no such file: ${configFile}`)
  beforeStart()
  // What is written into a pipe may be kept, by a log for one.
  const signInLink = process.stdout.isTTY ? new SignInLink(systemClock) : undefined
  const options = { configFile, host: flags.host, port: portIn(flags.port), adminPort: portIn(flags['admin-port']), signInLink }
  try {
    if (workers === undefined) serveAlone(await start({ ...options, watch: true }), signInLink)
    else serveWithWorkers(await (await import('../app/owner.ts')).own({ ...options, workers }), workers, signInLink)
  } catch (error) {
    process.stderr.write(`headgate: ${error instanceof ConfigError || error instanceof Error ? error.message : error}\n`)
    return 1
  }
  return 0
}

function refuse(message: string): number {
  process.stderr.write(`headgate: ${message}\n`)
  return 2
}

const isPort = (text: string | undefined): boolean => text === undefined || (/^\d{1,5}$/.test(text) && Number(text) < 65_536)

const portIn = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text))

/** @returns undefined where the option is absent, null where its text is no valid count. */
function workerCount(text: string | undefined): number | undefined | null {
  if (text === undefined) return undefined
  if (text === 'auto') return Math.min(availableParallelism(), MAX_WORKERS)
  return /^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_WORKERS ? Number(text) : null
}

function beforeStart(): void {
  freeCompilerMemory()
  giveBackMemory()
}

function serveAlone(running: Running, link: SignInLink | undefined): void {
  boundYoungSpace(systemClock, () => running.runtime.bodies.hadLargeBody())
  const { url, adminUrl, runtime } = running
  const { config, catalog, generated } = runtime
  endOnSignals(running)
  process.stdout.write(banner({ url, adminUrl, config, catalog, generated }, { link }))
}

function serveWithWorkers(owning: Owning, workers: number, link: SignInLink | undefined): void {
  boundYoungSpace(systemClock, () => false)
  endOnSignals(owning, 'workers')
  process.stdout.write(banner(owning, { link, workers }))
}

function endOnSignals({ drain, close }: Pick<Owning, 'drain' | 'close'>, counted?: string): void {
  drainOnSignals({
    clock: systemClock,
    process: signalSource(systemClock, process),
    drain,
    counted,
    close: () => close(),
    notice: (text) => process.stderr.write(`headgate: ${text}\n`),
  })
}

type BannerFacts = Pick<Owning, 'url' | 'adminUrl' | 'config' | 'catalog' | 'generated'>

interface Started {
  readonly link: SignInLink | undefined
  readonly workers?: number
}

function banner({ url, adminUrl, config, catalog, generated }: BannerFacts, { link, workers }: Started): string {
  const signIn = link?.make(adminUrl)
  const served = workers === undefined ? '' : `, ${plural(workers, 'worker')}`

  const secret = generated ?? (config.developmentKey ? DEVELOPMENT_KEY : undefined)
  const model = config.defaultModel ?? (catalog.find('sim/echo') ? 'sim/echo' : (catalog.models[0]?.slug ?? 'author/name'))
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello' }] })
  const lines = [
    `headgate listens on ${url} (admin on ${adminUrl})`,
    `headgate ${programVersion()}: ${plural(catalog.models.length, 'model')} at ${providersText([...catalog.providers.keys()])}${served}`,
    ...(catalog.providers.size === 0 ? [`No provider is left: headgate check ${config.file} names the variables that are missing`] : []),
    secret === undefined
      ? `Use ${config.keys.length > 0 ? 'one of the keys of your configuration' : config.keysNamed ? 'a token of one of your issuers, a client certificate, or a key made over the API' : 'the key of HEADGATE_DEV_KEY'}.`
      : `Key: ${secret}`,
    'Try it:',
    `  curl -N ${url}/v1/chat/completions -H "Authorization: Bearer ${secret ?? 'KEY'}" -H "Content-Type: application/json" -d '${body}'`,
    `Control room: ${adminUrl}/control-room/ (sign in with ${signInWith(config.admin)})`,
    ...(signIn === undefined ? [] : [`  signed in, once and within five minutes: ${signIn}`]),
  ]
  return `${lines.join('\n')}\n`
}

const MAX_PROVIDERS = 8

/** `2 providers: sim, ollama`. */
function providersText(names: readonly string[]): string {
  const more = names.length - MAX_PROVIDERS
  return `${plural(names.length, 'provider')}: ${names.slice(0, MAX_PROVIDERS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** As `adminAddresses` of the server decides it. */
function signInWith({ token, tokenFile, socket }: BannerFacts['config']['admin']): string {
  if (token !== undefined) return 'admin.token'
  return tokenFile === undefined || socket !== undefined ? 'a management key' : `the token in ${tokenFile}`
}

/**
 * Milliseconds in which further signals count as the same one: Ctrl-C reaches every process of the terminal's group,
 * and npm or the launcher passes it on to its child once more.
 */
const SAME_SIGNAL = 500

type Name = 'SIGTERM' | 'SIGINT'

/** The signals of the process as their sender meant them: one, however many programs pass it on. */
function signalSource(clock: Clock, source: ProcessLike): ProcessLike {
  const merged = new Map<() => void, () => void>()
  let last = Number.NEGATIVE_INFINITY
  const wrap = (listener: () => void) => (): void => {
    const now = clock.monotonic()
    if (now - last < SAME_SIGNAL) return
    last = now
    listener()
  }
  return {
    on: (signal: Name, listener: () => void) => {
      const wrapped = merged.get(listener) ?? wrap(listener)
      merged.set(listener, wrapped)
      source.on(signal, wrapped)
    },
    off: (signal: Name, listener: () => void) => {
      const wrapped = merged.get(listener)
      if (wrapped) source.off(signal, wrapped)
    },
    exit: (code: number) => source.exit(code),
  }
}
