/**
 * Detail that a generation's record keeps beside its columns where the request was no plain one: attempts that failed, the lines of its
 * bill, steps beside the calls of providers, findings of guardrails, plugins. It has no text of the request or the answer.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { type BillGroup, usageBill, writtenPart } from '../../ledger/bill-lines.ts'
import type { ProviderResponse } from '../../ledger/facts.ts'
import { charge } from '../../ledger/pricing.ts'
import type { Outcome, Settlement } from '../../ledger/settlement.ts'
import type { AnswerVerdict } from '../../plugin-api/index.ts'
import type { Turn } from '../attempt/turn.ts'
import { type Accepted, type Exchange, type Received, type Step, sinceAdmission } from '../exchange.ts'
import { stageFindings } from '../guard/guardrail-findings.ts'
import { POLICY_STAGE } from '../policy/decision.ts'
import type { NotedAttempt } from '../records.ts'
import type { ByokCost } from './byok-cost.ts'
import type { ServedPrice } from './served-price.ts'
import { turnTariff } from './tariffs.ts'
import { chargedExtras } from './turn-cost.ts'

type Known = Accepted & Exchange

/** Entries of each list; what is beyond is left out. */
const MOST = 100
const MAX_NAME_LENGTH = 100

export interface PricedTurn {
  readonly settlement: Settlement
  readonly outcome: Pick<Outcome, 'price' | 'extras'>
  /** The last turn, finished or not. */
  readonly last: Turn | undefined
  readonly served: ServedPrice | undefined
  /** Set where a key of a team has paid a provider. */
  readonly byok: ByokCost | undefined
  /** Moment of the settlement, milliseconds since the epoch. */
  readonly at: number
  /** Milliseconds since its admission. */
  readonly elapsed: number
}

/** `latency` is the time to the first content where it answered; `took` then is that to the end. */
export function attemptFact({ head }: Accepted, attempt: NotedAttempt): ProviderResponse {
  const { provider, endpoint, at, status, latency, code, cause, dropped, answerCheck, turn, started, ended, contentAt } = attempt
  return {
    provider_name: provider,
    endpoint,
    status,
    latency,
    code,
    cause,
    dropped: dropped && [...dropped],
    answer_check: answerCheck && kept(answerCheck),
    at: sinceAdmission(head, started),
    took: contentAt > 0 ? Math.round((ended || head.clock.monotonic()) - started) : undefined,
    turn: turn > 1 ? turn : undefined,
    is_byok: at.byok ? true : undefined,
  }
}

/** Without the place, in which words of the answer may stand. */
function kept({ verdict, keyword, tool }: AnswerVerdict): JsonObject {
  return { verdict, keyword, tool }
}

/** The details as JSON text. @param billed the rates and the columns of the row do not say what was charged: the lines do. */
export function detailText(exchange: Known, priced: PricedTurn, billed: boolean): string | undefined {
  const {
    head: { costs },
    history: { steps, stages },
  } = exchange
  const { parts } = costs.hold
  const detail: JsonObject = {}
  if (billed) detail.bill = billFacts(exchange, priced)
  if (parts) detail.holds = parts.slice(0, MOST)
  if (costs.toolCharges)
    detail.charges = costs.toolCharges.slice(0, MOST).map(({ by, what, calls, nano }) => ({
      by: named(by),
      ...(what === undefined ? {} : { what: safeWord(what) }),
      calls,
      nano,
    }))
  if (steps.length > 0) detail.steps = stepFacts(exchange)
  if (stages.length > 0) Object.assign(detail, stageFacts(exchange))
  return Object.keys(detail).length > 0 ? JSON.stringify(detail) : undefined
}

function billFacts(exchange: Known, { settlement: { counted }, outcome: { price, extras }, last }: PricedTurn): Json[] {
  const bill: Json[] = []
  const add = (turn: Turn | undefined, groups: readonly BillGroup[]): void => {
    for (const { model, parts } of groups) {
      if (bill.length >= MOST) return
      const of = { model: model ?? turn?.endpoint.model.slug ?? null, endpoint: turn?.endpoint.id ?? null }
      bill.push({ ...of, parts: parts.map(writtenPart) })
    }
  }
  for (const turn of exchange.head.costs.turns) {
    if (turn === last || !turn.usage) continue
    add(turn, usageBill(turn.usage, turnTariff(exchange, turn), turn.extras ?? chargedExtras(exchange, turn.endpoint)))
  }
  if (counted) add(last, usageBill(counted, price, extras))
  return bill
}

/** Tools, models that they called, engines of guardrails, plugins that took their time; milliseconds since the admission. */
function stepFacts(exchange: Known): Json[] {
  const places = new Map<Step, number>()
  const written: Json[] = []
  const add = (steps: readonly Step[]): void => {
    for (const step of steps) {
      if (written.length >= MOST) return
      places.set(step, written.length)
      written.push(stepFact(exchange, step, step.within && places.get(step.within)))
      if (step.history) add(step.history.steps)
    }
  }
  add(exchange.history.steps)
  return written
}

function stepFact(exchange: Known, step: Step, within: number | undefined): JsonObject {
  const { head } = exchange
  const { kind, name, started, ended, failure, cost, turns, history } = step
  const fact: JsonObject = { kind, name: named(name), at: sinceAdmission(head, started) }
  // One that the end of the request has cut off has no end of its own.
  fact.took = Math.round((ended === 0 ? head.clock.monotonic() : ended) - started)
  if (failure !== undefined) fact.failure = failure
  if (within !== undefined) fact.within = within
  if (cost) fact.nano = cost
  if (turns) Object.assign(fact, usedBy(exchange, turns))
  if (history) fact.attempts = history.attempts.slice(0, MOST).map((attempt) => attemptTimes(head, attempt))
  return fact
}

/** Usage of a model call that a tool made; its cost is part of the request's own. */
function usedBy(exchange: Known, turns: readonly Turn[]): JsonObject {
  let input = 0
  let output = 0
  let nano = 0
  for (const turn of turns) {
    if (!turn.usage) continue
    input += turn.usage.input
    output += turn.usage.output
    nano += charge(turn.usage, turnTariff(exchange, turn), turn.extras).total
  }
  return { input, output, nano }
}

function attemptTimes(head: Received['head'], { provider, endpoint, status, code, cause, latency, started }: NotedAttempt): JsonObject {
  const written: JsonObject = { provider_name: provider, endpoint, status, latency, at: sinceAdmission(head, started) }
  if (code !== undefined) written.code = code
  if (cause !== undefined) written.cause = cause
  return written
}

/** Guardrails with how many texts they found, and plugins with what of their work is a number. */
function stageFacts(exchange: Known): JsonObject {
  const { stages } = exchange.history
  const guardrails = stageFindings(stages)
    .slice(0, MOST)
    .map(({ name, stage, action, direction, entities, matched }) => ({
      guardrail: named(name),
      rule: named(stage),
      action,
      direction,
      count: Math.max(matched.length, action === 'unchecked' ? 0 : 1),
      kinds: entities.slice(0, 20).map(named),
    }))
  const plugins = stages
    .filter(({ type, guardrail_id: id }) => type !== 'server_tools' && type !== POLICY_STAGE && id === undefined)
    .slice(0, MOST)
  const facts: JsonObject = {}
  if (guardrails.length > 0) facts.guardrails = guardrails
  if (plugins.length > 0) {
    facts.plugins = plugins.map(({ name, data = {}, cost_usd: cost }) => ({
      name: named(name),
      figures: keepFigures(data),
      ...(typeof data.reason === 'string' ? { failure: safeWord(data.reason) } : {}),
      ...(cost ? { nano: Math.round(cost * 1e9) } : {}),
    }))
  }
  return facts
}

/** Texts of a plugin's report may hold words of the request. */
function keepFigures(data: JsonObject): JsonObject {
  const figures: JsonObject = {}
  for (const [name, value] of Object.entries(data).slice(0, 20))
    if (/^[a-z][a-z0-9_]{0,39}$/.test(name) && (typeof value === 'number' || typeof value === 'boolean')) figures[name] = value
  return figures
}

const named = (name: string): string => name.slice(0, MAX_NAME_LENGTH)

const safeWord = (what: string): string => (/^[\w .-]{1,40}$/.test(what) ? what : 'other')
