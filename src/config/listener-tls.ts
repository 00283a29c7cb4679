/** TLS of the listeners: the paths of its files, and the rules that the schema cannot state. */
import { dirname, resolve } from 'node:path'
import { isPem } from '../core/pem.ts'
import type { Resolved } from './resolved.ts'
import type { RawConfig } from './schema/root.ts'
import type { tls } from './schema/tls.ts'
import type { Source } from './source.ts'

/** Certificates and keys are a path, or PEM. */
export type TlsSettings = Resolved<typeof tls>

/** The settings with absolute paths. @param file of the configuration. */
export function tlsSettings(tls: TlsSettings | undefined, file: string): TlsSettings | undefined {
  if (!tls) return undefined
  const at = (path: string): string => (isPem(path) ? path : resolve(dirname(file), path))
  const { clientCa, clientCrl } = tls
  return {
    ...tls,
    cert: at(tls.cert),
    key: at(tls.key),
    ...(clientCa === undefined ? {} : { clientCa: at(clientCa) }),
    ...(clientCrl === undefined ? {} : { clientCrl: at(clientCrl) }),
  }
}

export function checkListenerTls({ server, admin }: RawConfig, main: Source): void {
  for (const [name, section] of Object.entries({ server, admin })) {
    const tls = section?.tls
    if (tls && tls.client_ca === undefined && tls.client_crl !== undefined && !main.mayHave([name, 'tls'], 'client_ca'))
      main.report([name, 'tls', 'client_crl'], 'expected client_ca beside it, the authorities that the lists are of', 'key')
  }
}
