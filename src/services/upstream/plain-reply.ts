/**
 * Recognises a small reply that has come in one piece and whose head leaves nothing to decide: most replies that are not
 * streamed. It costs a third of what the parser does. Anything else is undefined here, and the parser's to read.
 */

export interface PlainReply {
  readonly status: number
  /** Flat list: name, value, name, value. */
  readonly headers: readonly string[]
  /** Shares its memory with what was read. */
  readonly body: Buffer
}

/** Bytes. */
const LONGEST_HEAD = 8 * 1024

/** A final reply of HTTP/1.1 (RFC 9112 sections 4 and 5): plain names, and values of printable ASCII, one to a line. */
const HEAD = /^HTTP\/1\.1 [2-5]\d\d(?: [ -~]*)?(?:\r\n[\w-]+: ?[!-~](?:[ -~]*[!-~])?)+$/

/** Statuses whose replies have no body, whatever their head says (RFC 9112 section 6.3). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304])

const LENGTH = /^\d{1,9}$/

/** Lengths of the names that decide about the framing or the connection: of no other name is the value looked at. */
const DECIDING = new Set(['connection', 'content-length', 'transfer-encoding', 'upgrade'].map((name) => name.length))

/** @param bytes all that has been read of the reply. */
export function plainReply(bytes: Buffer): PlainReply | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1 || end > LONGEST_HEAD) return undefined
  const text = bytes.toString('latin1', 0, end)
  if (!HEAD.test(text)) return undefined
  const status = Number(text.slice(9, 12))
  const headers: string[] = []
  let length: number | undefined
  for (let at = text.indexOf('\r\n'); at !== -1; ) {
    const next = text.indexOf('\r\n', at + 2)
    const colon = text.indexOf(':', at)
    const name = text.slice(at + 2, colon)
    const value = text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1, next === -1 ? undefined : next)
    headers.push(name, value)
    if (DECIDING.has(name.length)) {
      const lower = name.toLowerCase()
      if (lower === 'content-length') {
        if (length !== undefined || !LENGTH.test(value)) return undefined
        length = Number(value)
      } else if (lower === 'transfer-encoding' || lower === 'upgrade' || (lower === 'connection' && value !== 'keep-alive'))
        return undefined
    }
    at = next
  }
  if (length === undefined || WITHOUT_BODY.has(status) || end + 4 + length !== bytes.length) return undefined
  return { status, headers, body: bytes.subarray(end + 4) }
}
