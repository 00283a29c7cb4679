/** Rules of connections to providers that the schema cannot state: whether certificates and keys can be read, and fit each other. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Path } from './problems.ts'
import type { RawProvider } from './schema/root.ts'
import type { Source } from './source.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g

export function checkConnection({ connection, base_url: base }: RawProvider, at: Path, main: Source): void {
  if (!connection) return
  const { proxy, tls } = connection
  const here = [...at, 'connection']
  if (proxy !== undefined && proxy !== 'direct' && !isProxy(proxy))
    main.report([...here, 'proxy'], 'expected an http or https URL with at most a user and a password, or direct')
  if (!tls) return
  if (base?.startsWith('http:')) main.report([...here, 'tls'], 'TLS of a plain address, expected a base_url that begins with https', 'key')
  if (tls.ca !== undefined && tls.ca !== 'system' && certificatesIn(tls.ca).length === 0)
    main.report([...here, 'tls', 'ca'], 'expected certificates as PEM, or system')
  checkPair(tls, [...here, 'tls'], main)
}

function isProxy(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && url.hostname !== '' && url.pathname === '/' && url.search === '' && url.hash === ''
}

function checkPair({ certificate, key }: { certificate?: string; key?: string }, at: Path, main: Source): void {
  if (certificate === undefined && key === undefined) return
  if (certificate === undefined || key === undefined) {
    const [there, missing] = certificate === undefined ? ['key', 'certificate'] : ['certificate', 'key']
    if (!main.mayHave(at, missing)) main.report([...at, there], `expected ${missing} beside it`, 'key')
    return
  }
  if (main.isWrong([...at, 'certificate']) || main.isWrong([...at, 'key'])) return
  const [leaf] = certificatesIn(certificate)
  const secret = privateKey(key)
  if (!leaf) main.report([...at, 'certificate'], 'expected certificates as PEM')
  if (!secret) main.report([...at, 'key'], 'expected a private key as PEM, without a password')
  if (leaf && secret && !leaf.checkPrivateKey(secret))
    main.report([...at, 'key'], 'another key than that of the certificate, expected its own')
}

/** @returns none where one of them cannot be read. */
function certificatesIn(pem: string): X509Certificate[] {
  try {
    return (pem.match(CERTIFICATE) ?? []).map((one) => new X509Certificate(one))
  } catch {
    return []
  }
}

function privateKey(pem: string): ReturnType<typeof createPrivateKey> | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}
