/** Connection to the caller, as the pipeline needs it; the server implements it over HTTP. */
import type { X509Certificate } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http'
import type { Cancel } from '../plugin-api/exchange.ts'

/** Options for reading a body. */
export interface Reading {
  cancel?: Cancel
  /** Identity of the key that the memory of the body counts towards. */
  payer?: string
  /** Called with the length of each piece; what it throws ends the reading. */
  count?: ((bytes: number) => void) | undefined
}

export interface ClientConnection {
  /** Declared length of the body, undefined where it comes in chunks. */
  readonly contentLength: number | undefined
  /** Address by which failed authentications are counted; absent where there is no socket. */
  address?(): string
  /** Digest of the secret that the caller sent; a connection remembers its last one. Absent where there is no socket. */
  digest?(secret: string): string
  /** True where the caller has come over TLS. */
  isEncrypted?(): boolean
  /** Certificate of the caller, which the listener has verified; the same object for every request of a connection. */
  certificate?(): X509Certificate | undefined
  /**
   * @param limit bytes.
   * @throws Fault `too_large`, `client_timeout`, `client_gone`, `unavailable` without memory for it, or the reason of the cancel.
   */
  readBody(limit: number, reading?: Reading): Promise<Buffer>
  /**
   * Counts further bytes of memory towards the request, until it has ended.
   * A connection without it has no budget of memory.
   * @returns a promise where there is no room now. @throws Fault `unavailable`.
   */
  reserve?(bytes: number): Promise<void> | undefined
  /** Gives back bytes of `reserve` before the request has ended. */
  free?(bytes: number): void
  /** The whole reply at once; a long one in pieces, which are not joined but written as the caller takes them. */
  whole(status: number, headers: OutgoingHttpHeaders, json: string | readonly Buffer[]): void
  /** Head of an event stream. */
  openStream(headers: OutgoingHttpHeaders): void
  /** Raw bytes, one per character. @returns false if the caller should be waited for. */
  bytes(text: string): boolean
  text(text: string): boolean
  /** Calls `fn` once when the caller has read enough to go on. */
  onDrain(fn: () => void): void
  /** @param isCut true where the body is to end as one that is not whole: the connection ends with it, and never by a reset. */
  endStream(text: string, raw?: boolean, isCut?: boolean): void
  /** Sends something that means nothing: a caller that is gone answers with a reset. */
  probe(): void
}
