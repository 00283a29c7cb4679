/**
 * Workload identity federation: the token of an issuer that a provider trusts is exchanged there for an access token that soon ends. Each
 * exchange begins with another identity token, since those end too.
 */
import type { JsonObject } from '../../core/json.ts'
import type { ServiceConnections } from '../connections/service-connections.ts'
import { identityAnswer, jsonObject, StatusError } from './identity-call.ts'
import { readToken, TOKEN } from './token-response.ts'
import { CredentialError, type FetchGrant, type FetchToken, type Grant, type ReadToken, RefusedIdentity } from './types.ts'

export interface TokenExchange {
  /** For the log. */
  readonly service: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** @param token of the other issuer. */
  body(token: string): JsonObject
  grant(token: ReadToken): Grant
  readonly connections: ServiceConnections
}

export function federatedGrants(exchange: TokenExchange, identity: FetchToken): FetchGrant {
  const { service, url, headers, connections } = exchange
  return async (signal, now) => {
    const { token } = await identity(signal, now)
    if (!TOKEN.test(token)) throw new CredentialError('the identity token is no visible ASCII text of at most 16 KiB')
    const answer = await identityAnswer({ service, url, headers, json: exchange.body(token), connections }, signal).catch(
      (error: unknown) => {
        throw error instanceof StatusError && isRefusal(error.status) ? new RefusedIdentity(error.message) : error
      },
    )
    const type = jsonObject(answer)?.token_type
    if (typeof type === 'string' && type.toLowerCase() !== 'bearer') throw new CredentialError(`${service} gives no bearer token`)
    return exchange.grant(readToken(answer, now))
  }
}

/** Not for a reply that another attempt may change: of a proxy, a limit, a fault of the service. */
const isRefusal = (status: number | undefined): boolean => status === 400 || status === 401 || status === 403 || status === 404
