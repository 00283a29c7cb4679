/** Settles the cost of the exchange once, whatever happened below: usage, price, ledger; and what of the exchange the row keeps. */

import { asFault, type Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { usd } from '../../core/money.ts'
import { toRowCounts } from '../../core/row-counts.ts'
import { isQuickTier } from '../../core/service-tiers.ts'
import type { End, EndReason } from '../../dialects/canon/events.ts'
import { mayBeNamed } from '../../dialects/canon/provider-ids.ts'
import type { Final } from '../../dialects/types.ts'
import { type Facts, USUAL_REASON } from '../../ledger/facts.ts'
import { PLAN_PARAMETERS } from '../../ledger/plan-inputs.ts'
import { assumesWrites, cacheDiscount } from '../../ledger/pricing.ts'
import { plainRates } from '../../ledger/row-rates.ts'
import { type Count, faultEnder, isReported, type Outcome, type Settlement, settleOutcome } from '../../ledger/settlement.ts'
import type { Journal, SettleRow, SettleStatus } from '../../ledger/types.ts'
import { areWeighted, orderFor, sortPartition, wantedSortKey } from '../../routing/index.ts'
import type { Turn } from '../attempt/turn.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Accepted, Exchange, MaybeAimed, Received } from '../exchange.ts'
import type { Layer, Reply } from '../layer.ts'
import { metadataOnFault, routerMetadata } from '../reply/metadata.ts'
import { countsTokens } from '../request/admission.ts'
import { inputModalities } from '../request/client-request.ts'
import { NATIVE_SEARCH } from '../route/native-search.ts'
import { type ByokCost, byokCost } from './byok-cost.ts'
import { attemptFact, detailText, type PricedTurn } from './generation-detail.ts'
import type { SettledHold } from './hold.ts'
import { creditCap } from './output-caps.ts'
import { noteSeen } from './outside-count.ts'
import { type ServedPrice, servedPrice } from './served-price.ts'
import { turnTariff } from './tariffs.ts'
import { chargedExtras, earlierTurns } from './turn-cost.ts'
import { countUsage, turnEndedBy, turnProgress } from './turn-usage.ts'

type Known = Accepted & Exchange

export function accountLayer(dependencies: ChainDependencies): Layer<Accepted> {
  return (next) =>
    async function handle(exchange): Promise<Reply> {
      let reply: Reply | undefined
      let fault: Fault | undefined
      try {
        reply = await next(exchange)
      } catch (thrown) {
        fault = asFault(thrown)
      }
      const known = exchange as Known
      const { head, auth, history } = exchange
      const at = Math.floor(head.clock.now())
      const elapsed = head.clock.monotonic() - head.started
      const last = reply?.turn ?? exchange.run.unfinished
      const served = last && servedPrice(last, head.at)
      const outcome = exchangeOutcome(known, last, served, fault)
      const settlement = settleOutcome(outcome)
      // What is not charged does not count; nor does what is read from a cache count less.
      if (countsTokens(auth.key)) dependencies.admission.correctTokens(auth.key, settlement.used - head.costs.rateTokens, history.rates)
      // Of nearly all there is one turn, with the operator's account.
      const [first, second] = head.costs.turns
      const isShared = last?.endpoint.byok === undefined && second === undefined && (first === undefined || first === last)
      const byok = isShared ? undefined : byokCost(known, settlement, { last, served })
      exchange.run.final = buildFinal(known, settlement, { fault: reply?.turn.fault ?? fault, at, byok })
      if (exchange.run.namedInputs) noteSeen(dependencies.seenInputs, last, exchange.run.namedInputs)
      const settling = settle(known, { settlement, outcome, last, served, at, elapsed, byok }, dependencies.journal)
      const settled = settling instanceof Promise ? await settling : settling
      const { disputed = 0 } = settlement
      if (settled.excess > 0 || disputed > 0) reportOverrun(known, { ...settled, disputed }, dependencies)
      if (settled.unrecovered > 0) exchange.run.final = { ...exchange.run.final, cost: Math.max(0, settled.charged - (byok?.counted ?? 0)) }
      await settled.committed
      if (reply) return reply
      throw fault
    }
}

/** The hold becomes a charge in memory and one row in the journal, committed before the reply ends. */
function settle(exchange: Known, priced: PricedTurn, journal: Journal): SettledHold | Promise<SettledHold> {
  const {
    head: { costs },
  } = exchange
  const { settlement, at } = priced
  const written = costs.hold.state === 'written' ? generationFacts(exchange, priced) : undefined
  return costs.hold.settle(journal, {
    ...toRowCounts(settlement.usage),
    seq: exchange.head.seq,
    status: settlement.status,
    cost: settlement.cost,
    at,
    estimated: settlement.estimated,
    facts: written?.facts ?? '',
    owner: costs.hold.owner,
    use: written?.use,
  })
}

function reportOverrun({ head, auth, run }: Known, amounts: SettledHold & { disputed: number }, dependencies: ChainDependencies): void {
  const { excess, unrecovered, disputed } = amounts
  const provider = (run.committedEndpoint ?? run.lastTurn?.endpoint)?.provider.slug ?? ''
  dependencies.overrun({ generation: head.id, key: auth.key.identity, provider }, { excess, unrecovered, disputed })
}

/** @param served price of the last turn. */
function exchangeOutcome(exchange: Known, last: Turn | undefined, served: ServedPrice | undefined, fault: Fault | undefined): Outcome {
  const {
    head: { costs },
  } = exchange
  const status = settleStatus(last, fault)
  const finish = statedReason(last?.end)
  // The call of a batch that was refused has brought nothing, whatever the others did.
  const others = last?.callRejected === true
  const begun = last?.begun === true && !others
  const endedBy = fault ? faultEnder(fault, begun) : last ? turnEndedBy(exchange, last) : 'gateway'
  const rejected = endedBy === 'caller' && !begun && !others && (fault ?? last?.fault)?.origin === 'upstream'
  const progress = turnProgress(last, rejected)
  const { isTokensAlone } = exchange.request.need
  const isOnly = costs.turns.length === 0 || (costs.turns.length === 1 && costs.turns[0] === last)
  const count: Count = last && progress !== 'not_sent' ? countUsage(exchange, last, endedBy) : NOTHING_SENT
  return {
    endedBy,
    progress: isReported(count) && !count.reported.estimated ? 'usage_known' : progress,
    status,
    reported: count.reported,
    unreported: count.unreported,
    pictured: count.pictured,
    input: count.input,
    cut: count.cut,
    finish,
    tools: costs.toolCost,
    price: last ? turnTariff(exchange, last, served) : 'free',
    extras: last?.extras ?? (isTokensAlone && !exchange.demand?.advisors.length ? undefined : chargedExtras(exchange, last?.endpoint)),
    earlier: isOnly ? undefined : earlierTurns(exchange, last),
    // Where nothing was held there is no bound.
    held: costs.hold.amount > 0 ? costs.hold.amount : undefined,
    disputed: last?.disputed,
  }
}

const NOTHING_SENT: Count = { reported: undefined, unreported: 0, input: 0 }

function settleStatus(last: Turn | undefined, fault: Fault | undefined): SettleStatus {
  if (fault) return fault.code === 'client_gone' || fault.code === 'shutdown' ? 'aborted' : 'failed'
  if (!last || last.fault) return 'failed'
  if (last.aborted) return 'aborted'
  return last.end && INCOMPLETE.has(last.end.reason) ? 'incomplete' : 'completed'
}

const INCOMPLETE: ReadonlySet<EndReason> = new Set(['length', 'content_filter', 'unknown'])

/** Reason of an end: an ordinary one counts only where the provider gave it (docs/contract.md#endpoint-choice, insurance). */
function statedReason(end: End | undefined): string | undefined {
  return end?.reason === 'error' || end?.reason === 'unknown' || end?.raw?.trim() ? end.reason : undefined
}

interface EndFacts {
  readonly fault: Fault | undefined
  readonly at: number
  readonly byok: ByokCost | undefined
}

function buildFinal(exchange: Known, settlement: Settlement, { fault, at, byok }: EndFacts): Final {
  const {
    head: { costs },
  } = exchange
  const last = exchange.run.lastTurn
  if (fault?.origin === 'upstream' && exchange.history.errorMetadata)
    fault.metadata = { ...fault.metadata, ...exchange.history.errorMetadata }
  const wantsMetadata = fault ? metadataOnFault(exchange, fault) : exchange.head.wantsMetadata
  return {
    usage: settlement.usage,
    cost: settlement.cost - (byok?.counted ?? 0),
    inputCost: settlement.input + (byok?.moreInput ?? 0),
    outputCost: settlement.output + (byok?.moreOutput ?? 0),
    isByok: byok !== undefined,
    end: fault ? { reason: 'error' } : turnEnd(last),
    fault,
    completedAt: Math.floor(at / 1000),
    metadata: wantsMetadata ? routerMetadata(exchange, fault !== undefined) : undefined,
    serverTools:
      costs.toolsRequested > 0
        ? { requested: costs.toolsRequested, executed: costs.toolsExecuted, searches: costs.toolSearches, fetches: costs.toolFetches }
        : undefined,
  }
}

/** The tier is that of the endpoint which served, where its provider does not say (docs/contract.md#service-tiers). */
function turnEnd(last: Turn | undefined): End {
  const end: End = last?.end ?? { reason: 'stop' }
  const tier = last?.endpoint.tier
  return tier === undefined || end.tier !== undefined || end.unknownTier !== undefined ? end : { ...end, tier }
}

/** As `session_id`. */
const MAX_SESSION_LENGTH = 256

/** Characters of the preferences, and models, that a row keeps: a request with more is planned without the rest. */
const MAX_PREFERENCES_LENGTH = 2000
const MAX_MODELS = 16

/**
 * The part of a generation's record that no query needs as a column, as JSON text: no word of a request or an answer. What equals a
 * column of the hold, or follows from the others, is left out: `ledger/generation.ts` fills it in.
 */
function generationFacts(exchange: Accepted & Exchange, priced: PricedTurn): Pick<SettleRow, 'facts' | 'use'> {
  const { settlement, elapsed } = priced
  const { head, request, history, demand, plan } = exchange
  const { headers, costs } = head
  const { attempts, stages } = history
  const last = priced.last ?? exchange.run.lastTurn
  const served = priced.served ?? (last && servedPrice(last, head.at))
  const endpoint = last?.endpoint
  const held = costs.heldAt ?? plan?.candidates[0]
  const finish = last?.end
  const only = attempts.length === 1 ? attempts[0] : undefined
  const plain = only?.status === 200 && only.code === undefined && !only.dropped && !only.answerCheck
  const web = costs.found || costs.toolFetches > 0 || stages.length > 0 || request.edits.length > 0 ? webFacts(exchange) : undefined
  const rates = settlementRates(exchange, priced)
  const saved = settlement.cost > settlement.tools ? savedByCache(exchange, priced) : 0
  const facts: Facts = {
    model: endpoint && endpoint.model !== held?.model ? endpoint.model.slug : undefined,
    provider: endpoint?.provider.name,
    endpoint: endpoint && endpoint !== held ? endpoint.id : undefined,
    router: demand === undefined || demand.strategy === 'direct' || demand.strategy === 'fallback' ? undefined : demand.requested,
    operation: request.client.id,
    api_type: request.client.embedding ? 'embeddings' : undefined,
    user: typeof request.body.user === 'string' ? request.body.user : undefined,
    session_id: request.gateway.sessionId ?? promptCacheKey(request.body),
    finish_reason: finish?.reason,
    native_finish_reason: finish?.raw === finish?.reason ? undefined : finish?.raw,
    latency: Math.round(exchange.run.firstContentAt === 0 ? elapsed : exchange.run.firstContentAt - head.started),
    generation_time: Math.round(elapsed),
    streamed: request.stream || undefined,
    sent_at: attempts[0] && (Math.round(attempts[0].started - head.started) || undefined),
    why: plan !== undefined && plan.candidates.length > 1 ? firstChoice(exchange) : undefined,
    rates,
    credit_output_cap: exchange.run.lastTurn?.end?.reason === 'length' ? creditCap(exchange) : undefined,
    service_tier: servedTier(last),
    native_service_tier: last?.end?.unknownTier,
    price_assumed: assumedPrices(exchange, last, served?.assumed === true),
    disputed_nano: settlement.disputed,
    charge_reason: settlement.reason === USUAL_REASON ? undefined : settlement.reason,
    fault: exchange.run.final?.fault?.code,
    trace_id: history.trace?.traceId,
    price_unknown: last && last.sent !== false && served?.endpoint.price === 'unpriced' ? true : undefined,
    is_byok: priced.byok ? true : undefined,
    byok_nano: priced.byok?.upstream,
    byok_counted_nano: priced.byok?.counted || undefined,
    byok_id: priced.byok?.entry,
    cache_discount: saved === 0 ? undefined : usd(saved),
    tools_cost: settlement.tools > 0 ? settlement.tools : undefined,
    num_search_results: web?.num_search_results,
    num_fetches: web?.num_fetches,
    web_search_engine: web?.web_search_engine,
    moderation_latency: stages.length > 0 ? moderationTime(exchange) : undefined,
    provider_responses: plain ? undefined : attempts.map((attempt) => attemptFact(exchange, attempt)),
    detail: settlementDetail(exchange, priced, rates),
    inputs: planInputsText(exchange, held?.model.slug),
    http_referer: shortened(headers['http-referer'] ?? headers.referer),
    upstream_id: exchange.run.replyId !== undefined && mayBeNamed(request.body) ? exchange.run.replyId : undefined,
    app_title: shortened(headers[head.config.brand.headers.title] ?? headers['x-title']),
  }
  const use = {
    model: facts.model ?? '',
    endpoint: facts.endpoint ?? '',
    provider: facts.provider ?? '',
    session: facts.session_id ?? '',
    saved,
  }
  return { facts: JSON.stringify(facts), use }
}

/** The name that a caller gives conversations with a common beginning, where it names no session. */
function promptCacheKey({ prompt_cache_key: key }: JsonObject): string | undefined {
  return typeof key === 'string' && key !== '' && key.length <= MAX_SESSION_LENGTH ? key : undefined
}

/** Nano-dollars over all turns; 0 where the providers reported nothing of a cache. */
function savedByCache(exchange: Accepted & Exchange, { last, outcome, settlement }: PricedTurn): number {
  const { turns } = exchange.head.costs
  let nano = 0
  for (const turn of turns) {
    const { usage } = turn
    if (!usage || (usage.cached === 0 && usage.cacheWrite === 0)) continue
    // Of most requests it is all that was charged.
    const isAll = turns.length === 1 && usage === settlement.counted && outcome.extras === undefined
    const tariff = turn === last ? outcome.price : turnTariff(exchange, turn)
    nano += cacheDiscount(usage, tariff, isAll ? settlement.cost - settlement.tools : undefined)
  }
  return nano
}

/** The tier that served, where it is not the usual one. */
function servedTier(turn: Turn | undefined): string | undefined {
  if (turn?.end?.unknownTier !== undefined) return 'unknown'
  const tier = turn?.end?.tier ?? turn?.endpoint.tier
  return tier === 'default' ? undefined : tier
}

/** Parts of the charge that have no price of their own, so that the dearest one of the endpoint was taken. */
function assumedPrices(exchange: Accepted & Exchange, last: Turn | undefined, isTier: boolean): string[] | undefined {
  const { turns } = exchange.head.costs
  let isWrite = false
  for (const turn of last === undefined || turns.includes(last) ? turns : [...turns, last])
    if (turn.usage && turn.usage.cacheWrite > 0 && assumesWrites(turn.usage, turnTariff(exchange, turn))) isWrite = true
  if (!isTier && !isWrite) return undefined
  return [...(isTier ? ['service_tier'] : []), ...(isWrite ? ['cache_write'] : [])]
}

/** Milliseconds that the moderation of the request has taken. */
function moderationTime({ history: { stages } }: Received): number | undefined {
  const took = stages.find(({ name }) => name === 'moderation')?.data?.duration_ms
  return typeof took === 'number' ? took : undefined
}

/** The engine of web searches, the number of results shown to the model (unknown where the provider searched), and of fetched pages. */
function webFacts(exchange: Accepted): Pick<Facts, 'num_search_results' | 'num_fetches' | 'web_search_engine'> | undefined {
  const {
    head: { costs },
    history: { stages },
    request: { edits },
  } = exchange
  const before = stages.find(({ type, name }) => type === 'plugin' && name === 'web-search')?.data
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
  const { request, demand } = exchange
  const { models, provider, route } = request.gateway
  let text = '{'
  if (demand !== undefined && demand.requested !== held) text += `"requested":${JSON.stringify(demand.requested)},`
  if (models.length > 0) text += `"models":${JSON.stringify(models.slice(0, MAX_MODELS))},`
  if (provider !== undefined) {
    const written = JSON.stringify(provider)
    if (written.length <= MAX_PREFERENCES_LENGTH) text += `"provider":${JSON.stringify(written)},`
  }
  if (route) text += `"route":${JSON.stringify(route)},`
  text += `${parametersText(request.body)}"bytes":${request.bytes}`
  const { cap, offersTools } = request.need
  if (cap !== undefined) text += `,"cap":${cap}`
  const media = request.mayHoldMedia && !request.client.embedding ? inputModalities(exchange) : undefined
  if (media) text += `,"media":${JSON.stringify([...media])}`
  return offersTools ? `${text},"tools":true}` : `${text}}`
}

/** Names that have no character to escape. */
function parametersText(body: JsonObject): string {
  let names = ''
  for (const name in body) if (PLAN_PARAMETERS.has(name)) names += names === '' ? `"${name}"` : `,"${name}"`
  return names === '' ? '' : `"parameters":[${names}],`
}

/** Undefined for nearly all: the columns, the rates and one attempt say everything. */
function settlementDetail(exchange: Known, priced: PricedTurn, rates: string | undefined): string | undefined {
  const {
    head: { costs },
    history: { steps, stages },
  } = exchange
  const { cost, tools } = priced.settlement
  const billed = rates === undefined && cost > tools
  const plain = !billed && steps.length === 0 && stages.length === 0 && !costs.toolCharges && !costs.hold.parts
  return plain ? undefined : detailText(exchange, priced, billed)
}

/** Undefined where more than the last turn was charged, or more than the columns count. */
function settlementRates(exchange: Known, { settlement: { counted }, outcome: { price, extras }, last }: PricedTurn): string | undefined {
  const { turns } = exchange.head.costs
  const only = turns.length === 0 || (turns.length === 1 && turns[0] === last)
  return only && counted && typeof price === 'object' ? plainRates(counted, price, extras) : undefined
}

/** Why the first endpoint of a request came first, where there was a choice; as `why.by` of a plan. */
function firstChoice({ plan, history, demand }: Known): string | undefined {
  const first = history.attempts[0]
  if (!first || !plan || !demand) return undefined
  const { preferences, serviceTier } = demand
  const group = sortPartition(preferences) === 'none' ? plan.candidates : plan.candidates.filter(({ model }) => model === first.at.model)
  if (orderFor(group, preferences)) return 'order'
  if (plan.conversation?.pinned === first.endpoint) return 'session'
  if (isQuickTier(serviceTier) && first.at.tier === serviceTier) return 'tier'
  return wantedSortKey({ sort: preferences.sort, serviceTier }) ?? (areWeighted(group) ? 'weight' : plan.watch ? 'quality' : 'draw')
}
