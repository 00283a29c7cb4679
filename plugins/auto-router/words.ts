/** A text as words, each with the weight of its place. */

/** Words at either end that count in full; those between count as pasted material. */
const ZONE = 30
/** Weight of material: what an instruction is about, not what it wants. */
const MATERIAL = 0.35
/** The first words, and those of the last line, say what is to be done. */
const OPENING = 5
const OPENING_WEIGHT = 1.4
/** An instruction that ends in a colon is at most this many words long. */
const MAX_LEAD_WORDS = 40

const WORD = /[\p{L}\p{N}]+(?:['’.;/-][\p{L}\p{N}]+)*(?:\+\+|#)?/gu

export interface Words {
  /** In lower case. */
  readonly all: readonly string[]
  /** Number of words from which a text behind an instruction and a colon is material. */
  readonly material: number
  /** Weight of the word at this place. */
  weight(place: number): number
}

export function splitWords(text: string): Words {
  const all: string[] = []
  let lead = 0
  let closing = 0
  const colon = leadEnd(text)
  const lastLine = text.trimEnd().lastIndexOf('\n')
  for (const match of text.matchAll(WORD)) {
    if (match.index < colon) lead++
    if (match.index < lastLine) closing++
    all.push(match[0].toLowerCase())
  }
  const material = lead >= 3 && lead <= MAX_LEAD_WORDS && all.length - lead >= 4 ? lead : Number.POSITIVE_INFINITY
  const weight = (place: number): number => {
    if (place < OPENING || (place >= closing && place < closing + OPENING && closing > 0)) return OPENING_WEIGHT
    if (place >= material && (all.length <= 2 * ZONE || place < all.length - ZONE / 2)) return MATERIAL
    return place < ZONE || place >= all.length - ZONE ? 1 : MATERIAL
  }
  return { all, material: Math.max(0, all.length - material), weight }
}

/** Beginning of the material: behind a colon and a space, or a colon and a line's end. */
function leadEnd(text: string): number {
  const at = text.search(/[:：]\s/u)
  return at < 0 ? 0 : at
}
