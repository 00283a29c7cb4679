/**
 * Active health checks: where requests of one key fail at an endpoint and nothing says that they would fail for others, a request of the
 * gateway's own decides. Nothing is checked at the start, at regular times, or where all is well.
 */
import type { Config } from '../../config/config.ts'
import type { Fault } from '../../core/faults.ts'
import type { GenerationIds } from '../../core/ids.ts'
import { type LogSink, stackWithoutMessage } from '../../core/log.ts'
import { upstreamDialects } from '../../dialects/registry.ts'
import { closed, counter, type MetricRegistry } from '../../machines/metrics/metrics.ts'
import type { ChainDependencies } from '../../pipeline/dependencies.ts'
import type { Catalog } from '../../routing/catalog/catalog.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { endpointTag } from '../../routing/index.ts'
import { providerListing } from '../provider-listing.ts'
import { chainSettings } from '../settings.ts'
import { type CheckResult, checkByList } from './list-check.ts'
import { CHECK_KEY, checkByRequest, checkKey } from './request-check.ts'
import { CheckSchedule, type CheckShared } from './schedule.ts'

const checks = counter(
  'health_checks_total',
  "Requests of the gateway's own that looked whether an endpoint fails for all keys. `outcome` is well, failed, or unclear.",
  { labels: [closed('kind'), closed('outcome')], limit: 6 },
)

/** Running checks: a reload changes the first two. */
interface Running {
  readonly config: Config
  readonly catalog: Catalog
  readonly dependencies: ChainDependencies
  readonly ids: GenerationIds
  readonly metrics: MetricRegistry
}

export class HealthChecks {
  private readonly running: Running
  private readonly log: LogSink['log']
  private readonly schedule: CheckSchedule

  constructor(running: Running, { logs, shared }: { logs: LogSink; shared: CheckShared }) {
    const { clock, health } = running.dependencies
    this.running = running
    this.log = logs.log
    this.schedule = new CheckSchedule(clock, shared)
    health.onDoubt = (endpoint, fault, key) => this.doubt(endpoint, fault, key)
  }

  /** A request of this key has failed there, which says nothing of others yet. */
  private doubt(endpoint: Endpoint, fault: Fault, key: string): void {
    const { kind, every } = this.running.config.healthChecks
    if (key === CHECK_KEY || kind === 'off' || !canCheck(endpoint, kind)) return
    const target = kind === 'list' ? endpoint.provider.slug : endpoint.id
    this.schedule.request(target, every, () => void this.check(endpoint, fault, kind))
  }

  close(): void {
    this.schedule.close()
  }

  private async check(endpoint: Endpoint, doubt: Fault, kind: 'list' | 'request'): Promise<void> {
    const { dependencies, metrics } = this.running
    const { slug } = endpoint.provider
    try {
      const result = kind === 'list' ? await this.byList(endpoint, doubt) : await this.byRequest(endpoint)
      if (result?.fault) dependencies.health.failure(endpoint, result.fault, { status: result.status ?? null })
      const outcome = result === undefined ? 'unclear' : result.isWell ? 'well' : 'failed'
      metrics.of(checks).series(kind, outcome).add()
      this.log.info({ provider: slug, endpoint: endpoint.id, kind, outcome, cause: result?.fault?.reason }, 'health check')
    } catch (error) {
      metrics.of(checks).series(kind, 'unclear').add()
      this.log.error({ provider: slug, error: stackWithoutMessage(error) }, 'a health check could not be made')
    }
  }

  private byList(endpoint: Endpoint, doubt: Fault): Promise<CheckResult | undefined> {
    const { clock, pools } = this.running.dependencies
    return checkByList((provider) => providerListing(provider, clock, pools), endpoint.provider, doubt)
  }

  private byRequest(endpoint: Endpoint): Promise<CheckResult | undefined> {
    const { dependencies, ids, config, catalog } = this.running
    const key = checkKey(config.healthChecks.limit)
    const keys = { written: new Map(), atHand: () => key, find: () => key }
    const settings = { ...chainSettings(config, catalog, keys), guardrails: [], plugins: [] }
    return checkByRequest(endpoint, { settings, dependencies, ids, config })
  }
}

/**
 * Names behind a wildcard are the caller's: none is checked. Nor is an endpoint that its tag does not tell from another one, or a list at
 * another address than the operations.
 */
function canCheck({ model, provider, wildcardId, ...endpoint }: Endpoint, kind: 'list' | 'request'): boolean {
  if (wildcardId !== undefined || provider.baseUrl === undefined) return false
  if (kind === 'list') {
    const dialect = upstreamDialects.get(provider.dialect)
    return dialect !== undefined && dialect.listing?.base === undefined
  }
  const tag = endpointTag({ ...endpoint, model, provider, wildcardId })
  return model.endpoints.filter((each) => endpointTag(each) === tag).length === 1
}
