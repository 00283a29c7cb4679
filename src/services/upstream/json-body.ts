/** A JSON object that arrives in pieces, up to a limit. */
import { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'

export class JsonBody {
  /** Bytes so far. */
  size = 0
  private readonly most: number
  private chunks: Buffer[] = []

  /** @param most bytes. */
  constructor(most: number) {
    this.most = most
  }

  /** @returns false where the body is longer than the limit. */
  push(chunk: Buffer): boolean {
    this.size += chunk.length
    if (this.size > this.most) return false
    this.chunks.push(chunk)
    return true
  }

  /** Call once. @throws Fault `upstream_empty`, or `upstream_garbled` where it is no JSON object. */
  parse(): JsonObject {
    const [first] = this.chunks
    const bytes = first && this.chunks.length === 1 ? first : Buffer.concat(this.chunks)
    this.chunks = []
    if (bytes.length === 0) throw new Fault('upstream_empty')
    let body: unknown
    try {
      body = JSON.parse(bytes.toString())
    } catch (cause) {
      throw new Fault('upstream_garbled', { cause })
    }
    if (!isObject(body)) throw new Fault('upstream_garbled')
    return body
  }
}
