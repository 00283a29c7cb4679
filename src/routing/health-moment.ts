/** State of endpoints at one moment, by which the requests of one key are ordered. */
import type { Endpoint } from './catalog/types.ts'
import type { EndpointRecord } from './endpoint-record.ts'
import type { RunningCalls } from './running-calls.ts'
import type { Band, Health, PercentileName } from './standing.ts'

export class HealthMoment implements Health {
  private readonly records: ReadonlyMap<string, EndpointRecord>
  private readonly calls: RunningCalls
  private now = 0
  private key: string | undefined
  private owner: string | undefined
  /** The endpoint looked up last: the order reads several values of one endpoint in a row. */
  private lookedUp: Endpoint | undefined
  private found: EndpointRecord | undefined

  constructor(records: ReadonlyMap<string, EndpointRecord>, calls: RunningCalls) {
    this.records = records
    this.calls = calls
  }

  at(now: number, key?: string, owner = key): this {
    this.now = now
    this.key = key
    this.owner = owner
    this.lookedUp = undefined
    return this
  }

  recentOutage(endpoint: Endpoint): boolean {
    return this.find(endpoint)?.inOutage(this.now, this.key, this.owner) === true
  }

  resting(endpoint: Endpoint): boolean {
    const record = this.find(endpoint)
    return record !== undefined && record.restLeft(this.now, this.key) > 0
  }

  ejected(endpoint: Endpoint): boolean {
    return this.dueIn(endpoint) > 0
  }

  /**
   * True where the last five attempts were within 30 s and all of them failed: those of the endpoint, or of all names
   * behind its wildcard, since a caller could choose a new name for each request.
   */
  failing(endpoint: Endpoint): boolean {
    if (this.find(endpoint)?.failing(this.now, this.key)) return true
    const { wildcardId } = endpoint
    return wildcardId !== undefined && this.records.get(wildcardId)?.failing(this.now, this.key) === true
  }

  dueIn(endpoint: Endpoint): number {
    return this.find(endpoint)?.ejectionLeft(this.now, this.key) ?? 0
  }

  band(endpoint: Endpoint): Band {
    return this.find(endpoint)?.band(this.now, this.owner) ?? 0
  }

  latency(endpoint: Endpoint, percentile: PercentileName): number | undefined {
    const ms = this.find(endpoint)?.latency(this.now, percentile)
    return ms === undefined ? undefined : ms / 1000
  }

  throughput(endpoint: Endpoint, percentile: PercentileName): number | undefined {
    return this.find(endpoint)?.throughput(this.now, percentile)
  }

  leastThroughput(endpoint: Endpoint): number | undefined {
    return this.find(endpoint)?.leastThroughput(this.now)
  }

  toolSuccess(endpoint: Endpoint): number | undefined {
    return this.find(endpoint)?.toolSuccess(this.now)
  }

  running(endpoint: Endpoint): number {
    return this.calls.at(endpoint)
  }

  private find(endpoint: Endpoint): EndpointRecord | undefined {
    if (endpoint !== this.lookedUp) {
      this.lookedUp = endpoint
      this.found = this.records.get(endpoint.id)
    }
    return this.found
  }
}
