/**
 * Recognises an answer whose head leaves nothing to decide: a small one that has come in one piece, or the beginning of one that comes in
 * chunks. Providers send some twenty fields; of an answer only those are taken out of the head that something reads. Anything else is
 * undefined here, and the parser's to read.
 */

/** Fields of an answer that say how its body is read, or how long the connection is kept. */
export type AnswerFields = Record<'content-type' | 'content-encoding' | 'keep-alive', string | undefined>

export interface PlainReply {
  readonly status: number
  readonly fields: AnswerFields
  /** True where `body` is the beginning of one in chunks, with their sizes. */
  readonly chunked: boolean
  /** Shares its memory with what was read. */
  readonly body: Buffer
}

/** Bytes. */
const LONGEST_HEAD = 8 * 1024

/** An answer of HTTP/1.1 (RFC 9112 sections 4 and 5): plain names, and values of printable ASCII, one to a line. Of an error all fields may count. */
const HEAD = /^HTTP\/1\.1 20[01](?: [ -~]*)?(?:\r\n[\w-]+: ?[!-~](?:[ -~]*[!-~])?)+$/

const LENGTH = /^\d{1,9}$/

/** Names that decide about the framing or the connection, and those of `AnswerFields`. */
const READ = ['connection', 'content-length', 'transfer-encoding', 'upgrade', 'keep-alive', 'content-type', 'content-encoding']
/** A bit for each of their lengths: of no other field is anything looked at. */
const READ_LENGTHS = READ.reduce((bits, { length }) => bits | (1 << length), 0)
const LONGEST_NAME = Math.max(...READ.map(({ length }) => length))

const SPACE = 0x20

/** @param bytes all that has been read of the reply. */
export function plainReply(bytes: Buffer): PlainReply | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1 || end > LONGEST_HEAD) return undefined
  const text = bytes.toString('latin1', 0, end)
  if (!HEAD.test(text)) return undefined
  const fields: AnswerFields = { 'content-type': undefined, 'content-encoding': undefined, 'keep-alive': undefined }
  let length: number | undefined
  let chunked = false
  for (let at = text.indexOf('\r\n'); at !== -1; ) {
    const next = text.indexOf('\r\n', at + 2)
    const colon = text.indexOf(':', at)
    const size = colon - at - 2
    if (size <= LONGEST_NAME && (READ_LENGTHS & (1 << size)) !== 0) {
      const name = text.slice(at + 2, colon).toLowerCase()
      const value = text.slice(text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1, next === -1 ? undefined : next)
      if (name === 'content-length') {
        if (length !== undefined || !LENGTH.test(value)) return undefined
        length = Number(value)
      } else if (name === 'transfer-encoding') {
        if (chunked || value !== 'chunked') return undefined
        chunked = true
      } else if (name === 'upgrade' || (name === 'connection' && value !== 'keep-alive')) return undefined
      else if (!takes(fields, name, value)) return undefined
    }
    at = next
  }
  // Both together are how replies are smuggled (RFC 9112 section 6.3).
  if (chunked ? length !== undefined : length === undefined || end + 4 + length !== bytes.length) return undefined
  return { status: Number(text.slice(9, 12)), fields, chunked, body: bytes.subarray(end + 4) }
}

/** @returns false where the field has come before: several values are the parser's to read. */
function takes(fields: AnswerFields, name: string, value: string): boolean {
  if (name === 'content-type') {
    if (fields['content-type'] !== undefined) return false
    fields['content-type'] = value
  } else if (name === 'content-encoding') {
    if (fields['content-encoding'] !== undefined) return false
    fields['content-encoding'] = value
  } else if (name === 'keep-alive') {
    if (fields['keep-alive'] !== undefined) return false
    fields['keep-alive'] = value
  }
  return true
}
