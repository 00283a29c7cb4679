/** Signs and checks JWTs as identity services do (RFC 7515, 7518, 7519), apart from the gateway's own code. */
import { constants, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'

/** One issuer with its key pair. */
export class JwtIssuer {
  readonly iss: string
  readonly publicKey: KeyObject
  readonly pem: string
  private readonly key: KeyObject

  constructor(iss: string) {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    this.iss = iss
    this.publicKey = publicKey
    this.key = privateKey
    this.pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  }

  /** @param now milliseconds since the epoch. */
  token(claims: JsonObject, now: number): string {
    const seconds = Math.floor(now / 1000)
    const text = [
      { alg: 'RS256', typ: 'JWT' },
      { iss: this.iss, iat: seconds, exp: seconds + 3600, ...claims },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    return `${text}.${sign('sha256', Buffer.from(text), this.key).toString('base64url')}`
  }
}

export interface JwtRules {
  readonly alg: 'RS256' | 'PS256'
  readonly audience: string
  readonly issuer: string
  readonly key: KeyObject
  readonly now: number
  /** Seconds between `iat` and `exp`, at most. */
  readonly life: number
}

export interface ReadJwt {
  readonly header: JsonObject
  readonly claims: JsonObject
}

export function readJwt(text: string): ReadJwt | undefined {
  const [header, claims] = text.split('.').map((part) => {
    try {
      const value = JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Json
      return isObject(value) ? value : undefined
    } catch {
      return undefined
    }
  })
  return header && claims ? { header, claims } : undefined
}

/** Fault of the token; undefined for one that holds. */
export function jwtProblem(text: string, { alg, audience, issuer, key, now, life }: JwtRules): string | undefined {
  const parts = text.split('.')
  const read = readJwt(text)
  if (!read || parts.length !== 3) return 'no JWT'
  const { header, claims } = read
  if (header.alg !== alg || header.typ !== 'JWT') return `alg ${String(header.alg)}`
  const padding = alg === 'PS256' ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : { padding: constants.RSA_PKCS1_PADDING }
  const signature = Buffer.from(parts[2] ?? '', 'base64url')
  if (
    !verify(
      'sha256',
      Buffer.from(`${parts[0]}.${parts[1]}`),
      { key: createPublicKey(key.export({ type: 'spki', format: 'pem' })), ...padding },
      signature,
    )
  )
    return 'signature'
  const seconds = now / 1000
  if (claims.aud !== audience) return `aud ${String(claims.aud)}`
  if (claims.iss !== issuer) return `iss ${String(claims.iss)}`
  const { iat, exp } = claims
  if (typeof iat !== 'number' || typeof exp !== 'number') return 'times are no numbers'
  if (iat > seconds + 60 || exp <= seconds || exp - iat > life) return `times ${iat} ${exp}`
  return undefined
}
