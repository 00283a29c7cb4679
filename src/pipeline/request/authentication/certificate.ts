/** A caller shows a client certificate that the listener has verified, and no key. */
import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../../../core/faults.ts'
import type { ApiKey } from '../../../plugin-api/key.ts'
import type { AuthenticationMethod, AuthenticationParts, Caller } from './method.ts'

/** Sent in the place of a key by clients that cannot send none, such as SDKs. */
const PLACEHOLDER = 'certificate'
const BEARER = `Bearer ${PLACEHOLDER}`

/** A key beside a certificate is the caller's: the certificate has let the connection in, and says no more. */
function showsKey({ authorization, 'x-api-key': key, 'x-goog-api-key': googleKey }: IncomingHttpHeaders): boolean {
  const isShown = (value: string | string[] | undefined, placeholder: string): boolean =>
    value !== undefined && value !== '' && value !== placeholder
  return isShown(authorization, BEARER) || isShown(key, PLACEHOLDER) || isShown(googleKey, PLACEHOLDER)
}

/**
 * True where a page of another origin may have had a browser send this request, or open this WebSocket. Browsers show a certificate by
 * themselves, but the placeholder only after a preflight (Fetch standard, CORS-preflight fetch); they state the page by `Sec-Fetch-Site`
 * (Fetch Metadata, 2.3) or, as older ones do and those that open a WebSocket, by `Origin`.
 */
function isOfForeignPage({ authorization, origin, host, ...headers }: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site']
  if (authorization === BEARER || headers['x-api-key'] === PLACEHOLDER || headers['x-goog-api-key'] === PLACEHOLDER) return false
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && URL.parse(origin)?.host !== host
}

const FOREIGN =
  'A page of another origin cannot use the client certificate of a browser: send a key, or `Authorization: Bearer certificate`'

/** Undefined without rules: no connection is looked at then. */
export function certificate({ certificates }: AuthenticationParts): AuthenticationMethod | undefined {
  if (!certificates) return undefined
  const found = ({ headers, connection }: Caller): ApiKey | undefined => {
    const shown = connection.certificate?.()
    if (shown && isOfForeignPage(headers)) throw new Fault('forbidden', { message: FOREIGN })
    return shown && certificates.key(shown)
  }
  return {
    shows: ({ headers, connection }) => !showsKey(headers) && connection.certificate?.() !== undefined,
    atHand: found,
    find: found,
    renew: (key) => (certificates.gave(key) ? key : undefined),
  }
}
