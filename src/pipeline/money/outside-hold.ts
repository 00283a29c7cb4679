/**
 * Credit for input that is not in the body (docs/decisions/0029-outside-input.md). The hold covers what the body may cost. What a provider
 * adds itself, such as a conversation that it keeps, the pages that it fetches or the results of its tools, is kept free beside the hold
 * as long as the request runs, so that no other request can spend it.
 */
import { Fault } from '../../core/faults.ts'
import { usdText } from '../../core/money-text.ts'
import { parseDataUrl } from '../../dialects/canon/file-url.ts'
import { type Media, mediaOf } from '../../dialects/canon/media.ts'
import {
  mayHaveOutsideFields,
  type OutsideInput,
  outsideFields,
  outsideTools,
  REST_OF_CONTEXT,
  SEARCH_TOKENS,
} from '../../dialects/canon/outside-input.ts'
import { pdfPages } from '../../dialects/canon/pdf-pages.ts'
import { isStoredFile } from '../../dialects/canon/provider-files.ts'
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
import type { UpstreamDialect } from '../../dialects/types.ts'
import { fixedAsk, type HoldAsk } from '../../ledger/credit.ts'
import { holdFor } from '../../ledger/pricing.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Guarded } from '../exchange.ts'
import { contextOf, heavyMedia, mediaBound, otherTools, searchBound } from '../request/client-request.ts'
import { allowancesOf, isBudget, isLimited } from './hold.ts'
import { count, withKnownBounds, wouldBound } from './outside-count.ts'
import { tariffOf } from './tariffs.ts'
import { type Payer, type Reservation, takeHold } from './turn-cost.ts'

/** Tokens of input and output that an endpoint is assumed to take where the configuration does not say. */
const UNKNOWN_CONTEXT = 1_000_000
/**
 * Tokens that must be affordable where all of a large context is not. Then all that is left is kept free, so that no two such requests
 * run at a time.
 */
const LEAST_OF_CONTEXT = 100_000
/** Tokens of a page of a PDF, its text and its picture together (platform.claude.com, PDF support: 1,500 to 3,000 and an image). */
const PAGE_TOKENS = 5_000

/** What outside input may cost at one endpoint. */
interface OutsideNeed {
  readonly endpoint: Endpoint
  readonly dialect: UpstreamDialect | undefined
  readonly inputs: readonly OutsideInput[]
  readonly tokens: number
  /** Nano-dollars of all of it, and of the least that must be affordable. */
  readonly full: number
  readonly least: number
}

/**
 * Takes the hold of a turn, and keeps credit free for the outside input of its request.
 * @returns as `takeHold`, without the candidates whose outside input the credit cannot pay.
 * @throws Fault as `takeHold`; 402 or 403 naming the part of the request that is not in its body.
 */
export function takeTurnHold(exchange: Guarded, candidates: readonly Endpoint[], payer: Payer): Reservation | Promise<Reservation> {
  const taking = takeHold(exchange, candidates, payer)
  if (!isLimited(payer.key, exchange.wish.budgets) || !mayHaveOutside(exchange, candidates, payer.upstreams)) return taking
  const keep = (held: Reservation): Reservation | Promise<Reservation> => withOutside(exchange, held, payer)
  return taking instanceof Promise ? taking.then(keep) : keep(taking)
}

/** A cheap look that nearly all requests do not pass. */
function mayHaveOutside({ request }: Guarded, candidates: readonly Endpoint[], upstreams: Payer['upstreams']): boolean {
  if (request.client.embedding) return false
  if (request.hasOtherTools || request.mayHoldMedia || request.edited) return true
  if (candidates.some(({ provider }) => upstreams.get(provider.dialect)?.outside?.elsewhere !== undefined)) return true
  if (!mayHaveOutsideFields(request.body) && request.body.web_search_options === undefined) return false
  return candidates.some(({ provider }) => upstreams.get(provider.dialect)?.run === undefined)
}

function withOutside(exchange: Guarded, held: Reservation, payer: Payer): Reservation | Promise<Reservation> {
  const needs = outsideNeeds(exchange, held, payer)
  const { counter } = payer
  const endpoint = counter && endpointToCount(exchange, needs, leftFor(exchange, held, payer))
  if (!counter || !endpoint) return keepOutside(exchange, held, payer, needs)
  return count(exchange, endpoint, counter, held.input).then(() => keepOutside(exchange, held, payer, outsideNeeds(exchange, held, payer)))
}

/** Nano-dollars. */
function leftFor(exchange: Guarded, { account }: Reservation, { key }: Payer): number {
  return account.tightest(allowancesOf(key, exchange.wish.budgets))?.left ?? Number.POSITIVE_INFINITY
}

/** The first endpoint whose provider can say how much it is, where the bounds of none fit and none has been called for it. */
function endpointToCount(exchange: Guarded, needs: readonly OutsideNeed[], left: number): Endpoint | undefined {
  if (exchange.run.counted || needs.some(({ full }) => full <= left)) return undefined
  return needs.find(({ inputs, endpoint, dialect }) => dialect && wouldBound(inputs, { endpoint, dialect }))?.endpoint
}

function keepOutside(
  exchange: Guarded,
  held: Reservation,
  payer: Payer,
  needs: readonly OutsideNeed[],
): Reservation | Promise<Reservation> {
  const most = needs.reduce((sum, { full }) => Math.max(sum, full), 0)
  if (most === 0) return held
  const { hold } = exchange.head.costs
  const { account } = held
  const allowances = allowancesOf(payer.key, exchange.wish.budgets)
  const refuse = (): never => {
    throw refusal(needs, account.tightest(allowances))
  }
  const left = leftFor(exchange, held, payer)
  const able = needs.filter(({ least }) => least <= left)
  if (able.length === 0) return refuse()
  const least = able.reduce((sum, each) => Math.max(sum, each.least), 0)
  const full = able.reduce((sum, each) => Math.max(sum, each.full), 0)
  const ask: HoldAsk = full <= left ? fixedAsk(full) : { full, floor: Math.max(least, Math.floor(left)) }
  const kept = hold.keepFree(account, ask, allowances)
  const candidates = able.length === needs.length ? held.candidates : able.map(({ endpoint }) => endpoint)
  const granted = (isKept: boolean): Reservation => (isKept ? { ...held, candidates } : refuse())
  return kept instanceof Promise ? kept.then(granted) : granted(kept)
}

/** One of each candidate. */
function outsideNeeds(exchange: Guarded, { candidates, input }: Reservation, { upstreams, seen }: Payer): OutsideNeed[] {
  const shared = outsideMedia(exchange)
  const searches = searchBound(exchange)
  if (searches > 0)
    shared.push({ field: 'web search', tokens: searches * SEARCH_TOKENS, help: 'set max_uses of the tool, or leave it out' })
  const byDialect = new Map<UpstreamDialect, OutsideInput[]>()
  return candidates.map((endpoint) => {
    const dialect = upstreams.get(endpoint.provider.dialect)
    let inputs = dialect && byDialect.get(dialect)
    if (dialect && !inputs) {
      inputs = dialect.run ? [] : [...shared, ...outsideOn(exchange, dialect)]
      byDialect.set(dialect, inputs)
    }
    if (!dialect || !inputs || inputs.length === 0) return { endpoint, dialect, inputs: [], tokens: 0, full: 0, least: 0 }
    noteNames(exchange, inputs)
    return needOf(exchange, { endpoint, dialect, inputs: withKnownBounds(inputs, exchange, { endpoint, dialect, seen }) }, input)
  })
}

function noteNames({ run, request: { body } }: Guarded, inputs: readonly OutsideInput[]): void {
  // Parts of the conversation may be left out before the model reads it, and so may be what they name.
  if (MAY_LEAVE_OUT.some((field) => (body[field] ?? 'disabled') !== 'disabled')) return
  const names = inputs.flatMap(({ id }) => (id === undefined ? [] : [id]))
  if (names.length > 0) run.namedInputs = names
}

function outsideOn(exchange: Guarded, { outside: table, wire }: UpstreamDialect): OutsideInput[] {
  if (!table) return []
  const { body, client } = exchange.request
  const { threadTokens: seen } = exchange.run
  const fields = outsideFields(body, table, wire === client.id)
  // Its next turn reads what the last one has read and written.
  const bounded = seen === undefined ? fields : fields.map((each) => (each.field === 'thread' ? { ...each, tokens: seen } : each))
  return [...bounded, ...outsideTools([...otherTools(exchange), ...(table.elsewhere?.(body) ?? [])], table)]
}

/** @param body tokens that the hold counts for the body. */
function needOf(exchange: Guarded, request: Pick<OutsideNeed, 'endpoint' | 'dialect' | 'inputs'>, body: number): OutsideNeed {
  const { endpoint, inputs } = request
  const context = contextOf(endpoint)
  const room = Math.max(0, (Number.isFinite(context) ? context : UNKNOWN_CONTEXT) - body)
  let bounded = 0
  let open = false
  for (const { tokens } of inputs) {
    if (tokens === REST_OF_CONTEXT) open = true
    else bounded += tokens
  }
  const tokens = open ? room : Math.min(room, bounded)
  const least = open ? Math.min(tokens, Math.max(bounded, LEAST_OF_CONTEXT)) : tokens
  const tariff = tariffOf(exchange, endpoint)
  const own = holdFor(tariff, body, 0).floor
  const costOf = (more: number): number => (more > 0 ? holdFor(tariff, body + more, 0).floor - own : 0)
  return { ...request, tokens, full: costOf(tokens), least: costOf(least) }
}

/** Messages: `context_management`, `compaction`. Responses: `context_management`, and `truncation` unless it is `disabled`. */
const MAY_LEAVE_OUT = ['context_management', 'compaction', 'truncation'] as const

const FILE_HELP = 'send the file itself in the request'

/** Files, sound and films that stand elsewhere, and PDFs by their pages; the size of images is limited by models. */
function outsideMedia(exchange: Guarded): OutsideInput[] {
  const { request } = exchange
  if (!request.mayHoldMedia) return []
  const found: OutsideInput[] = []
  const replayed = replayedFiles(request.canonical())
  for (const part of heavyMedia(exchange)) {
    if (part.media === 'image') continue
    const bytes = bytesOf(part)
    if (bytes === undefined) {
      // Read in the same way: with the same detail, under the same name.
      const id = isStoredFile(part) && !replayed.has(part.fileId) ? JSON.stringify(part) : undefined
      found.push({ field: fieldOf(part), tokens: REST_OF_CONTEXT, help: FILE_HELP, kind: 'media', id })
    } else if (part.media === 'file' && bytes.includes('%PDF-')) {
      const pages = pdfPages(bytes)
      const more = pages === undefined ? REST_OF_CONTEXT : pages * PAGE_TOKENS - mediaBound(part)
      if (more > 0) found.push({ field: `a PDF of ${pages ?? 'uncounted'} pages`, tokens: more, help: 'send fewer pages', kind: 'media' })
    }
  }
  return found
}

/** Files that the conversation shows again as the work of a tool: whether the model reads them is not known. */
function replayedFiles(request: CanonicalRequest): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const { part, replayed } of mediaOf(request)) if (replayed && part.fileId !== undefined) ids.add(part.fileId)
  return ids
}

const fieldOf = ({ media, fileId }: Media): string => `a ${media} by its ${fileId === undefined ? 'address' : 'id'}`

/** Undefined where the part holds none. Only those of files are decoded. */
function bytesOf({ media, url, data }: Media): Buffer | undefined {
  const encoded = data ?? (url === undefined ? undefined : parseDataUrl(url)?.data)
  if (encoded === undefined) return undefined
  return media === 'file' ? Buffer.from(encoded, 'base64') : NO_BYTES
}

const NO_BYTES = Buffer.alloc(0)

/** @param tightest the allowance that leaves the least. */
function refusal(needs: readonly OutsideNeed[], tightest: ReturnType<Reservation['account']['tightest']>): Fault {
  const cheapest = needs.reduce((best, need) => (need.least < best.least ? need : best))
  const { inputs, tokens, least } = cheapest
  const left = tightest?.left ?? 0
  const parts = inputs.map(({ field, help }) => `${field} (${help})`).join(', ')
  const message = `what is not part of the request itself may add ${tokens} tokens of input, $${usdText(least)} must be free beside the hold and $${usdText(left)} is: ${parts}`
  const metadata = {
    needed: usdText(least),
    left: usdText(left),
    outside_input: inputs.map(({ field, tokens: each, help }) => ({ field, tokens: Math.min(each, tokens), help })),
  }
  const allowance = tightest?.allowance
  if (isBudget(allowance))
    return new Fault('guardrail_blocked', {
      message: `The budget of the guardrail ${allowance.guardrail} is too small: ${message}`,
      metadata: { ...metadata, guardrail: allowance.guardrail },
    })
  return new Fault('no_credit', { message: `Insufficient credits: ${message}`, metadata })
}
