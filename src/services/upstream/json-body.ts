/** A JSON object that arrives in pieces, up to a limit. */
import { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { Pieces } from '../../core/pieces.ts'

export class JsonBody {
  private readonly most: number
  private readonly pieces = new Pieces()

  /** @param most bytes. */
  constructor(most: number) {
    this.most = most
  }

  /** @returns false where the body is longer than the limit. */
  push(chunk: Buffer): boolean {
    if (this.size + chunk.length > this.most) return false
    this.pieces.push(chunk)
    return true
  }

  /** Bytes so far. */
  get size(): number {
    return this.pieces.size
  }

  /** Call once. @throws Fault `upstream_empty`, or `upstream_garbled` where it is no JSON object. */
  parse(): JsonObject {
    const bytes = this.pieces.take()
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
