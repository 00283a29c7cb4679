/**
 * Whose key a request has, found from its head alone, and what that key may have going: requests and tokens per minute, open streams,
 * bytes in flight.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { type CounterAnswer, type Counters, MemoryCounters, shareOf } from '../../cluster/shared/index.ts'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { NO_RETRY } from '../../core/retry-after.ts'
import { hashOf, hasWrongChecksum } from '../../core/secret.ts'
import type { Settlement } from '../../ledger/settlement.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { KEY_REASONS } from '../../store/refusals.ts'
import type { ClientConnection } from '../client-connection.ts'
import { type Accepted, type Authenticated, advance, type Received } from '../exchange.ts'
import type { Layer, Service } from '../layer.ts'
import type { Attempts } from './attempt-buckets.ts'
import { callerCap, inputEstimate } from './client-request.ts'

const LONGEST_TOKEN = 512

/** Headers beside `Authorization` that carry a key: as Anthropic's clients and as Google's send it. */
const KEY_HEADERS = ['x-api-key', 'x-goog-api-key']

/**
 * The secret of a request: `Authorization: Bearer` (RFC 6750, 2.1), `x-api-key` or `x-goog-api-key`.
 * @throws Fault 401 without one, 400 where two differ.
 */
export function secretOf(headers: IncomingHttpHeaders): string {
  const { authorization } = headers
  let secret: string | undefined
  let first = 'authorization'
  if (authorization !== undefined) {
    secret = bearer(authorization)
  }
  for (const name of KEY_HEADERS) {
    const apiKey = headers[name]
    if (typeof apiKey !== 'string' || apiKey === '') continue
    if (secret !== undefined && secret !== apiKey) {
      throw new Fault('bad_request', { message: `${first}: names another key than ${name}`, metadata: { field: first } })
    }
    if (secret === undefined) first = name
    secret = apiKey
  }
  if (secret === undefined) throw new Fault('missing_key')
  if (secret.length > LONGEST_TOKEN) throw new Fault('invalid_key')
  return secret
}

function bearer(authorization: string): string {
  // What every client sends; anything else is read with care.
  if (authorization.startsWith('Bearer ') && authorization.charCodeAt(7) > 0x20) return authorization.slice(7)
  const [, token] = /^bearer +([!-~]+)$/i.exec(authorization) ?? []
  if (token === undefined) throw new Fault(authorization.trim() === '' ? 'missing_key' : 'invalid_key')
  return token
}

/** A key that is known and cannot be used: its caller reads what one with an unknown key does, the operator reads why. */
export class UnusableKey extends Fault {
  readonly key: ApiKey
  readonly why: (typeof KEY_REASONS)[number]

  constructor(key: ApiKey) {
    super('invalid_key')
    this.key = key
    this.why = key.disabled ? 'key_disabled' : 'key_expired'
  }
}

/** @throws Fault 401 for a key that is unknown, disabled or expired: the text is the same, so that none can be probed. */
export function usableKey(key: ApiKey | undefined, clock: Pick<Clock, 'now'>): ApiKey {
  if (!key) throw new Fault('invalid_key')
  if (key.disabled || (key.expiresAt !== null && key.expiresAt <= clock.now())) throw new UnusableKey(key)
  return key
}

const TOO_MANY = 'Too many requests with keys that cannot be used came from this address'

/** The sender of a request, as far as its head shows it. */
export interface Caller {
  readonly headers: IncomingHttpHeaders
  readonly connection: Pick<ClientConnection, 'address' | 'digest'>
}

export interface KeyLookup {
  /** Those of the configuration, by the SHA-256 of the secret, hex: to be looked at before the store's. */
  readonly written: ReadonlyMap<string, ApiKey>
  /** The key of the store, if it is found without a call to another process. @param hash SHA-256 of the secret, hex. */
  atHand(hash: string): ApiKey | undefined
  /**
   * The key of the store.
   * @param hash SHA-256 of the secret, hex.
   * @param isSuspect true: of a caller who has sent many tokens of no key. Where look-ups wait, this one comes last.
   */
  find(hash: string, isSuspect?: boolean): ApiKey | undefined | Promise<ApiKey | undefined>
}

/** @returns the key of a request whose key nothing has checked, without a call of the store; undefined where it is not known at once. */
export function keyAtHand({ headers, connection }: Caller, keys: KeyLookup): ApiKey | undefined {
  try {
    const secret = secretOf(headers)
    const digest = connection.digest?.(secret) ?? hashOf(secret)
    return keys.written.get(digest) ?? keys.atHand(digest)
  } catch {
    return undefined
  }
}

export interface Authentication {
  readonly keys: KeyLookup
  readonly clock: Pick<Clock, 'now'>
  readonly failures: Attempts
}

/**
 * The key of a request, found by its digest: comparing digests reveals nothing of the secret.
 * Failures empty the bucket of the caller's address. While it is empty, look-ups for that address come after those of
 * all others and a failure is a 429; a good key still works, so that callers who share an address with a stranger, behind
 * a balancer or a NAT, are not locked out.
 * @throws Fault 400 and 401 as `secretOf` and `usableKey`; 429 with Retry-After; 503 where the store cannot be reached.
 */
export function authenticateCaller(caller: Caller, { keys, clock, failures }: Authentication): ApiKey | Promise<ApiKey> {
  const secret = secretOf(caller.headers)
  const digest = caller.connection.digest?.(secret) ?? hashOf(secret)
  const enter = (found: ApiKey | undefined): ApiKey => {
    try {
      return usableKey(found, clock)
    } catch (thrown) {
      const address = addressOf(caller)
      failures.check(address, TOO_MANY)
      failures.count(address)
      throw thrown
    }
  }
  const atHand = keys.written.get(digest) ?? keys.atHand(digest)
  if (atHand) return enter(atHand)
  if (hasWrongChecksum(secret)) return enter(undefined)
  const found = keys.find(digest, failures.isEmpty(addressOf(caller)))
  return found instanceof Promise ? found.then(enter) : enter(found)
}

function checkGenerates({ management }: ApiKey): void {
  if (management) throw new Fault('forbidden', { message: 'Management keys cannot call completion endpoints' })
}

/** @returns what finds the key of a caller that is going to request completions; throws as `authenticateCaller`, and Fault 403. */
export function completionCaller(authentication: Authentication): (caller: Caller) => ApiKey | Promise<ApiKey> {
  const checked = (key: ApiKey): ApiKey => {
    checkGenerates(key)
    return key
  }
  return (caller) => {
    const found = authenticateCaller(caller, authentication)
    return found instanceof Promise ? found.then(checked) : checked(found)
  }
}

/** What failures count by: an IPv4 address, or the /64 network of an IPv6 address; '' where there is no socket. */
const addressOf = ({ connection }: Caller): string => connection.address?.() ?? ''

export function authenticateLayer(
  { keys }: Pick<Authentication, 'keys'>,
  { clock, failures }: Omit<Authentication, 'keys'>,
): Layer<Received, Authenticated> {
  const authentication = { keys, clock, failures }
  return (next) =>
    function handle(exchange) {
      const enter = (key: ApiKey) => {
        const known = advance(exchange, 'auth', { key })
        checkGenerates(key)
        return next(known)
      }
      const found = authenticateCaller(exchange.head, authentication)
      return found instanceof Promise ? found.then(enter) : enter(found)
    }
}

/** What a key has open in this process. */
interface Use {
  streams: number
  bytes: number
}

/**
 * Requests and tokens are counted by the counters, which all processes may share. Streams and bytes are counted here:
 * with several processes each allows its share of the limit, in whole numbers and at least one.
 */
export class Admission {
  private readonly clock: Clock
  private readonly counters: Counters
  private readonly processes: () => number
  /** Of keys that have something open. */
  private readonly uses = new Map<string, Use>()

  /** @param processes that live, this one among them, as last known. */
  constructor(clock: Clock, counters: Counters = new MemoryCounters(clock), processes: () => number = () => 1) {
    this.clock = clock
    this.counters = counters
    this.processes = processes
  }

  /**
   * Takes one request of the key's minute.
   * @returns a promise only where the key has such a limit and the counters are shared.
   * @throws Fault 429 with Retry-After and X-RateLimit-* when none is left.
   */
  request(key: ApiKey): Promise<void> | undefined {
    const { requests } = key.limits
    if (requests === undefined) return undefined
    const answered = this.counters.take({ name: `requests:${bucketOf(key)}`, perMinute: requests, take: 1 })
    return this.judged(answered, `${requests} requests per minute`, requests)
  }

  /**
   * Takes tokens of the key's minute, before it is known how many there will be.
   * @param always a request that has begun is not cut off: what does not fit is waited off by those that follow.
   * @throws Fault 429 where they do not fit; without Retry-After where they never will.
   */
  tokens(key: ApiKey, count: number, always: boolean): Promise<void> | undefined {
    const { tokens } = key.limits
    if (tokens === undefined) return undefined
    if (count > tokens && !always) throw this.oversized(`${tokens} tokens per minute`, `up to ${count} tokens`, tokens)
    const answered = this.counters.take({ name: `tokens:${bucketOf(key)}`, perMinute: tokens, take: count, always })
    return this.judged(answered, `${tokens} tokens per minute`, tokens)
  }

  /** Once the real usage is known: takes the difference to what was taken, or gives it back. No caller waits for it. */
  correctTokens(key: ApiKey, difference: number): void {
    const { tokens } = key.limits
    if (tokens === undefined || difference === 0) return
    const answered = this.counters.take({ name: `tokens:${bucketOf(key)}`, perMinute: tokens, take: difference, always: true })
    if (answered instanceof Promise) answered.catch(() => {})
  }

  /** Takes one of the calls of token counters that a key's requests may cause in a minute, beside the limits that the operator sets. */
  async mayCount(key: ApiKey): Promise<boolean> {
    const { taken } = await this.counters.take({ name: `counts:${bucketOf(key)}`, perMinute: COUNTS_PER_MINUTE, take: 1 })
    return taken
  }

  /** @throws Fault 429 where the key has as many streams open as it may. */
  openStream(key: ApiKey): void {
    const { streams } = key.limits
    if (streams === undefined) return
    const limit = shareOf(streams, this.processes())
    if ((this.uses.get(bucketOf(key))?.streams ?? 0) >= limit) {
      throw this.limited(`${streams} concurrent streams${partOf(limit, streams)}`, { limit, left: 0, wait: SECOND })
    }
    this.use(key).streams++
  }

  closeStream(key: ApiKey): void {
    if (key.limits.streams === undefined) return
    const use = this.use(key)
    use.streams--
    this.forget(key, use)
  }

  /**
   * A body larger than this process's share passes when nothing else of its key is in flight here.
   * @param before bytes of the same body that were taken already: one of unknown length comes in pieces.
   * @throws Fault 429 where the request's bytes do not fit beside those in flight; without Retry-After where they never will.
   */
  takeBytes(key: ApiKey, bytes: number, before = 0): void {
    const limit = key.limits.bytes
    if (limit === undefined) return
    const name = `${limit} request bytes in flight`
    if (before + bytes > limit) throw this.oversized(name, before === 0 ? `${bytes} bytes` : 'more', limit)
    const share = shareOf(limit, this.processes())
    const inFlight = this.uses.get(bucketOf(key))?.bytes ?? 0
    if (inFlight > before && inFlight + bytes > share) {
      throw this.limited(`${name}${partOf(share, limit)}`, { limit: share, left: Math.max(0, share - inFlight), wait: SECOND })
    }
    this.use(key).bytes += bytes
  }

  giveBytes(key: ApiKey, bytes: number): void {
    if (key.limits.bytes === undefined) return
    const use = this.use(key)
    use.bytes -= bytes
    this.forget(key, use)
  }

  private use(key: ApiKey): Use {
    let use = this.uses.get(bucketOf(key))
    if (!use) {
      use = { streams: 0, bytes: 0 }
      this.uses.set(bucketOf(key), use)
    }
    return use
  }

  private forget(key: ApiKey, use: Use): void {
    if (use.streams === 0 && use.bytes === 0) this.uses.delete(bucketOf(key))
  }

  private judged(answered: CounterAnswer | Promise<CounterAnswer>, name: string, limit: number): Promise<void> | undefined {
    if (answered instanceof Promise) return answered.then((answer) => this.judge(answer, name, limit))
    this.judge(answered, name, limit)
    return undefined
  }

  private judge({ taken, left, wait }: CounterAnswer, name: string, limit: number): void {
    if (!taken) throw this.limited(name, { limit, left, wait })
  }

  private limited(name: string, { limit, left, wait }: { limit: number; left: number; wait: number }): Fault {
    const seconds = Math.max(1, Math.ceil(wait / SECOND))
    return new Fault('rate_limited', {
      message: `Rate limit exceeded: ${name}`,
      retryAfter: seconds,
      headers: limitHeaders(limit, left, this.clock.now() + seconds * SECOND),
    })
  }

  /** No wait would help, so none is named. */
  private oversized(name: string, needed: string, limit: number): Fault {
    return new Fault('rate_limited', {
      message: `Rate limit exceeded: ${name}, and this request alone needs ${needed}`,
      headers: { ...limitHeaders(limit, 0, this.clock.now()), ...NO_RETRY },
    })
  }
}

const SECOND = 1_000
/** Providers limit calls of their counters as well (platform.claude.com, Token counting: from 100 a minute on), for all keys together. */
const COUNTS_PER_MINUTE = 30

/** Identity of the key whose limits a request counts towards: keys issued through sign-in count towards the key that issued them. */
export function bucketOf({ identity, issuer }: ApiKey): string {
  return issuer?.identity ?? identity
}

/** @param resetAt milliseconds since the epoch. */
function limitHeaders(limit: number, left: number, resetAt: number): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(left),
    'X-RateLimit-Reset': String(Math.ceil(resetAt)),
  }
}

function partOf(share: number, limit: number): string {
  return share === limit ? '' : `, of which this process has ${share}`
}

/** How much a key may have going: request rate and bytes in flight. */
export function admitLayer(admission: Admission): Layer<Authenticated> {
  return (next) => {
    const enter = weighed(admission, next)
    return function handle(exchange) {
      // A promise only where several processes share the counters.
      const counted = admission.request(exchange.auth.key)
      return counted ? counted.then(() => enter(exchange)) : enter(exchange)
    }
  }
}

/** Lets a request on with its bytes counted, as far as its key has such a limit. */
function weighed(admission: Admission, next: Service<Authenticated>): Service<Authenticated> {
  return (exchange) => {
    const {
      auth: { key },
    } = exchange
    if (key.limits.bytes === undefined) return next(exchange)
    // Without a declared length the bytes are counted as they come (read).
    const declared = exchange.head.connection.contentLength ?? 0
    admission.takeBytes(key, declared)
    exchange.head.costs.rateBytes = declared
    return next(exchange).finally(() => admission.giveBytes(key, exchange.head.costs.rateBytes))
  }
}

/**
 * Tokens of a key's minute: taken by estimate before the call, put right when the usage is known.
 * Takes the estimate of the input plus the caller's output cap; nothing for the output where the caller set no cap.
 * Call once for each turn: only the first can be refused.
 * @returns a promise only where the key has such a limit and the counters are shared.
 * @throws Fault 429.
 */
export function takeTokens(exchange: Accepted, admission: Admission): Promise<void> | undefined {
  const {
    auth: { key },
    head: { costs },
  } = exchange
  if (key.limits.tokens === undefined) return undefined
  const count = Math.ceil(inputEstimate(exchange) + Math.max(0, callerCap(exchange) ?? 0))
  const waiting = admission.tokens(key, count, costs.turns.length > 0)
  if (!waiting) costs.rateTokens += count
  return waiting?.then(() => {
    costs.rateTokens += count
  })
}

/** Call once, when the exchange is settled. What is not charged does not count; nor does what is read from a cache count less. */
export function settleTokens({ auth: { key }, head: { costs } }: Accepted, { used }: Settlement, admission: Admission): void {
  if (key.limits.tokens === undefined) return
  admission.correctTokens(key, used - costs.rateTokens)
}
