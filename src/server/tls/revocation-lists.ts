/** Revocation lists of client certificates: each by itself, since Node reads the first list of each text that it is given. */
import { entryAt } from '../../core/entry-at.ts'

const LIST = /-----BEGIN X509 CRL-----([A-Za-z0-9+/=\s]+)-----END X509 CRL-----/g
const BEGIN = /-----BEGIN X509 CRL-----/g

/**
 * @param setting names the text in errors. @returns each list as PEM of its own. Text beside them counts for nothing.
 * @throws Error without a list, where one is not whole, and with two lists of one authority: OpenSSL would look at one of them alone.
 */
export function revocationLists(text: string, setting: string): string[] {
  const found = [...text.matchAll(LIST)]
  if (found.length === 0 || found.length !== text.match(BEGIN)?.length)
    throw new Error(
      `${setting}: expected revocation lists as PEM, each from -----BEGIN X509 CRL----- to its end: openssl crl -inform DER makes it of the other form`,
    )
  const issuers = found.map(([, body = '']) => issuer(Buffer.from(body, 'base64'), setting).toString('base64'))
  if (new Set(issuers).size !== issuers.length)
    throw new Error(`${setting}: has two lists of one authority: expected one of each: leave the newest one of each in the file`)
  return found.map(([list]) => `${list}\n`)
}

const SEQUENCE = 0x30
const INTEGER = 0x02

/**
 * The name of the authority of a list, as it is encoded (RFC 5280 section 5.1): CertificateList begins with tbsCertList, and that with a
 * version, which may be absent, the algorithm of the signature, and the issuer.
 */
function issuer(list: Buffer, setting: string): Buffer {
  try {
    const toSign = part(part(list, 0, SEQUENCE).content, 0, SEQUENCE).content
    const version = toSign[0] === INTEGER ? part(toSign, 0, INTEGER).end : 0
    const algorithm = part(toSign, version, SEQUENCE)
    return part(toSign, algorithm.end, SEQUENCE).content
  } catch (error) {
    throw new Error(`${setting}: has a list that is none (RFC 5280 section 5.1): expected PEM of revocation lists`, { cause: error })
  }
}

interface Part {
  readonly content: Buffer
  /** Place at which the next one begins. */
  readonly end: number
}

/** One value of DER (X.690 section 8.1), whose length takes four bytes at most. @throws RangeError where there is none of this tag. */
function part(bytes: Buffer, start: number, tag: number): Part {
  const first = entryAt(bytes, start + 1)
  const more = first < 0x80 ? 0 : first & 0x7f
  const begin = start + 2 + more
  const length = more === 0 ? first : bytes.readUIntBE(start + 2, more)
  if (bytes[start] !== tag || begin + length > bytes.length) throw new RangeError('not the value that is expected')
  return { content: bytes.subarray(begin, begin + length), end: begin + length }
}
