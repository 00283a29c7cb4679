/** Dependencies of the chain beside a configuration: they outlive a reload. */
import type { Bookkeeping, WorkerPlace } from '../cluster/bookkeeping.ts'
import type { Shared } from '../cluster/shared/index.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { ClockStep } from '../core/ids.ts'
import type { LiveFigures } from '../core/live-figures.ts'
import type { LogSink } from '../core/log.ts'
import { clientDialects, embeddingWires, toolDialect, upstreamDialects } from '../dialects/registry.ts'
import { estimateTokens } from '../ledger/settlement.ts'
import type { MetricRegistry } from '../machines/metrics/metrics.ts'
import { ModelKinds } from '../pipeline/attempt/model-kinds.ts'
import { RefusedEfforts } from '../pipeline/attempt/refused-efforts.ts'
import { RefusedOptions } from '../pipeline/attempt/refused-options.ts'
import type { Lane } from '../pipeline/attempt/turn.ts'
import { DrainSlots } from '../pipeline/attempt/upstream-attempt.ts'
import type { ChainDependencies } from '../pipeline/dependencies.ts'
import { VectorLengths } from '../pipeline/embeddings/vector-lengths.ts'
import { SeenInputs } from '../pipeline/money/seen-inputs.ts'
import { Admission } from '../pipeline/request/admission.ts'
import { Attempts } from '../pipeline/request/attempt-buckets.ts'
import type { Listing } from '../routing/catalog/discovery.ts'
import { HealthBook, RetryBudget, StickySessions } from '../routing/index.ts'
import { createRecorder, type EventRecorders, withEvents } from '../server/exchange-recorder.ts'
import type { LoopSource, Overload } from '../server/overload.ts'
import { refusedExchange } from '../server/refusals.ts'
import { ExchangeSpans } from '../server/traces/exchange-spans.ts'
import { ByokKeys } from '../services/byok/byok-keys.ts'
import { CompactionKeys } from '../services/compaction/compaction-keys.ts'
import { EncryptedTexts } from '../services/compaction/encrypted-texts.ts'
import type { Environment } from '../services/credentials/types.ts'
import type { DiskFiles } from '../services/files/index.ts'
import type { Telemetry } from '../services/telemetry/telemetry.ts'
import { Pools } from '../services/upstream/pools.ts'
import { serverTools } from '../tools/registry.ts'
import { byokReports, connectionReports, exchangeReports } from './exchange-reports.ts'

export interface RuntimeSource {
  config: Config
  clock: Clock
  logs: LogSink
  store: Bookkeeping
  shared: Pick<Shared, 'counters' | 'pubSub' | 'isDegraded'>
  /** Set if this process is one of several on this machine. */
  worker?: WorkerPlace | undefined
  forcedLane: Lane | undefined
  /** Is called when the clock has stepped back. */
  clockStepped?: ((step: ClockStep) => void) | undefined
  /** Variables that credentials are found by. Absent where no provider is called. */
  env?: Environment | undefined
  /** Earlier lists of providers, by slug. */
  listings?: ReadonlyMap<string, Listing> | undefined
  /** Instead of Node's own measurement. */
  loop?: LoopSource | undefined
}

/** Dependencies of the chain beside a configuration, from what the runtime has made. */
export interface RuntimeParts {
  readonly files: DiskFiles
  readonly bodies: Overload
  readonly telemetry: Telemetry
  readonly events: EventRecorders
  readonly live: LiveFigures
}

export function chainDependencies(
  { config, clock, store, logs, shared, forcedLane, env = {} }: RuntimeSource,
  metrics: MetricRegistry,
  { files, bodies, telemetry, events, live }: RuntimeParts,
): ChainDependencies {
  const { burst, perMinute } = config.server.authFailures
  const health = new HealthBook(clock)
  const sessions = new StickySessions(clock)
  const compactionKeys = new CompactionKeys(store.compactionKeys, config.compaction)
  const spans = new ExchangeSpans(telemetry, clientDialects)
  telemetry.others = spans.metrics.write
  store.refusals.showIn(metrics)
  health.share(shared.pubSub)
  sessions.share(shared.pubSub)
  return {
    clock,
    metrics,
    failures: new Attempts(clock, { burst, perSecond: perMinute / 60 }),
    journal: store.journal,
    ledger: store.ledger,
    credit: store.credit,
    health,
    sessions,
    seenInputs: new SeenInputs(),
    admission: new Admission(clock, shared.counters, store.processes),
    bodies,
    retries: new RetryBudget(),
    drains: new DrainSlots(),
    files,
    byok: new ByokKeys(store.byokKeys, config.byok, { clock, reports: byokReports(logs, events.sources) }),
    summaries: new EncryptedTexts({ load: (now) => compactionKeys.all(now), clock }),
    pools: new Pools({ env, ...connectionReports(metrics, logs, clock) }),
    upstreams: upstreamDialects,
    wires: embeddingWires,
    vectorLengths: new VectorLengths(clock),
    refusedEfforts: new RefusedEfforts(clock),
    refusedOptions: new RefusedOptions(clock),
    modelKinds: new ModelKinds(clock),
    tools: serverTools,
    host: { clock, estimateTokens, files },
    toolDialect,
    recordExchange: withEvents(createRecorder(metrics, logs, { audit: store.audit, spans, live }), events, refusedExchange(store.refusals)),
    refusing: (exchange, fault) => spans.refusing(exchange, fault),
    ...exchangeReports(metrics, logs, events.sources),
    forcedLane,
  }
}
