/** The runtime: the dependencies that outlive a reload, and the serving that each configuration composes anew. */
import type { Planned } from '../api/generation-plan.ts'
import type { ManagementSource } from '../api/source.ts'
import { drawnBefore } from '../cluster/bookkeeping.ts'
import { showAvailability } from '../cluster/shared/index.ts'
import type { Config } from '../config/config.ts'
import { operatorKeys, resolveKeys } from '../config/keys.ts'
import { recordSettings } from '../config/record-settings.ts'
import type { Reload } from '../config/watch.ts'
import { AuditKeys } from '../core/audit-keys.ts'
import { FirstUse } from '../core/first-use.ts'
import { GenerationIds } from '../core/ids.ts'
import { stackWithoutMessage } from '../core/log.ts'
import { clientDialects } from '../dialects/registry.ts'
import { placesIn } from '../ledger/placed-keys.ts'
import { LedgerScans } from '../ledger/scans.ts'
import { MetricRegistry } from '../machines/metrics/metrics.ts'
import { composeChains } from '../pipeline/chain.ts'
import type { ChainDependencies } from '../pipeline/dependencies.ts'
import { PassThroughRoutes } from '../pipeline/pass-through/routes.ts'
import type { PlanFormat } from '../pipeline/plan/format.ts'
import { takesKey } from '../pipeline/route/own-keys.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { buildCatalog, type Catalog } from '../routing/catalog/catalog.ts'
import { Discovery } from '../routing/catalog/discovery.ts'
import { BodyMemory, defaultBodyMemory } from '../server/body-memory.ts'
import { ClientAddresses, proxyWarning } from '../server/client-address.ts'
import { consentBuckets, consentPages } from '../server/consent.ts'
import { corsFor } from '../server/cors.ts'
import { referencePages } from '../server/docs-routes.ts'
import { createPlanRecorder } from '../server/exchange-recorder.ts'
import { createUploads } from '../server/file-routes.ts'
import { Gateway, type Serving } from '../server/gateway.ts'
import { ProcessGauges } from '../server/metrics.ts'
import { OpenStreams } from '../server/open-streams.ts'
import { operations } from '../server/operations.ts'
import { Overload, systemLoop } from '../server/overload.ts'
import { passThroughRecords } from '../server/pass-through-records.ts'
import { shedInto } from '../server/refusals.ts'
import { resourceMetadata } from '../server/resource-metadata.ts'
import { socketServing } from '../server/sockets/socket-serving.ts'
import { trustedCertificate } from '../server/tls/client-certificate.ts'
import { KeyEncryption } from '../services/byok/key-encryption.ts'
import { Credentials } from '../services/credentials/credentials.ts'
import { CREDENTIAL_SOURCES } from '../services/credentials/sources/index.ts'
import { closeDocuments } from '../services/documents/index.ts'
import { DiskFiles } from '../services/files/index.ts'
import { closeRobots } from '../services/pages/index.ts'
import { Telemetry } from '../services/telemetry/telemetry.ts'
import type { PassThroughProxy } from '../services/upstream/pass-through.ts'
import { chainDependencies, type RuntimeSource } from './chain-dependencies.ts'
import { RunningConfiguration } from './configuration/handler.ts'
import { Events, raiseReload } from './events.ts'
import { findIn } from './guardrail-bench.ts'
import { fileGuardrails, knownNames, StoredSettings, tryOut } from './guardrail-settings.ts'
import { HealthChecks } from './health-checks/health-checks.ts'
import { OwnStatus } from './process-status.ts'
import { discoveredListing, listingReports } from './provider-listing.ts'
import { reportKept, reportReloaded } from './reload-report.ts'
import { chainSettings, keyLookup } from './settings.ts'
import { ShedReports } from './shed-reports.ts'
import { TokenIssuers } from './token-issuers.ts'
import { programVersion } from './version.ts'

export class Runtime {
  config: Config
  catalog: Catalog
  readonly gateway: Gateway
  readonly metrics = new MetricRegistry()
  private readonly gauges = new ProcessGauges(this.metrics)
  /** A random secret made because the file names no keys: printed once. */
  readonly generated: string | undefined
  /** Logs an unexpected error. */
  readonly reportUnexpected: (error: unknown) => void
  private readonly source: RuntimeSource
  readonly dependencies: ChainDependencies
  readonly overload: Overload
  readonly status: OwnStatus
  private readonly statusReply: ManagementSource['status']
  private readonly telemetry: Telemetry
  readonly events: Events
  /** Outlives a reload, as what it has read stays true. */
  readonly scans: LedgerScans
  /** Of the request bodies of all callers. */
  readonly bodies: BodyMemory
  private readonly passThrough: FirstUse<PassThroughProxy>
  private readonly files: DiskFiles
  private readonly configuration: RunningConfiguration
  readonly ids: GenerationIds
  private readonly consentBuckets: ManagementSource['buckets']
  readonly addresses: ClientAddresses
  private keys: readonly ApiKey[]
  private readonly discovery: Discovery
  private readonly healthChecks: HealthChecks
  private readonly credentials: Credentials
  private readonly issuers: TokenIssuers
  private readonly storedGuardrails = new StoredSettings()
  /** True while patterns of stored guardrails are compiled: those that come meanwhile are regarded with them. */
  private regarding = false

  constructor(source: RuntimeSource) {
    const { config, clock, store, logs } = source
    this.source = source
    this.config = config
    const { keys, generated } = resolveKeys(config)
    this.keys = keys
    this.generated = generated
    this.configuration = new RunningConfiguration({
      clock,
      env: source.env ?? {},
      config: () => this.config,
      beside: () => ({ guardrails: store.guardrails.current, listings: this.discovery.listings }),
    })
    this.files = new DiskFiles(config.store.files, clock)
    this.scans = new LedgerScans(store.ledger, clock)
    const shed = new ShedReports({ clock, metrics: this.metrics, log: logs.log, live: () => this.status.live })
    this.overload = new Overload(source.loop ?? systemLoop, this.metrics, shed.refused)
    const streams = new OpenStreams(this.metrics)
    this.status = new OwnStatus({ clock, streams, overload: () => this.overload.state })
    this.telemetry = new Telemetry({
      clock,
      log: logs.part('telemetry'),
      metrics: this.metrics,
      version: programVersion,
      lines: (take) => {
        logs.also = take
      },
    })
    this.events = new Events({
      ...{ settings: config.events, store, clock, log: logs.part('ledger') },
      ...{ metrics: this.metrics, delivers: source.worker === undefined },
    })
    this.dependencies = chainDependencies(source, this.metrics, {
      files: this.files,
      bodies: this.overload,
      telemetry: this.telemetry,
      events: this.events,
      live: this.status.live,
    })
    this.telemetry.apply(config.telemetry)
    showAvailability(source.shared, this.metrics)
    store.audit.showIn(this.metrics)
    this.passThrough = new FirstUse(
      async () => new (await import('../services/upstream/pass-through.ts')).PassThroughProxy(clock, this.dependencies.pools),
    )
    this.addresses = new ClientAddresses(config.server.trustedProxies, proxyWarning(logs.log), config.operatorKey?.hash)
    this.consentBuckets = consentBuckets(clock)
    this.ids = new GenerationIds(drawnBefore(store.journal, source.worker?.drawn, clock.now()), source.worker?.slot)
    this.ids.onStep = (step) => source.clockStepped?.(step)
    this.credentials = new Credentials(CREDENTIAL_SOURCES, { clock, metrics: this.metrics, log: logs.part('credentials'), env: source.env })
    this.issuers = new TokenIssuers({ clock, log: logs.part('auth') })
    this.discovery = new Discovery({
      clock,
      fetch: (provider) => discoveredListing(provider, clock, this.dependencies.pools),
      changed: () => this.relist(),
      listings: source.listings,
      ...listingReports(logs.log),
    })
    this.healthChecks = new HealthChecks(this, source)
    const { health } = this.dependencies
    health.onEject = (endpoint) => this.events.sources.endpointEjected(endpoint)
    health.onReturn = (endpoint) => {
      this.discovery.again(endpoint.provider.slug)
      this.events.sources.endpointRestored(endpoint)
    }
    this.catalog = this.assembleCatalog(config)
    this.statusReply = this.status.reply({ health, catalog: () => this.catalog }, source.worker?.status)
    this.reportUnexpected = (error) => logs.log.error({ error: stackWithoutMessage(error) }, 'unexpected')
    this.bodies = new BodyMemory(clock, shed.refused)
    this.resizeBodies()
    this.gateway = new Gateway({
      serving: this.compose(),
      clock,
      ids: this.ids,
      clients: clientDialects,
      reportUnexpected: this.reportUnexpected,
      connections: {
        clock,
        memory: this.bodies,
        slowAfter: config.server.bodyTimeout,
        addresses: this.addresses,
        metrics: this.metrics,
        streams,
      },
      overload: this.overload,
      telemetry: this.telemetry,
      shed: shedInto(store.refusals),
    })
    store.guardrails.onChange(() => void this.compileStored().catch(this.reportUnexpected))
    this.events.lookAtKeys(() => this.keys)
  }

  /** Takes a new configuration over, or says why the old one stays. Running exchanges keep theirs. */
  apply(reload: Reload): void {
    const log = this.source.logs.part('config')
    // The owner of workers raises one for all of them.
    if (!this.source.worker) raiseReload(this.events.sources, reload, this.config.file)
    if (reload.kind !== 'applied') {
      reportKept(log, reload)
      return
    }
    this.config = reload.config
    this.source.logs.follow(reload.config.log)
    this.keys = this.keysAfter(reload.config)
    this.relist()
    this.telemetry.apply(reload.config.telemetry)
    this.events.apply(reload.config.events)
    this.resizeBodies()
    reportReloaded(log, reload.config)
    void this.discover()
  }

  /** Workers of one machine share its memory. */
  private resizeBodies(): void {
    const { bodyMemory = defaultBodyMemory(), maxBody, overload } = this.config.server
    const memory = Math.floor(bodyMemory / (this.source.worker?.count ?? 1))
    this.bodies.resize(memory, maxBody, overload.maxWait)
    this.overload.resize(overload.maxWait, memory)
  }

  /** Compiles the patterns of other stored guardrails in turns, and then puts all of them in force. */
  private async compileStored(): Promise<void> {
    if (this.regarding) return
    this.regarding = true
    const { guardrails } = this.source.store
    try {
      for (let preparing = this.storedGuardrails.prepare(guardrails.current); preparing; ) {
        const prepared = guardrails.current
        await preparing
        preparing = guardrails.current === prepared ? undefined : this.storedGuardrails.prepare(guardrails.current)
      }
    } finally {
      this.regarding = false
      this.putInForce()
    }
  }

  /** Those of before stay where that fails: never none. */
  private putInForce(): void {
    const log = this.source.logs.part('guardrails')
    try {
      this.gateway.serving = this.compose()
      log.info({ guardrails: this.source.store.guardrails.current.guardrails.length }, 'stored guardrails have changed')
    } catch (error) {
      log.error({ problem: String(error) }, 'guardrails kept: those that are stored now cannot be put in force')
    }
  }

  /** Fetches the model lists of the providers with `discover`, now and from now on. Resolves when each has answered or failed. */
  discover(): Promise<void> {
    return this.discovery.watch(this.catalog.providers.values())
  }

  /** Serves what the configuration declares and the providers list now. */
  private relist(): void {
    this.catalog = this.assembleCatalog(this.config)
    this.gateway.serving = this.compose()
  }

  private assembleCatalog(config: Config): Catalog {
    const catalog = this.credentials.during(() => buildCatalog(config, this.discovery.listings, this.credentials))
    this.dependencies.health.protect(catalog.models.flatMap(({ endpoints }) => endpoints.map(({ id }) => id)))
    return catalog
  }

  async close(): Promise<void> {
    this.dependencies.drains.close()
    await this.events.close()
    this.discovery.close()
    this.healthChecks.close()
    this.credentials.close()
    this.issuers.close()
    await this.passThrough.ifMade((proxy) => proxy.close())
    await this.telemetry.close()
    this.gauges.close()
    this.overload.close()
    await this.dependencies.pools.close()
    closeDocuments()
    closeRobots()
    this.configuration.close()
    this.files.close()
  }

  /** A random secret made at the start stays: it was printed once and is in use. One made now would never be shown. */
  private keysAfter(config: Config): readonly ApiKey[] {
    if (this.generated && !config.keysNamed) return this.keys
    const { keys, generated } = resolveKeys(config)
    if (generated === undefined) return keys
    this.source.logs.log.warn({ file: config.file }, 'the keys stay as they were: a real provider key requires keys named in auth.keys')
    return this.keys
  }

  /** Inputs of the operations for management keys, as the configuration stands now. */
  get management(): ManagementSource {
    const { config, source } = this
    return {
      store: source.store.keys,
      guardrails: source.store.guardrails,
      byok: source.store.byokKeys,
      encryption: new KeyEncryption(config.byok.encryptionKeys),
      takesKey: (slug) => takesKey(this.catalog.providers.get(slug)),
      written: config.guardrails,
      findIn: (tested) => findIn(tested, this.guardrailsInForce),
      there: knownNames(this.catalog),
      tryOut,
      configured: this.keys,
      budgets: config.budgets,
      levels: source.store.levels,
      signIn: config.signIn,
      buckets: this.consentBuckets,
      credit: this.dependencies.credit,
      files: this.files,
      scans: this.scans,
      status: this.statusReply,
      configuration: this.configuration,
      replay: { plan: (text, format, key) => this.plan(text, format, key) },
      events: source.store.events,
      source: config.events.source,
      time: source.clock,
      isDraining: () => this.events.sources.draining,
      ledger: source.store.ledger,
      entries: source.store.ledger.entries,
      refusals: source.store.refusals.store,
      auditLog: source.store.auditLog,
      auditKeys: new AuditKeys(config.audit),
      recordSettings: recordSettings(config),
      brand: config.brand.word,
      clock: source.clock,
      maxBody: config.server.maxBody,
      jsonDepth: config.server.jsonDepth,
    }
  }

  /** Plan of a request of this key at this moment. It takes nothing of the key's rate. */
  private async plan(text: string, format: PlanFormat, key: ApiKey): Promise<Planned> {
    const { config, catalog, dependencies, ids, storedGuardrails, source } = this
    const { planForKey } = await import('./rehearsal/plan-for-key.ts')
    const stored = storedGuardrails.of(source.store.guardrails.current)
    return planForKey({ text, format, key }, { config, catalog, stored, dependencies, ids })
  }

  private get guardrailsInForce(): ReturnType<typeof fileGuardrails> {
    return [...fileGuardrails(this.config), ...this.storedGuardrails.of(this.source.store.guardrails.current)]
  }

  private compose(): Serving {
    const { config, catalog, dependencies, source } = this
    const keys = keyLookup([...operatorKeys(config), ...this.keys], source.store.keys, config)
    const models = new Set(catalog.models.map((model) => model.slug))
    this.metrics.know({ model: models, provider: new Set(catalog.providers.keys()) })
    // The models of the configuration include the wildcards, which the catalogue's list leaves out.
    dependencies.retries.keep(new Set([...Object.keys(config.models), ...models]))
    const beside = {
      stored: this.storedGuardrails.of(source.store.guardrails.current),
      places: placesIn(source.store.levels.tree),
      ...this.issuers.callers(config),
    }
    const settings = chainSettings(config, catalog, keys, beside)
    const { callers, guardrails, policies } = settings
    // Few requests need it, so the start does not wait for it.
    const reference = referencePages(async () =>
      (await import('./reference.ts')).referenceDocument({ brand: config.brand.word, models: catalog.models }),
    )
    const consent = consentPages(this.management)
    const metadata = resourceMetadata(config)
    const { cors, costHeader, publicUrl } = config.server
    return {
      sockets: socketServing(config, callers, dependencies),
      config,
      cors: cors && corsFor(cors.origins, costHeader ? config.brand.headers.cost : undefined),
      fronts: composeChains(settings, dependencies, createPlanRecorder(source.logs)),
      embeds: (slug) => catalog.find(slug)?.model.kind === 'embedding',
      operations: operations({
        callers,
        failures: dependencies.failures,
        catalog,
        preferences: config.provider,
        guardrails,
        health: dependencies.health,
        presets: config.presets,
        uploads: createUploads(this.files, config.store.files.maxFile, dependencies.admission),
        management: this.management,
      }),
      pages: (request) => reference(request) ?? consent(request) ?? metadata(request),
      passThrough: new PassThroughRoutes(async () => {
        const { PassThroughHandler } = await import('../pipeline/pass-through/handler.ts')
        return new PassThroughHandler(
          { callers, publicUrl, guardrails, policies, catalog, trustedCertificate, clientAddress: (request) => this.addresses.of(request) },
          {
            dependencies,
            proxy: this.passThrough,
            ids: this.ids,
            givenIds: source.store.givenIds,
            ...passThroughRecords(this.telemetry, source),
          },
        )
      }),
    }
  }
}
