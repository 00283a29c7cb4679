/** Plans requests in this process: the gateway's own chain, without a port, a file of its own or a call. */
import { keepLocally } from '../../cluster/bookkeeping.ts'
import { shareNothing } from '../../cluster/shared/index.ts'
import type { Config } from '../../config/config.ts'
import { resolveKeys } from '../../config/keys.ts'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { GenerationIds } from '../../core/ids.ts'
import { openLog } from '../../core/log.ts'
import { isManager } from '../../core/roles.ts'
import type { GuardrailSetting } from '../../pipeline/guard/guardrail-setting.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Listing } from '../../routing/catalog/discovery.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { endpointTag } from '../../routing/index.ts'
import { openStore } from '../../store/open.ts'
import { Runtime } from '../runtime.ts'
import { chainSettings } from '../settings.ts'
import { planText, type Rehearsed, type RehearsedRequest } from './plan-text.ts'

/** State of an endpoint before a rehearsal. */
export const AILMENTS = ['outage', 'resting', 'ejected'] as const
export type Ailment = (typeof AILMENTS)[number]

/** Failures in a row that eject an endpoint, and more. */
const MANY = 10
const REST_SECONDS = 60

/** Facts that stand in no configuration. */
export interface RehearsalSurroundings {
  /** Guardrails of a store. */
  readonly stored?: readonly GuardrailSetting[]
  /** Models that providers have listed. */
  readonly listings?: ReadonlyMap<string, Listing>
}

export class Rehearsal {
  private readonly runtime: Runtime
  private readonly clock: Clock
  private readonly ids = new GenerationIds({ last: 0 })
  readonly keys: readonly ApiKey[]
  private readonly stored: readonly GuardrailSetting[]

  constructor(config: Config, clock: Clock, { stored = [], listings }: RehearsalSurroundings = {}) {
    this.clock = clock
    const store = keepLocally(openStore('memory:', { clock }), clock)
    this.runtime = new Runtime({
      config,
      clock,
      store,
      shared: shareNothing(clock),
      logs: openLog(clock, () => {}),
      forcedLane: undefined,
      listings,
    })
    this.stored = stored
    this.keys = resolveKeys(config).keys
  }

  /** @throws Error where there is no such key. */
  async plan(request: RehearsedRequest): Promise<Rehearsed> {
    const { runtime } = this
    const { config, catalog, dependencies } = runtime
    const key = typeof request.key === 'object' ? request.key : this.findKey(request.key)
    const settings = chainSettings(config, catalog, { written: new Map(), atHand: () => key, find: () => key }, { stored: this.stored })
    return planText(request, { settings, dependencies, ids: this.ids, config })
  }

  /** @param tag as in a plan. */
  endpoint(model: string, tag: string): Endpoint | undefined {
    return this.runtime.catalog.find(model)?.model.endpoints.find((endpoint) => endpointTag(endpoint) === tag)
  }

  /** The key has spent so many nano-dollars before. @throws Error where there is no such key. */
  spend(name: string | undefined, nano: number): void {
    this.runtime.dependencies.credit.account(this.findKey(name).identity).settle(0, nano)
  }

  /**
   * @param tag `provider`, `provider/variant` or `provider/tier`, for all models; or `model@tag` for one.
   * @returns false where no endpoint has it.
   */
  harm(tag: string, ailment: Ailment): boolean {
    const { health } = this.runtime.dependencies
    const endpoints = this.endpoints().filter((endpoint) => isNamed(endpoint, tag))
    for (const endpoint of endpoints) {
      if (ailment === 'resting') health.failure(endpoint, new Fault('upstream_limited', { retryAfter: REST_SECONDS }))
      else for (let i = ailment === 'ejected' ? MANY : 1; i > 0; i--) health.failure(endpoint, new Fault('upstream_error'))
    }
    return endpoints.length > 0
  }

  close(): Promise<void> {
    return this.runtime.close()
  }

  private endpoints(): Endpoint[] {
    return this.runtime.catalog.models.flatMap((model) => model.endpoints)
  }

  private findKey(name: string | undefined): ApiKey {
    const { keys } = this
    if (name === undefined) {
      const now = this.clock.now()
      const usable = keys.find((key) => !isManager(key) && !key.disabled && (key.expiresAt === null || key.expiresAt > now))
      if (!usable) throw new Error('no key of the configuration may generate')
      return usable
    }
    const named = keys.find((key) => key.name === name)
    if (!named) throw new Error(`no key ${name}; expected one of: ${keys.map((key) => key.name).join(', ')}`)
    return named
  }
}

function isNamed(endpoint: Endpoint, tag: string): boolean {
  const own = endpointTag(endpoint)
  return tag === own || tag === `${endpoint.model.slug}@${own}`
}
