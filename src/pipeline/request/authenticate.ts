/** Authenticates a request: finds the key of its caller by the head alone. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { hashOf, hasWrongChecksum } from '../../core/secret.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { KEY_REASONS } from '../../store/refusals.ts'
import type { ClientConnection } from '../client-connection.ts'
import { type Authenticated, advance, type Received } from '../exchange.ts'
import type { Layer } from '../layer.ts'
import type { Attempts } from './attempt-buckets.ts'

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
