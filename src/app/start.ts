/** The composition root: configuration, store, runtime, listeners. */

import { ledgerRoutes, type OnDemandExports } from '../api/ledger.ts'
import { type LedgerRange, settledIn } from '../api/ledger-range.ts'
import { type Bookkeeping, openBookkeeping, type WorkerPlace } from '../cluster/bookkeeping.ts'
import { connectShared } from '../cluster/shared/index.ts'
import type { Config } from '../config/config.ts'
import { operatorKey } from '../config/keys.ts'
import type { LoadOptions } from '../config/load.ts'
import { type Reload, type WatchOptions, watchConfig } from '../config/watch.ts'
import { AuditKeys } from '../core/audit-keys.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import { type Log, openLog, WHOLE_BYTES } from '../core/log.ts'
import type { Lane } from '../pipeline/attempt/turn.ts'
import { startAdmin } from '../server/admin.ts'
import type { AdminRoute } from '../server/admin-route.ts'
import { adminAddresses, createWrongTokens } from '../server/admin-token.ts'
import type { SignInLink } from '../server/control-room/sign-in-link.ts'
import { Drain } from '../server/drain.ts'
import { closeFront } from '../server/front.ts'
import { listen } from '../server/listener.ts'
import { METRICS_TYPE, metricsText } from '../server/metrics.ts'
import { commandRoutes } from '../server/operator-commands.ts'
import type { LoopSource } from '../server/overload.ts'
import { ListenerCertificates } from '../server/tls/listener-certificates.ts'
import { apiSockets, readySockets } from './api-sockets.ts'
import { startAuditUpkeep } from './audit-upkeep.ts'
import { AuditWriter } from './audit-writer.ts'
import { ConfigReader } from './config-reader.ts'
import { loadedEntry, reloadedEntry } from './configuration-audit.ts'
import { openControlRoom, operatorSecret } from './control-room.ts'
import { operatorsCompactionKeys } from './operators-compaction-keys.ts'
import { withPlugins } from './plugin-list.ts'
import { Runtime } from './runtime.ts'
import { StoreAlerts } from './store-alerts.ts'

export interface StartOptions extends Pick<LoadOptions, 'host' | 'port' | 'adminPort'> {
  configFile: string
  /** Text to use instead of the file's. */
  configText?: string | undefined
  env?: Readonly<Record<string, string | undefined>>
  clock?: Clock | undefined
  /** Lane forced wherever the facts allow it, for contract tests. */
  lane?: Lane | undefined
  /** The event loop as the overload guard sees it, instead of Node's own measurement. */
  loop?: LoopSource | undefined
  /** Takes log lines instead of standard output. */
  log?: (line: string) => void
  /** Set where this process is one of several on this machine: then the admin listener is its owner's. */
  worker?: WorkerPlace
  /** Gives the configuration in place of the file. */
  load?: () => Config
  /** Reload on SIGHUP and on file change. */
  watch?: boolean
  /** Signs in the person who sees the terminal. */
  signInLink?: SignInLink | undefined
}

export interface Running {
  readonly url: string
  readonly adminUrl: string
  readonly runtime: Runtime
  readonly store: Bookkeeping
  readonly drain: Drain
  /** Why it should get no traffic; empty when it should. */
  readonly notReady: () => string[]
  /** No new work begins: the store is damaged, as its owner has found. */
  stopWork(problem: string): void
  /** Reads the configuration anew. */
  reload(): Promise<Reload>
  /** Closes everything at once; `drain.begin()` comes first where streams are to finish. */
  close(): Promise<void>
}

/** Nothing but `Running.reload` reads the file again. */
const DAMAGED = 'The store of the gateway is damaged, so it takes no new work'

const UNWATCHED: Pick<WatchOptions, 'signals' | 'watchFile'> = {
  signals: { on: () => {}, off: () => {} },
  watchFile: () => () => {},
}

/** Starts the gateway. @throws ConfigError, Fault or a system error, with nothing left open. */
export async function start(options: StartOptions): Promise<Running> {
  const { clock = systemClock, env = process.env } = options
  const { configText: text } = options
  const given = options.load
  const reader = new ConfigReader(options.configFile, env, clock)
  const secret = operatorSecret()
  const load = async (): Promise<Config> => {
    if (given) return withPlugins(given(), { env, text })
    return {
      ...(await reader.whole({ text, host: options.host, port: options.port, adminPort: options.adminPort })),
      operatorKey: operatorKey(secret),
    }
  }
  const config = await load()
  const closers: Closers = []
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const logs = openLog(clock, options.log, options.worker ? WHOLE_BYTES : undefined)
    logs.follow(config.log)
    closers.push(logs.flush)
    const alerts = new StoreAlerts(clock, logs.part('ledger'))
    const store = await openLedger(config, { clock, alerts, log: logs.part('ledger'), worker: options.worker }, closers)
    closers.push(alerts.checkFile(store.unchecked))
    const shared =
      options.worker?.shared ?? (await connectShared(config.shared.url, { clock, processes: store.processes, report: alerts.shared }))
    closers.push(() => shared.close())
    await shared.ready
    const runtime = new Runtime({
      config,
      clock,
      logs,
      store,
      shared,
      worker: options.worker,
      forcedLane: options.lane,
      loop: options.loop,
      clockStepped: (step) => alerts.bookkeeping({ kind: 'clock-stepped', ...step }),
      env,
    })
    closers.push(() => runtime.close())
    let onDemand: OnDemandExports | undefined
    if (!options.worker && store.ledger.readers && config.exports.length > 0) {
      const { startExports } = await import('../services/exports/start-exports.ts')
      alerts.countIn(runtime.metrics)
      const lines = (range: LedgerRange) => settledIn(store.ledger, range)
      const running = startExports(config.exports, { readers: store.ledger.readers, lines, clock, log: logs.log, metrics: runtime.metrics })
      closers.push(() => running.close())
      onDemand = running.onDemand
    }
    alerts.onDamage = () => runtime.overload.stop(new Fault('unavailable', { message: DAMAGED }))
    alerts.onReport = (kind) => runtime.events.sources.ledgerReport(kind)
    if (store.recovered.count > 0) runtime.events.sources.ledgerReport('recovered')
    const audit = new AuditWriter({ store: store.auditLog, clock, log: logs.part('ledger') })
    closers.push(() => audit.close())
    if (!options.worker) {
      audit.note(await loadedEntry(config, store.auditLog))
      const settings = () => runtime.config.audit
      const upkeep = await startAuditUpkeep({ store, settings, clock, log: logs.part('ledger'), metrics: runtime.metrics })
      closers.push(() => upkeep.close())
    }
    const drain = new Drain(
      clock,
      () => runtime.config.server.drain,
      () => runtime.events.sources.drainBegun(),
    )
    const certificates = new ListenerCertificates({ clock, log: logs.part('config'), metrics: runtime.metrics })
    closers.push(() => certificates.close())
    const roomSocket = options.worker ? config.server.roomSocket : await readySockets(config, closers)
    const url = await listening({ runtime, clock, certificates, roomSocket }, drain, closers)
    const notReady = (): string[] => [...(drain.draining ? ['draining'] : []), ...alerts.reasons()]
    runtime.status.surroundings = { open: () => drain.open, notReady, notes: () => alerts.notes() }
    const adminUrl = options.worker
      ? ''
      : await administered(
          runtime,
          {
            store,
            alerts,
            notReady,
            log: logs.log,
            url,
            secret,
            exports: onDemand,
            link: options.signInLink,
            audit,
            certificates,
            roomSocket,
          },
          closers,
        )
    const reload = reloading(config, { load, clock, runtime, options, audit, certificates }, closers)
    if (!given) {
      const log = logs.part('config')
      closers.push(
        reader.follow({ every: () => runtime.config.secrets.refresh, changed: () => void reload(), log, metrics: runtime.metrics }),
      )
    }
    void runtime.discover()
    return { url, adminUrl, runtime, store, drain, notReady, stopWork: (problem) => alerts.stopWork(problem), reload, close }
  } catch (error) {
    await close()
    throw error
  }
}

type Closers = (() => Promise<void> | void)[]

interface BookkeepingSource {
  clock: Clock
  alerts: StoreAlerts
  log: Log
  worker: WorkerPlace | undefined
}

async function openLedger(config: Config, { clock, alerts, log, worker }: BookkeepingSource, closers: Closers): Promise<Bookkeeping> {
  const store = await openBookkeeping({
    ...config.store,
    exports: config.exports,
    auditKeys: new AuditKeys(config.audit),
    clock,
    worker,
    report: alerts.bookkeeping,
  })
  closers.push(() => store.close())
  if (store.recovered.count > 0) log.warn(store.recovered, 'generations that a crash had left open are settled')
  return store
}

interface AdministeredSource {
  store: Bookkeeping
  alerts: StoreAlerts
  notReady: () => string[]
  log: Log
  url: string
  secret: string
  exports: OnDemandExports | undefined
  link: SignInLink | undefined
  audit: AuditWriter
  certificates: ListenerCertificates
  roomSocket: string | undefined
}

/** The operator's listener. @returns its address. */
async function administered(
  runtime: Runtime,
  { store, alerts, notReady, log, url, secret, exports, link, audit, certificates, roomSocket }: AdministeredSource,
  closers: Closers,
): Promise<string> {
  const { clock } = runtime.dependencies
  const addresses = adminAddresses(runtime.config, closers)
  const routes = new Map<string, AdminRoute>([
    ...ledgerRoutes(
      { ...alerts.ofLedger, ledger: store.ledger, keys: () => runtime.management, scans: runtime.scans, exports },
      store.recovered,
    ),
    ...commandRoutes({
      addresses: runtime.addresses,
      records: () => runtime.management,
      events: () => runtime.management,
      byok: () => runtime.management,
      levels: () => runtime.management,
      compaction: {
        compactionKeys: operatorsCompactionKeys({ store: store.compactionKeys, config: runtime.config, clock, log }),
        clock,
      },
    }),
  ])
  const admin = await startAdmin({
    ...addresses,
    certificate: certificates.read('admin', runtime.config),
    controlRoom: openControlRoom({
      clock,
      config: () => runtime.config,
      url: () => url,
      socketPath: roomSocket,
      store: () => store.keys,
      addresses: runtime.addresses,
      token: addresses.token,
      routes,
      operatorSecret: secret,
      link,
      note: (entry) => audit.note(entry),
      log,
      onError: runtime.reportUnexpected,
    }),
    metrics: { contentType: METRICS_TYPE, text: async () => metricsText(await runtime.metrics.snapshot()) },
    notReady,
    notes: () => alerts.notes(),
    wrongTokens: createWrongTokens(runtime.config, clock, runtime.addresses),
    routes,
    onError: runtime.reportUnexpected,
  })
  closers.push(() => admin.close())
  return admin.url
}

interface ReloadSource {
  load: () => Config | Promise<Config>
  clock: Clock
  runtime: Runtime
  options: Pick<StartOptions, 'watch' | 'worker'>
  audit: AuditWriter
  certificates: ListenerCertificates
}

/** @returns what reads the configuration anew. */
function reloading(
  config: Config,
  { load, clock, runtime, options, audit, certificates }: ReloadSource,
  closers: Closers,
): () => Promise<Reload> {
  let last: Reload = { kind: 'applied', config }
  const onReload = (reload: Reload): void => {
    last = reload
    // The owner of workers enters one for all of them.
    if (!options.worker) audit.note(reloadedEntry(reload, runtime.config))
    runtime.apply(reload)
    certificates.reload(runtime.config)
  }
  const watch = watchConfig(config, {
    load,
    clock,
    onReload,
    metrics: options.worker ? undefined : runtime.metrics,
    ...(options.watch ? undefined : UNWATCHED),
  })
  closers.push(() => watch.close())
  return async () => {
    await watch.reload()
    return last
  }
}

interface ListeningSource {
  runtime: Runtime
  clock: Clock
  certificates: ListenerCertificates
  roomSocket: string | undefined
}

async function listening({ runtime, clock, certificates, roomSocket }: ListeningSource, drain: Drain, closers: Closers): Promise<string> {
  const { config, addresses } = runtime
  const { proxyProtocol, headerTimeout: limit } = config.server
  const proxyHeaders = proxyProtocol ? { isTrusted: (address: string) => addresses.isTrusted(address), clock, limit } : undefined
  const certificate = certificates.read('server', config)
  const { server, fronts, plain, url } = await listen(
    { ...config.server, proxyHeaders, certificate, sockets: apiSockets(config, roomSocket) },
    runtime.gateway,
  )
  drain.follow(server, plain, fronts)
  server.on('connection', () => runtime.overload.connected())
  closers.push(async () => {
    const ended = fronts.map(closeFront)
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
      plain.closeAll()
      runtime.gateway.closeSockets()
    })
    await Promise.all(ended)
  })
  return url
}
