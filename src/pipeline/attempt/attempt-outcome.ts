/** What an attempt leaves behind: its record, what health and sticky sessions learn, metrics. */

import { asFault, Fault } from '../../core/faults.ts'
import { counter, type Tallies } from '../../core/metrics.ts'
import { open } from '../../core/tallies.ts'
import type { Usage } from '../../dialects/canon/usage.ts'
import type { AttemptRecord } from '../../plugin-api/exchange.ts'
import type { Endpoint, Provider } from '../../routing/catalog/types.ts'
import type { StickySessions } from '../../routing/index.ts'
import type { Planned } from '../exchange.ts'
import { lostToSlowReader } from '../money/turn-count.ts'
import type { ChainParts } from '../parts.ts'
import { cachesCheaper } from '../route/conversation.ts'
import type { Turn } from './turn.ts'

const attempts = counter('attempts_total', 'Upstream calls. `outcome` is `ok`, the code of the fault, or `overrun`.', {
  labels: [open('provider'), open('outcome')],
  limit: 500,
})

/** @param outcome `ok` or a code. */
export function countAttempt(tallies: Tallies, provider: string, outcome: string): void {
  tallies.of(attempts).series(provider, outcome).add()
}

/** One endpoint's turn: what is written down of it, and when it began on the monotonic clock. */
export interface Trial {
  readonly endpoint: Endpoint
  readonly record: AttemptRecord
  readonly started: number
}

export function beginTrial(exchange: Planned, endpoint: Endpoint, parts: ChainParts): Trial {
  const record: AttemptRecord = {
    provider: endpoint.provider.name,
    model: endpoint.model.slug,
    endpoint: endpoint.id,
    status: null,
    latency: 0,
    turn: exchange.run.turns,
  }
  exchange.trail.attempts.push(record)
  exchange.plan.watch?.begin()
  parts.health.dispatched(endpoint)
  return { endpoint, record, started: exchange.head.clock.monotonic() }
}

/** The endpoint has answered, if only with a beginning. */
export function trialAnswered(exchange: Planned, turn: Turn, { endpoint, record, started }: Trial, parts: ChainParts): void {
  exchange.head.books.turns.push(turn)
  exchange.run.lastTurn = turn
  exchange.run.unfinished = undefined
  exchange.run.ownTurns?.push(turn)
  record.latency = Math.round(Math.max(0, exchange.run.contentAt - started))
  // A provider inside this process sends no head.
  record.status ??= 200
  if (turn.fault) {
    record.status = turn.fault.providerStatus ?? record.status
    record.code = turn.fault.code
    turn.fault = keyless(turn.fault, endpoint.provider)
    if (lostToSlowReader(turn)) parts.health.abandoned(endpoint)
    else failed(turn.fault, endpoint, parts)
  } else if (turn.aborted) parts.health.abandoned(endpoint)
  // An end in error after some content: the caller has the answer, the endpoint has not done well.
  else if (turn.end?.reason === 'error') failed(new Fault('upstream_error'), endpoint, parts)
  else served(exchange, turn, started, parts)
}

/** Nothing has reached the caller. @returns the fault as the caller may see it. */
export function trialBroken(exchange: Planned, thrown: unknown, { endpoint, record, started }: Trial, parts: ChainParts): Fault {
  const raw = asFault(thrown)
  const fault = keyless(raw, endpoint.provider)
  record.status = raw.providerStatus ?? record.status
  record.code = fault.code
  record.latency = Math.round(exchange.head.clock.monotonic() - started)
  if (fault.origin === 'upstream') failed(fault, endpoint, parts, started)
  else parts.health.abandoned(endpoint)
  return fault
}

/** @param since when it began to fail, where not just now. */
function failed(fault: Fault, endpoint: Endpoint, parts: ChainParts, since?: number): void {
  if (fault.origin === 'upstream') parts.health.failure(endpoint, fault, since)
  else parts.health.abandoned(endpoint)
  countAttempt(parts.tallies, endpoint.provider.slug, fault.code)
  if (fault.code === 'upstream_auth') parts.alarm(endpoint.provider, fault)
}

function served(exchange: Planned, { endpoint, usage, writing }: Turn, started: number, parts: ChainParts): void {
  const firstTokenMs = Math.max(0, exchange.run.contentAt - started)
  const tokensPerSecond = writing === undefined ? 0 : ((usage?.output ?? 0) * 1000) / writing
  parts.health.success(endpoint, { firstTokenMs, tokensPerSecond, tools: exchange.plan.watch?.verdict })
  countAttempt(parts.tallies, endpoint.provider.slug, 'ok')
  stick(exchange, endpoint, usage, parts.sessions)
}

/**
 * A conversation that the caller named stays from its first success on; any other once the provider's cache has been
 * hit and that is cheaper. Each success renews it. An error of its endpoint leaves it there (contract section 5.3).
 */
function stick(exchange: Planned, endpoint: Endpoint, usage: Usage | undefined, sessions: StickySessions): void {
  const {
    plan: { conversation },
    trail: { attempts },
    auth: { key },
    route: { models },
  } = exchange
  if (!conversation) return
  const { name, named, pinned } = conversation
  const stays = pinned === endpoint.id
  if (pinned !== undefined && !stays && attempts.some((attempt) => attempt.endpoint === pinned && attempt.code !== undefined)) return
  const pays = (usage?.cached ?? 0) > 0 && cachesCheaper(endpoint)
  if (named || stays || pays) sessions.set({ key: key.identity, model: models[0].slug, session: name, endpoint: endpoint.id })
}

/** What a dialect took for a harmless word may be the key that the provider was sent. */
function keyless(fault: Fault, { key }: Provider): Fault {
  if (key === undefined || !`${fault.message}${JSON.stringify(fault.metadata)}`.includes(key)) return fault
  return new Fault(fault.code, { retryAfter: fault.retryAfter })
}
