/** JWTs by which a gateway proves to an identity service who it is (RFC 7515, RFC 7523). */
import { constants, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'
import { CredentialError } from './types.ts'

/** @param pem PEM of an RSA key. @param what as the log names it. */
export function rsaKey(pem: string, what: string, passphrase?: string): KeyObject {
  let key: KeyObject | undefined
  try {
    key = createPrivateKey({ key: pem, ...(passphrase === undefined ? {} : { passphrase }) })
  } catch {
    // Reported below: the message may quote the text.
  }
  if (key?.asymmetricKeyType !== 'rsa') throw new CredentialError(`${what} holds no private RSA key that can be read`)
  return key
}

/** RS256 or PS256 (RFC 7518 sections 3.3 and 3.5). */
export function signedJwt(header: { alg: 'RS256' | 'PS256' } & JsonObject, claims: JsonObject, key: KeyObject): string {
  const text = `${encoded({ typ: 'JWT', ...header })}.${encoded(claims)}`
  const padding =
    header.alg === 'PS256'
      ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      : { padding: constants.RSA_PKCS1_PADDING }
  return `${text}.${sign('sha256', Buffer.from(text), { key, ...padding }).toString('base64url')}`
}

const encoded = (part: JsonObject): string => Buffer.from(JSON.stringify(part)).toString('base64url')
