/** How much text a JSON string of a raw frame stands for; frames have one byte per character. */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LETTER_U = 0x75
const LF = 0x0a
/** A backslash, the letter u and four digits. */
const UNIT_LENGTH = 6

/** Bytes of UTF-8 that one UTF-16 unit comes to; each half of a pair is half of four. */
function bytesOfUnit(unit: number): number {
  if (unit < 0x80) return 1
  if (unit < 0x800) return 2
  return unit >= 0xd800 && unit < 0xe000 ? 2 : 3
}

/** Bytes of the text that the escape at this backslash stands for. */
function bytesOfEscape(frames: string, at: number): number {
  if (frames.charCodeAt(at + 1) !== LETTER_U) return 1
  return bytesOfUnit(Number.parseInt(frames.slice(at + 2, at + UNIT_LENGTH), 16))
}

const lengthOfEscape = (frames: string, at: number): number => (frames.charCodeAt(at + 1) === LETTER_U ? UNIT_LENGTH : 2)

/** Bytes of the text of the JSON string whose inside begins at `from`. */
export function textBytes(frames: string, from: number): number {
  let bytes = 0
  for (let at = from; at < frames.length; ) {
    const code = frames.charCodeAt(at)
    if (code === QUOTE || code === LF) return bytes
    if (code === BACKSLASH) {
      bytes += bytesOfEscape(frames, at)
      at += lengthOfEscape(frames, at)
    } else {
      bytes++
      at++
    }
  }
  return bytes
}

/** Bytes by which the escapes of a text are longer than what they stand for. */
export function escapeExcess(frames: string): number {
  let excess = 0
  for (let at = frames.indexOf('\\'); at !== -1; ) {
    const length = lengthOfEscape(frames, at)
    excess += length - bytesOfEscape(frames, at)
    at = frames.indexOf('\\', at + length)
  }
  return excess
}
