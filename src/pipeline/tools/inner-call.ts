/** A call that a tool makes of a model: an exchange within the caller's own, on its key, its hold and its time. */
import { asFault, Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { unknownEnd } from '../../dialects/canon/ends.ts'
import type { StreamEvent } from '../../dialects/canon/events.ts'
import { Fold, type Folded } from '../../dialects/canon/fold.ts'
import { addUsage, noUsage, type Usage } from '../../dialects/canon/usage.ts'
import type { ClientDialect, Final, StreamEncoder } from '../../dialects/types.ts'
import { charge, type Extras } from '../../ledger/pricing.ts'
import { countedUsage, faultEnder } from '../../ledger/settlement.ts'
import type { ModelAnswer, ModelCall } from '../../plugin-api/index.ts'
import { dataDemands } from '../../routing/index.ts'
import type { Turn } from '../attempt/turn.ts'
import type { ClientConnection } from '../client-connection.ts'
import {
  type Accepted,
  type Authenticated,
  asExchange,
  Exchange,
  type Guarded,
  type Received,
  requestedModel,
  type Step,
} from '../exchange.ts'
import type { Reply, Service } from '../layer.ts'
import { turnTariff } from '../money/tariffs.ts'
import { chargedExtras, concludeTurn } from '../money/turn-cost.ts'
import { countUsage, turnEndedBy } from '../money/turn-usage.ts'
import { POLICY_STAGE } from '../policy/decision.ts'
import { endedEarly } from '../reply/final-fault.ts'
import { acceptBody, bodyText } from '../request/read.ts'

/** Calls within calls within calls: deeper than this something goes round in circles. */
const DEEPEST = 4

const NO_EXTRAS: Extras = {}

type Known = Accepted & Exchange

export interface InnerDependencies {
  /** The way of the call, from the choice of models on. */
  inner: Service<Accepted>
  /** The Responses dialect, in whose format tools call models. */
  dialect: ClientDialect
  /** Aborted when the tool's own call has ended. */
  ended: AbortSignal
  /** Notes the tool's own call. */
  within: Step
}

/**
 * Calls a model for a tool. The usage of its turns is part of the caller's request: one hold, one settlement.
 * @throws Fault where no model answers, and 400 where the tool sends what no request may.
 */
export async function askModel(
  outer: Guarded,
  call: ModelCall,
  { inner, dialect, ended, within }: InnerDependencies,
): Promise<ModelAnswer> {
  if (outer.head.depth >= DEEPEST) throw new Fault('bad_request', { message: `calls of models lie deeper than ${DEEPEST} levels` })
  const answer = new Answer(call.onEvent)
  const body = { ...call.body, ...inheritedDemands(outer, call.body), stream: call.onEvent !== undefined }
  dialect.check(body)
  const child = childExchange(outer, answer.dialect(dialect))
  const exchange = asExchange(acceptBody(child, child.head.client, body, bodyText(body)))
  // The edit makes the answer of every provider arrive as events.
  exchange.request.edit('tool', () => {})
  const release = tie(exchange, outer, [ended, ...(call.signal ? [call.signal] : [])])
  const turns: Turn[] = []
  exchange.run.ownTurns = turns
  const { clock } = outer.head
  const name = requestedModel(exchange)
  const step = outer.history.begin({ kind: 'model', name, started: clock.monotonic(), within, history: exchange.history, turns })
  try {
    const reply = await inner(exchange)
    closeLedger(exchange, reply.turn)
    reply.finish(innerFinal(exchange, reply))
    count(exchange, turns)
    return innerAnswer(exchange, reply.turn, { turns, folded: answer.folded })
  } catch (thrown) {
    const fault = asFault(thrown)
    step.failure = fault.code
    chargeBroken(exchange, turns, fault)
    throw thrown
  } finally {
    const concluding = concludeTurn(exchange)
    if (concluding) await concluding
    step.ended = clock.monotonic()
    release()
    exchange.run.reply?.stop()
    outer.run.upstreamMs += exchange.run.upstreamMs
    // What guardrails found is the caller's to see, and the audit trail's to keep, wherever it was found.
    for (const stage of exchange.history.stages)
      if (stage.type === 'guardrail' || stage.type === POLICY_STAGE) outer.history.stages.push(stage)
    count(exchange, turns)
    outer.run.ownTurns?.push(...turns)
  }
}

/** Adds the caller's demands on providers about its data, which hold for all that are shown a part of it. */
function inheritedDemands({ demand: { preferences } }: Guarded, { provider }: JsonObject): JsonObject {
  const demands = dataDemands(preferences)
  return demands ? { provider: { ...(isObject(provider) ? provider : {}), ...demands } as JsonObject } : {}
}

/** Sets the charges beside tokens: the caller's own request is not what these turns were sent. */
function count(exchange: Known, turns: readonly Turn[]): void {
  for (const turn of turns) turn.extras ??= chargedExtras(exchange, turn.endpoint) ?? NO_EXTRAS
}

function childExchange(outer: Guarded, client: ClientDialect): Authenticated {
  const {
    head: { id, seq, tag, headers, clock, config, costs, depth, at, connection },
  } = outer
  const exchange = new Exchange({
    id: { id, seq, tag },
    at,
    client,
    headers,
    connection: { ...nowhere, reserve: (bytes) => connection.reserve?.(bytes), free: (bytes) => connection.free?.(bytes) },
    clock,
    config,
    wantsMetadata: false,
    within: { costs, depth: depth + 1 },
  })
  exchange.history.trace = outer.history.trace
  // Its own layer of policies reads what holds for the outer one.
  return Object.assign(exchange, { auth: outer.auth, decision: outer.decision })
}

/** Ends the call with the caller's exchange, or when one of the signals says so. @returns what takes that back. */
function tie(exchange: Received, outer: Received, signals: readonly AbortSignal[]): () => void {
  const untie = outer.head.cancel.onAbort((reason) => exchange.head.cancel.abort(reason))
  const stop = (): void => exchange.head.cancel.abort(new Fault('client_gone'))
  for (const signal of signals) {
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  }
  return () => {
    untie()
    for (const signal of signals) signal.removeEventListener('abort', stop)
  }
}

/** Charges a call that failed, by the table of `ledger/settlement.ts`, as for a caller's own request. */
function chargeBroken(exchange: Known, turns: Turn[], fault: Fault): void {
  const {
    run: { unfinished },
    head: { costs },
  } = exchange
  const endedBy = faultEnder(fault, (unfinished ?? turns.at(-1))?.begun === true)
  if (endedBy === 'provider') {
    // Insurance covers the whole answer, earlier turns included.
    for (const turn of turns) turn.usage = undefined
  } else if (unfinished && unfinished.sent !== false && endedBy !== 'gateway' && !(endedBy === 'caller' && fault.origin === 'upstream')) {
    unfinished.usage = countedUsage(countUsage(exchange, unfinished, endedBy))
    turns.push(unfinished)
    costs.turns.push(unfinished)
    // What it costs stays held.
    exchange.run.lastTurn = unfinished
  }
}

/**
 * As for a caller's own: what broke off at the provider is not charged, nor is an answer of nothing; what was given up is,
 * as far as it came.
 * @throws Fault.
 */
function closeLedger(exchange: Known, turn: Turn): void {
  const { aborted, end } = turn
  const endedBy = turnEndedBy(exchange, turn)
  const free = endedBy === 'gateway' || turn.sent === false
  turn.usage = free ? undefined : countedUsage(countUsage(exchange, turn, endedBy))
  if (turn.fault) throw turn.fault
  if (aborted) throw endedEarly(exchange, [])
  // What the provider did is paid for.
  if (turn.refused) throw turn.refused
  if (end?.reason === 'unknown') throw unknownEnd(end)
  if ((turn.usage?.output ?? 0) <= 0 && !end?.raw?.trim()) throw new Fault('upstream_empty')
}

function innerFinal(exchange: Received, { turn }: Reply): Final {
  return {
    usage: turn.usage ?? noUsage(),
    cost: 0,
    inputCost: 0,
    outputCost: 0,
    end: turn.end ?? { reason: 'stop' },
    completedAt: Math.floor(exchange.head.clock.now() / 1000),
  }
}

/** @param turns with those of calls within the call. */
function innerAnswer(exchange: Accepted, last: Turn, { turns, folded }: { turns: readonly Turn[]; folded: Folded }): ModelAnswer {
  const { blocks } = folded
  let usage: Usage | undefined
  let cost = 0
  for (const turn of turns) {
    if (!turn.usage) continue
    usage = usage ? addUsage(usage, turn.usage) : turn.usage
    cost += charge(turn.usage, turnTariff(exchange, turn), turn.extras).total
  }
  return {
    model: last.endpoint.model.slug,
    text: blocks.map((block) => (block.kind === 'text' ? block.text : '')).join(''),
    blocks,
    end: last.end ?? { reason: 'stop' },
    usage: usage ?? noUsage(),
    cost,
  }
}

/** Collects the events of an answer instead of writing them to a client. */
class Answer {
  folded: Folded = { blocks: [], opaque: [] }
  private readonly onEvent: ((event: StreamEvent) => void) | undefined

  constructor(onEvent: ModelCall['onEvent']) {
    this.onEvent = onEvent
  }

  dialect(responses: ClientDialect): ClientDialect {
    return {
      ...responses,
      open: () => '',
      debug: () => '',
      streamEncoder: () => this.encoder(),
      encodeResult: (folded) => {
        this.folded = folded
        return ''
      },
    }
  }

  private encoder(): StreamEncoder {
    const fold = new Fold()
    this.folded = fold.result
    return {
      push: (events) => {
        for (const event of events) {
          fold.push(event)
          this.onEvent?.(event)
        }
        return ''
      },
      finish: () => '',
    }
  }
}

/** In place of a client connection: the call has none. */
const nowhere: ClientConnection = {
  contentLength: undefined,
  readBody: () => Promise.reject(new Fault('internal')),
  whole: () => {},
  openStream: () => {},
  bytes: () => true,
  text: () => true,
  onDrain: (fn) => fn(),
  endStream: () => {},
  probe: () => {},
}
