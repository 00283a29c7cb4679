/** 11. Tries the candidates in order until one answers with content; after that nothing is tried again. */
import pRetry from 'p-retry'
import type { Endpoint } from '../../catalog/types.ts'
import { Fault } from '../../core/faults.ts'
import type { Planned } from '../../plugin-api/exchange.ts'
import { isOutage } from '../../routing/index.ts'
import { beginTrial, trialAnswered, trialBroken } from '../attempt-outcome.ts'
import type { Exchange } from '../exchange.ts'
import { endedEarly, type Failure, lastWord } from '../last-word.ts'
import type { ChainParts } from '../parts.ts'
import type { At, Reply, Service } from '../reply.ts'
import type { RetryPermit } from '../retry-budget.ts'

/** Asks one endpoint. Rejects with a fault where nothing has reached the caller. */
export type Call<Parts> = (exchange: Exchange, endpoint: Endpoint, parts: Parts) => Promise<Reply>

/** @param call how an endpoint is asked: for words, or for vectors. */
export function attempt<Parts extends ChainParts>(parts: Parts, call: Call<Parts>): Service<At<Planned>> {
  return async function attempted(exchange) {
    const failures: Failure[] = []
    for (const endpoint of exchange.candidates) {
      if (failures.length > 0 && failures.some((failure) => skips(failure, endpoint))) continue
      if (exchange.cancel.aborted) throw endedEarly(exchange, failures)
      const permit = failures.length === 0 ? FREE : permitFor(endpoint, parts)
      if (!permit) continue
      const trial = beginTrial(exchange, endpoint, parts)
      exchange.whenCommitted = permit === FREE ? undefined : () => permit.end(true)
      try {
        let reply: Reply
        try {
          reply = await call(exchange, endpoint, parts)
        } catch (thrown) {
          reply = await again(thrown, exchange, parts, () => call(exchange, endpoint, parts))
        }
        trialAnswered(exchange, reply.turn, trial, parts)
        permit.end(true)
        return reply
      } catch (thrown) {
        const fault = trialBroken(exchange, thrown, trial, parts)
        permit.end(!isOutage(fault) && fault.status !== 429)
        if (fault.origin !== 'upstream') throw exchange.cancel.aborted ? endedEarly(exchange, failures) : fault
        failures.push({ endpoint, fault })
      } finally {
        exchange.whenCommitted = undefined
        exchange.upstreamMs += exchange.clock.monotonic() - trial.started
      }
    }
    throw lastWord(exchange, failures)
  }
}

/** What the caller got wrong no other endpoint of the same model would take; another model may. */
function skips(failure: Failure, endpoint: Endpoint): boolean {
  return failure.fault.retry === 'never' && failure.endpoint.model === endpoint.model
}

/** First attempts, and further ones at endpoints that serve well. */
const FREE: RetryPermit = { end: () => {} }

/** Whether a further attempt may be made there; the budget is asked unless the endpoint has served of late and not failed since. */
function permitFor(endpoint: Endpoint, { health, retries }: ChainParts): RetryPermit | undefined {
  const troubled = health.recentOutage(endpoint) || health.resting(endpoint) || health.ejected(endpoint)
  return !troubled && health.latency(endpoint, 'p50') !== undefined ? FREE : retries.take()
}

/** A connection that could not be made is tried once more on the same endpoint: nothing was sent, so nothing can happen twice. */
async function again(thrown: unknown, exchange: Exchange, parts: ChainParts, call: () => Promise<Reply>): Promise<Reply> {
  const worth = thrown instanceof Fault && thrown.retry === 'same' && !exchange.cancel.aborted
  const permit = worth ? parts.retries.take() : undefined
  if (!permit) throw thrown
  const before = exchange.whenCommitted
  exchange.whenCommitted = () => {
    before?.()
    permit.end(true)
  }
  const tries = (number: number): Promise<Reply> => {
    if (number === 1) throw thrown
    // The caller may have left during the pause.
    if (exchange.cancel.aborted) throw endedEarly(exchange, [])
    return call()
  }
  try {
    return await pRetry(tries, { retries: 1, minTimeout: 10, maxTimeout: 25, randomize: true })
  } finally {
    permit.end(false)
  }
}
