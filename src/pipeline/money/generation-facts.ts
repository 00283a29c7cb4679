/**
 * The part of a generation's record that no query needs as a column, as JSON text: only what no column holds, no word of a request or an
 * answer. Most requests need no details: steps beside the calls of providers, findings of guardrails, plugins, and the money where the
 * columns and the rates do not say all.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { usd } from '../../core/money.ts'
import { type BillGroup, billOf, writtenPart } from '../../ledger/bill-lines.ts'
import { type Facts, type ProviderResponse, USUAL_REASON } from '../../ledger/facts.ts'
import { PLAN_PARAMETERS } from '../../ledger/plan-inputs.ts'
import { cacheDiscount, charge, plainRates } from '../../ledger/pricing.ts'
import type { Outcome, Settlement } from '../../ledger/settlement.ts'
import type { SettleRow } from '../../ledger/types.ts'
import type { AnswerVerdict } from '../../plugin-api/index.ts'
import { sortKeyOf } from '../../routing/index.ts'
import type { Turn } from '../attempt/turn.ts'
import type { Accepted, Exchange, MaybeAimed, Received, Step } from '../exchange.ts'
import { findingsOf } from '../guard/guardrail-findings.ts'
import type { NotedAttempt } from '../records.ts'
import { brandHeaders } from '../request/receive.ts'
import { NATIVE_SEARCH } from '../route/native-search.ts'
import { callerCap, inputModalities, offersTools, tierOf } from '../route/needs.ts'
import { factsText } from './facts-text.ts'
import { creditCap } from './reservation.ts'
import { chargedExtras, pricedEndpoint, tariffOf } from './turn-cost.ts'

/** As `session_id`. */
const LONGEST_SESSION = 256

/** Characters of the preferences, and models, that a row keeps: a request with more is planned without the rest. */
const LONGEST_PREFERENCES = 2000
const MOST_MODELS = 16

/**
 * What equals a column of the hold, or follows from the others, is left out: `ledger/generation.ts` fills it in.
 */
export function generationFacts(exchange: Accepted & Exchange, priced: PricedTurn): Pick<SettleRow, 'facts' | 'use'> {
  const { settlement } = priced
  const { head, request, trail, wish, plan } = exchange
  const { clock, headers } = head
  const { attempts } = trail
  const last = priced.last ?? exchange.run.lastTurn
  const endpoint = last?.endpoint
  const held = head.costs.heldAt ?? plan?.candidates[0]
  const elapsed = clock.monotonic() - head.started
  const finish = last?.end
  const only = attempts.length === 1 ? attempts[0] : undefined
  const plain = only?.status === 200 && only.code === undefined && !only.dropped && !only.answerCheck
  const web = webFacts(exchange)
  const { rates, detail } = detailFacts(exchange, priced)
  const saved = settlement.cost > settlement.tools ? savedByCache(exchange) : 0
  const facts: Facts = {
    model: endpoint && endpoint.model !== held?.model ? endpoint.model.slug : undefined,
    provider: endpoint?.provider.name,
    endpoint: endpoint && endpoint !== held ? endpoint.id : undefined,
    router: wish === undefined || wish.strategy === 'direct' || wish.strategy === 'fallback' ? undefined : wish.requested,
    operation: request.client.id,
    api_type: request.client.embedding ? 'embeddings' : undefined,
    user: typeof request.body.user === 'string' ? request.body.user : undefined,
    session_id: request.gateway.sessionId ?? cacheKeyOf(request.body),
    finish_reason: finish?.reason,
    native_finish_reason: finish?.raw === finish?.reason ? undefined : finish?.raw,
    latency: Math.round(exchange.run.firstContentAt === 0 ? elapsed : exchange.run.firstContentAt - head.started),
    generation_time: Math.round(elapsed),
    streamed: request.stream || undefined,
    sent_at: attempts[0] && (since(head, attempts[0].started) || undefined),
    why: firstChoice(exchange),
    rates,
    credit_output_cap: creditCap(exchange),
    service_tier: servedTier(last),
    charge_reason: settlement.reason === USUAL_REASON ? undefined : settlement.reason,
    fault: exchange.run.final?.fault?.code,
    trace_id: trail.trace?.traceId,
    price_unknown: last && last.sent !== false && pricedEndpoint(last).price === 'unpriced' ? true : undefined,
    cache_discount: saved === 0 ? undefined : usd(saved),
    tools_cost: settlement.tools > 0 ? settlement.tools : undefined,
    num_search_results: web?.num_search_results,
    num_fetches: web?.num_fetches,
    web_search_engine: web?.web_search_engine,
    moderation_latency: moderationTime(exchange),
    provider_responses: plain ? undefined : attempts.map((attempt) => attemptFact(exchange, attempt)),
    detail,
    inputs: planInputsText(exchange, held?.model.slug),
    http_referer: shortened(headers['http-referer'] ?? headers.referer),
    app_title: shortened(headers[brandHeaders(head.brand).title] ?? headers['x-title']),
  }
  const use = {
    model: facts.model ?? '',
    endpoint: facts.endpoint ?? '',
    provider: facts.provider ?? '',
    session: facts.session_id ?? '',
    saved,
  }
  return { facts: factsText(facts), use }
}

/** `latency` is the time to the first content where it answered; `took` then is that to the end. */
function attemptFact({ head }: Accepted, attempt: NotedAttempt): ProviderResponse {
  const { provider, endpoint, status, latency, code, dropped, answerCheck, turn, started, ended, contentAt } = attempt
  return {
    provider_name: provider,
    endpoint,
    status,
    latency,
    code,
    dropped: dropped && [...dropped],
    answer_check: answerCheck && kept(answerCheck),
    at: since(head, started),
    took: contentAt > 0 ? Math.round((ended || head.clock.monotonic()) - started) : undefined,
    turn: turn > 1 ? turn : undefined,
  }
}

/** The name that a caller gives conversations with a common beginning, where it names no session. */
function cacheKeyOf({ prompt_cache_key: key }: JsonObject): string | undefined {
  return typeof key === 'string' && key !== '' && key.length <= LONGEST_SESSION ? key : undefined
}

/** Without the place, in which words of the answer may stand. */
function kept({ verdict, keyword, tool }: AnswerVerdict): JsonObject {
  return { verdict, keyword, tool }
}

/** Nano-dollars over all turns; 0 where the providers reported nothing of a cache. */
function savedByCache(exchange: Accepted & Exchange): number {
  let nano = 0
  for (const turn of exchange.head.costs.turns) if (turn.usage) nano += cacheDiscount(turn.usage, tariffOf(exchange, pricedEndpoint(turn)))
  return nano
}

/** The tier that served, where it is not the usual one. */
function servedTier(turn: Turn | undefined): string | undefined {
  const tier = turn?.end?.tier ?? turn?.endpoint.tier
  return tier === 'default' ? undefined : tier
}

/** Milliseconds that the moderation of the request has taken. */
function moderationTime({ trail: { stages } }: Received): number | undefined {
  const took = stages.length > 0 ? stages.find(({ name }) => name === 'moderation')?.data?.duration_ms : undefined
  return typeof took === 'number' ? took : undefined
}

/** The engine of web searches, the number of results shown to the model (unknown where the provider searched), and of fetched pages. */
function webFacts(exchange: Accepted): Pick<Facts, 'num_search_results' | 'num_fetches' | 'web_search_engine'> | undefined {
  const {
    head: { costs },
    trail: { stages },
    request: { edits },
  } = exchange
  const before = stages.length > 0 ? stages.find(({ type, name }) => type === 'plugin' && name === 'web-search')?.data : undefined
  const engine = costs.found?.engine ?? before?.engine ?? (edits.includes(NATIVE_SEARCH) ? 'native' : undefined)
  if (engine === undefined && costs.toolFetches === 0) return undefined
  const results = (costs.found?.results ?? 0) + (typeof before?.results === 'number' ? before.results : 0)
  return {
    web_search_engine: typeof engine === 'string' ? engine : undefined,
    num_search_results: engine === undefined || engine === 'native' ? undefined : results,
    num_fetches: costs.toolFetches > 0 ? costs.toolFetches : undefined,
  }
}

function shortened(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value.slice(0, 256) : undefined
}

/**
 * The inputs of a plan: names and counts, never a text. `PlanInputs` as JSON, made without the object, since most requests have two
 * or three of its members.
 * @param held slug of the model that the hold names.
 */
function planInputsText(exchange: Accepted & MaybeAimed, held: string | undefined): string {
  const { request, wish } = exchange
  const { models, provider, route } = request.gateway
  let text = '{'
  if (wish !== undefined && wish.requested !== held) text += `"requested":${JSON.stringify(wish.requested)},`
  if (models.length > 0) text += `"models":${JSON.stringify(models.slice(0, MOST_MODELS))},`
  if (provider !== undefined) {
    const written = JSON.stringify(provider)
    if (written.length <= LONGEST_PREFERENCES) text += `"provider":${JSON.stringify(written)},`
  }
  if (route) text += `"route":${JSON.stringify(route)},`
  text += `${parametersText(request.body)}"bytes":${request.bytes}`
  const cap = callerCap(exchange)
  if (cap !== undefined) text += `,"cap":${cap}`
  const media = request.client.embedding ? undefined : inputModalities(exchange)
  if (media) text += `,"media":${JSON.stringify([...media])}`
  return offersTools(exchange) ? `${text},"tools":true}` : `${text}}`
}

/** Names that have no character to escape. */
function parametersText(body: JsonObject): string {
  let names = ''
  for (const name in body) if (PLAN_PARAMETERS.has(name)) names += names === '' ? `"${name}"` : `,"${name}"`
  return names === '' ? '' : `"parameters":[${names}],`
}

type Known = Accepted & Exchange

/** Entries of each list; what is beyond is left out. */
const MOST = 100
const LONGEST_NAME = 100

export interface PricedTurn {
  readonly settlement: Settlement
  readonly outcome: Pick<Outcome, 'price' | 'extras'>
  /** The last turn, finished or not. */
  readonly last: Turn | undefined
}

/** `rates` where they and the columns of the row say what was charged, else the parts in `detail`. */
function detailFacts(exchange: Known, priced: PricedTurn): { rates?: string | undefined; detail?: string | undefined } {
  const {
    head: { costs },
    trail: { steps, stages },
  } = exchange
  const rates = ratesOf(exchange, priced)
  const bill = rates === undefined && priced.settlement.cost > priced.settlement.tools ? billFacts(exchange, priced) : undefined
  const { parts } = costs.hold
  if (!bill && steps.length === 0 && stages.length === 0 && !costs.toolCharges && !parts) return { rates }
  const detail: JsonObject = {}
  if (bill) detail.bill = bill
  if (parts) detail.holds = parts.slice(0, MOST)
  if (costs.toolCharges)
    detail.charges = costs.toolCharges.slice(0, MOST).map(({ by, what, calls, nano }) => ({
      by: named(by),
      ...(what === undefined ? {} : { what: wordOf(what) }),
      calls,
      nano,
    }))
  if (steps.length > 0) detail.steps = stepFacts(exchange)
  if (stages.length > 0) Object.assign(detail, stageFacts(exchange))
  return { rates, detail: Object.keys(detail).length > 0 ? JSON.stringify(detail) : undefined }
}

/** Undefined where more than the last turn was charged, or more than the columns count. */
function ratesOf(exchange: Known, { settlement: { counted }, outcome: { price, extras }, last }: PricedTurn): string | undefined {
  const { turns } = exchange.head.costs
  const only = turns.length === 0 || (turns.length === 1 && turns[0] === last)
  return only && counted && typeof price === 'object' ? plainRates(counted, price, extras) : undefined
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
    add(turn, billOf(turn.usage, tariffOf(exchange, pricedEndpoint(turn)), turn.extras ?? chargedExtras(exchange, turn.endpoint)))
  }
  if (counted) add(last, billOf(counted, price, extras))
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
      if (step.trail) add(step.trail.steps)
    }
  }
  add(exchange.trail.steps)
  return written
}

function stepFact(exchange: Known, step: Step, within: number | undefined): JsonObject {
  const { head } = exchange
  const { kind, name, started, ended, failure, cost, turns, trail } = step
  const fact: JsonObject = { kind, name: named(name), at: since(head, started) }
  // One that the end of the request has cut off has no end of its own.
  fact.took = Math.round((ended === 0 ? head.clock.monotonic() : ended) - started)
  if (failure !== undefined) fact.failure = failure
  if (within !== undefined) fact.within = within
  if (cost) fact.nano = cost
  if (turns) Object.assign(fact, usedBy(exchange, turns))
  if (trail) fact.attempts = trail.attempts.slice(0, MOST).map((attempt) => attemptTimes(head, attempt))
  return fact
}

/** What a call that a tool made of a model has used; the cost is part of the request's own. */
function usedBy(exchange: Known, turns: readonly Turn[]): JsonObject {
  let input = 0
  let output = 0
  let nano = 0
  for (const turn of turns) {
    if (!turn.usage) continue
    input += turn.usage.input
    output += turn.usage.output
    nano += charge(turn.usage, tariffOf(exchange, pricedEndpoint(turn)), turn.extras).total
  }
  return { input, output, nano }
}

function attemptTimes(head: Received['head'], { provider, endpoint, status, code, latency, started }: NotedAttempt): JsonObject {
  const written: JsonObject = { provider_name: provider, endpoint, status, latency, at: since(head, started) }
  if (code !== undefined) written.code = code
  return written
}

/** Milliseconds since the admission. @param moment on the monotonic clock. */
function since({ started }: Received['head'], moment: number): number {
  return Math.max(0, Math.round(moment - started))
}

/** Guardrails with how many texts they found, and plugins with what of their work is a number. */
function stageFacts(exchange: Known): JsonObject {
  const { stages } = exchange.trail
  const guardrails = findingsOf(stages)
    .slice(0, MOST)
    .map(({ name, stage, action, direction, entities, matched }) => ({
      guardrail: named(name),
      rule: named(stage),
      action,
      direction,
      count: Math.max(matched.length, action === 'unchecked' ? 0 : 1),
      kinds: entities.slice(0, 20).map(named),
    }))
  const plugins = stages.filter(({ type, guardrail_id: id }) => type !== 'server_tools' && id === undefined).slice(0, MOST)
  const facts: JsonObject = {}
  if (guardrails.length > 0) facts.guardrails = guardrails
  if (plugins.length > 0) {
    facts.plugins = plugins.map(({ name, data = {}, cost_usd: cost }) => ({
      name: named(name),
      figures: figuresOf(data),
      ...(typeof data.reason === 'string' ? { failure: wordOf(data.reason) } : {}),
      ...(cost ? { nano: Math.round(cost * 1e9) } : {}),
    }))
  }
  return facts
}

/** Texts of a plugin's report may hold words of the request. */
function figuresOf(data: JsonObject): JsonObject {
  const figures: JsonObject = {}
  for (const [name, value] of Object.entries(data).slice(0, 20))
    if (/^[a-z][a-z0-9_]{0,39}$/.test(name) && (typeof value === 'number' || typeof value === 'boolean')) figures[name] = value
  return figures
}

const named = (name: string): string => name.slice(0, LONGEST_NAME)

const wordOf = (what: string): string => (/^[\w .-]{1,40}$/.test(what) ? what : 'other')

/**
 * Why the first endpoint of a request came first, where there was a choice; as `why.by` of a plan.
 * @returns undefined where there was none.
 */
function firstChoice({ plan, trail, wish, request }: Known): string | undefined {
  const first = trail.attempts[0]
  if (!first || !plan || !wish || plan.candidates.length < 2) return undefined
  const { preferences } = wish
  if (preferences.order?.length) return 'order'
  if (plan.conversation?.pinned === first.endpoint) return 'session'
  const serviceTier = tierOf(request.gateway.serviceTier)
  if (serviceTier === 'priority' && first.at.tier === 'priority') return 'tier'
  return sortKeyOf({ sort: preferences.sort, serviceTier }) ?? (plan.watch ? 'quality' : 'draw')
}
