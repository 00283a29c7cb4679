/** Plans requests in this process: the gateway's own chain, without a port, a file of its own or a call. */
import type { IncomingHttpHeaders } from 'node:http'
import { keepLocally } from '../../cluster/bookkeeping.ts'
import { shareNothing } from '../../cluster/shared/index.ts'
import type { Config } from '../../config/config.ts'
import { resolveKeys } from '../../config/keys.ts'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { GenerationIds } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { openLog } from '../../core/log.ts'
import { clientDialects } from '../../dialects/registry.ts'
import { composeChain } from '../../pipeline/chain.ts'
import type { ClientConnection } from '../../pipeline/client-connection.ts'
import { Exchange } from '../../pipeline/exchange.ts'
import type { Plan } from '../../pipeline/plan/answer.ts'
import { dialectByBody, type PlanFormat, planDialects } from '../../pipeline/plan/format.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { endpointTag } from '../../routing/index.ts'
import { openStore } from '../../store/open.ts'
import { Runtime } from '../runtime.ts'
import { chainSettings } from '../settings.ts'

export interface RehearsedRequest {
  /** JSON text of a generation body. */
  text: string
  /** Name of the key that sends the request; by default the first that may generate. */
  key?: string | undefined
  /** By default recognised from the body. */
  format?: PlanFormat | undefined
  /** Names in lower case. */
  headers?: Readonly<Record<string, string>> | undefined
}

export type Rehearsed = { kind: 'plan'; plan: Plan } | { kind: 'refused'; status: number; body: JsonObject }

/** What an endpoint may suffer before a rehearsal. */
export const AILMENTS = ['outage', 'resting', 'ejected'] as const
export type Ailment = (typeof AILMENTS)[number]

/** Failures in a row that eject an endpoint, and more. */
const MANY = 10
const REST_SECONDS = 60

export class Rehearsal {
  private readonly runtime: Runtime
  private readonly clock: Clock
  private readonly ids = new GenerationIds(0)
  private readonly keys: readonly ApiKey[]

  constructor(config: Config, clock: Clock) {
    this.clock = clock
    const store = keepLocally(openStore('memory:', { clock }), clock)
    this.runtime = new Runtime({
      config,
      clock,
      store,
      shared: shareNothing(clock),
      logs: openLog(clock, () => {}),
      forcedLane: undefined,
    })
    this.keys = resolveKeys(config).keys
  }

  /** @throws Error where there is no such key. */
  async plan(request: RehearsedRequest): Promise<Rehearsed> {
    const { runtime } = this
    const { config, catalog, dependencies } = runtime
    const key = this.keyOf(request.key)
    const settings = chainSettings(config, catalog, { atHand: () => key, find: () => key })
    const connection = new TextConnection(request.text)
    const exchange = new Exchange({
      id: this.ids.next(this.clock.now()),
      client: dialectByBody(planDialects(clientDialects), request.format ?? null, (slug) => catalog.find(slug)?.model.kind === 'embedding'),
      headers: { ...request.headers, authorization: 'Bearer rehearsal' },
      connection,
      clock: this.clock,
      brand: config.brand.word,
      wantsMetadata: false,
    })
    let unexpected: unknown
    const witness: typeof dependencies.witness = (_exchange, { fault }) => {
      if (fault?.code === 'internal') unexpected = fault.cause
    }
    await composeChain('plan', settings, { ...dependencies, witness })(exchange)
    if (unexpected !== undefined) throw unexpected
    const body = JSON.parse(connection.said) as JsonObject
    return connection.status === 200
      ? { kind: 'plan', plan: body as unknown as Plan }
      : { kind: 'refused', status: connection.status, body }
  }

  /** The key has spent so many nano-dollars before. @throws Error where there is no such key. */
  spend(name: string | undefined, nano: number): void {
    this.runtime.dependencies.credit.account(this.keyOf(name).identity).settle(0, nano)
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

  private keyOf(name: string | undefined): ApiKey {
    const { keys } = this
    if (name === undefined) {
      const now = this.clock.now()
      const usable = keys.find((key) => !key.management && !key.disabled && (key.expiresAt === null || key.expiresAt > now))
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

/** A connection without a socket: the body is there, and the reply is kept. */
class TextConnection implements ClientConnection {
  status = 0
  said = ''
  readonly contentLength: number
  private readonly body: Buffer

  constructor(text: string) {
    this.body = Buffer.from(text)
    this.contentLength = this.body.length
  }

  readBody(limit: number): Promise<Buffer> {
    if (this.body.length <= limit) return Promise.resolve(this.body)
    return Promise.reject(new Fault('too_large', { message: `Request payload too large: at most ${limit} bytes are accepted` }))
  }

  whole(status: number, _headers: IncomingHttpHeaders, json: string): void {
    this.status = status
    this.said = json
  }

  openStream(): void {}
  bytes(): boolean {
    return true
  }
  text(): boolean {
    return true
  }
  onDrain(): void {}
  endStream(): void {}
  probe(): void {}
}
