/** A reply of the pass-through that may be a page of a list: it is held back until it is known which of its entries the caller may see. */
import type { IncomingHttpHeaders } from 'node:http'
import { contentCoding, decodedAtOnce } from '../../core/content-coding.ts'
import { Fault } from '../../core/faults.ts'
import { Pieces } from '../../core/pieces.ts'

/** Reply to the caller, or the path of the page that is wanted in its place. */
export type Page = { readonly bytes: Buffer } | { readonly next: string }

export interface ListedPages {
  /** @param path of the page, as the call has it. @throws Fault. */
  read(bytes: Buffer, path: string): Promise<Page>
}

/** Bytes of a page. */
const MOST = 8 * 1024 * 1024

export class HeldPage {
  readonly status: number
  private readonly came: IncomingHttpHeaders
  private readonly pieces = new Pieces()

  constructor(status: number, headers: IncomingHttpHeaders) {
    this.status = status
    this.came = headers
  }

  /** True for what may be a list: JSON that is no stream. 204 and 205 have no content, whatever type they name (RFC 9110 section 15.3). */
  static holds(status: number, headers: IncomingHttpHeaders): boolean {
    const mayHave = status >= 200 && status <= 299 && status !== 204 && status !== 205
    return mayHave && /^\s*[\w.-]+\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(String(headers['content-type'] ?? ''))
  }

  /** @throws Fault 413 once it is too long. */
  push(chunk: Buffer): void {
    this.pieces.push(chunk)
    if (this.pieces.size > MOST)
      throw new Fault('too_large', {
        message: `The list is longer than ${MOST} bytes, more than the gateway looks through; ask for shorter pages (limit, pageSize, page_size)`,
      })
  }

  /** @throws Fault 502 in a coding that is not known. */
  bytes(): Buffer {
    const coding = contentCoding(this.came['content-encoding'])
    const bytes = this.pieces.take()
    const plain = coding === undefined ? bytes : decodedAtOnce(coding, bytes, MOST)
    if (!plain) throw new Fault('upstream_garbled')
    return plain
  }

  /** Of the reply with these bytes. */
  headers({ length }: Buffer): IncomingHttpHeaders {
    const { 'content-encoding': _, 'transfer-encoding': __, etag: ___, ...kept } = this.came
    return { ...kept, 'content-length': String(length) }
  }
}
