/**
 * Checks Signature Version 4 as a service of AWS does: written from the IAM user guide ("Create a signed AWS API request",
 * "Troubleshoot Signature Version 4 signing"), and from nothing of the gateway's.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

export interface SignedRequest {
  method: string
  /** As it came, with its query. */
  path: string
  /** As they came: name, value, name, value. */
  headers: readonly string[]
  body: Buffer
}

export interface Sigv4Rules {
  findSecret(accessKeyId: string): string | undefined
  /** Milliseconds since the epoch. */
  now: number
  region: string
  service: string
}

export interface Signer {
  accessKeyId: string
  sessionToken: string | undefined
}

const SKEW = 15 * 60_000
const FORM =
  /^AWS4-HMAC-SHA256 Credential=([\w]{4,128})\/(\d{8})\/([a-z0-9-]+)\/([a-z0-9-]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/

/** @returns who signed, or why it is refused. */
export function verifySigv4({ method, path, headers, body }: SignedRequest, rules: Sigv4Rules): Signer | string {
  const fields = new Map<string, string[]>()
  for (let at = 0; at < headers.length; at += 2) {
    const name = String(headers[at]).toLowerCase()
    fields.set(name, [...(fields.get(name) ?? []), String(headers[at + 1])])
  }
  const one = (name: string): string | undefined => (fields.get(name)?.length === 1 ? fields.get(name)?.[0] : undefined)
  const parts = FORM.exec(one('authorization') ?? '')
  const time = one('x-amz-date')
  if (!parts) return 'missing or malformed authorization'
  const [, accessKeyId = '', day = '', region = '', service = '', list = '', signature = ''] = parts
  if (time === undefined || !/^\d{8}T\d{6}Z$/.test(time) || !time.startsWith(day)) return 'the time is missing or of another day'
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5'))
  if (!(Math.abs(at - rules.now) <= SKEW)) return 'the time is more than a quarter of an hour away'
  if (region !== rules.region || service !== rules.service) return `the scope is not ${rules.region}/${rules.service}`
  const secret = rules.findSecret(accessKeyId)
  if (secret === undefined) return 'the security token is invalid: no such access key'
  const names = list.split(';')
  if (names.join() !== names.toSorted().join() || new Set(names).size !== names.length) return 'the signed headers are not in order'
  const must = ['host', ...[...fields.keys()].filter((name) => name === 'content-type' || name.startsWith('x-amz-'))]
  const left = must.find((name) => !names.includes(name))
  if (left !== undefined) return `the header ${left} has to be signed`
  const request = canonical(
    { method, path, body, isS3: service === 's3' },
    names.map((name) => [name, fields.get(name) ?? []]),
  )
  const text = ['AWS4-HMAC-SHA256', time, `${day}/${region}/${service}/aws4_request`, sha256(request)].join('\n')
  let key = Buffer.from(`AWS4${secret}`)
  for (const part of [day, region, service, 'aws4_request']) key = hmac(key, part)
  if (!timingSafeEqual(hmac(key, text), Buffer.from(signature, 'hex'))) return 'the signature does not match'
  return { accessKeyId, sessionToken: one('x-amz-security-token') }
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
const hmac = (key: Buffer, text: string): Buffer<ArrayBuffer> => Buffer.from(createHmac('sha256', key).update(text).digest())

function canonical(
  { method, path, body, isS3 }: Pick<SignedRequest, 'method' | 'path' | 'body'> & { isS3: boolean },
  headers: readonly (readonly [name: string, values: readonly string[]])[],
): string {
  const [place = '', ...query] = path.split('?')
  const pairs = query
    .join('?')
    .split('&')
    .filter((text) => text.length > 0)
    .map((text) => {
      const [name = '', ...value] = text.split('=')
      return [name, value.join('=')].map((each) => uriEncode(percentBytes(each.replace(/\+/g, '%20'))))
    })
  // By name, then by value, in the order of their bytes.
  const sorted = pairs.map(([name, value]) => ({ name: `${name}`, value: `${value}` }))
  sorted.sort(
    (a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)) || Buffer.compare(Buffer.from(a.value), Buffer.from(b.value)),
  )
  return [
    method,
    // S3 alone takes it as it came: escaped once, and not normalized.
    isS3 ? place : canonicalUri(place),
    sorted.map(({ name, value }) => `${name}=${value}`).join('&'),
    ...headers.map(([name, values]) => `${name}:${values.map((value) => value.trim().split(/\s+/).join(' ')).join(',')}`),
    '',
    headers.map(([name]) => name).join(';'),
    sha256(body),
  ].join('\n')
}

/** Normalized (RFC 3986), each segment encoded a second time. */
function canonicalUri(place: string): string {
  const segments: string[] = []
  const given = place.split('/').slice(1)
  for (const segment of given) {
    if (segment === '..') segments.pop()
    else if (segment !== '.' && segment !== '') segments.push(uriEncode(Buffer.from(segment)))
  }
  const last = given.at(-1)
  const isFolder = segments.length > 0 && (last === '' || last === '.' || last === '..')
  return `/${segments.join('/')}${isFolder ? '/' : ''}`
}

function percentBytes(text: string): Buffer {
  const bytes: number[] = []
  const raw = Buffer.from(text)
  for (let at = 0; at < raw.length; at++) {
    const hex = raw[at] === 0x25 ? raw.toString('latin1', at + 1, at + 3) : ''
    if (/^[0-9a-f]{2}$/i.test(hex)) {
      bytes.push(Number.parseInt(hex, 16))
      at += 2
    } else bytes.push(raw[at] ?? 0)
  }
  return Buffer.from(bytes)
}

/** Every byte but A-Z, a-z, 0-9, `-`, `.`, `_` and `~` as %XX. */
function uriEncode(bytes: Buffer): string {
  return Array.from(bytes, (byte) => {
    const char = String.fromCharCode(byte)
    return /[A-Za-z0-9._~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')
}
