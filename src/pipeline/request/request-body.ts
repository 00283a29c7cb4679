/**
 * The body of a request as the caller sent it, from the moment that it is checked: parsed, and the bytes of a large one, which stand in
 * for it once it is sent (docs/decisions/0021-large-bodies-in-their-own-bytes.md).
 */
import type { JsonObject } from '../../core/json.ts'
import { wellFormedJson } from '../../core/well-formed.ts'
import type { JsonSource } from '../../machines/json-bytes/json-source.ts'

export class RequestBody {
  sent: JsonObject
  /** True once its large members are gone. */
  isDiscarded = false
  /** The bytes of a large body, as long as they are kept. */
  source: JsonSource | undefined = undefined

  constructor(sent: JsonObject) {
    this.sent = sent
  }

  /** The JSON text for a provider: what is the caller's goes on in its own bytes, members of the same wire, long texts of another. */
  write(body: JsonObject, isTranslated: boolean): string | Buffer {
    const bytes = isTranslated ? this.source?.rewrite(body) : this.source?.write(body)
    return bytes ?? wellFormedJson(body)
  }

  /** Keeps it parsed: its bytes are of no use any more. */
  keepParsed(): void {
    this.source = undefined
  }

  /**
   * Has been sent: its large members are parsed again out of its bytes where something reads them.
   * @param whole what was sent on. @returns what stands in for that; the same where it stays as it is.
   */
  release(whole: JsonObject): JsonObject {
    if (whole !== this.sent) this.source = undefined
    if (this.source === undefined) return whole
    this.sent = this.source.release()
    return this.sent
  }

  /** The answer has begun, and nothing will read the conversation again: its bytes go, too. */
  discard(): void {
    if (this.source === undefined) return
    this.source.discard()
    this.source = undefined
    this.isDiscarded = true
  }
}
