/**
 * Media that a request names by their address, for providers that take data alone (quirk `media_urls: inline`): fetched before the hold,
 * and only where an endpoint in question needs them. The data stands in requests to such endpoints alone.
 */
import { asFault, Fault } from '../../core/faults.ts'
import type { Media } from '../../dialects/canon/media.ts'
import type { CanonicalRequest, Part } from '../../dialects/canon/request.ts'
import type { Quirks } from '../../dialects/quirks.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { guardedFetch, type OutboundPolicy } from '../../services/outbound/index.ts'
import type { Accepted, Guarded } from '../exchange.ts'
import { dataUrl, fieldHolding } from '../request/stored-files.ts'

/** Addresses of one request. */
const MAX_ADDRESSES = 20
/** Milliseconds for all addresses of one turn. */
const MAX_FETCH_MS = 20_000
/** Memory per byte: the bytes, their base64, and that again in the body for the provider. */
const WEIGHT = 4

const endpointQuirks = ({ quirks, provider }: Endpoint): Quirks => quirks ?? provider.quirks

/** True if a provider with these quirks gets data in place of the addresses in a request that may have media. */
export function needsMedia({ request }: Accepted, quirks: Quirks): boolean {
  return quirks.media_urls === 'inline' && !request.client.embedding && mediaAddresses(request.canonical()).size > 0
}

/** The request as such a provider gets it; the canonical one where nothing has been fetched. */
export function withMedia({ request, run: { media } }: Accepted, quirks: Quirks): CanonicalRequest {
  const canonical = request.canonical()
  if (quirks.media_urls !== 'inline' || !media) return canonical
  const inlined = (part: Part): Part => {
    const url = isRemote(part) ? media.get(part.url) : undefined
    return url === undefined || !isRemote(part)
      ? part
      : { ...part, url, ...(part.media === 'file' ? { name: part.name ?? nameIn(part.url) } : {}) }
  }
  const items = canonical.items.map((item) =>
    item.kind === 'message' || item.kind === 'result' ? { ...item, parts: item.parts.map(inlined) } : item,
  )
  return { ...canonical, items }
}

/**
 * Fetches what the endpoints need.
 * @returns a promise only where something is to be fetched: the endpoints that can be called. @throws Fault 400 naming the part that
 *   cannot be fetched, where every endpoint needs it.
 */
export function fetchMedia(
  exchange: Guarded,
  endpoints: readonly Endpoint[],
  policy: OutboundPolicy,
): Promise<readonly Endpoint[]> | undefined {
  if (!endpoints.some((endpoint) => needsMedia(exchange, endpointQuirks(endpoint)))) return undefined
  return fetched(exchange, policy).then(
    () => endpoints,
    (thrown: unknown) => {
      const others = endpoints.filter((endpoint) => !needsMedia(exchange, endpointQuirks(endpoint)))
      if (others.length === 0 || exchange.head.cancel.aborted) throw thrown
      return others
    },
  )
}

async function fetched(exchange: Guarded, policy: OutboundPolicy): Promise<void> {
  const { run, request, head } = exchange
  const addresses = mediaAddresses(request.canonical())
  const found = new Map(run.media)
  if (addresses.size > MAX_ADDRESSES)
    throw new Fault('bad_request', { message: `a request may name ${MAX_ADDRESSES} images and files by their address` })
  // Bytes that the files may have together.
  let left = head.config.server.maxBody
  const until = head.clock.monotonic() + MAX_FETCH_MS
  for (const [url, part] of addresses) {
    if (found.has(url)) continue
    try {
      const memory = (bytes: number): Promise<void> | undefined => head.connection.reserve?.(bytes * WEIGHT)
      const timeout = until - head.clock.monotonic()
      const options = { policy, clock: head.clock, signal: head.cancel.signal, maxBytes: left, timeout, memory }
      const { status, type, bytes } = await guardedFetch(url, options)
      if (status < 200 || status > 299)
        throw new Fault('unprocessable', { message: 'The address could not be fetched', metadata: { fetch: 'unreachable' } })
      left -= bytes.length
      const data = dataUrl({ type: type === '' ? UNKNOWN : type, name: part.name ?? nameIn(url) }, bytes)
      if (part.media !== 'file' && !data.startsWith(`data:${part.media}/`))
        throw new Fault('media_type', { message: `The content is no ${part.media}`, metadata: { fetch: 'type' } })
      found.set(url, data)
    } catch (thrown) {
      throw naming(fieldHolding(request.body, url), thrown)
    }
  }
  run.media = found
}

const UNKNOWN = 'application/octet-stream'

/** Turns a refusal of the guarded fetch into a mistake of the part that names the address; other faults stay as they are. */
function naming(field: string | undefined, thrown: unknown): Fault {
  const fault = asFault(thrown)
  const { fetch } = fault.metadata ?? {}
  if (fetch === undefined) return fault
  const where = field ?? 'media'
  return new Fault('bad_request', {
    message: `${where}: ${fault.message}. This provider takes no addresses`,
    metadata: { field: where, fetch },
  })
}

type Remote = Media & { url: string }

function isRemote(part: Part): part is Remote {
  return part.kind === 'media' && part.url !== undefined && /^https?:/i.test(part.url)
}

/** Each address once, with a part that names it. */
function mediaAddresses({ items }: CanonicalRequest): Map<string, Remote> {
  const found = new Map<string, Remote>()
  for (const item of items) {
    if (item.kind !== 'message' && item.kind !== 'result') continue
    for (const part of item.parts) if (isRemote(part)) found.set(part.url, part)
  }
  return found
}

/** The last part of the path. */
function nameIn(url: string): string {
  return (
    URL.parse(url)
      ?.pathname.split('/')
      .findLast((one) => one !== '') ?? 'file'
  )
}
