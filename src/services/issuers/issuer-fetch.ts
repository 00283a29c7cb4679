/** Calls of an identity provider: within a time and a size, without redirects, and over TLS unless it is on this machine. */
import type { Clock } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import { isLocalHost } from '../../core/transport.ts'
import { ServiceConnections } from '../connections/service-connections.ts'
import { exchange, type IdentityReply, identityAnswer, jsonObject, withinLimit } from '../credentials/identity-call.ts'
import { CredentialError } from '../credentials/types.ts'

/** Milliseconds for one call. */
const TIMEOUT_MS = 5_000
/** Bytes of a reply; a set of a hundred keys with their certificates has less. */
const MAX_BYTES = 256 * 1024

interface IssuerCall {
  /** Of the call, for the log. */
  readonly what: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly form?: Readonly<Record<string, string>> | undefined
}

interface RawCall extends Omit<IssuerCall, 'form' | 'headers'> {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** True for an address whose reply can be believed. */
export function isTrustworthy(address: string): boolean {
  const url = URL.parse(address)
  return url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLocalHost(url.hostname)))
}

export class IssuerClient {
  private readonly clock: Clock
  private readonly connections: ServiceConnections | undefined

  /** @param ca PEM of authorities that are trusted beside those of Node. */
  constructor(clock: Clock, ca: string | undefined) {
    this.clock = clock
    this.connections = ca === undefined ? undefined : new ServiceConnections({ connection: { tls: { ca }, maxAge: 0 } })
  }

  /** @throws Error with a text for the log, which quotes nothing of the reply. */
  async call({ what, url, headers, form }: IssuerCall): Promise<JsonObject> {
    if (!isTrustworthy(url)) throw new CredentialError(`${what} has an address without TLS`)
    const late = (): Error => new CredentialError(`${what}: no answer within ${TIMEOUT_MS / 1000} seconds`)
    const text = await withinLimit({ clock: this.clock, ms: TIMEOUT_MS, late }, (signal) =>
      identityAnswer({ service: what, url, headers, form, connections: this.connections, longest: MAX_BYTES }, signal),
    )
    const reply = jsonObject(text)
    if (!reply) throw new CredentialError(`the reply of ${what} is no object of JSON`)
    return reply
  }

  /** The reply whatever its status is. @throws CredentialError as `call`. */
  async reply({ what, url, method, headers, body }: RawCall): Promise<IdentityReply> {
    if (!isTrustworthy(url)) throw new CredentialError(`${what} has an address without TLS`)
    const late = (): Error => new CredentialError(`${what}: no answer within ${TIMEOUT_MS / 1000} seconds`)
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    return withinLimit({ clock: this.clock, ms: TIMEOUT_MS, late }, (signal) =>
      exchange(
        { service: what, url, connections: this.connections, longest: MAX_BYTES },
        { method, headers: { ...headers, ...length }, signal },
        body,
      ),
    )
  }

  close(): void {
    this.connections?.close()
  }
}

/** The text of an error for the log. Of others than our own the words may quote a reply. */
export function problemText(error: unknown): string {
  return error instanceof CredentialError ? error.message : 'the call failed'
}
