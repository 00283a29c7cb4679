/** The certificate of a listener with its key, and the authorities of its clients: read, and checked before they are used. */
import { constants, createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { TlsSettings } from '../../config/listener-tls.ts'
import { isPem } from '../../core/pem.ts'
import { revocationLists } from './revocation-lists.ts'

export interface KeyPair {
  readonly context: SecureContextOptions
  /** Of the certificate of the listener, milliseconds since the epoch. */
  readonly endsAt: number
  /** Of its texts. */
  readonly digest: string
  /** Of what client certificates are verified with. */
  readonly trustDigest: string
}

/**
 * No renegotiation: TLS 1.2 lets a client demand handshake after handshake on one connection (RFC 9325 section 3.5). Where clients show
 * certificates no session is resumed: OpenSSL takes the result of the verification from the session, so that a certificate that has
 * ended or was revoked since would still count as verified (SSL_CTX_set_session_id_context(3), SSL_get_verify_result(3)).
 */
const OPTIONS = constants.SSL_OP_NO_RENEGOTIATION
const WITHOUT_TICKETS = OPTIONS | constants.SSL_OP_NO_TICKET

/** Texts of the files, not looked at yet. */
export interface PairTexts {
  readonly cert: string
  readonly key: string
  readonly ca: string | undefined
  readonly crl: string | undefined
  /** SHA-256 of all of them: two readings of the same have the same. */
  readonly digest: string
}

/** @param setting name of the block, such as `server.tls`. @throws Error that names the setting of a file that cannot be read. */
export function readTexts({ cert, key, clientCa, clientCrl }: TlsSettings, setting: string): PairTexts {
  const texts = {
    cert: readText(cert, `${setting}.cert`),
    key: readText(key, `${setting}.key`),
    ca: clientCa === undefined ? undefined : readText(clientCa, `${setting}.client_ca`),
    crl: clientCrl === undefined ? undefined : readText(clientCrl, `${setting}.client_crl`),
  }
  return { ...texts, digest: digest(texts) }
}

const digest = (texts: object): string => createHash('sha256').update(JSON.stringify(texts)).digest('hex')

/** Checks the texts. @throws Error that names the setting, what was expected, and the remedy. */
export function buildKeyPair({ cert, key, ca, crl, digest: whole }: PairTexts, { minVersion }: TlsSettings, setting: string): KeyPair {
  const leaf = certificateIn(cert, `${setting}.cert`)
  if (!leaf.checkPrivateKey(keyIn(key, `${setting}.key`)))
    throw new Error(
      `${setting}.key: does not belong to the first certificate of ${setting}.cert: expected the key that it was issued for, and the certificate of the listener before those of its chain`,
    )
  if (ca !== undefined) certificateIn(ca, `${setting}.client_ca`)
  const context: SecureContextOptions = {
    cert,
    key,
    minVersion,
    secureOptions: ca === undefined ? OPTIONS : WITHOUT_TICKETS,
    ...(ca === undefined ? {} : { ca }),
    ...(crl === undefined ? {} : { crl: revocationLists(crl, `${setting}.client_crl`) }),
  }
  verify(context, crl, setting)
  return { context, endsAt: Date.parse(leaf.validTo), digest: whole, trustDigest: digest({ ca, crl }) }
}

function readText(value: string, setting: string): string {
  if (isPem(value)) return value
  try {
    return readFileSync(value, 'utf8')
  } catch (error) {
    throw new Error(`${setting}: ${value} cannot be read (${errorCode(error)}): expected the path of a PEM file that this account may read`)
  }
}

function certificateIn(pem: string, setting: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new Error(`${setting}: expected certificates as PEM, beginning with -----BEGIN CERTIFICATE-----`)
  }
}

function keyIn(pem: string, setting: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    throw new Error(`${setting}: expected a private key as PEM without a passphrase: openssl pkey -in KEY -out NEW removes one`)
  }
}

/** OpenSSL refuses more, such as keys that are too short. Its words name no secret. */
function verify(context: SecureContextOptions, crl: string | undefined, setting: string): void {
  try {
    createSecureContext(context)
  } catch (error) {
    const isCrl = crl !== undefined && errorCode(error) === 'ERR_CRYPTO_OPERATION_FAILED'
    const field = isCrl ? `${setting}.client_crl` : setting
    throw new Error(
      `${field}: OpenSSL refuses it (${error instanceof Error ? error.message : errorCode(error)}): expected PEM that it can use`,
    )
  }
}

const errorCode = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown error')
