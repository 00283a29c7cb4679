/** The one way in which anything is fetched whose address a caller, a model or a page chose. */
import type { buildConnector } from 'undici'
import { type Clock, systemClock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { mediaType } from './content.ts'
import { guardedConnect, type Resolve } from './guarded-connect.ts'
import { hop, isRedirect } from './hop.ts'
import { checkAddress, type OutboundPolicy } from './policy.ts'
import { refused, tooManyRedirects, tooSlow } from './refusals.ts'

export { domainRules } from './domains.ts'
export { guardedConnect, type Resolve, type Resolved } from './guarded-connect.ts'
export { type GuardedPost, guardedPost } from './guarded-post.ts'
export { checkAddress, OutboundPolicy, type OutboundSettings } from './policy.ts'
export type { FetchFailure } from './refusals.ts'

export interface FetchOptions {
  policy: OutboundPolicy
  signal?: AbortSignal | undefined
  clock?: Clock
  /** Bytes of the body, as sent and inflated. */
  maxBytes?: number
  /** Media types that are wanted, as `text/html` or `image/*`, '' for an answer that names none; absent: any. */
  types?: readonly string[]
  /** Milliseconds for everything: look-ups, redirects, body. */
  timeout?: number
  maxRedirects?: number
  /** A further rule, such as a list of domains; called for the address and for each redirect. */
  allows?: (url: URL) => boolean
  resolve?: Resolve | undefined
  /**
   * Takes memory for bytes of the body before they are kept; while its promise is open nothing more is read.
   * What it rejects with is what the fetch fails with.
   */
  memory?: ((bytes: number) => Promise<void> | undefined) | undefined
}

export interface Fetched {
  /** Whatever the last host answered; the caller decides what an error status means. */
  status: number
  /** Address of the content, after redirects, without fragment. */
  url: string
  /** Media type in lower case without parameters; '' where the answer named none. */
  type: string
  /** The same as it was sent, with parameters such as the charset. */
  declared: string
  bytes: Buffer
}

const MAX_BYTES = 10 * 1024 * 1024
const TIMEOUT = 10_000
const MAX_REDIRECTS = 5

/**
 * GETs an address. Each host, each of its addresses, each redirect and the connected socket are checked against the
 * policy; no cookie, key or proxy of the environment is used.
 * @throws Fault 400 (refused), 408 (too slow), 413, 415, 422 (could not be fetched); `metadata.fetch` names the reason.
 *   An aborted signal's own fault, or 499.
 */
export async function guardedFetch(address: string, options: FetchOptions): Promise<Fetched> {
  const { policy, signal, clock = systemClock, timeout = TIMEOUT, resolve } = options
  const { promise: stop, reject } = Promise.withResolvers<never>()
  stop.catch(() => {})
  const timer = clock.after(timeout, () => reject(tooSlow(timeout)))
  const abort = (): void => reject(signal?.reason instanceof Fault ? signal.reason : new Fault('client_gone'))
  signal?.addEventListener('abort', abort, { once: true })
  try {
    if (signal?.aborted) abort()
    const first = checked(checkAddress(address, policy), options)
    return await Promise.race([follow(first, options, { connect: guardedConnect({ policy, resolve }), stop }), stop])
  } finally {
    timer.cancel()
    signal?.removeEventListener('abort', abort)
  }
}

async function follow(
  first: URL,
  options: FetchOptions,
  way: { connect: buildConnector.connector; stop: Promise<never> },
): Promise<Fetched> {
  const { policy, maxBytes = MAX_BYTES, types = [], maxRedirects = MAX_REDIRECTS, memory } = options
  let url = first
  for (let redirects = 0; ; redirects++) {
    const { status, headers, bytes } = await hop(url, { maxBytes, types, memory }, way)
    if (!isRedirect(status, headers))
      return { status, url: url.href, type: mediaType(headers), declared: headers['content-type'] ?? '', bytes }
    if (redirects >= maxRedirects) throw tooManyRedirects(maxRedirects)
    url = checked(checkAddress(headers.location ?? '', policy, url), options)
  }
}

function checked(url: URL, { allows }: FetchOptions): URL {
  if (allows && !allows(url)) throw refused('its domain is not allowed')
  return url
}
