/**
 * What a turn costs: its tokens, as the settlement wants them, and what a provider charges for them: the tariff, fees beside it, and what
 * has no price.
 */

import { isObject, type JsonObject } from '../../core/json.ts'
import { PAID_TOOLS, type PaidTool, type Price } from '../../core/money.ts'
import { MEDIA_BYTES } from '../../dialects/canon/events.ts'
import { countsOutput } from '../../dialects/canon/usage.ts'
import { type Extras, type Tariff, tariffAt } from '../../ledger/pricing.ts'
import { type Count, countedUsage, type EndedBy, enderOf, estimateFromBytes } from '../../ledger/settlement.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Turn } from '../attempt/turn.ts'
import { type Accepted, type Aimed, capOf, type MaybeAimed, type MaybePlanned, type Received } from '../exchange.ts'
import { advisorAt } from '../route/advisors.ts'
import { imageCount, otherTools, searchBound, sentEstimate } from '../route/needs.ts'

/** Who ended a turn that has a reply of its own, or was cut off before that with a fault. */
export function turnEndedBy({ head: { cancel } }: Received, turn: Turn): EndedBy {
  const { refused, aborted, fault, begun } = turn
  if (aborted) return cancel.reason ? enderOf(cancel.reason, begun) : 'caller'
  if (refused) return 'operator'
  if (lostToSlowReader(turn)) return 'caller'
  return fault ? enderOf(fault, begun) : 'model'
}

/** Milliseconds after which a server may give up a connection that takes nothing. */
const PATIENCE = 10_000

/**
 * True where the connection was lost after the reply had been held back for long: a provider that ends one which takes nothing
 * has not failed (issue 15 section 1: slow reading is the caller's).
 */
export function lostToSlowReader({ fault, heldBack = 0 }: Turn): boolean {
  return fault?.code === 'upstream_cut' && heldBack >= PATIENCE
}

/** @param exchange as the turn was sent: what later turns add to the request must not be there yet. */
export function countOf(exchange: Accepted & MaybePlanned, turn: Turn, endedBy: EndedBy): Count {
  const { usage, relayed, images = 0, hidden = 0, cut, stopped } = turn
  // Hidden reasoning is added only to a turn that was cut off. Where the model ended by itself, the usage report has it, or it is unknown.
  const isByItself = endedBy === 'model' && !stopped
  const unreported = isByItself && countsOutput(usage) ? 0 : estimateFromBytes(relayed) + (isByItself ? 0 : hidden)
  const room = unreported === 0 ? 0 : Math.max(0, outputCap(exchange, turn) - (usage?.output ?? 0))
  return {
    reported: usage,
    unreported: Math.min(unreported, room),
    pictured: estimateFromBytes(images * MEDIA_BYTES),
    input: (usage && !usage.inputUnknown) || cut ? 0 : sentEstimate(exchange, turn.endpoint),
    cut,
  }
}

/** Counts a turn that has ended well before the request of the next one is built: whatever comes later, it is paid for. */
export function countTurn(exchange: Accepted & MaybePlanned, turn: Turn): void {
  turn.usage = countedUsage(countOf(exchange, turn, 'model'))
  turn.relayed = 0
  turn.images = 0
  turn.hidden = 0
}

const NO_CAP = Number.POSITIVE_INFINITY

/** The most tokens that the turn can have brought. A cap of the caller's that its provider was not sent bounds nothing. */
function outputCap(exchange: MaybePlanned, { endpoint, cap }: Turn): number {
  const held = capOf(exchange, endpoint)?.tokens
  return Math.min(cap ?? NO_CAP, held ?? NO_CAP, endpoint.maxOutput ?? NO_CAP)
}

interface Fees {
  readonly tools: ReadonlySet<PaidTool | 'shell' | 'image_generation'>
  /** Gigabytes of memory of the containers that the provider starts. */
  readonly containers: number
}

/** Calls of one tool held for where the caller sets no bound. */
const USUAL_CALLS = 10

const IMAGES = 'image_generation'
/** Images held for where the caller sets no bound, and tokens of each: a large one of high quality. */
const USUAL_IMAGES = 2
const IMAGE_TOKENS = 8192

/** Undefined for nearly all requests. */
function feesOf(exchange: Accepted): Fees | undefined {
  let containers = 0
  let tools: Set<PaidTool | 'shell' | 'image_generation'> | undefined
  for (const tool of otherTools(exchange)) {
    const container = containerOf(tool)
    const type = PAID_TOOLS.find((one) => one === tool.type) ?? (container > 0 ? 'shell' : tool.type === IMAGES ? IMAGES : undefined)
    if (!type) continue
    tools ??= new Set()
    tools.add(type)
    containers += container
  }
  return tools && { tools, containers }
}

/**
 * Gigabytes of the container that a tool has started for it; 0 where it names one that is there. OpenAI charges for an automatic one
 * with every response, whether the model runs something or not (community.openai.com/t/1364328), by its size: 1, 4, 16 or 64 GB.
 */
function containerOf({ type, container, environment }: JsonObject): number {
  if (type === 'shell') return isObject(environment) && environment.type === 'container_auto' ? memoryOf(environment) : 0
  if (type !== 'code_interpreter' || typeof container === 'string') return 0
  return isObject(container) ? memoryOf(container) : 1
}

function memoryOf({ memory_limit: limit }: JsonObject): number {
  const gigabytes = typeof limit === 'string' ? /^(\d{1,4})g$/.exec(limit)?.[1] : undefined
  return Math.max(1, Number(gigabytes ?? 1))
}

/** What a charge counts beside the usage; undefined where there is nothing. @param endpoint the one that served. */
export function chargedExtras(exchange: Accepted & MaybeAimed, endpoint: Endpoint | undefined): Extras | undefined {
  const fees = feesOf(exchange)
  const advised = endpoint && (exchange.wish?.advisors.length ?? 0) > 0
  if (!fees && !advised) return exchange.request.mayHoldMedia ? { images: imageCount(exchange) } : undefined
  return {
    images: imageCount(exchange),
    containers: fees?.containers,
    tariffOf: endpoint && ((model) => otherTariff(exchange, endpoint, model)),
  }
}

/** @param model as the usage names it. */
function otherTariff(exchange: Accepted & MaybeAimed, endpoint: Endpoint, model: string): Tariff | undefined {
  if (model === IMAGES) return typeof endpoint.price === 'object' ? endpoint.price.drawing : undefined
  const advisor = advisorAt(exchange, endpoint, model)
  return advisor && tariffOf(exchange, advisor)
}

/** The same for a hold, with all calls that the provider may run. */
export function heldExtras(exchange: Aimed): Extras | undefined {
  const webSearches = searchBound(exchange)
  const fees = feesOf(exchange)
  const {
    wish: { advisors },
  } = exchange
  if (!exchange.request.mayHoldMedia && webSearches === 0 && !fees && advisors.length === 0) return undefined
  const advice = advisors.flatMap(({ uses, endpoints }) =>
    endpoints.slice(0, 1).map((endpoint) => ({ uses, tariff: tariffOf(exchange, endpoint) })),
  )
  const extras: Extras = { images: imageCount(exchange), webSearches, advice }
  if (!fees) return extras
  const { max_tool_calls: most } = exchange.request.body
  const bound = typeof most === 'number' && most >= 0 ? most : undefined
  return {
    ...extras,
    containers: fees.containers,
    toolCalls: Object.fromEntries([...fees.tools].map((tool) => [tool, bound ?? USUAL_CALLS])),
    drawn: fees.tools.has(IMAGES) ? (bound ?? USUAL_IMAGES) * IMAGE_TOKENS : 0,
  }
}

/**
 * What of the request has no price at the endpoint: a key with a limit is never charged by an unknown price.
 * @returns the name of a tool, `endpoint` where nothing has one, undefined where all is priced.
 */
export function unpriced(exchange: Aimed, { price }: Endpoint): string | undefined {
  if (price === 'unpriced') return 'endpoint'
  if (price === 'free') return undefined
  for (const tool of feesOf(exchange)?.tools ?? []) {
    if (!isStated(tool, price)) return tool
  }
  return undefined
}

function isStated(tool: PaidTool | 'shell' | 'image_generation', { tools, container, drawing }: Price): boolean {
  if (tool === IMAGES) return drawing !== undefined
  if (tool === 'shell') return container !== undefined
  return tools?.[tool] !== undefined || (tool === 'code_interpreter' && container !== undefined)
}

/**
 * The tariff of a turn: by the tier that served (contract section 5.5), the time of admission and the requested region.
 * The endpoint whose prices a turn is charged at: the one that was called, unless its provider reports another tier and
 * the configuration states prices for that one, which is an endpoint of the same provider, model name and that tier.
 */
export function pricedEndpoint({ endpoint, end }: Pick<Turn, 'endpoint' | 'end'>): Endpoint {
  const reported = end?.tier
  if (reported === undefined || reported === (endpoint.tier ?? 'default') || endpoint.variant !== undefined) return endpoint
  const served = endpoint.model.endpoints.find(
    ({ provider, upstreamModel, tier, variant, price }) =>
      provider === endpoint.provider &&
      upstreamModel === endpoint.upstreamModel &&
      (tier ?? 'default') === reported &&
      variant === undefined &&
      price !== 'unpriced',
  )
  return served ?? endpoint
}

/** What the endpoint charges for this request. */
export function tariffOf({ head: { at }, request: { body, client } }: Accepted, endpoint: Endpoint): Tariff {
  const region = client.regionField === undefined ? undefined : body[client.regionField]
  return tariffAt(endpoint, at, typeof region === 'string' ? region : undefined)
}
