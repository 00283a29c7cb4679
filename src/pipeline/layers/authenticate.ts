/** 2. Who is asking, still from the head alone. */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import type { Authed, Head } from '../../plugin-api/exchange.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { KeyLookup } from '../parts.ts'
import { type At, advance, type Layer } from '../reply.ts'

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
  const match = /^bearer +([!-~]+)$/i.exec(authorization)
  if (!match) throw new Fault(authorization.trim() === '' ? 'missing_key' : 'invalid_key')
  return match[1]
}

/** @throws Fault 401 for a key that is unknown, disabled or expired: the text is the same, so that none can be probed. */
export function usableKey(key: ApiKey | undefined, clock: Pick<Clock, 'now'>): ApiKey {
  if (!key || key.disabled || (key.expiresAt !== null && key.expiresAt <= clock.now())) throw new Fault('invalid_key')
  return key
}

/** Looks a key up by its digest; comparing digests tells nothing of the secret. */
export function findKey(headers: IncomingHttpHeaders, keys: KeyLookup): ApiKey | undefined | Promise<ApiKey | undefined> {
  return keys.find(hash('sha256', secretOf(headers)))
}

export function authenticate(keys: KeyLookup, clock: Clock): Layer<At<Head>, At<Authed>> {
  return (next) =>
    function authenticated(exchange) {
      const enter = (found: ApiKey | undefined) => {
        exchange.key = usableKey(found, clock)
        if (exchange.key.management) {
          throw new Fault('forbidden', { message: 'Management keys cannot call completion endpoints' })
        }
        return next(advance<Authed>(exchange))
      }
      const found = findKey(exchange.headers, keys)
      return found instanceof Promise ? found.then(enter) : enter(found)
    }
}
