/** The part of a generation's record that no query needs as a column, as JSON text: only what no column holds. */

import type { JsonObject } from '../../core/json.ts'
import { usd } from '../../core/money.ts'
import { type Facts, type ProviderResponse, USUAL_REASON } from '../../ledger/facts.ts'
import { isPlanParameter } from '../../ledger/plan-inputs.ts'
import { cacheDiscount } from '../../ledger/pricing.ts'
import type { SettleRow } from '../../ledger/types.ts'
import type { AnswerVerdict } from '../../plugin-api/index.ts'
import type { Turn } from '../attempt/turn.ts'
import type { Accepted, Exchange, MaybeAimed, Received } from '../exchange.ts'
import { brandHeaders } from '../request/receive.ts'
import { NATIVE_SEARCH } from '../route/native-search.ts'
import { callerCap, inputModalities, offersTools } from '../route/needs.ts'
import type { NotedAttempt } from '../run.ts'
import { detailFacts, firstChoice, type PricedTurn, since } from './detail-facts.ts'
import { factsText } from './facts-text.ts'
import { pricedEndpoint, tariffOf } from './provider-prices.ts'
import { creditCap } from './reservation.ts'

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
    service_tier: tierOf(last),
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
function tierOf(turn: Turn | undefined): string | undefined {
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
  for (const name in body) if (isPlanParameter(name)) names += names === '' ? `"${name}"` : `,"${name}"`
  return names === '' ? '' : `"parameters":[${names}],`
}
