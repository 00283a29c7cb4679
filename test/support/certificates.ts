/** Certificates made for one test run (RFC 5280), so that no key lies in the repository. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

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
  /** Ran out years ago. */
  expired?: boolean
  /** With an RSA key; one on an elliptic curve otherwise. */
  rsa?: boolean
}

/** A certificate of an authority where it is for no host. */
export function certificate({ name, by, hosts = [], addresses = [], expired = false, rsa = false }: CertificateOptions): Signed {
  const { publicKey, privateKey } = rsa
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signer = by?.key ?? privateKey
  const algorithm = ALGORITHMS[signer.asymmetricKeyType === 'rsa' ? 'rsa' : 'ec']
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const authority = hosts.length + addresses.length === 0
  const names = [
    ...hosts.map((host) => der(0x82, Buffer.from(host))),
    ...addresses.map((one) => der(0x87, Buffer.from(one.split('.').map(Number)))),
  ]
  const extensions = [extension('551d13', sequence(...(authority ? [der(0x01, Buffer.from([0xff]))] : [])))]
  if (authority) extensions.push(extension('551d0f', der(0x03, Buffer.from([2, 0x04]))))
  else extensions.push(extension('551d11', sequence(...names)))
  const toSign = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), createHash('sha256').update(spki).digest().subarray(0, 8)])),
    algorithm,
    distinguished(by?.name ?? name),
    sequence(time('200101000000Z'), time(expired ? '210101000000Z' : '491231235959Z')),
    distinguished(name),
    spki,
    der(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', toSign, signer)
  const whole = sequence(toSign, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])))
  const lines = whole.toString('base64').replace(/.{64}(?!$)/g, '$&\n')
  return { cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`, key: privateKey, name }
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
const distinguished = (name: string): Buffer => sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(name)))))
const extension = (id: string, value: Buffer): Buffer => sequence(oid(id), der(0x01, Buffer.from([0xff])), der(0x04, value))
