/** Fees of providers for tools that they run themselves, beside the tokens: which of them a request may cause, and what of it has no price. */
import { isObject, type JsonObject } from '../../core/json.ts'
import { PAID_TOOLS, type PaidTool, type Price } from '../../core/price.ts'
import { type Extras, holdFor } from '../../ledger/pricing.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Accepted, Aimed } from '../exchange.ts'
import { inputModalities } from '../request/client-request.ts'
import { type CalledTool, callsTogether, maxPaidCalls } from './provider-rounds.ts'
import { exchangeTariff } from './tariffs.ts'

export interface Fees {
  readonly tools: ReadonlySet<PaidTool | 'shell' | 'image_generation'>
  /** Gigabytes of memory of the containers that the provider starts. */
  readonly containers: number
}

/** Calls of one tool held for where the caller sets no bound. */
export const USUAL_CALLS = 10

export const IMAGES = 'image_generation'
/** Images held for where the caller sets no bound, and tokens of each: a large one of high quality. */
const USUAL_IMAGES = 2
const IMAGE_TOKENS = 8192

/** Tokens of images held for. @param calls bound of them, where there is one. */
export const usualDrawing = (calls = USUAL_IMAGES): number => calls * IMAGE_TOKENS

/** Undefined where none of its tools costs anything. */
export function toolFees(exchange: Accepted): Fees | undefined {
  return feesOfTools(exchange.request.need.otherTools, inputModalities(exchange)?.has('file') === true)
}

/** The same of the tools of a request. @param hasFiles true where it may have files, which a provider may search. */
export function feesOfTools(listed: readonly JsonObject[], hasFiles: boolean): Fees | undefined {
  let containers = 0
  let tools: Set<PaidTool | 'shell' | 'image_generation'> | undefined
  for (const tool of listed) {
    const container = containerMemory(tool)
    const type = PAID_TOOLS.find((one) => one === tool.type) ?? (container > 0 ? 'shell' : tool.type === IMAGES ? IMAGES : undefined)
    if (!type) continue
    tools ??= new Set()
    tools.add(type)
    containers += container
  }
  if (hasFiles) tools = (tools ?? new Set()).add('document_search')
  return tools && { tools, containers }
}

/**
 * Gigabytes of the container that a tool has started for it; 0 where it names one that is there. OpenAI charges for an automatic one
 * with every response, whether the model runs something or not (community.openai.com/t/1364328), by its size: 1, 4, 16 or 64 GB.
 */
function containerMemory({ type, container, environment }: JsonObject): number {
  if (type === 'shell') return isObject(environment) && environment.type === 'container_auto' ? memoryGigabytes(environment) : 0
  if (type !== 'code_interpreter' || typeof container === 'string') return 0
  return isObject(container) ? memoryGigabytes(container) : 1
}

function memoryGigabytes({ memory_limit: limit }: JsonObject): number {
  const gigabytes = typeof limit === 'string' ? /^(\d{1,4})g$/.exec(limit)?.[1] : undefined
  return Math.max(1, Number(gigabytes ?? 1))
}

/** True where the price says what the tool costs. */
function isStated(tool: PaidTool | 'shell' | 'image_generation', { tools, container, drawing }: Price): boolean {
  if (tool === IMAGES) return drawing !== undefined
  if (tool === 'shell') return container !== undefined
  // Most providers read files without a fee.
  if (tool === 'document_search') return true
  return tools?.[tool] !== undefined || (tool === 'code_interpreter' && container !== undefined)
}

/**
 * Finds a part of the request without a price at the endpoint: a key with a limit is never charged by an unknown price.
 * @returns the name of a tool, `endpoint` where nothing has one, undefined where all is priced.
 */
export function unpriced(exchange: Aimed, { price }: Endpoint): string | undefined {
  if (price === 'unpriced') return 'endpoint'
  return price === 'free' ? undefined : unstatedFee(toolFees(exchange), price)
}

/** The first of the tools whose fee the price does not state; undefined where there is none. */
export function unstatedFee(fees: Fees | undefined, price: Price): string | undefined {
  for (const tool of fees?.tools ?? []) if (!isStated(tool, price)) return tool
  return undefined
}

/** Fees for the hold, with all calls that the provider may run. */
export function heldFees(
  { tools, containers }: Fees,
  { max_tool_calls: most }: JsonObject,
): Pick<Extras, 'containers' | 'toolCalls' | 'drawn'> {
  // A provider is sent no bound of none, and none of searches that no tool offers.
  const bound = typeof most === 'number' && most >= 1 ? most : undefined
  return {
    containers,
    toolCalls: Object.fromEntries([...tools].map((tool) => [tool, tool === 'document_search' ? USUAL_CALLS : (bound ?? USUAL_CALLS)])),
    drawn: tools.has(IMAGES) ? usualDrawing(bound) : 0,
  }
}

/**
 * Nano-dollars of calls that a provider may report beside those that are held, where a limit applies: of searches of files, of which it is
 * sent no bound, and of tools that have a bound together with others. So many are believed (docs/keys.md#impossible-reports).
 */
export function feesBeyond(exchange: Aimed, endpoint: Endpoint): number {
  const fees = toolFees(exchange)
  const searches = exchange.request.need.searches
  if (!fees && searches === 0) return 0
  const held: Extras = { webSearches: searches, ...(fees && heldFees(fees, exchange.request.body)) }
  const calls = (tool: CalledTool, least = 0): number => Math.max(least, maxPaidCalls(exchange, endpoint, tool, true))
  const most: Extras = { ...held, webSearches: searches > 0 ? calls('web_search', searches) : 0 }
  if (fees) {
    most.toolCalls = Object.fromEntries(PAID_TOOLS.map((tool) => [tool, fees.tools.has(tool) ? calls(tool, held.toolCalls?.[tool]) : 0]))
    if (fees.tools.has(IMAGES)) most.drawn = Math.max(held.drawn ?? 0, usualDrawing(callsTogether(exchange, endpoint) ?? 0))
  }
  const tariff = exchangeTariff(exchange, endpoint)
  return holdFor(tariff, 0, 0, most).hold - holdFor(tariff, 0, 0, held).hold
}
