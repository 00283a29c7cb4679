/**
 * Credit for input that is not in the body (docs/decisions/0029-outside-input.md). The hold covers what the body may cost. What a provider
 * adds itself, such as a conversation that it keeps, the pages that it fetches or the results of its tools, is kept free beside the hold
 * as long as the request runs, so that no other request can spend it.
 */
import { parseDataUrl } from '../../dialects/canon/file-url.ts'
import { findMedia, type Media } from '../../dialects/canon/media.ts'
import {
  mayHaveOutsideFields,
  type OutsideInput,
  outsideFields,
  outsideTools,
  REST_OF_CONTEXT,
  SEARCH_TOKENS,
} from '../../dialects/canon/outside-input.ts'
import { PAGE_TOKENS, pdfPages } from '../../dialects/canon/pdf-pages.ts'
import { isStoredFile } from '../../dialects/canon/provider-files.ts'
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
import type { UpstreamDialect } from '../../dialects/types.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Guarded } from '../exchange.ts'
import { heavyMedia, mediaBound } from '../request/client-request.ts'
import { keyAllowances } from './hold.ts'
import { count, withKnownBounds, wouldBound } from './outside-count.ts'
import { costBeyond, endpointNeed, keepNeeds, leftFor, type Need, NO_NEED, ownSearchPrice, searchesOfModel } from './outside-need.ts'
import { type Payer, type Reservation, takeHold } from './take-hold.ts'
import { exchangeTariff } from './tariffs.ts'
import { feesBeyond } from './tool-fees.ts'

/** Possible cost of outside input at one endpoint. */
interface OutsideNeed extends Need {
  readonly endpoint: Endpoint
  readonly dialect: UpstreamDialect | undefined
}

/**
 * Takes the hold of a turn, and keeps credit free for the outside input of its request.
 * @returns as `takeHold`, without the candidates whose outside input the credit cannot pay.
 * @throws Fault as `takeHold`; 402 or 403 naming the part of the request that is not in its body.
 */
export function takeTurnHold(exchange: Guarded, candidates: readonly Endpoint[], payer: Payer): Reservation | Promise<Reservation> {
  const keep = (held: Reservation): Reservation | Promise<Reservation> =>
    held.limited && mayHaveOutside(exchange, candidates, payer.upstreams) ? withOutside(exchange, held, payer) : held
  const taking = takeHold(exchange, candidates, payer)
  if (taking instanceof Promise) return taking.then(keep)
  return taking.limited ? keep(taking) : taking
}

/** A cheap look that nearly all requests do not pass. */
function mayHaveOutside({ request }: Guarded, candidates: readonly Endpoint[], upstreams: Payer['upstreams']): boolean {
  if (request.client.embedding) return request.mayHoldMedia
  if (request.hasOtherTools || request.mayHoldMedia || request.edited) return true
  const hasField = mayHaveOutsideFields(request.body) || request.body.web_search_options !== undefined
  return candidates.some((endpoint) => {
    const dialect = upstreams.get(endpoint.provider.dialect)
    return ownSearchPrice(endpoint) > 0 || dialect?.outside?.elsewhere !== undefined || (hasField && dialect?.run === undefined)
  })
}

function withOutside(exchange: Guarded, held: Reservation, payer: Payer): Reservation | Promise<Reservation> {
  const needs = outsideNeeds(exchange, held, payer)
  const { counter } = payer
  const endpoint = counter && endpointToCount(exchange, needs, leftFor(holdSource(exchange, held, payer)))
  if (!counter || !endpoint) return keepOutside(exchange, held, payer, needs)
  return count(exchange, endpoint, counter, held.input).then(() => keepOutside(exchange, held, payer, outsideNeeds(exchange, held, payer)))
}

function holdSource({ head, demand }: Guarded, { account }: Reservation, { key }: Payer) {
  return { hold: head.costs.hold, account, allowances: keyAllowances(key, demand.budgets), key, clock: head.clock }
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
  const granted = (able: readonly OutsideNeed[]): Reservation =>
    able.length === needs.length ? held : { ...held, candidates: able.map(({ endpoint }) => endpoint) }
  const keeping = keepNeeds(needs, holdSource(exchange, held, payer))
  return keeping instanceof Promise ? keeping.then(granted) : granted(keeping)
}

/** One of each candidate. */
function outsideNeeds(exchange: Guarded, { candidates, input }: Reservation, { upstreams, seen }: Payer): OutsideNeed[] {
  if (exchange.request.client.embedding) return candidates.map((endpoint) => vectorNeed(exchange, endpoint, input))
  const shared = outsideMedia(exchange)
  const { searches } = exchange.request.need
  if (searches > 0)
    shared.push({ field: 'web search', tokens: searches * SEARCH_TOKENS, help: 'set max_uses of the tool, or leave it out' })
  const byDialect = new Map<UpstreamDialect, OutsideInput[]>()
  return candidates.map((endpoint) => {
    const fees = feesBeyond(exchange, endpoint)
    const dialect = upstreams.get(endpoint.provider.dialect)
    let inputs = dialect && byDialect.get(dialect)
    if (dialect && !inputs) {
      inputs = dialect.run
        ? []
        : [...shared, ...outsideOn(exchange, dialect).map((each) => withinTools(each, exchange.head.config.providerToolTokens))]
      byDialect.set(dialect, inputs)
    }
    const own = ownSearchPrice(endpoint) - searches
    if (inputs && own > 0) inputs = [...inputs, searchesOfModel(own)]
    if (!dialect || !inputs || inputs.length === 0) return { ...NO_NEED, full: fees, endpoint, dialect }
    noteNames(exchange, inputs)
    const bounded = withKnownBounds(inputs, exchange, { endpoint, dialect, seen })
    const need = endpointNeed(endpoint, bounded, { tariff: exchangeTariff(exchange, endpoint), body: input })
    return { ...need, full: need.full + fees, endpoint, dialect }
  })
}

/** The operator's bound of what a provider runs stands in for the rest of the context (docs/decisions/0047-results-that-nothing-caps.md). */
function withinTools(input: OutsideInput, most: number | undefined): OutsideInput {
  if (most === undefined) return input
  if (input.leaks) return { ...input, leaks: undefined }
  return input.runs && input.tokens === REST_OF_CONTEXT ? { ...input, tokens: most } : input
}

function noteNames({ run, request: { body } }: Guarded, inputs: readonly OutsideInput[]): void {
  // Parts of the conversation may be left out before the model reads it, and so may be what they name.
  if (MAY_LEAVE_OUT.some((field) => (body[field] ?? 'disabled') !== 'disabled')) return
  const names = inputs.flatMap(({ id }) => (id === undefined ? [] : [id]))
  if (names.length > 0) run.namedInputs = names
}

/** Of the caller's own wire each is sent as it is. */
const ANY_TOOL = /^/
/** Elsewhere other things have a type as well. Tools of Anthropic's have a date in theirs. */
const DATED_TOOL = /_\d{8}$/

function outsideOn(exchange: Guarded, { outside: table, wire }: UpstreamDialect): OutsideInput[] {
  if (!table) return []
  const { body, client } = exchange.request
  const { threadTokens: seen } = exchange.run
  const fields = outsideFields(body, table, wire === client.id)
  // Its next turn reads what the last one has read and written.
  const bounded = seen === undefined ? fields : fields.map((each) => (each.field === 'thread' ? { ...each, tokens: seen } : each))
  const listed = outsideTools(exchange.request.need.otherTools, table, wire === client.id ? ANY_TOOL : undefined)
  return [...bounded, ...listed, ...outsideTools(table.elsewhere?.(body) ?? [], table, DATED_TOOL)]
}

/**
 * Each input of an embedding has the context to itself, and its media may fill it, whatever their bytes are: an image of one colour has few
 * bytes and, at a token for 560 pixels, 28,571 tokens (docs.voyageai.com, Multimodal embeddings: at most 16 million pixels).
 */
function vectorNeed(exchange: Guarded, endpoint: Endpoint, body: number): OutsideNeed {
  const { context = Number.POSITIVE_INFINITY } = endpoint
  let tokens = 0
  if (Number.isFinite(context)) for (const part of heavyMedia(exchange)) tokens += Math.max(0, context - mediaBound(part))
  const cost = costBeyond(exchangeTariff(exchange, endpoint), body)(tokens)
  const inputs = tokens > 0 ? [{ field: 'media', tokens, help: 'send fewer of them at once' }] : []
  return { endpoint, dialect: undefined, inputs, tokens, full: cost, least: cost }
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
    const bytes = mediaBytes(part)
    if (bytes === undefined) {
      // Read in the same way: with the same detail, under the same name.
      const id = isStoredFile(part) && !replayed.has(part.fileId) ? JSON.stringify(part) : undefined
      found.push({ field: mediaField(part), tokens: REST_OF_CONTEXT, help: FILE_HELP, kind: 'media', id })
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
  for (const { part, replayed } of findMedia(request)) if (replayed && part.fileId !== undefined) ids.add(part.fileId)
  return ids
}

const mediaField = ({ media, fileId }: Media): string => `a ${media} by its ${fileId === undefined ? 'address' : 'id'}`

/** Undefined where the part holds none. Only those of files are decoded. */
function mediaBytes({ media, url, data }: Media): Buffer | undefined {
  const encoded = data ?? (url === undefined ? undefined : parseDataUrl(url)?.data)
  if (encoded === undefined) return undefined
  return media === 'file' ? Buffer.from(encoded, 'base64') : NO_BYTES
}

const NO_BYTES = Buffer.alloc(0)
