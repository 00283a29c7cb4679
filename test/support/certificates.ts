/** Certificates made for one test run (RFC 5280), so that no key lies in the repository. */
import { createHash, generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto'

export interface Signed {
  /** PEM. */
  cert: string
  key: KeyObject
  name: string
}

export interface CertificateOptions {
  name: string
  /** Signs it; itself where there is none. */
  by?: Signed
  /** DNS names that it is for. */
  hosts?: readonly string[]
  /** IPv4 addresses that it is for. */
  addresses?: readonly string[]
  /** URIs that name its holder, such as SPIFFE ids. */
  uris?: readonly string[]
  emails?: readonly string[]
  organisation?: string
  /** End as UTCTime, such as `270101000000Z`. */
  until?: string
  /** Ran out years ago. */
  expired?: boolean
  /** With an RSA key; one on an elliptic curve otherwise. */
  rsa?: boolean
}

/** A certificate of an authority where it is for no host. */
export function certificate({
  name,
  by,
  hosts = [],
  addresses = [],
  uris = [],
  emails = [],
  organisation,
  expired = false,
  until = expired ? '210101000000Z' : '491231235959Z',
  rsa = false,
}: CertificateOptions): Signed {
  const { publicKey, privateKey } = rsa
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signer = by?.key ?? privateKey
  const algorithm = ALGORITHMS[signer.asymmetricKeyType === 'rsa' ? 'rsa' : 'ec']
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const authority = hosts.length + addresses.length + uris.length + emails.length === 0
  const names = [
    ...hosts.map((host) => der(0x82, Buffer.from(host))),
    ...addresses.map((one) => der(0x87, Buffer.from(one.split('.').map(Number)))),
    ...uris.map((uri) => der(0x86, Buffer.from(uri))),
    ...emails.map((email) => der(0x81, Buffer.from(email))),
  ]
  const extensions = [extension('551d13', sequence(...(authority ? [der(0x01, Buffer.from([0xff]))] : [])))]
  if (authority) extensions.push(extension('551d0f', der(0x03, Buffer.from([1, 0x06]))))
  else extensions.push(extension('551d11', sequence(...names)))
  const toSign = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), createHash('sha256').update(spki).digest().subarray(0, 8)])),
    algorithm,
    distinguished(by?.name ?? name),
    sequence(time('200101000000Z'), time(until)),
    distinguished(name, organisation),
    spki,
    der(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', toSign, signer)
  const whole = sequence(toSign, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])))
  const lines = whole.toString('base64').replace(/.{64}(?!$)/g, '$&\n')
  return { cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`, key: privateKey, name }
}

/** A revocation list of an authority (RFC 5280 section 5), with the serial numbers of these certificates. */
export function revocationList(by: Signed, revoked: readonly Signed[]): string {
  const algorithm = ALGORITHMS[by.key.asymmetricKeyType === 'rsa' ? 'rsa' : 'ec']
  const entries = revoked.map(({ cert }) =>
    sequence(der(0x02, Buffer.from(new X509Certificate(cert).serialNumber, 'hex')), time('200101000000Z')),
  )
  const toSign = sequence(
    der(0x02, Buffer.from([1])),
    algorithm,
    distinguished(by.name),
    time('200101000000Z'),
    time('491231235959Z'),
    ...(entries.length > 0 ? [sequence(...entries)] : []),
  )
  const signature = sign('sha256', toSign, by.key)
  const whole = sequence(toSign, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])))
  return `-----BEGIN X509 CRL-----\n${whole.toString('base64').replace(/.{64}(?!$)/g, '$&\n')}\n-----END X509 CRL-----\n`
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
/** ecdsa-with-SHA256; sha256WithRSAEncryption. */
const ALGORITHMS = { ec: sequence(oid('2a8648ce3d040302')), rsa: sequence(oid('2a864886f70d01010b'), der(0x05, Buffer.alloc(0))) }
const time = (text: string): Buffer => der(0x17, Buffer.from(text))
const attribute = (id: string, value: string): Buffer => der(0x31, sequence(oid(id), der(0x0c, Buffer.from(value))))
const distinguished = (name: string, organisation?: string): Buffer =>
  sequence(...(organisation === undefined ? [] : [attribute('55040a', organisation)]), attribute('550403', name))
const extension = (id: string, value: Buffer): Buffer => sequence(oid(id), der(0x01, Buffer.from([0xff])), der(0x04, value))
