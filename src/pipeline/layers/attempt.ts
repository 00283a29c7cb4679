/** 11. Tries the candidates in order until one answers with content; after that nothing is tried again. */
import pRetry from 'p-retry'
import type { Endpoint, Provider } from '../../catalog/types.ts'
import { asFault, Fault } from '../../core/faults.ts'
import type { AttemptRecord, Planned } from '../../plugin-api/exchange.ts'
import { callEndpoint } from '../call-endpoint.ts'
import type { Exchange } from '../exchange.ts'
import type { ChainParts } from '../parts.ts'
import type { At, Reply, Service, Turn } from '../reply.ts'

export function attempt(parts: ChainParts): Service<At<Planned>> {
  return async function attempted(exchange) {
    const failures: { endpoint: Endpoint; fault: Fault }[] = []
    const { candidates } = exchange
    for (let i = 0; i < candidates.length; i++) {
      const endpoint = candidates[i]
      if (failures.length > 0 && failures.some((failure) => skips(failure, endpoint))) continue
      if (exchange.cancel.aborted) throw goneFault(exchange)
      const further = failures.length > 0
      if (further && !parts.retries.take()) break
      const trial = begin(exchange, endpoint)
      try {
        let reply: Reply
        try {
          reply = await callEndpoint(exchange, endpoint, parts)
        } catch (thrown) {
          reply = await again(thrown, exchange, endpoint, parts)
        }
        answered(exchange, reply.turn, trial, parts)
        return reply
      } catch (thrown) {
        const fault = broken(exchange, thrown, trial, parts)
        if (fault.origin !== 'upstream') throw fault
        failures.push({ endpoint, fault })
      } finally {
        exchange.upstreamMs += exchange.clock.monotonic() - trial.started
        if (further) parts.retries.release()
      }
    }
    throw lastWord(failures)
  }
}

/** What the caller got wrong no other endpoint of the same model would take; another model may. */
function skips(failure: { endpoint: Endpoint; fault: Fault }, endpoint: Endpoint): boolean {
  return failure.fault.retry === 'never' && failure.endpoint.model === endpoint.model
}

/** One endpoint's turn: what is written down of it, and when it began. */
interface Trial {
  endpoint: Endpoint
  record: AttemptRecord
  started: number
}

function begin(exchange: Exchange, endpoint: Endpoint): Trial {
  const record: AttemptRecord = {
    provider: endpoint.provider.name,
    model: endpoint.model.slug,
    endpoint: endpoint.id,
    status: 200,
    latency: 0,
  }
  exchange.attempts.push(record)
  return { endpoint, record, started: exchange.clock.monotonic() }
}

function answered(exchange: Exchange, turn: Turn, { endpoint, record, started }: Trial, parts: ChainParts): void {
  exchange.books.turns.push(turn)
  record.latency = Math.round(Math.max(0, exchange.firstContentAt - started))
  if (turn.fault) {
    turn.fault = keyless(turn.fault, endpoint.provider)
    failed(turn.fault, endpoint, parts)
  } else if (!turn.aborted) served(exchange, turn, started, parts)
}

function broken(exchange: Exchange, thrown: unknown, { endpoint, record, started }: Trial, parts: ChainParts): Fault {
  const fault = keyless(asFault(thrown), endpoint.provider)
  record.status = fault.status
  record.code = fault.code
  record.latency = Math.round(exchange.clock.monotonic() - started)
  if (fault.origin === 'upstream') failed(fault, endpoint, parts)
  return fault
}

function failed(fault: Fault, endpoint: Endpoint, parts: ChainParts): void {
  parts.health.failure(endpoint, fault)
  parts.attempted(endpoint.provider.slug, fault.code)
  if (fault.code === 'upstream_auth') parts.alarm(endpoint.provider, fault)
}

function served(exchange: Exchange, { endpoint, usage }: Turn, started: number, parts: ChainParts): void {
  const first = Math.max(0, exchange.firstContentAt - started)
  const rest = exchange.stream ? exchange.clock.monotonic() - started - first : 0
  const tokens = usage?.output ?? 0
  parts.health.success(endpoint, first, rest > 0 ? (tokens * 1000) / rest : 0)
  parts.attempted(endpoint.provider.slug, 'ok')
  const session = exchange.gateway.sessionId
  if (session !== undefined) {
    parts.sessions.set({ key: exchange.key.identity, model: exchange.models[0].slug, session, endpoint: endpoint.id })
  }
}

/** What a dialect took for a harmless word may be the key that the provider was sent. */
function keyless(fault: Fault, { key }: Provider): Fault {
  if (key === undefined || !`${fault.message}${JSON.stringify(fault.metadata)}`.includes(key)) return fault
  return new Fault(fault.code, { retryAfter: fault.retryAfter })
}

/** A connection that could not be made is tried once more on the same endpoint: nothing was sent, so nothing can happen twice. */
function again(thrown: unknown, exchange: Exchange, endpoint: Endpoint, parts: ChainParts): Promise<Reply> {
  const worth = (error: unknown): boolean => error instanceof Fault && error.retry === 'same' && !exchange.cancel.aborted
  if (!worth(thrown)) throw thrown
  const once = (): Promise<Reply> => {
    // The caller may have left during the pause.
    if (exchange.cancel.aborted) throw goneFault(exchange)
    return callEndpoint(exchange, endpoint, parts)
  }
  return pRetry(once, {
    retries: 1,
    minTimeout: 10,
    maxTimeout: 25,
    randomize: true,
    shouldRetry: ({ error }) => worth(error),
  })
}

function goneFault(exchange: Exchange): Fault {
  const { reason } = exchange.cancel
  return reason instanceof Fault ? reason : new Fault('client_gone')
}

/** The last failure is what the caller is told; where all were limited, the soonest that one may be asked again. */
function lastWord(failures: readonly { endpoint: Endpoint; fault: Fault }[]): Fault {
  const last = failures.at(-1)
  if (!last) return new Fault('unavailable', { retryAfter: 1 })
  const { fault } = last
  const hints = failures.map((failure) => failure.fault.retryAfter).filter((seconds) => seconds !== undefined)
  const previous = failures.slice(0, -1).map((failure) => ({
    provider: failure.endpoint.provider.name,
    code: failure.fault.code,
    status: failure.fault.status,
  }))
  const metadata = { ...fault.metadata, ...(previous.length > 0 ? { previous_errors: previous } : {}) }
  return new Fault(fault.code, {
    message: fault.message,
    metadata,
    retryAfter: fault.status === 429 || fault.status === 503 ? (hints.length > 0 ? Math.min(...hints) : 1) : undefined,
    cause: fault,
  })
}
