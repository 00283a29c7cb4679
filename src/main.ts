/** The composition root: configuration, store, runtime, listeners. */
import { ledgerRoutes } from './api/ledger.ts'
import { loadConfig } from './config/load.ts'
import type { Config } from './config/types.ts'
import { type Reload, type WatchOptions, watchConfig } from './config/watch.ts'
import { type Clock, systemClock } from './core/clock.ts'
import { openLog } from './core/log.ts'
import type { Lane } from './pipeline/reply.ts'
import { Runtime } from './runtime.ts'
import { type AdminRoute, startAdmin } from './server/admin.ts'
import { Drain } from './server/drain.ts'
import { keyCommandRoute } from './server/key-command-route.ts'
import { listen } from './server/listener.ts'
import { openStore, type Store } from './store/open.ts'

export interface StartOptions {
  configFile: string
  /** Text to use instead of the file's. */
  configText?: string
  env?: Readonly<Record<string, string | undefined>>
  /** `--host` and `--port`. */
  host?: string
  port?: number
  clock?: Clock
  /** Lane forced wherever the facts allow it, for contract tests. */
  lane?: Lane
  /** Takes log lines instead of standard output. */
  log?: (line: string) => void
  /** Reload on SIGHUP and on file change. */
  watch?: boolean
}

export interface Running {
  readonly url: string
  readonly adminUrl: string
  readonly runtime: Runtime
  readonly store: Store
  readonly drain: Drain
  /** Reads the configuration anew. */
  reload(): Promise<Reload>
  /** Closes everything at once; `drain.begin()` comes first where streams are to finish. */
  close(): Promise<void>
}

/** Milliseconds for which a refused write keeps readiness red: without requests nothing would show that it is over. */
const REFUSAL_COUNTS = 5_000

/** Nothing but `Running.reload` reads the file again. */
const UNWATCHED: Pick<WatchOptions, 'signals' | 'watchDirectory'> = {
  signals: { on: () => {}, off: () => {} },
  watchDirectory: () => () => {},
}

/** Starts the gateway. @throws ConfigError, Fault or a system error, with nothing left open. */
export async function start(options: StartOptions): Promise<Running> {
  const { clock = systemClock, env = process.env } = options
  const load = (): Config => loadConfig(options.configFile, env, { text: options.configText, host: options.host, port: options.port })
  const config = load()
  const closers: (() => Promise<void> | void)[] = []
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const logs = openLog(clock, options.log)
    const { log } = logs
    closers.push(logs.flush)
    let refusedAt = Number.NEGATIVE_INFINITY
    const store = openStore(config.store.url, {
      clock,
      durability: config.store.durability,
      // While nothing can be written every request is refused: that is for an operator to hear.
      report: (news) => {
        if (news.kind === 'refused') refusedAt = clock.monotonic()
        if (news.kind === 'refused') log.error(news, 'the ledger cannot be written')
        else log.warn(news, 'journal')
      },
    })
    closers.push(() => store.close())
    const recovered = store.journal.reconcile()
    if (recovered.count > 0) log.warn(recovered, 'generations that a crash had left open are settled')
    const runtime = new Runtime({ config, clock, logs, store, forcedLane: options.lane })
    closers.push(() => runtime.close())
    const drain = new Drain(clock, config.server.drain)
    const url = await listening(runtime, drain, closers)
    const admin = await startAdmin({
      ...config.admin,
      metrics: runtime.metrics,
      notReady: () => [
        ...(drain.draining ? ['draining'] : []),
        ...(clock.monotonic() - refusedAt < REFUSAL_COUNTS ? ['the ledger cannot be written'] : []),
      ],
      routes: new Map<string, AdminRoute>([...ledgerRoutes(store.journal), ...keyCommandRoute(() => runtime.management)]),
      onError: runtime.oops,
    })
    closers.push(() => admin.close())
    let last: Reload = { kind: 'applied', config }
    const onReload = (reload: Reload): void => {
      last = reload
      runtime.apply(reload)
    }
    const watch = watchConfig(config, { load, clock, onReload, ...(options.watch ? undefined : UNWATCHED) })
    closers.push(() => watch.close())
    void runtime.discover()
    const reload = async (): Promise<Reload> => {
      watch.reload()
      return last
    }
    return { url, adminUrl: admin.url, runtime, store, drain, reload, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function listening(runtime: Runtime, drain: Drain, closers: (() => Promise<void> | void)[]): Promise<string> {
  const { server, url } = await listen(runtime.config.server, runtime.gateway)
  drain.follow(server)
  closers.push(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return url
}
