/** Settings of a connection to a provider, where they are not the usual ones. */
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

export interface ConnectionSettings {
  /** Address of a proxy, or `direct`. Absent: the environment's. */
  readonly proxy?: string | undefined
  readonly tls?: TlsSettings | undefined
  /** Milliseconds after which a connection takes no request any more. */
  readonly maxAge: number
}

export interface TlsSettings {
  /** PEM of the only authorities that are trusted, or `system` for those of the operating system. */
  readonly ca?: string | undefined
  /** PEM of the certificate that the gateway shows, and of its key. */
  readonly certificate?: string | undefined
  readonly key?: string | undefined
}

/** Milliseconds, where nothing else is set. */
export const MAX_USE_MS = 300_000

const contexts = new WeakMap<TlsSettings, SecureContext>()

/** @returns undefined where nothing differs from what Node does. @throws where a certificate or a key cannot be read. */
export function secureContext(settings: ConnectionSettings | undefined): SecureContext | undefined {
  const tls = settings?.tls
  if (!tls) return undefined
  let context = contexts.get(tls)
  if (!context) {
    const { ca, certificate, key } = tls
    context = createSecureContext({
      ...(ca !== undefined && { ca: ca === 'system' ? getCACertificates('system') : ca }),
      ...(certificate !== undefined && { cert: certificate }),
      ...(key !== undefined && { key }),
    })
    contexts.set(tls, context)
  }
  return context
}
