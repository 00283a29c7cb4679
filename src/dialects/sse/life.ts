/** Distinguishes the bytes of a provider's events from those of its keep-alives, which are no sign of life. */

const LF = 0x0a
const CR = 0x0d
/** Characters of a line that decide what it is. */
const DECISIVE = 48
/** Where the name of a type begins in a line of data. */
const TYPE = 'data: {"type":"'.length
/** `event: ping` of the Messages API, `event: keepalive` of the Responses API, and what compatible servers send. */
const QUIET_EVENT = /^event: ?(?:ping|keep[-_]?alive|heartbeat)\s*$/
const QUIET_DATA = /^data: ?\{\s*"type"\s*:\s*"(?:ping|keep[-_]?alive|heartbeat)"/
/** The beginning of a data line whose type is not known yet. */
const UNDECIDED_DATA = /^data: ?(?:\{\s*(?:"(?:t(?:y(?:p(?:e(?:"\s*(?::\s*(?:"[a-z_-]*)?)?)?)?)?)?)?)?)?\r?$/

/** Initials of the keep-alives, and what may stand before them. */
const DOUBTFUL: ReadonlySet<number | undefined> = new Set([...Buffer.from('pkh "'), undefined])

/**
 * True for what nearly every chunk is: it begins with `data: {"`, where the first member is not the type, or with an event
 * and its data neither of which names a keep-alive, and ends with a blank line. Of such a chunk nothing has to be followed.
 */
function isPlainFrames(chunk: Buffer): boolean {
  const end = chunk.length - 1
  if (end < 9 || chunk[end] !== LF || chunk[end - 1] !== LF) return false
  if (chunk[0] === 0x64) return chunk[5] === 0x20 && chunk[6] === 0x7b && chunk[7] === 0x22 && chunk[8] !== 0x74 && chunk[4] === 0x3a
  if (chunk[0] !== 0x65 || chunk[5] !== 0x3a || chunk[6] !== 0x20) return false
  // A name has some thirty letters: a loop over them is shorter than a call into Node.
  let data = 8
  while (chunk[data - 1] !== LF) data++
  return chunk[data] === 0x64 && !DOUBTFUL.has(chunk[7]) && !DOUBTFUL.has(chunk[data + TYPE])
}

/**
 * Follows a stream of server-sent events line by line. Only `data` lines count as life, from their first bytes on, so that
 * one long event that arrives in pieces does; comments, blank lines and keep-alive events do not (WHATWG HTML 9.2.6).
 */
export class StreamLife {
  /** The beginning of the line at hand. */
  private line = ''
  private kind: 'unknown' | 'life' | 'nothing' = 'unknown'
  /** The event at hand is a keep-alive, whatever its data says. */
  private quiet = false

  /** @returns true where the chunk holds bytes of an event. */
  push(chunk: Buffer): boolean {
    if (this.line === '' && !this.quiet && isPlainFrames(chunk)) return true
    const mark = chunk.includes(LF) || !chunk.includes(CR) ? LF : CR
    let found = false
    for (let at = 0; at < chunk.length; ) {
      const next = chunk.indexOf(mark, at)
      const end = next === -1 ? chunk.length : next
      const unknown = this.kind === 'unknown'
      if (unknown) this.judge(chunk.toString('latin1', at, Math.min(end, at + DECISIVE - this.line.length)), next !== -1)
      // An end alone adds nothing to a line that has counted already.
      const counts = this.kind === 'life' && (unknown || end > at)
      at = next === -1 ? end : end + 1
      if (counts && !found) {
        found = true
        // The rest of the chunk matters only for the line that it leaves unfinished.
        const blank = chunk.lastIndexOf('\n\n')
        if (blank >= end) {
          at = blank + 2
          this.quiet = false
          this.begin()
          continue
        }
      }
      if (next !== -1) this.endLine()
    }
    return found
  }

  private judge(piece: string, ended: boolean): void {
    this.line += piece
    const { line } = this
    const open = !ended && line.length < DECISIVE
    if (this.quiet) return
    if (line.startsWith('data:')) {
      if (QUIET_DATA.test(line)) this.kind = 'nothing'
      else if (!open || !UNDECIDED_DATA.test(line)) this.kind = 'life'
    } else if (line.length >= DECISIVE || (line !== '' && !'de\r'.includes(line.charAt(0)))) this.kind = 'nothing'
  }

  private endLine(): void {
    if (this.line === '' || this.line === '\r') this.quiet = false
    else if (QUIET_EVENT.test(this.line)) this.quiet = true
    this.begin()
  }

  private begin(): void {
    this.line = ''
    this.kind = 'unknown'
  }
}
