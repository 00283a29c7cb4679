/** Identifiers: unguessable, sortable by time, and the row key of the journal at once. */
import { randomFillSync } from 'node:crypto'

const pool = Buffer.allocUnsafe(9 * 512)
let text = ''
let used = 0

/** 72 random bits as 12 characters of base64url; one system call per 512 identifiers. */
export function randomTag(): string {
  if (used === text.length) {
    text = randomFillSync(pool).toString('base64url')
    used = 0
  }
  used += 12
  return text.slice(used - 12, used)
}

/** A generation's identity: `seq` is its integer key in the journal, `id` what clients see. */
export interface GenerationId {
  seq: number
  tag: string
  id: string
}

/** Ticks per millisecond of the sequence: leaves 2^53 unreached until the year 2039. */
export const TICKS = 4096

/** Processes that can share one sequence: process `slot` draws the numbers that leave this remainder. */
export const SLOTS = 64

/** Milliseconds by which a clock may step back, or numbers be ahead of it, with the order of the numbers going on: beyond, the time does. */
export const MAX_AHEAD = 60_000
const AHEAD = MAX_AHEAD * TICKS

/** The numbers of a journal: the highest one that is not ahead of the clock, and those that are, which a clock that was ahead has drawn. */
export interface DrawnNumbers {
  readonly last: number
  readonly ahead?: { readonly from: number; readonly to: number } | undefined
}

export interface ClockStep {
  /** Milliseconds by which the clock went back. */
  readonly back: number
  /** False where numbers of this time may have been drawn: later ones go on from the highest, and are dated ahead. */
  readonly dated: boolean
}

/**
 * Sequential integers that are also times: `seq / 4096` is the millisecond of admission. None is drawn twice. Numbers go on from the last
 * one where the clock steps back a little; where it steps back by more, they go on from the clock's time as long as none of these has been
 * drawn: else one start with a clock that is ahead would date all that follows into the future.
 */
export class GenerationIds {
  private last: number
  private readonly step: number
  private readonly slot: number
  private ahead: { readonly from: number; readonly to: number } | undefined
  /** No number between the two has been drawn: what came before the last gap of a minute, and what came after it. */
  private gap = { from: 0, to: 0 }
  private isBehind = false
  /** Is called when the clock has stepped back by more than a minute. */
  onStep: ((step: ClockStep) => void) | undefined

  /** @param drawn those of the journal. @param slot 0 to 63 where several processes write into one store; absent: every number is this process's own. */
  constructor({ last, ahead }: DrawnNumbers, slot?: number) {
    this.step = slot === undefined ? 1 : SLOTS
    this.slot = slot ?? 0
    this.last = this.own(last)
    this.ahead = ahead
  }

  next(nowMs: number): GenerationId {
    const floor = Math.floor(nowMs) * TICKS + this.slot
    if (floor > this.last) {
      if (floor > this.last + AHEAD) this.gap = { from: this.last, to: floor }
      this.last = floor
      this.isBehind = false
    } else if (floor > this.last - AHEAD) this.last += this.step
    else this.stepBack(floor)
    if (this.ahead && this.last >= this.ahead.from) {
      this.last = Math.max(this.last, this.own(this.ahead.to) + this.step)
      this.ahead = undefined
    }
    const tag = randomTag()
    return { seq: this.last, tag, id: generationId(this.last, tag) }
  }

  private stepBack(floor: number): void {
    const { from, to } = this.gap
    const back = Math.round((this.last - floor) / TICKS)
    const dated = floor > from && floor < to && this.ahead === undefined
    if (dated) {
      this.ahead = { from: to, to: this.last }
      this.last = floor
      this.gap = { from: 0, to: 0 }
    } else this.last += this.step
    if (dated || !this.isBehind) this.onStep?.({ back, dated })
    this.isBehind = !dated
  }

  private own(number: number): number {
    return this.step === 1 ? number : Math.floor(number / SLOTS) * SLOTS + this.slot
  }
}

/** The lowest three digits change with every number; what stands before them is the same for some milliseconds. */
const LOW = 36 ** 3
const SHORTEST = 36 ** 4
let high = 0
let highText = ''

/** `gen-<seq>-<tag>`, the sequence in base 36. */
export function generationId(seq: number, tag: string): string {
  if (seq < SHORTEST) return `gen-${seq.toString(36)}-${tag}`
  const upper = Math.floor(seq / LOW)
  if (upper !== high) {
    high = upper
    highText = `gen-${upper.toString(36)}`
  }
  // A digit more than it has keeps the zeros in front.
  return `${highText}${(LOW + (seq - upper * LOW)).toString(36).slice(1)}-${tag}`
}

/** Splits `gen-<seq>-<tag>`; undefined if it is not of that form. */
export function parseGenerationId(id: string): { seq: number; tag: string } | undefined {
  const [, seq, tag] = /^gen-([0-9a-z]{1,11})-([A-Za-z0-9_-]{12})$/.exec(id) ?? []
  return seq !== undefined && tag !== undefined ? { seq: Number.parseInt(seq, 36), tag } : undefined
}

const hexPool = Buffer.allocUnsafe(8 * 1024)
let hexText = ''
let hexUsed = 0

/** Random bits as lower-case hexadecimal digits, as traces and spans are named; one system call per 1,024 spans. */
export function randomHex(digits: 16 | 32): string {
  if (hexUsed + digits > hexText.length) {
    hexText = randomFillSync(hexPool).toString('hex')
    hexUsed = 0
  }
  hexUsed += digits
  return hexText.slice(hexUsed - digits, hexUsed)
}
