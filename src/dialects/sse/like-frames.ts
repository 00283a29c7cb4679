/**
 * Frames of a stream that differ from the one before in a piece of text alone: nearly all of a long answer. Such a frame need not be
 * parsed: what it would be parsed to is known but for the text.
 */
import type { StreamEvent } from '../canon/events.ts'

/** A member whose value differs in each frame and means nothing: its name, and whether it must be the last of its frame. */
export interface Varying {
  readonly name: string
  readonly last: boolean
}

/** Frames that were learnt without one like them: then this stream has none. */
const MOST_IN_VAIN = 8

const QUOTE = '"'
const ZERO = 0x30
const NINE = 0x39

export class LikeFrames {
  private readonly varying: readonly Varying[]
  /** The frame around its text and its varying values; empty before one was learnt. */
  private parts: string[] = []
  /** Which of the gaps between the parts is the text. */
  private textGap = 0
  private block = 0
  private inVain = 0

  constructor(varying: readonly Varying[]) {
    this.varying = varying
  }

  /** @returns the one event that the frame is decoded to, where it is like the last one that was learnt. */
  read(data: string): StreamEvent | undefined {
    const { parts, textGap } = this
    const [first] = parts
    if (first === undefined || !data.startsWith(first)) return undefined
    let at = first.length
    let text = ''
    for (let gap = 0; gap < parts.length - 1; gap++) {
      const end = endOfValue(data, at)
      if (gap === textGap) text = data.slice(at, end)
      const part = parts[gap + 1] ?? ''
      if (!data.startsWith(part, end)) return undefined
      at = end + part.length
    }
    if (at !== data.length || text === '' || !isPlain(text)) return undefined
    this.inVain = 0
    return { type: 'block-delta', block: this.block, text }
  }

  /**
   * To be called with each frame that was parsed: later ones may be like it.
   * @param text the value of the one member that the decoder has made its only event of, where it keeps nothing else of the frame.
   * @param event undefined where there are others: what comes later is then read in another state.
   */
  learn(data: string, text: unknown, event: StreamEvent | undefined): void {
    // A text with an escape: what is around it is known already.
    if (event?.type === 'block-delta' && event.text === text && event.block === this.block && this.isAround(data)) return
    this.parts = []
    if (event?.type !== 'block-delta' || event.text !== text || text === '' || this.inVain >= MOST_IN_VAIN) return
    const literal = `"${text}"`
    const at = data.indexOf(literal)
    // Without an escape each string stands as it is; with the text in it once, this one is it.
    if (at === -1 || data.indexOf(literal, at + 1) !== -1 || data.includes('\\')) return
    this.inVain++
    this.block = event.block
    const gaps = [{ start: at + 1, end: at + 1 + event.text.length }]
    for (const one of this.varying) {
      const gap = gapOf(data, one)
      if (gap) gaps.push(gap)
    }
    gaps.sort((a, b) => a.start - b.start)
    this.textGap = gaps.findIndex(({ start }) => start === at + 1)
    let from = 0
    for (const { start, end } of gaps) {
      this.parts.push(data.slice(from, start))
      from = end
    }
    this.parts.push(data.slice(from))
  }

  private isAround(data: string): boolean {
    const { parts } = this
    const [first] = parts
    return first !== undefined && data.startsWith(first) && data.endsWith(parts.at(-1) ?? '')
  }
}

/** Where the value of a varying member stands: a string without its quotes, or a number. */
function gapOf(data: string, { name, last }: Varying): { start: number; end: number } | undefined {
  const member = `"${name}":`
  const at = data.indexOf(member)
  if (at === -1) return undefined
  const isText = data.startsWith(QUOTE, at + member.length)
  const start = at + member.length + (isText ? 1 : 0)
  const end = isText ? data.indexOf(QUOTE, start) : endOfDigits(data, start)
  return end === -1 || (last && end !== data.length - (isText ? 2 : 1)) ? undefined : { start, end }
}

/** The end of a string without its quotes, or of a number, that begins at a place. */
function endOfValue(data: string, at: number): number {
  if (data[at - 1] !== QUOTE) return endOfDigits(data, at)
  const end = data.indexOf(QUOTE, at)
  return end === -1 ? data.length : end
}

function endOfDigits(data: string, from: number): number {
  let at = from
  for (let unit = data.charCodeAt(at); unit >= ZERO && unit <= NINE; unit = data.charCodeAt(at)) at++
  return at
}

/** A backslash, and what JSON allows in no string: all that lies outside of "space to [" and "] and above". */
const NOT_PLAIN = /[^ -[\]-\uffff]/

function isPlain(text: string): boolean {
  return !NOT_PLAIN.test(text)
}
