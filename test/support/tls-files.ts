/** Files of a private authority and of a listener's certificate, as an operator has them, and clients that trust it. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, fetch as undiciFetch } from 'undici'
import { type CertificateOptions, certificate, type Signed } from './certificates.ts'

export interface TlsFiles {
  readonly directory: string
  readonly ca: Signed
  /** Puts a pair in the place of the listener's; each file is replaced at once, as by a rename. */
  replace(options?: Partial<CertificateOptions>): Signed
  /** PEM of the key of a certificate. */
  write(name: string, text: string): void
}

export const pemKey = ({ key }: Signed): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

/** Writes `ca.crt`, `tls.crt` and `tls.key`. */
export function tlsFiles(directory: string): TlsFiles {
  const ca = certificate({ name: 'Test Authority' })
  const write = (name: string, text: string): void => {
    const draft = join(directory, `.${name}`)
    writeFileSync(draft, text)
    renameSync(draft, join(directory, name))
  }
  const replace = (options: Partial<CertificateOptions> = {}): Signed => {
    const pair = certificate({ name: 'gateway', by: ca, hosts: ['localhost'], addresses: ['127.0.0.1'], ...options })
    write('tls.crt', pair.cert)
    write('tls.key', pemKey(pair))
    return pair
  }
  write('ca.crt', ca.cert)
  replace()
  return { directory, ca, replace, write }
}

/** A client that trusts the authority alone, with a certificate of its own where one is given. */
export function secureFetch({ ca }: Pick<TlsFiles, 'ca'>, shown?: Signed, more: Record<string, unknown> = {}) {
  const dispatcher = new Agent({
    connect: { ca: ca.cert, ...(shown ? { cert: shown.cert, key: pemKey(shown) } : {}), ...more },
  })
  return {
    fetch: ((url: string, init: object = {}) => undiciFetch(url, { ...init, dispatcher })) as unknown as typeof fetch,
    close: () => dispatcher.destroy(),
  }
}
