/**
 * Tries the candidates in order until one answers with content; after that nothing is tried again. Each attempt leaves its
 * record, what health and sticky sessions learn, and a metric.
 */
import pRetry from 'p-retry'
import type { Clock } from '../../core/clock.ts'
import { asFault, Fault, isAccountFault } from '../../core/faults.ts'
import { concernsAccount } from '../../core/own-account-fault.ts'
import { countedUsage } from '../../ledger/settlement.ts'
import { counter, type MetricRegistry, open } from '../../machines/metrics/metrics.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { isOutage, type RetryPermit } from '../../routing/index.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Planned } from '../exchange.ts'
import type { Reply, Service } from '../layer.ts'
import { countUsage, lostToSlowReader } from '../money/turn-usage.ts'
import type { NotedAttempt } from '../records.ts'
import { aboutCallersItem, explained, type Rewrite, type SentBody } from '../refusal/callers-view.ts'
import { withoutEcho } from '../refusal/echoed-words.ts'
import { endedEarly, type Failure, finalFault } from '../reply/final-fault.ts'
import { keyOwner } from '../request/key-owner.ts'
import { denialIn } from './denial.ts'
import { credentialed } from './refused-credential.ts'
import { refusedPart } from './refused-part.ts'
import { replySpeed } from './reply-speed.ts'
import { stick } from './sticky-endpoint.ts'
import type { Turn } from './turn.ts'
import { turnUnknownWords } from './unknown-words.ts'

/** Calls one endpoint. Rejects with a fault where nothing has reached the caller. */
export type Call<Dependencies> = (exchange: Planned, endpoint: Endpoint, dependencies: Dependencies) => Promise<Reply>

/** Functions that call endpoints: to generate, or for vectors. */
export interface Calling<Dependencies> {
  readonly call: Call<Dependencies>
  /** Rebuilds the body that an endpoint was sent. */
  readonly rewrite: (exchange: Planned, endpoint: Endpoint, dependencies: Dependencies) => SentBody
}

export function attemptLayer<Dependencies extends ChainDependencies>(
  dependencies: Dependencies,
  { call, rewrite }: Calling<Dependencies>,
): Service<Planned> {
  const written: Rewrite = (exchange, endpoint) => rewrite(exchange, endpoint, dependencies)
  const make: Make = (exchange, endpoint) => {
    const { credential } = endpoint
    if (!credential) return call(exchange, endpoint, dependencies)
    return credentialed(() => call(exchange, endpoint, dependencies), credential, exchange)
  }
  // It waits for as long as the reply takes: no variable of it is in a function's closure, for which V8 would keep an object each.
  return async function handle(exchange) {
    const {
      route: { models },
      plan: { candidates },
    } = exchange
    exchange.run.turns++
    dependencies.retries.enter(models)
    const failures: Failure[] = []
    try {
      const fallbacks: Fallbacks = { freeLeft: true }
      for (const endpoint of candidates) {
        if (failures.length > 0 && isSkipped(endpoint, failures)) continue
        if (exchange.head.cancel.aborted) {
          setAside(exchange)
          throw endedEarly(exchange, failures)
        }
        const permit = failures.length === 0 ? FREE : permitFor(exchange, endpoint, fallbacks, dependencies)
        if (!permit) continue
        if (exchange.run.unfinished) setAside(exchange)
        dependencies.health.calls.begin(endpoint)
        let running = beginAttempt(exchange, endpoint, dependencies)
        exchange.run.whenCommitted = permit === FREE ? undefined : ending(permit)
        try {
          let reply: Reply
          try {
            reply = await (endpoint.credential ? make(exchange, endpoint) : call(exchange, endpoint, dependencies))
          } catch (thrown) {
            const next = withoutRefused(thrown, exchange, running, dependencies)
            running = next ?? running
            const { retries } = dependencies
            reply = next ? await make(exchange, endpoint) : await again(thrown, { exchange, endpoint, retries }, make)
          }
          attemptAnswered(exchange, reply.turn, running, dependencies)
          if (reply.turn.fault) explainTurn(exchange, reply.turn, running, written)
          if (permit !== FREE) permit.end(true)
          return reply
        } catch (thrown) {
          const fault = attemptFailed(exchange, thrown, running, dependencies)
          permit.end(!isOutage(fault) && fault.status !== 429)
          if (fault.origin !== 'upstream') throw exchange.head.cancel.aborted ? endedEarly(exchange, failures) : fault
          failures.push({ endpoint, fault, status: running.status })
        } finally {
          exchange.run.whenCommitted = undefined
          dependencies.health.calls.end(endpoint)
        }
      }
    } finally {
      dependencies.retries.leave(models)
    }
    const last = failures.at(-1)
    if (last) last.fault = explained(exchange, last, written)
    throw finalFault(exchange, failures)
  }
}

/** The reply has begun: its error is the last event of the stream. */
function explainTurn(exchange: Planned, turn: Turn, { at: endpoint, status }: NotedAttempt, written: Rewrite): void {
  if (turn.fault) turn.fault = explained(exchange, { endpoint, fault: turn.fault, status }, written)
}

/**
 * Forgets the unfinished turn of another endpoint, since the exchange does not end with its failure. Where that endpoint refused one call
 * of a batch as wrong, the other calls stay charged like an earlier turn.
 */
function setAside(exchange: Planned): void {
  const { unfinished } = exchange.run
  exchange.run.unfinished = undefined
  if (!unfinished?.callRejected) return
  unfinished.usage = countedUsage(countUsage(exchange, unfinished, 'caller'))
  exchange.head.costs.turns.push(unfinished)
}

/**
 * True if the endpoint would fail in the same way. A mistake of the caller fails at every endpoint of the same model, but perhaps not at
 * another model; where only some servers refuse it, the endpoints of that provider are left out.
 */
function isSkipped({ model, provider }: Endpoint, failures: readonly Failure[]): boolean {
  return failures.some(({ fault: { retry }, endpoint: failed }) => {
    if (failed.model !== model) return false
    return retry === 'never' || (retry === 'elsewhere' && failed.provider === provider)
  })
}

const ending = (permit: RetryPermit) => (): void => permit.end(true)

/** For attempts that draw on no budget. */
const FREE: RetryPermit = { end: () => {} }

/** State of one turn. */
interface Fallbacks {
  /** False once a fallback to an endpoint of unknown state has been made without a permit. */
  freeLeft: boolean
}

/**
 * Permit for a fallback; undefined where the budget of the endpoint's model refuses it.
 * Endpoints that have served recently and have not failed since need none. Of the others, each turn tries one without
 * a permit, unless that endpoint is ejected or its last five attempts within 30 s all failed. So when everything is
 * down, this adds per endpoint at most five calls, those under way when the fifth failure becomes known, and then one
 * probe per ejection.
 */
function permitFor(
  { auth }: Planned,
  endpoint: Endpoint,
  fallbacks: Fallbacks,
  { health: book, retries }: ChainDependencies,
): RetryPermit | undefined {
  const health = book.forKey(auth.key.identity, keyOwner(auth.key))
  const ejected = health.ejected(endpoint)
  const failing = ejected || health.recentOutage(endpoint) || health.resting(endpoint)
  if (!failing && health.latency(endpoint, 'p50') !== undefined) return FREE
  if (fallbacks.freeLeft && !ejected && !health.failing(endpoint)) {
    fallbacks.freeLeft = false
    return FREE
  }
  return retries.take(endpoint.model)
}

type Make = (exchange: Planned, endpoint: Endpoint) => Promise<Reply>

interface Retry extends Pick<ChainDependencies, 'retries'> {
  exchange: Planned
  endpoint: Endpoint
}

/** Milliseconds before a provider that could not be reached is called again; chance spreads the calls of many requests. */
export const PAUSE = { least: 10, most: 25 }

/**
 * A connection that the provider had closed while it was idle is replaced by a new one at once: that says
 * nothing about the provider, so it draws on no budget. An endpoint that could not be reached is called once more: nothing was sent,
 * so nothing can happen twice.
 */
async function again(thrown: unknown, retry: Retry, make: Make): Promise<Reply> {
  const { exchange, endpoint } = retry
  if (!(thrown instanceof Fault) || thrown.retry !== 'at once' || exchange.head.cancel.aborted) return reachedAgain(thrown, retry, make)
  exchange.run.unfinished = undefined
  exchange.run.connectAnew = true
  try {
    return await make(exchange, endpoint)
  } catch (next) {
    return await reachedAgain(next, retry, make)
  } finally {
    exchange.run.connectAnew = false
  }
}

/** Calls an endpoint once more that could not be reached, where the budget allows it. */
async function reachedAgain(thrown: unknown, { exchange, endpoint, retries }: Retry, make: Make): Promise<Reply> {
  const { clock, cancel } = exchange.head
  const worth = thrown instanceof Fault && !cancel.aborted && thrown.retry === 'same'
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
    if (cancel.aborted) throw endedEarly(exchange, [])
    return make(exchange, endpoint)
  }
  try {
    // The library's own pause would run on the system's clock and draw from `Math.random`: at 0 it has none (9.0.0, index.js).
    return await pRetry(tries, { retries: 1, minTimeout: 0, shouldRetry: () => pause(clock) })
  } finally {
    permit.end(false)
  }
}

/** @returns true, in a while. */
function pause(clock: Clock): Promise<true> {
  const { least, most } = PAUSE
  return new Promise((resolve) => void clock.after(least + clock.random() * (most - least), () => resolve(true)))
}

/**
 * The provider refuses reasoning that is sent back to it, such as another account's, the effort, or `stream_options`: it is called once
 * more without it. For the rest of the exchange it gets none, so this happens once.
 * @returns the attempt that begins; undefined where the failure is another one.
 */
function withoutRefused(
  thrown: unknown,
  exchange: Planned,
  running: NotedAttempt,
  dependencies: ChainDependencies,
): NotedAttempt | undefined {
  const { at: endpoint } = running
  const part = refusedPart(thrown, exchange, endpoint.id)
  if (part === undefined) return undefined
  attemptFailed(exchange, thrown, running, dependencies)
  if (part === 'withoutEffort') dependencies.refusedEfforts.note(endpoint.id, exchange.run.effort, thrown)
  if (part === 'withoutOptions') dependencies.refusedOptions.note(endpoint.id)
  exchange.run[part] = (exchange.run[part] ?? new Set()).add(endpoint.id)
  exchange.run.unfinished = undefined
  return beginAttempt(exchange, endpoint, dependencies)
}

const attempts = counter(
  'attempts_total',
  'Upstream calls. `outcome` is `ok`, the code of the fault, `unknown_end` where the provider ended its answer with a word that its format does not list, or `overrun`.',
  {
    labels: [open('provider'), open('outcome')],
    limit: 400,
  },
)

/** @param outcome `ok` or a code. */
export function countAttempt(metrics: MetricRegistry, provider: string, outcome: string): void {
  metrics.of(attempts).series(provider, outcome).add()
}

function beginAttempt(exchange: Planned, endpoint: Endpoint, dependencies: ChainDependencies): NotedAttempt {
  exchange.plan.watch?.begin()
  const started = exchange.head.clock.monotonic()
  dependencies.health.dispatched(endpoint, exchange.auth.key.identity, started)
  const attempt: NotedAttempt = {
    provider: endpoint.provider.name,
    model: endpoint.model.slug,
    endpoint: endpoint.id,
    status: null,
    latency: 0,
    turn: exchange.run.turns,
    at: endpoint,
    started,
    ended: 0,
    contentAt: 0,
    answer: undefined,
    cause: undefined,
    span: undefined,
  }
  exchange.history.attempts = [...exchange.history.attempts, attempt]
  return attempt
}

/** The attempt is over: the time counts as waiting for providers. */
function close(exchange: Planned, attempt: NotedAttempt): void {
  attempt.ended = exchange.head.clock.monotonic()
  exchange.run.upstreamMs += attempt.ended - attempt.started
}

/** The endpoint has answered, if only with a beginning. */
function attemptAnswered(exchange: Planned, turn: Turn, record: NotedAttempt, dependencies: ChainDependencies): void {
  const { at: endpoint, started } = record
  const key = exchange.auth.key.identity
  close(exchange, record)
  record.answer = turn
  record.contentAt = exchange.run.contentAt
  exchange.head.costs.turns.push(turn)
  exchange.run.lastTurn = turn
  exchange.run.unfinished = undefined
  exchange.run.ownTurns?.push(turn)
  record.latency = Math.round(Math.max(0, exchange.run.contentAt - started))
  // A provider inside this process sends no head.
  record.status ??= 200
  if (turn.fault) {
    const { status } = record
    record.status = turn.fault.providerStatus ?? record.status
    record.code = turn.fault.code
    record.cause = turn.fault.reason
    turn.fault = keyless(withoutEcho(turn.fault, exchange.request.payload), endpoint)
    if (lostToSlowReader(turn)) dependencies.health.abandoned(endpoint, key)
    else failed(turn.fault, record, { key, owner: keyOwner(exchange.auth.key), status, dependencies })
  } else if (turn.aborted) dependencies.health.abandoned(endpoint, key)
  // Nothing is known of how well the endpoint has done.
  else if (turn.end?.reason === 'unknown') {
    dependencies.health.abandoned(endpoint, key)
    countAttempt(dependencies.metrics, endpoint.provider.slug, 'unknown_end')
  } else served(exchange, turn, started, dependencies)
  const unknown = turnUnknownWords(turn)
  if (unknown) dependencies.unknownWords(endpoint.provider, unknown)
}

/** Nothing has reached the caller. @returns the fault as the caller may see it. */
function attemptFailed(exchange: Planned, thrown: unknown, record: NotedAttempt, dependencies: ChainDependencies): Fault {
  const { at: endpoint, started } = record
  const key = exchange.auth.key.identity
  close(exchange, record)
  const raw = withoutEcho(asFault(thrown), exchange.request.payload)
  const fault = keyless(aboutCallersItem(raw, exchange.request.payload.sent) ?? raw, endpoint)
  const { status } = record
  record.status = raw.providerStatus ?? status
  record.code = fault.code
  record.cause = raw.reason
  record.latency = Math.round(exchange.head.clock.monotonic() - started)
  dependencies.modelKinds.note(endpoint, raw, { status: record.status, request: exchange.request.payload })
  if (fault.origin === 'upstream') failed(fault, record, { key, owner: keyOwner(exchange.auth.key), status, dependencies, since: started })
  else dependencies.health.abandoned(endpoint, key)
  return fault
}

interface FailedBy {
  readonly key: string
  readonly owner: string
  /** That of the reply's head, whatever its body states. */
  readonly status: number | null
  readonly dependencies: ChainDependencies
  /** When it began to fail, where not just now. */
  readonly since?: number
}

function failed(fault: Fault, { at: endpoint, status: shown }: NotedAttempt, { key, owner, status, dependencies, since }: FailedBy): void {
  const { byok } = endpoint
  if (byok && concernsAccount(fault)) {
    // It says nothing of the endpoint, whose other callers have another account.
    dependencies.health.abandoned(endpoint, key)
    countAttempt(dependencies.metrics, endpoint.provider.slug, fault.code)
    if (!fault.isEchoed) dependencies.byok.failed(byok.entry, fault)
    return
  }
  if (fault.isEchoed) dependencies.health.unclear(endpoint, fault, key)
  else if (fault.origin === 'upstream') dependencies.health.failure(endpoint, fault, { key, owner, status, since })
  else dependencies.health.abandoned(endpoint, key)
  countAttempt(dependencies.metrics, endpoint.provider.slug, fault.code)
  if (isAccountFault(fault)) dependencies.alarm(endpoint.provider, fault, denialIn(fault, shown, endpoint.provider))
}

function served(exchange: Planned, turn: Turn, started: number, dependencies: ChainDependencies): void {
  const { endpoint, usage, writing } = turn
  countAttempt(dependencies.metrics, endpoint.provider.slug, 'ok')
  const firstTokenMs = Math.max(0, exchange.run.contentAt - started)
  const speed = replySpeed(usage?.output ?? 0, writing, firstTokenMs)
  endpoint.byok?.entry.served()
  const { key } = exchange.auth
  // Nearly all keys are their own owners.
  const owner = (key.issuer ?? key.consent ?? key.creator ?? undefined) === undefined ? key.identity : keyOwner(key)
  dependencies.health.success(endpoint, { firstTokenMs, ...speed, tools: exchange.plan.watch?.verdict }, key.identity, owner)
  if (endpoint.model.unknownKind) dependencies.modelKinds.noteServed(endpoint)
  if (exchange.plan.conversation) stick(exchange, exchange.plan.conversation, turn, dependencies.sessions)
}

/** Removes the key of the provider, which a dialect may have taken for a harmless word. */
function keyless(fault: Fault, { provider: { key }, credential }: Endpoint): Fault {
  const text = `${fault.message}${JSON.stringify(fault.metadata)}`
  if (!(key !== undefined && text.includes(key)) && credential?.isIn(text) !== true) return fault
  const { retryAfter, providerStatus, sentence, isEchoed } = fault
  return new Fault(fault.code, { retryAfter, providerStatus, sentence, isEchoed })
}
