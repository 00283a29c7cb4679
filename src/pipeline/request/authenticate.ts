/** Finds the key of a request from its head alone. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { hashOf, hasWrongChecksum } from '../../core/secret.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { ClientConnection } from '../client-connection.ts'
import type { KeyLookup } from '../dependencies.ts'
import type { Authenticated, Received } from '../exchange.ts'
import { advance } from '../exchange.ts'
import type { Layer } from '../layer.ts'
import type { Attempts } from './attempt-buckets.ts'

const LONGEST_TOKEN = 512

/**
 * The secret of a request: `Authorization: Bearer` (RFC 6750, 2.1) or `x-api-key`.
 * @throws Fault 401 without one, 400 where two differ.
 */
export function secretOf(headers: IncomingHttpHeaders): string {
  const { authorization } = headers
  const apiKey = headers['x-api-key']
  let secret: string | undefined
  if (authorization !== undefined) {
    secret = bearer(authorization)
  }
  if (typeof apiKey === 'string' && apiKey !== '') {
    if (secret !== undefined && secret !== apiKey) {
      throw new Fault('bad_request', { message: 'authorization: names another key than x-api-key', metadata: { field: 'authorization' } })
    }
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

/** @throws Fault 401 for a key that is unknown, disabled or expired: the text is the same, so that none can be probed. */
export function usableKey(key: ApiKey | undefined, clock: Pick<Clock, 'now'>): ApiKey {
  if (!key || key.disabled || (key.expiresAt !== null && key.expiresAt <= clock.now())) throw new Fault('invalid_key')
  return key
}

const TOO_MANY = 'Too many requests with keys that cannot be used came from this address'

/** The sender of a request, as far as its head shows it. */
export interface Caller {
  readonly headers: IncomingHttpHeaders
  readonly connection: Pick<ClientConnection, 'address' | 'digest'>
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
