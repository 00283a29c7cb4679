/** Tries the candidates in order until one answers with content; after that nothing is tried again. */

import pRetry from 'p-retry'
import { Fault } from '../../core/faults.ts'
import { countedUsage } from '../../ledger/settlement.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { isOutage } from '../../routing/index.ts'
import type { Planned } from '../exchange.ts'
import type { Reply, Service } from '../layer.ts'
import { countOf } from '../money/turn-count.ts'
import type { ChainParts } from '../parts.ts'
import { endedEarly, type Failure, lastWord } from '../reply/last-word.ts'
import { beginTrial, trialAnswered, trialBroken } from './attempt-outcome.ts'
import type { RetryPermit } from './retry-budget.ts'

/** Calls one endpoint. Rejects with a fault where nothing has reached the caller. */
export type Call<Parts> = (exchange: Planned, endpoint: Endpoint, parts: Parts) => Promise<Reply>

/** @param call how an endpoint is called: to generate, or for vectors. */
export function attempt<Parts extends ChainParts>(parts: Parts, call: Call<Parts>): Service<Planned> {
  return async function attempted(exchange) {
    const {
      route: { models },
    } = exchange
    exchange.run.turns++
    parts.retries.enter(models)
    const failures: Failure[] = []
    try {
      const fallbacks: Fallbacks = { freeLeft: true }
      for (const endpoint of exchange.plan.candidates) {
        if (failures.length > 0 && failures.some((failure) => skips(failure, endpoint))) continue
        if (exchange.head.cancel.aborted) {
          setAside(exchange)
          throw endedEarly(exchange, failures)
        }
        const permit = failures.length === 0 ? FREE : permitFor(endpoint, fallbacks, parts)
        if (!permit) continue
        setAside(exchange)
        const trial = beginTrial(exchange, endpoint, parts)
        exchange.run.whenCommitted = permit === FREE ? undefined : () => permit.end(true)
        try {
          let reply: Reply
          try {
            reply = await call(exchange, endpoint, parts)
          } catch (thrown) {
            reply = await again(thrown, { exchange, endpoint, retries: parts.retries }, () => call(exchange, endpoint, parts))
          }
          trialAnswered(exchange, reply.turn, trial, parts)
          permit.end(true)
          return reply
        } catch (thrown) {
          const fault = trialBroken(exchange, thrown, trial, parts)
          permit.end(!isOutage(fault) && fault.status !== 429)
          if (fault.origin !== 'upstream') throw exchange.head.cancel.aborted ? endedEarly(exchange, failures) : fault
          failures.push({ endpoint, fault, status: trial.record.status })
        } finally {
          exchange.run.whenCommitted = undefined
          exchange.run.upstreamMs += exchange.head.clock.monotonic() - trial.started
        }
      }
    } finally {
      parts.retries.leave(models)
    }
    throw lastWord(exchange, failures)
  }
}

/**
 * What failed at another endpoint is not what the exchange ends with. Where that refused one call of a batch as wrong, its
 * other calls stay charged like an earlier turn.
 */
function setAside(exchange: Planned): void {
  const {
    run: { unfinished },
    head: { books },
  } = exchange
  exchange.run.unfinished = undefined
  if (!unfinished?.callRejected) return
  unfinished.usage = countedUsage(countOf(exchange, unfinished, 'caller'))
  books.turns.push(unfinished)
}

/** What the caller got wrong no other endpoint of the same model would take; another model may. */
function skips(failure: Failure, endpoint: Endpoint): boolean {
  return failure.fault.retry === 'never' && failure.endpoint.model === endpoint.model
}

/** For attempts that draw on no budget. */
const FREE: RetryPermit = { end: () => {} }

/** State of one turn. */
interface Fallbacks {
  /** False once a fallback to an endpoint of unknown state has been made without a permit. */
  freeLeft: boolean
}

/**
 * Permit for a fallback (issue 15 section 4); undefined where the budget of the endpoint's model refuses it.
 * Endpoints that have served recently and have not failed since need none. Of the others, each turn tries one without
 * a permit, unless that endpoint is ejected or its last five attempts within 30 s all failed. So when everything is
 * down, this adds per endpoint at most five calls, those under way when the fifth failure becomes known, and then one
 * probe per ejection.
 */
function permitFor(endpoint: Endpoint, fallbacks: Fallbacks, { health, retries }: ChainParts): RetryPermit | undefined {
  const ejected = health.ejected(endpoint)
  const troubled = ejected || health.recentOutage(endpoint) || health.resting(endpoint)
  if (!troubled && health.latency(endpoint, 'p50') !== undefined) return FREE
  if (fallbacks.freeLeft && !ejected && !health.failing(endpoint)) {
    fallbacks.freeLeft = false
    return FREE
  }
  return retries.take(endpoint.model)
}

interface Retry extends Pick<ChainParts, 'retries'> {
  exchange: Planned
  endpoint: Endpoint
}

/** A connection that could not be made is tried once more on the same endpoint: nothing was sent, so nothing can happen twice. */
async function again(thrown: unknown, { exchange, endpoint, retries }: Retry, call: () => Promise<Reply>): Promise<Reply> {
  const worth = thrown instanceof Fault && thrown.retry === 'same' && !exchange.head.cancel.aborted
  const permit = worth ? retries.take(endpoint.model) : undefined
  if (!permit) throw thrown
  const before = exchange.run.whenCommitted
  exchange.run.whenCommitted = () => {
    before?.()
    permit.end(true)
  }
  const tries = (number: number): Promise<Reply> => {
    if (number === 1) throw thrown
    exchange.run.unfinished = undefined
    // The caller may have left during the pause.
    if (exchange.head.cancel.aborted) throw endedEarly(exchange, [])
    return call()
  }
  try {
    return await pRetry(tries, { retries: 1, minTimeout: 10, maxTimeout: 25, randomize: true })
  } finally {
    permit.end(false)
  }
}
