/**
 * Frames of a stream that differ from the one before in a piece of text, and perhaps in counts, alone: nearly all of a long answer.
 * Such a frame need not be parsed: what it would be parsed to is known but for these.
 */
import type { Json } from '../../core/json.ts'
import type { StreamEvent } from '../canon/events.ts'
import { LikeCounts } from './like-counts.ts'

/** A member whose value differs in each frame and means nothing: its name, and whether it must be the last of its frame. */
export interface Varying {
  readonly name: string
  readonly last: boolean
}

/** The inside of a string or the digits of a number that differs from frame to frame. */
interface Gap {
  readonly start: number
  readonly end: number
  /** Which of the counts it is; absent for a text. */
  readonly count?: number
}

/** Content of a gap that is no count. */
const TEXT = -1
const NOTHING = -2

/** Frames that were learnt without one like them: then this stream has none. */
const MAX_IN_VAIN = 8

const QUOTE = '"'
const ZERO = 0x30
const NINE = 0x39
/** Numbers of so many digits are exact. */
const MAX_DIGITS = 15

export class LikeFrames {
  /** False as long as no frame was learnt that another one may be like. */
  hasLearnt = false
  private readonly varying: readonly Varying[]
  private readonly counted: LikeCounts | undefined
  /** The frame around its text, its counts and its varying values; empty before one was learnt. */
  private parts: string[] = []
  /** Content of the gaps between the parts: `TEXT`, `NOTHING` that is read, or the index of a count. */
  private gaps: number[] = []
  private block = 0
  private inVain = 0

  /** @param counts the member of a frame whose numbers differ in each, where there is one. */
  constructor(varying: readonly Varying[], counts?: string) {
    this.varying = varying
    if (counts !== undefined) this.counted = new LikeCounts(counts)
  }

  /** The member of counts of the frame that was read last. */
  get counts(): Json | undefined {
    return this.counted?.value
  }

  /** @returns the one event that the frame is decoded to beside its counts, where it is like the last one that was learnt. */
  read(data: string): StreamEvent | undefined {
    const { parts, gaps } = this
    const [first] = parts
    // `startsWith` compares unit by unit, which takes three times as long as a slice and a comparison of both.
    if (first === undefined || data.slice(0, first.length) !== first) return undefined
    let at = first.length
    let text = ''
    for (let gap = 0; gap < gaps.length; gap++) {
      const kind = gaps[gap] ?? NOTHING
      const end = kind >= 0 ? endOfDigits(data, at) : endOfValue(data, at)
      if (kind === TEXT) text = data.slice(at, end)
      else if (kind >= 0 && !this.putCount(kind, data, at, end)) return undefined
      const part = parts[gap + 1] ?? ''
      at = end + part.length
      if (data.slice(end, at) !== part) return undefined
    }
    if (at !== data.length || text === '' || !isPlain(text)) return undefined
    this.inVain = 0
    return { type: 'block-delta', block: this.block, text }
  }

  /**
   * To be called with each frame that was parsed: later ones may be like it.
   * @param text the value of the one member that the decoder has made its only event of, where it keeps nothing else of the frame but
   * its counts.
   * @param event undefined where there are others: what comes later is then read in another state.
   */
  learn(data: string, text: unknown, event: StreamEvent | undefined): void {
    // A text with an escape: what is around it is known already.
    if (event?.type === 'block-delta' && event.text === text && event.block === this.block && this.isAround(data)) return
    this.parts = []
    this.hasLearnt = false
    if (event?.type !== 'block-delta' || event.text !== text || text === '' || this.inVain >= MAX_IN_VAIN) return
    const literal = `"${text}"`
    const at = data.indexOf(literal)
    // Without an escape each string stands as it is; with the text in it once, this one is it.
    if (at === -1 || data.indexOf(literal, at + 1) !== -1 || data.includes('\\')) return
    const counts = this.counted === undefined ? [] : this.counted.learn(data)
    if (counts === undefined) return
    this.inVain++
    this.block = event.block
    const textGap = { start: at + 1, end: at + 1 + event.text.length }
    const rest = this.varying.map((one) => findGap(data, one)).filter((gap) => gap !== undefined)
    this.cut(data, textGap, [...counts, ...rest])
  }

  /** Keeps what is around the gaps, and what each of them holds. */
  private cut(data: string, textGap: Gap, others: readonly Gap[]): void {
    this.hasLearnt = true
    const gaps = [textGap, ...others].sort((a, b) => a.start - b.start)
    this.gaps = gaps.map((gap) => (gap === textGap ? TEXT : (gap.count ?? NOTHING)))
    let from = 0
    for (const { start, end } of gaps) {
      this.parts.push(data.slice(from, start))
      from = end
    }
    this.parts.push(data.slice(from))
  }

  /** @returns false for digits that are no number of JSON, or not an exact one. */
  private putCount(index: number, data: string, start: number, end: number): boolean {
    const length = end - start
    if (length === 0 || length > MAX_DIGITS || (length > 1 && data.charCodeAt(start) === ZERO)) return false
    let value = 0
    for (let at = start; at < end; at++) value = value * 10 + data.charCodeAt(at) - ZERO
    this.counted?.put(index, value)
    return true
  }

  private isAround(data: string): boolean {
    const { parts } = this
    const [first] = parts
    return first !== undefined && data.startsWith(first) && data.endsWith(parts.at(-1) ?? '')
  }
}

/** Place of the value of a varying member: a string without its quotes, or a number. */
function findGap(data: string, { name, last }: Varying): Gap | undefined {
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
