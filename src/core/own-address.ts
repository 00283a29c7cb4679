/** The address under which a caller reaches the gateway. */
import type { IncomingHttpHeaders } from 'node:http'
import { schemeIn } from './request-scheme.ts'

/** A name of a host with its port, as clients send it. */
const HOST = /^[\w.:[\]-]{1,255}$/

interface AddressSource {
  readonly headers: IncomingHttpHeaders
  /** True where the request came over TLS. */
  readonly overTls: boolean
}

/** Without a slash at its end; undefined where the request names no host. @param publicUrl the address that the operator has configured. */
export function ownAddress({ headers, overTls }: AddressSource, publicUrl?: string): string | undefined {
  if (publicUrl !== undefined) return publicUrl.replace(/\/$/, '')
  const { host = '' } = headers
  return HOST.test(host) ? `${schemeIn(headers, overTls)}://${host}` : undefined
}
