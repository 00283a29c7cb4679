/** GET /v1/status: what the gateway does now, over all of its processes on this machine. */
import type { Clock } from '../core/clock.ts'
import { Fault, type FaultCode } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import {
  addedUp,
  type LiveProvider,
  type LiveSecond,
  type LiveSnapshot,
  type ProcessStatus,
  percentile,
  WINDOW_SECONDS,
} from '../core/live-figures.ts'
import { usd } from '../core/money.ts'
import type { Endpoint, Provider } from '../routing/catalog/types.ts'
import { type EndpointFigures, endpointTag } from '../routing/index.ts'
import { type ApiReply, ok } from './reply.ts'

export interface StatusSource {
  readonly clock: Pick<Clock, 'now'>
  readonly version: string
  /** Of every process that answers; undefined for one that does not. */
  processes(): Promise<readonly (ProcessStatus | undefined)[]> | readonly (ProcessStatus | undefined)[]
  readonly catalog: {
    readonly providers: ReadonlyMap<string, Provider>
    readonly models: readonly { readonly endpoints: readonly Endpoint[] }[]
  }
  readonly health: {
    figures(endpoint: Endpoint): EndpointFigures
    restLeft(endpoint: Endpoint): number
    dueIn(endpoint: Endpoint): number
    /** The fault of the last attempt, and why its connection failed; undefined where it has served since. */
    lastFault(endpoint: Endpoint): { readonly code: FaultCode; readonly reason: string | undefined } | undefined
    /** False where no attempt there has ended yet. */
    isKnown(endpoint: Endpoint): boolean
  }
}

/** Milliseconds for which a reply is kept: many pages may look each second. */
const FRESH_MS = 1_000
/** Endpoints that are listed of one provider, those with a problem first. */
const MAX_ENDPOINTS = 100

/** Computes the reply at most once a second, for all readers. */
export class Status {
  private readonly source: StatusSource
  private kept: { readonly at: number; readonly reply: Promise<ApiReply> } | undefined

  constructor(source: StatusSource) {
    this.source = source
  }

  read(): Promise<ApiReply> {
    const now = this.source.clock.now()
    const { kept } = this
    if (kept && now - kept.at < FRESH_MS && now >= kept.at) return kept.reply
    const reply = readStatus(this.source)
    this.kept = { at: now, reply }
    reply.catch(() => {
      this.kept = undefined
    })
    return reply
  }
}

async function readStatus(source: StatusSource): Promise<ApiReply> {
  const all = await source.processes()
  const parts = all.filter((part) => part !== undefined)
  const now = source.clock.now()
  const live = parts.map((part) => part.live)
  const seconds = sumSeconds(live, Math.floor(now / 1000))
  const total = (name: Exclude<keyof LiveSecond, 'second'>): number => seconds.reduce((sum, each) => sum + each[name], 0)
  const startedAt = Math.min(now, ...parts.map((part) => part.startedAt))
  const span = Math.max(1, Math.min(WINDOW_SECONDS, (now - startedAt) / 1000))
  const reasons = [...new Set(parts.flatMap((part) => part.reasons))]
  const notes = [...new Set(parts.flatMap((part) => part.notes))]
  const sum = (of: (part: ProcessStatus) => number): number => parts.reduce((before, part) => before + of(part), 0)
  return ok({
    data: {
      version: source.version,
      started_at: new Date(startedAt).toISOString(),
      uptime_seconds: Math.floor((now - startedAt) / 1000),
      at: new Date(now).toISOString(),
      workers: all.length,
      workers_answering: parts.length,
      state: reasons.includes('draining') ? 'draining' : reasons.length > 0 || parts.length < all.length ? 'degraded' : 'ready',
      reasons,
      notes,
      window_seconds: WINDOW_SECONDS,
      requests: {
        count: total('requests'),
        per_second: rate(total('requests'), span),
        errors: total('errors'),
        errors_per_second: rate(total('errors'), span),
        error_rate: total('requests') === 0 ? 0 : Math.round((total('errors') / total('requests')) * 1e4) / 1e4,
        by_status: sumStatuses(live),
      },
      latency_ms: percentiles(live.map((part) => part.latency)),
      time_to_first_token_ms: percentiles(live.map((part) => part.firstEvent)),
      spend: { last_minute: usd(total('nano')), this_hour: usd(live.reduce((before, part) => before + part.hourNano, 0)) },
      tokens: { prompt_per_second: rate(total('input'), span), completion_per_second: rate(total('output'), span) },
      open: { requests: sum((part) => part.open), streams: sum((part) => part.streams) },
      overload: {
        bodies_waiting: sum((part) => part.bodiesWaiting),
        expected_wait_ms: Math.max(0, ...parts.map((part) => part.bodyWait)),
        refused: total('shed'),
        saturated: parts.some((part) => part.saturated),
      },
      memory_bytes: sum((part) => part.memory),
      history: seconds.map(historyEntry),
      providers: listProviders(source, live, span),
    },
  })
}

function historyEntry({ second, requests, errors, nano, shed }: LiveSecond): JsonObject {
  return { at: new Date(second * 1000).toISOString(), requests, errors, cost: usd(nano), refused: shed }
}

const rate = (count: number, seconds: number): number => Math.round((count / seconds) * 100) / 100

/** Each second of the window that something happened in, added up over the processes; the oldest first. */
function sumSeconds(parts: readonly LiveSnapshot[], now: number): LiveSecond[] {
  const sums = new Map<number, LiveSecond>()
  for (const each of parts.flatMap(({ seconds }) => seconds)) {
    if (each.second > now || each.second <= now - WINDOW_SECONDS) continue
    const sum = sums.get(each.second)
    if (!sum) sums.set(each.second, { ...each })
    else for (const name of ['requests', 'errors', 'nano', 'input', 'output', 'shed'] as const) sum[name] += each[name]
  }
  return [...sums.values()].sort((a, b) => a.second - b.second)
}

function sumStatuses(parts: readonly LiveSnapshot[]): JsonObject {
  const sums: Record<string, number> = {}
  for (const { statuses } of parts) for (const [status, count] of Object.entries(statuses)) sums[status] = (sums[status] ?? 0) + count
  return sums
}

function percentiles(counts: readonly (readonly number[])[]): JsonObject {
  const all = addedUp(counts)
  return { p50: percentile(all, 0.5), p90: percentile(all, 0.9), p99: percentile(all, 0.99) }
}

function listProviders({ catalog, health }: StatusSource, parts: readonly LiveSnapshot[], span: number): JsonObject[] {
  const endpoints = Map.groupBy(
    catalog.models.flatMap((model) => model.endpoints),
    ({ provider }) => provider.slug,
  )
  return [...catalog.providers.values()].map(({ slug, name }) => {
    const own = parts.map(({ providers }) => providers[slug]).filter((part): part is LiveProvider => part !== undefined)
    const count = own.reduce((sum, part) => sum + part.requests, 0)
    const entries = (endpoints.get(slug) ?? []).map((endpoint) => endpointEntry(endpoint, health))
    const bad = entries.filter((entry) => entry.health !== 'ok')
    const rest = entries.filter((entry) => entry.health === 'ok')
    return {
      slug,
      name,
      count,
      requests_per_second: rate(count, span),
      errors: own.reduce((sum, part) => sum + part.errors, 0),
      latency_ms: percentiles(own.map((part) => part.latency)),
      time_to_first_token_ms: percentiles(own.map((part) => part.firstEvent)),
      health: worst(
        bad.map((entry) => String(entry.health)),
        entries.length,
      ),
      used: count > 0 || entries.some((entry) => entry.used === true),
      endpoint_count: entries.length,
      ejected: entries.filter((entry) => entry.health === 'ejected').length,
      resting: entries.filter((entry) => entry.health === 'resting').length,
      endpoints: [...bad, ...rest].slice(0, MAX_ENDPOINTS),
    }
  })
}

/** By the status of the endpoint lists (`EndpointStatus`). */
const HEALTH: Readonly<Record<string, string>> = { '-10': 'ejected', '-5': 'resting', '-3': 'outage', '-2': 'poor', '-1': 'degraded' }

function endpointEntry(endpoint: Endpoint, health: StatusSource['health']): JsonObject {
  const figures = health.figures(endpoint)
  const fault = health.lastFault(endpoint)
  return {
    id: endpoint.id,
    model: endpoint.model.slug,
    tag: endpointTag(endpoint),
    health: HEALTH[figures.status] ?? 'ok',
    used: health.isKnown(endpoint),
    problem: fault === undefined ? null : new Fault(fault.code).message,
    cause: fault?.reason ?? null,
    ejected_for_ms: Math.ceil(health.dueIn(endpoint)),
    rests_for_ms: Math.ceil(health.restLeft(endpoint)),
    uptime_last_30m: figures.uptime30m,
    latency_ms: figures.latency && { ...figures.latency },
    throughput: figures.throughput && { ...figures.throughput },
  }
}

/** `ejected` only where none of its endpoints is left. */
function worst(bad: readonly string[], all: number): string {
  if (bad.length === 0) return 'ok'
  if (bad.length === all && bad.every((state) => state === 'ejected')) return 'ejected'
  return bad.length === all && bad.every((state) => state === 'resting' || state === 'ejected') ? 'resting' : 'degraded'
}
