/**
 * Exports to S3 and services that speak it: one PutObject per batch (Amazon S3 API reference, "PutObject"), signed with its payload
 * ("Authenticating Requests: Using the Authorization Header", "Transfer Payload in a Single Chunk": `x-amz-content-sha256` is required).
 */
import { hash } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { awsKeys } from '../credentials/aws/chain.ts'
import { type AwsKeys, Sigv4Signer } from '../credentials/aws/sigv4.ts'
import { CredentialError } from '../credentials/types.ts'
import { type Delivery, DeliveryError, type Destination, type S3Target } from './destination.ts'
import { HttpSender } from './http-send.ts'

/** Milliseconds before their end at which keys of the chain are fetched anew, and for which those without an end are kept. */
const EARLY = 300_000
const LIFE = 900_000

interface KeptSigner {
  readonly signer: Sigv4Signer
  /** Milliseconds since the epoch. */
  readonly until: number
}

export class S3Destination implements Destination {
  readonly place: string
  private readonly target: S3Target
  private readonly clock: Clock
  private readonly sender: HttpSender
  private readonly origin: string
  /** Before the key of an object. */
  private readonly base: string
  private kept: KeptSigner | undefined

  constructor(target: S3Target, timeout: number, clock: Clock) {
    const { bucket, region, endpoint, prefix = '' } = target
    const url = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`)
    // Services beside AWS seldom have a name for each bucket.
    const isPathStyle = target.pathStyle ?? endpoint !== undefined
    const path = url.pathname.replace(/\/+$/, '')
    this.origin = isPathStyle ? url.origin : `${url.protocol}//${bucket}.${url.host}`
    this.base = `${path}/${isPathStyle ? `${bucket}/` : ''}${prefix}`
    this.place = `s3://${bucket}/${prefix}`
    this.target = target
    this.clock = clock
    this.sender = new HttpSender(this.origin, timeout, clock)
  }

  async deliver({ name, body, isGzip }: Delivery): Promise<void> {
    const signer = await this.signer()
    // Each part is escaped once, as it is sent ("Create a canonical request": S3 neither escapes twice nor normalizes).
    const path = `${this.base}${name}`.split('/').map(escapedPart).join('/')
    const headers = {
      'content-type': isGzip ? 'application/gzip' : 'application/x-ndjson',
      'x-amz-content-sha256': hash('sha256', body),
    }
    const call = { method: 'PUT', origin: this.origin, path, body, headers: Object.entries(headers).flat() } as const
    const signed = signer.headers(call, this.clock.now())
    const own: Record<string, string> = {}
    for (let at = 0; at + 1 < signed.length; at += 2) own[`${signed[at]}`] = `${signed[at + 1]}`
    const { status, text } = await this.sender.send({ method: 'PUT', path, headers: { ...headers, ...own }, body })
    if (status >= 200 && status <= 299) return
    // Another identity may be allowed what this one is not: the chain is read anew.
    if (status === 401 || status === 403) this.kept = undefined
    const [, code = ''] = /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text) ?? []
    throw new DeliveryError(`status ${status}${code === '' ? '' : ` ${code}`}`)
  }

  close(): void {
    this.sender.close()
  }

  private async signer(): Promise<Sigv4Signer> {
    const now = this.clock.now()
    if (this.kept && this.kept.until > now) return this.kept.signer
    const { region, accessKeyId, secretAccessKey, profile, role, externalId } = this.target
    const own = accessKeyId !== undefined && secretAccessKey !== undefined ? { accessKeyId, secretAccessKey } : undefined
    const scope = { region, service: 's3' }
    if (own) return this.keep(own, Number.POSITIVE_INFINITY, scope)
    try {
      const keys = await awsKeys({ region, profile, role, external_id: externalId })
      return this.keep(keys, keys.expiration ? keys.expiration.getTime() - EARLY : now + LIFE, scope)
    } catch (error) {
      throw new DeliveryError(error instanceof CredentialError ? error.message : 'no credentials')
    }
  }

  private keep(keys: AwsKeys, until: number, scope: { region: string; service: string }): Sigv4Signer {
    this.kept = { signer: new Sigv4Signer(keys, scope), until }
    return this.kept.signer
  }
}

/** RFC 3986 section 2.3. */
function escapedPart(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}
