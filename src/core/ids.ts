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

/**
 * Sequential integers that are also times: `seq / 4096` is the millisecond of admission.
 * `last` is the highest key already in the journal, so that a clock that went back cannot repeat one.
 */
export class GenerationIds {
  private last: number
  private readonly step: number
  private readonly slot: number

  /** @param slot 0 to 63 where several processes write into one store; absent: every number is this process's own. */
  constructor(last: number, slot?: number) {
    this.step = slot === undefined ? 1 : SLOTS
    this.slot = slot ?? 0
    this.last = slot === undefined ? last : Math.floor(last / SLOTS) * SLOTS + slot
  }

  next(nowMs: number): GenerationId {
    const floor = Math.floor(nowMs) * TICKS + this.slot
    this.last = floor > this.last ? floor : this.last + this.step
    const tag = randomTag()
    return { seq: this.last, tag, id: generationId(this.last, tag) }
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
