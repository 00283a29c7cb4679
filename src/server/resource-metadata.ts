/** `/.well-known/oauth-protected-resource` (RFC 9728): the issuers at which people log in, and the public clients for that. It needs no key. */
import type { Config } from '../config/config.ts'
import { Fault } from '../core/faults.ts'
import { ownAddress } from '../core/own-address.ts'
import { isEncrypted } from '../core/request-scheme.ts'
import { LOGIN_MEMBER, type LoginIssuer, METADATA_PATH } from '../core/resource-metadata.ts'
import type { Page } from './consent-page.ts'
import type { OperationRequest } from './gateway.ts'

/** Answers for the path; undefined for any other one, and without issuers for that. Issuers of programs alone are not named to strangers. */
export function resourceMetadata({
  issuers,
  brand,
  server: { publicUrl },
}: Pick<Config, 'issuers' | 'brand' | 'server'>): (
  call: Pick<OperationRequest, 'path' | 'method' | 'request'>,
) => Promise<Page> | undefined {
  const clients = issuers.flatMap(({ issuer, login }): LoginIssuer[] =>
    login ? [{ issuer, client_id: login.clientId, scopes: login.scopes, resource: login.resource ?? null }] : [],
  )
  return ({ path, method, request: { headers, socket } }) => {
    if (path !== METADATA_PATH || clients.length === 0) return undefined
    if (method !== 'GET' && method !== 'HEAD') return Promise.reject(new Fault('method_not_allowed', { headers: { Allow: 'GET' } }))
    const resource = ownAddress({ headers, overTls: isEncrypted(socket) }, publicUrl)
    if (resource === undefined) return Promise.reject(new Fault('bad_request', { message: 'host: expected the name of the gateway' }))
    const document = {
      resource,
      authorization_servers: clients.map(({ issuer }) => issuer),
      scopes_supported: [...new Set(clients.flatMap(({ scopes }) => scopes))],
      bearer_methods_supported: ['header'],
      resource_name: brand.word,
      [LOGIN_MEMBER]: clients,
    }
    const types = { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' }
    return Promise.resolve({ status: 200, headers: types, html: JSON.stringify(document) })
  }
}
