/**
 * Signs calls with AWS Signature Version 4 (AWS IAM user guide, "Create a signed AWS API request"): synchronous, so that a call goes
 * out within the turn that made it. docs/decisions/0018-own-sigv4-signer.md says why it is ours.
 */
import { createHmac, hash } from 'node:crypto'
import type { CredentialedCall } from '../types.ts'

export interface AwsKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary keys. */
  readonly sessionToken?: string | undefined
}

export interface AwsScope {
  readonly region: string
  /** As signatures name it, such as `bedrock`. */
  readonly service: string
}

const ALGORITHM = 'AWS4-HMAC-SHA256'

/** Headers of a call that AWS wants signed beside the host: its content type, and its own. */
const isSigned = (name: string): boolean => name === 'content-type' || name.startsWith('x-amz')

/** Signs with one set of keys. The key of a day is derived once. */
export class Sigv4Signer {
  private readonly keys: AwsKeys
  private readonly scope: AwsScope
  private readonly signs: (name: string) => boolean
  private day = ''
  private dayKey: Buffer | undefined
  /** The last address that was signed for, and its host: nearly always the same one. */
  private origin = ''
  private host = ''

  /** @param signs which headers of a call are signed beside the host, the time and the session. Names are lower case. */
  constructor(keys: AwsKeys, scope: AwsScope, signs = isSigned) {
    this.keys = keys
    this.scope = scope
    this.signs = signs
  }

  /** Headers that the call needs beside its own: name, value, name, value. @param now milliseconds since the epoch. */
  headers(call: Omit<CredentialedCall, 'keyHeader'>, now: number): readonly string[] {
    const { accessKeyId, sessionToken } = this.keys
    const { region, service } = this.scope
    const time = timeText(now)
    const day = time.slice(0, 8)
    const signed = this.signedHeaders(call, time)
    const names = signed.map(([name]) => name).join(';')
    const request = canonicalRequest(call, signed, { names, isS3: service === 's3' })
    const scope = `${day}/${region}/${service}/aws4_request`
    const text = `${ALGORITHM}\n${time}\n${scope}\n${hash('sha256', request)}`
    const signature = createHmac('sha256', this.signingKey(day)).update(text).digest('hex')
    const authorization = `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
    const own = ['x-amz-date', time, 'authorization', authorization]
    return sessionToken === undefined ? own : ['x-amz-security-token', sessionToken, ...own]
  }

  /** Sorted by name; several of one name are one. */
  private signedHeaders(
    { origin, headers = [] }: Pick<CredentialedCall, 'origin' | 'headers'>,
    time: string,
  ): (readonly [string, string])[] {
    const found: [name: string, value: string][] = []
    for (let at = 0; at + 1 < headers.length; at += 2) {
      const name = `${headers[at]}`.toLowerCase()
      if (!this.signs(name) || name === 'host' || name === 'x-amz-date') continue
      const value = plainValue(`${headers[at + 1]}`)
      const same = found.find(([other]) => other === name)
      if (same) same[1] += `,${value}`
      else found.push([name, value])
    }
    if (origin !== this.origin) {
      this.origin = origin
      this.host = new URL(origin).host
    }
    found.push(['host', this.host], ['x-amz-date', time])
    const { sessionToken } = this.keys
    if (sessionToken !== undefined) found.push(['x-amz-security-token', sessionToken])
    return found.sort(([one], [other]) => (one < other ? -1 : 1))
  }

  private signingKey(day: string): Buffer {
    if (this.dayKey && this.day === day) return this.dayKey
    let key = Buffer.from(`AWS4${this.keys.secretAccessKey}`)
    for (const part of [day, this.scope.region, this.scope.service, 'aws4_request']) key = createHmac('sha256', key).update(part).digest()
    this.day = day
    this.dayKey = key
    return key
  }
}

function canonicalRequest(
  { method, path, body }: Pick<CredentialedCall, 'method' | 'path' | 'body'>,
  signed: readonly (readonly [string, string])[],
  { names, isS3 }: { names: string; isS3: boolean },
): string {
  const mark = path.indexOf('?')
  const sent = mark === -1 ? path : path.slice(0, mark)
  // S3 takes the path as it is sent ("Create a canonical request", canonical URI).
  const place = isS3 ? sent : canonicalPath(sent)
  const query = mark === -1 ? '' : canonicalQuery(path.slice(mark + 1))
  let headers = ''
  for (const [name, value] of signed) headers += `${name}:${value}\n`
  return `${method}\n${place}\n${query}\n${headers}\n${names}\n${hash('sha256', body)}`
}

/** `20150830T123600Z`. */
function timeText(now: number): string {
  const text = new Date(now).toISOString()
  return `${text.slice(0, 4)}${text.slice(5, 7)}${text.slice(8, 13)}${text.slice(14, 16)}${text.slice(17, 19)}Z`
}

const plainValue = (value: string): string => (/^\s|\s$|\s\s|[\r\n]/.test(value) ? value.trim().replaceAll(/\s+/g, ' ') : value)

/** Characters of a path that need no escape, beside its slashes. */
const PLAIN_PATH = /^[A-Za-z0-9._~/-]*$/

/** Every segment is escaped once more than it is sent (all services but S3), in a path without `.`, `..` and empty segments. */
function canonicalPath(path: string): string {
  const normal = path.includes('//') || path.includes('/.') ? withoutDots(path) : path
  return PLAIN_PATH.test(normal) ? normal || '/' : normal.split('/').map(escaped).join('/')
}

/** RFC 3986 section 5.2.4. */
function withoutDots(path: string): string {
  const kept: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') kept.pop()
    else if (part !== '.' && part !== '') kept.push(part)
  }
  const end = kept.length > 0 && /\/(?:\.{0,2})$/.test(path) ? '/' : ''
  return `/${kept.join('/')}${end}`
}

function canonicalQuery(query: string): string {
  const pairs = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair): [string, string] => {
      const at = pair.indexOf('=')
      return at === -1 ? [part(pair), ''] : [part(pair.slice(0, at)), part(pair.slice(at + 1))]
    })
  pairs.sort(([name, value], [other, its]) => compare(name, other) || compare(value, its))
  return pairs.map(([name, value]) => `${name}=${value}`).join('&')
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** In one way of escaping, however it is sent. */
function part(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  try {
    return escaped(decodeURIComponent(spaced))
  } catch {
    return escaped(spaced)
  }
}

/** All but unreserved characters (RFC 3986 section 2.3). */
function escaped(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}
