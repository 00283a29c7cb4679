/** A caller shows a client certificate that the listener has verified, and no key. */
import type { IncomingHttpHeaders } from 'node:http'
import type { AuthenticationMethod, AuthenticationParts } from './method.ts'

/** Sent in the place of a key by clients that cannot send none, such as SDKs. */
const PLACEHOLDER = 'certificate'
const BEARER = `Bearer ${PLACEHOLDER}`

/** A key beside a certificate is the caller's: the certificate has let the connection in, and says no more. */
function showsKey({ authorization, 'x-api-key': key, 'x-goog-api-key': googleKey }: IncomingHttpHeaders): boolean {
  const isShown = (value: string | string[] | undefined, placeholder: string): boolean =>
    value !== undefined && value !== '' && value !== placeholder
  return isShown(authorization, BEARER) || isShown(key, PLACEHOLDER) || isShown(googleKey, PLACEHOLDER)
}

/** Undefined without rules: no connection is looked at then. */
export function certificate({ certificates }: AuthenticationParts): AuthenticationMethod | undefined {
  if (!certificates) return undefined
  return {
    shows: ({ headers, connection }) => !showsKey(headers) && connection.certificate?.() !== undefined,
    atHand: ({ connection }) => {
      const shown = connection.certificate?.()
      return shown && certificates.key(shown)
    },
    find: ({ connection }) => {
      const shown = connection.certificate?.()
      return shown && certificates.key(shown)
    },
    renew: (key) => (certificates.gave(key) ? key : undefined),
  }
}
