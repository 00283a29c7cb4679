/** The root of the process that owns workers: it keeps the store and the admin listener, and serves no requests itself. */
import { randomUUID } from 'node:crypto'
import { ledgerRoutes, type OnDemandExports } from '../api/ledger.ts'
import { type LedgerRange, settledIn } from '../api/ledger-range.ts'
import { drawnBefore } from '../cluster/bookkeeping.ts'
import { channelPort } from '../cluster/ipc-line.ts'
import { OwnerServer } from '../cluster/owner-server.ts'
import { pack } from '../cluster/record-methods.ts'
import { type Counters, shareNothing } from '../cluster/shared/index.ts'
import { WorkerPool } from '../cluster/worker-pool.ts'
import type { Config } from '../config/config.ts'
import { recordSettings } from '../config/record-settings.ts'
import { type Reload, watchConfig } from '../config/watch.ts'
import { AuditKeys } from '../core/audit-keys.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { ProcessStatus } from '../core/live-figures.ts'
import { type Log, openLog, stackWithoutMessage, WHOLE_BYTES } from '../core/log.ts'
import { LedgerScans } from '../ledger/scans.ts'
import { MetricRegistry, type MetricSnapshot } from '../machines/metrics/metrics.ts'
import { buildCatalog, type Catalog } from '../routing/catalog/catalog.ts'
import { startAdmin } from '../server/admin.ts'
import type { AdminRoute } from '../server/admin-route.ts'
import { adminAddresses, createWrongTokens } from '../server/admin-token.ts'
import { ClientAddresses } from '../server/client-address.ts'
import type { Drain } from '../server/drain.ts'
import { freeAddress } from '../server/listener.ts'
import { METRICS_TYPE, MergedMetrics, ProcessGauges } from '../server/metrics.ts'
import { commandRoutes } from '../server/operator-commands.ts'
import { ListenerCertificates } from '../server/tls/listener-certificates.ts'
import { DiskFiles } from '../services/files/index.ts'
import { readySockets } from './api-sockets.ts'
import { startAuditUpkeep } from './audit-upkeep.ts'
import { AuditWriter } from './audit-writer.ts'
import { byokSource } from './byok-source.ts'
import { ConfigReader } from './config-reader.ts'
import { loadedEntry, reloadedEntry } from './configuration-audit.ts'
import { openControlRoom, operatorSecret } from './control-room.ts'
import { Events, raiseReload } from './events.ts'
import { forkWorker } from './fork-worker.ts'
import { operatorsCompactionKeys } from './operators-compaction-keys.ts'
import { OwnerBookkeeping } from './owner-bookkeeping.ts'
import { OwnerSettings } from './owner-settings.ts'
import { reportKept, reportReloaded } from './reload-report.ts'
import type { StartOptions } from './start.ts'
import { StoreAlerts } from './store-alerts.ts'
import { temporaryDirectory } from './temporary-directory.ts'

export interface OwnOptions extends Pick<StartOptions, 'configFile' | 'host' | 'port' | 'adminPort' | 'signInLink'> {
  /** 1 to 63. */
  workers: number
}

export interface Owning {
  readonly url: string
  readonly adminUrl: string
  readonly config: Config
  readonly catalog: Pick<Catalog, 'models' | 'providers' | 'find'>
  /** A random secret, to be printed once. */
  readonly generated: string | undefined
  /** Of all workers. */
  readonly drain: Pick<Drain, 'open' | 'begin' | 'hurry'>
  /** Closes everything; workers that still run are ended at once. */
  close(): Promise<void>
}

/** A worker that does not answer within so many milliseconds is busy: metrics show its last report. */
const MAX_WAIT_MS = 1_000
/** Milliseconds that workers have for closing after the grace time of their drain. */
const CLOSING = 15_000

/** Starts the workers and waits until all of them listen. @throws ConfigError, Fault or a system error, with nothing left open. */
export async function own(options: OwnOptions): Promise<Owning> {
  const reader = new ConfigReader(options.configFile, process.env)
  const owner = new Owner(options, reader, await reader.whole(options))
  try {
    return await owner.start()
  } catch (error) {
    await owner.close()
    throw error
  }
}

type Closer = () => Promise<void> | void

class Owner {
  private readonly options: OwnOptions
  private readonly reader: ConfigReader
  private readonly clock: Clock = systemClock
  private readonly logs = openLog(systemClock, undefined, WHOLE_BYTES)
  private readonly log: Log = this.logs.log
  private readonly metrics = new MetricRegistry()
  private readonly gauges = new ProcessGauges(this.metrics)
  private readonly merged = new MergedMetrics()
  private readonly settings: OwnerSettings
  private readonly closers: Closer[] = []
  private readonly alerts = new StoreAlerts(systemClock, this.logs.part('ledger'))
  private readonly certificates: ListenerCertificates
  private draining = false
  private readonly operatorSecret = operatorSecret()
  /** Of the workers, once they listen. */
  private url: string | undefined
  private onDemand: OnDemandExports | undefined
  private status: { readonly at: number; readonly all: Promise<(ProcessStatus | null)[]> } | undefined
  /** Of this run; makes names that no other program can guess. */
  private readonly secret = randomUUID()

  constructor(options: OwnOptions, reader: ConfigReader, config: Config) {
    this.options = options
    this.reader = reader
    this.settings = new OwnerSettings(config, this.operatorSecret)
    this.logs.follow(config.log)
    this.certificates = new ListenerCertificates({ clock: this.clock, log: this.logs.part('config'), metrics: this.metrics })
    this.closers.push(() => this.certificates.close())
  }

  async start(): Promise<Owning> {
    const { settings, closers } = this
    const { config } = settings
    closers.push(this.logs.flush)
    closers.push(() => this.gauges.close())
    if (config.store.files.path === undefined) settings.uploads = temporaryDirectory('files', closers)
    const bookkeeping = await this.openLedger()
    closers.push(() => bookkeeping.close(), this.alerts.checkFile(bookkeeping.own.unchecked))
    if (bookkeeping.own.ledger.readers && config.exports.length > 0) {
      const { startExports } = await import('../services/exports/start-exports.ts')
      const { clock, log, metrics } = this
      this.alerts.countIn(metrics)
      const lines = (range: LedgerRange) => settledIn(bookkeeping.own.ledger, range)
      const { onDemand, close } = startExports(config.exports, { readers: bookkeeping.own.ledger.readers, lines, clock, log, metrics })
      closers.push(close)
      this.onDemand = onDemand
    }
    const audit = new AuditWriter({ store: bookkeeping.own.auditLog, clock: this.clock, log: this.logs.part('ledger') })
    closers.push(() => audit.close())
    audit.note(await loadedEntry(config, bookkeeping.own.auditLog))
    const upkeep = await startAuditUpkeep({
      ...{ store: bookkeeping.own, settings: () => settings.config.audit },
      ...{ clock: this.clock, log: this.logs.part('ledger'), metrics: this.metrics },
    })
    closers.push(() => upkeep.close())
    const events = this.openEvents(bookkeeping)
    closers.push(() => events.close())
    const scans = new LedgerScans(bookkeeping.own.ledger, this.clock)
    const ownerServer = new OwnerServer({
      record: bookkeeping.record,
      scans,
      counters: this.counters(bookkeeping),
      reportUnexpected: this.reportUnexpected,
    })
    const workerPool = this.startPool(bookkeeping, ownerServer)
    this.alerts.onDamage = (problem) => workerPool.notify('stopWork', problem)
    closers.push(() => workerPool.kill())
    process.once('exit', () => void workerPool.kill())
    settings.roomSocket = await readySockets(config, closers)
    const admin = await this.listen({ bookkeeping, ownerServer, workerPool, scans, audit })
    closers.push(() => admin.close())
    // Taken for a moment: another gateway on the port would otherwise share it without a word.
    settings.port = await freeAddress(config.server.host, config.server.port)
    const url = await workerPool.start()
    this.url = url
    const watch = watchConfig(config, {
      load: () => this.reader.whole(this.options),
      clock: this.clock,
      metrics: this.metrics,
      onReload: (reload) => {
        raiseReload(events.sources, reload, settings.config.file)
        audit.note(reloadedEntry(reload, settings.config))
        this.reload(reload, workerPool)
        events.apply(settings.config.events)
      },
    })
    closers.push(() => watch.close())
    const { metrics } = this
    const log = this.logs.part('config')
    closers.push(this.reader.follow({ every: () => settings.config.secrets.refresh, changed: () => void watch.reload(), log, metrics }))
    const drain: Owning['drain'] = {
      get open() {
        return workerPool.members.length
      },
      begin: async () => {
        this.draining = true
        events.sources.drainBegun()
        await workerPool.drain(settings.config.server.drain + CLOSING)
        return { cut: 0 }
      },
      hurry: () => workerPool.hurry(),
    }
    return {
      url,
      adminUrl: admin.url,
      config,
      catalog: buildCatalog(config),
      generated: settings.generated,
      drain,
      close: () => this.close(),
    }
  }

  async close(): Promise<void> {
    for (const closer of this.closers.splice(0).reverse()) await closer()
  }

  private async openLedger(): Promise<OwnerBookkeeping> {
    const bookkeeping = await OwnerBookkeeping.open({
      store: this.settings.config.store,
      exports: this.settings.config.exports,
      auditKeys: new AuditKeys(this.settings.config.audit),
      count: this.options.workers,
      clock: this.clock,
      report: this.alerts.bookkeeping,
      recovered: this.alerts.workerRecovered,
    })
    if (bookkeeping.recovered.count > 0)
      this.logs.part('ledger').warn(bookkeeping.recovered, 'generations that a crash had left open are settled')
    return bookkeeping
  }

  private openEvents({ own: store, recovered }: OwnerBookkeeping): Events {
    const { clock, log, metrics } = this
    const events = new Events({ settings: this.settings.config.events, store, clock, log, metrics, delivers: true })
    this.alerts.onReport = (kind) => events.sources.ledgerReport(kind)
    if (recovered.count > 0) events.sources.ledgerReport('recovered')
    events.lookAtKeys(() => this.settings.honoured)
    return events
  }

  /** Counters of this machine: if programs on other machines join the same store, its workers get their part of every limit. */
  private counters({ own }: OwnerBookkeeping): Counters {
    return shareNothing(this.clock, () => own.processes()).counters
  }

  private startPool(bookkeeping: OwnerBookkeeping, ownerServer: OwnerServer): WorkerPool {
    const count = this.options.workers
    const workerPool: WorkerPool = new WorkerPool({
      count,
      clock: this.clock,
      log: this.log,
      metrics: this.metrics,
      fork: forkWorker,
      attach: (slot, process, reception) =>
        ownerServer.open(channelPort(process), {
          ...reception,
          status: () => this.poolStatus(workerPool),
          welcome: () => ({
            slot,
            count,
            config: pack(this.settings.shared),
            drawn: drawnBefore(bookkeeping.own.journal, undefined, this.clock.now()),
            secret: this.secret,
            stopped: this.alerts.damage,
          }),
        }),
      inherit: async (slot, workerHandle) => {
        this.merged.end(String(slot))
        await bookkeeping.inherit(slot, workerHandle)
      },
    })
    return workerPool
  }

  private listen({
    bookkeeping,
    ownerServer,
    workerPool,
    scans,
    audit,
  }: {
    bookkeeping: OwnerBookkeeping
    ownerServer: OwnerServer
    workerPool: WorkerPool
    scans: LedgerScans
    audit: AuditWriter
  }) {
    const { own: kept, recovered } = bookkeeping
    const store = ownerServer.watchedKeys()
    const levels = Object.assign(ownerServer.watchedLevels(), { tree: kept.levels.tree, renew: () => kept.levels.renew() })
    const files = new DiskFiles(this.settings.shared.store.files, this.clock)
    const source = () => ({
      store,
      ...this.settings.ofKeys,
      credit: kept.credit,
      files,
      brand: this.settings.config.brand.word,
      clock: this.clock,
      levels,
      guardrails: kept.guardrails,
      written: this.settings.config.guardrails,
    })
    const addresses = adminAddresses(this.settings.config, this.closers)
    const callers = new ClientAddresses(this.settings.config.server.trustedProxies)
    const auditKeys = new AuditKeys(this.settings.config.audit)
    const routes = new Map<string, AdminRoute>([
      ...ledgerRoutes({ ...this.alerts.ofLedger, ledger: kept.ledger, keys: source, scans, exports: this.onDemand }, recovered),
      ...commandRoutes({
        addresses: callers,
        records: () => ({
          ...source(),
          scans,
          ledger: kept.ledger,
          refusals: kept.refusals.store,
          auditLog: kept.auditLog,
          auditKeys,
          recordSettings: recordSettings(this.settings.config),
        }),
        events: () => ({ events: kept.events, source: this.settings.config.events.source, time: this.clock }),
        levels: source,
        byok: () => byokSource(this.settings.config, { byok: ownerServer.watchedByokKeys(), ...source() }),
        compaction: {
          compactionKeys: operatorsCompactionKeys({
            ...{ store: kept.compactionKeys, config: this.settings.config, clock: this.clock, log: this.log },
          }),
          clock: this.clock,
        },
      }),
    ])
    return startAdmin({
      ...addresses,
      certificate: this.certificates.read('admin', this.settings.config),
      wrongTokens: createWrongTokens(this.settings.config, this.clock, callers),
      controlRoom: openControlRoom({
        clock: this.clock,
        config: () => this.settings.config,
        url: () => this.url,
        socketPath: this.settings.roomSocket,
        store: () => store,
        addresses: callers,
        token: addresses.token,
        routes,
        operatorSecret: this.operatorSecret,
        link: this.options.signInLink,
        note: (entry) => audit.note(entry),
        log: this.logs.part('auth'),
        onError: this.reportUnexpected,
      }),
      metrics: { contentType: METRICS_TYPE, text: () => this.poolMetrics(workerPool) },
      notReady: () => this.notReady(workerPool),
      notes: () => this.alerts.notes(),
      routes,
      onError: this.reportUnexpected,
    })
  }

  private async poolMetrics(workerPool: WorkerPool): Promise<string> {
    await Promise.all(
      workerPool.members.map(async ({ slot, workerHandle }) => {
        const snapshot = await this.soon(workerHandle.line.ask('metrics'))
        if (snapshot) this.merged.show(String(slot), snapshot as unknown as MetricSnapshot[])
      }),
    )
    return this.merged.text(await this.metrics.snapshot())
  }

  /** For all workers, at most once a second: many pages may look at the same time. */
  private poolStatus(workerPool: WorkerPool): Promise<(ProcessStatus | null)[]> {
    const now = this.clock.monotonic()
    if (!this.status || now - this.status.at >= MAX_WAIT_MS) {
      const all = workerPool.members.map(async ({ workerHandle }) => (await this.soon(workerHandle.line.ask('status'))) ?? null)
      this.status = { at: now, all: Promise.all(all).then((each) => this.alerts.shownIn(each)) }
    }
    return this.status.all
  }

  private async notReady(workerPool: WorkerPool): Promise<string[]> {
    const replies = await Promise.all(
      workerPool.members
        .filter(({ url }) => url !== undefined)
        .map(async ({ slot, workerHandle }) => {
          const reasons = (await this.soon(workerHandle.line.ask('notReady'))) ?? ['does not answer']
          return reasons.map((reason) => `worker ${slot}: ${reason}`)
        }),
    )
    return [...(this.draining ? ['draining'] : []), ...this.alerts.reasons(), ...workerPool.notListening(), ...replies.flat()]
  }

  /** Answer of a worker; undefined if there is none soon. */
  private soon<T>(answer: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve) => {
      const timer = this.clock.after(MAX_WAIT_MS, () => resolve(undefined))
      answer.then(resolve, () => resolve(undefined)).finally(() => timer.cancel())
    })
  }

  private reload(reload: Reload, workerPool: WorkerPool): void {
    const log = this.logs.part('config')
    this.certificates.reload(reload.kind === 'applied' ? reload.config : this.settings.config)
    if (reload.kind !== 'applied') reportKept(log, reload)
    else {
      const { file } = reload.config
      this.logs.follow(reload.config.log)
      if (!this.settings.apply(reload.config))
        log.warn({ file }, 'the keys stay as they were: a real provider key requires keys named in auth.keys')
      workerPool.notify('reload', pack(this.settings.shared))
      reportReloaded(log, reload.config)
    }
  }

  private readonly reportUnexpected = (error: unknown): void => {
    this.log.error({ error: stackWithoutMessage(error) }, 'unexpected')
  }
}
