/** Text that a caller of the pass-through has sent, as far as it is kept: an error of the provider may repeat words of it. */
import type { IncomingMessage } from 'node:http'
import { contentCoding } from '../../core/content-coding.ts'
import type { Json } from '../../core/json.ts'
import { Pieces } from '../../core/pieces.ts'

/** Bytes of a body that are kept on their way: half of what a request has in buffers. */
const MOST = 128 * 1024

export class SentTexts {
  private readonly request: IncomingMessage
  private readonly path: string
  private pieces = new Pieces()
  private isWhole = true

  /** @param path below the provider's address, with its query. */
  constructor(request: IncomingMessage, path: string) {
    this.request = request
    this.path = path
  }

  push(chunk: Buffer): void {
    if (!this.isWhole) return
    this.pieces.push(chunk)
    if (this.pieces.size > MOST) this.forget()
  }

  /** A body that is at hand in any case. */
  whole(body: Buffer): void {
    this.pieces.push(body)
  }

  /** @returns path, headers and body; undefined where the body is too long, or in a coding that is not read. */
  texts(): Json | undefined {
    const { request, path } = this
    if (!this.isWhole || contentCoding(request.headers['content-encoding']) !== undefined) return undefined
    return [path, Object.values(request.headers).flat().join(' '), plain(this.pieces.whole().toString('utf8'))]
  }

  /** The reply is no error. */
  forget(): void {
    this.isWhole = false
    this.pieces.clear()
  }
}

/** Texts without the escapes that JSON has; any other body as it is. */
function plain(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
