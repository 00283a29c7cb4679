/** The address under which a caller reaches the gateway. */
import type { IncomingHttpHeaders } from 'node:http'

/** A name of a host with its port, as clients send it. */
const HOST = /^[\w.:[\]-]{1,255}$/

/** Without a slash at its end; undefined where the request names no host. @param publicUrl the address that the operator has configured. */
export function ownAddress({ host = '', 'x-forwarded-proto': scheme }: IncomingHttpHeaders, publicUrl?: string): string | undefined {
  if (publicUrl !== undefined) return publicUrl.replace(/\/$/, '')
  return HOST.test(host) ? `${scheme === 'https' ? scheme : 'http'}://${host}` : undefined
}
