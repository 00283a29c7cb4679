/** Metadata of a protected resource (RFC 9728): where tokens for this gateway come from. */
import type { Fault } from './faults.ts'

export const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** Member of the metadata with the clients for `headgate login`; a name of our own, as RFC 9728, 2 allows. */
export const LOGIN_MEMBER = 'headgate_login'

/** An issuer at which people log in, as the metadata has it. */
export interface LoginIssuer {
  readonly issuer: string
  readonly client_id: string
  readonly scopes: readonly string[]
  readonly resource: string | null
}

/** Names the metadata in the challenge of a 401 (RFC 9728, 5.1). */
export function addMetadataChallenge(fault: Fault, address: string | undefined): void {
  const name = 'WWW-Authenticate'
  const challenge = fault.headers?.[name] ?? ''
  if (address === undefined || challenge.includes('resource_metadata=')) return
  const metadata = `resource_metadata="${address}${METADATA_PATH}"`
  fault.headers = { ...fault.headers, [name]: challenge === '' ? `Bearer ${metadata}` : `${challenge}, ${metadata}` }
}
