/**
 * A provider's error on its way through the pass-through. It is held back until the fault table has read it: what is about the gateway's
 * account ends as an error of the gateway's, since the sentence is the operator's. Every other error is relayed as it came.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { contentCoding, decodedAtOnce } from '../../core/content-coding.ts'
import { accountFault, Fault, isAccountFault } from '../../core/faults.ts'
import type { Json } from '../../core/json.ts'
import { Pieces } from '../../core/pieces.ts'
import { NO_RETRY } from '../../core/retry-after.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { SentTexts } from './pass-through-sent.ts'

/** Reads a provider's error by the fault table. @param sent what the caller has sent; undefined where it is not known. */
export type ErrorReader = (status: number, body: Json | undefined, headers: IncomingHttpHeaders, sent: Json | undefined) => Fault

interface RefusedCall {
  readonly provider: Provider
  readonly errors: ErrorReader
  readonly authorize?: unknown
}

/** Bytes of an error that are read, as they come and decoded. */
const MOST = 64 * 1024
const MAX_DECODED = 256 * 1024

/** Conditions of the caller's own (RFC 9110 section 13.1): a 412 answers them. */
const CONDITIONS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range']

/** True for the statuses with which an account is refused. A failure of the server is none of these. */
export function isHeld(status: number): boolean {
  return status >= 400 && status < 500
}

export class HeldError {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  private readonly call: RefusedCall
  private readonly sent: SentTexts
  private readonly isConditional: boolean
  private readonly pieces = new Pieces()

  constructor(
    { status, headers, sent }: { status: number; headers: IncomingHttpHeaders; sent: SentTexts },
    request: IncomingMessage,
    call: RefusedCall,
  ) {
    this.status = status
    this.headers = headers
    this.sent = sent
    this.call = call
    this.isConditional = CONDITIONS.some((name) => request.headers[name] !== undefined)
  }

  /** @returns false once enough has come. */
  push(chunk: Buffer): boolean {
    this.pieces.push(chunk)
    return this.size < MOST
  }

  get size(): number {
    return this.pieces.size
  }

  bytes(): Buffer {
    return this.pieces.whole()
  }

  /** @returns the fault that the caller gets; undefined where the error is about the caller's request, or of the provider's own. */
  accountFault(): Fault | undefined {
    const { provider, errors, authorize } = this.call
    if (this.status === 412 && this.isConditional) return undefined
    const body = this.decoded()
    const read = errors(this.status, parsed(body), this.headers, this.sent.texts())
    // Whatever it is about, a text with the gateway's key is not for callers.
    const quotesKey = provider.key !== undefined && body?.includes(provider.key) === true
    if (!isAccountFault(read) && !quotesKey) return undefined
    const code = !isAccountFault(read) ? 'upstream_account' : read.code === 'upstream_auth' && authorize ? 'credential_refused' : read.code
    const fault = new Fault(code, { metadata: { provider_code: this.status }, headers: NO_RETRY, isEchoed: read.isEchoed })
    return accountFault(fault, provider.name) ?? fault
  }

  /** @returns undefined where its coding is not known. */
  private decoded(): Buffer | undefined {
    const coding = contentCoding(this.headers['content-encoding'])
    return coding === undefined ? this.bytes() : decodedAtOnce(coding, this.bytes(), MAX_DECODED)
  }
}

function parsed(bytes: Buffer | undefined): Json | undefined {
  try {
    return bytes && (JSON.parse(bytes.toString('utf8')) as Json)
  } catch {
    return undefined
  }
}
