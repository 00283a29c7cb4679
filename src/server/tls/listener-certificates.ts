/** The certificates of the listeners of this process. */
import type { TlsSettings } from '../../config/listener-tls.ts'
import { reading } from '../../machines/metrics/metrics.ts'
import { type CertificateParts, ListenerCertificate, type ListenerName } from './listener-certificate.ts'

const notAfter = reading('gauge', 'tls_certificate_not_after_seconds', 'Unix time at which the certificate of a listener ends.', {
  labels: ['listener'],
  isPerProcess: true,
})

/** The parts of a configuration that have TLS. */
export type TlsSections = { readonly [K in ListenerName]: { readonly tls?: TlsSettings | undefined } }

export class ListenerCertificates {
  private readonly parts: CertificateParts
  private readonly open = new Map<ListenerName, ListenerCertificate>()

  constructor(parts: CertificateParts) {
    this.parts = parts
  }

  /** @returns undefined for a listener without TLS. @throws Error that names the setting. */
  read(name: ListenerName, { [name]: { tls } }: TlsSections): ListenerCertificate | undefined {
    if (!tls) return undefined
    const certificate = new ListenerCertificate(name, tls, this.parts)
    this.open.set(name, certificate)
    this.parts.metrics.of(notAfter).from(() => [...this.open].map(([listener, { endsAt }]) => [{ listener }, Math.floor(endsAt / 1000)]))
    return certificate
  }

  /** Reads all of them at once, by the settings of a new configuration. */
  reload(sections: TlsSections): void {
    for (const [name, certificate] of this.open) certificate.reload(sections[name].tls)
  }

  close(): void {
    for (const certificate of this.open.values()) certificate.close()
    this.open.clear()
  }
}
