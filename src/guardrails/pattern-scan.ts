/**
 * All matches of a pattern in two passes, each linear in the text, whatever the pattern and however many matches there are.
 * Backwards: for every place the row of readers that take the character there and from which a match can end. Forwards: from
 * the first place where a match can begin, the reader of the highest priority that is in the row, so that no step is
 * ever taken back. That gives the matches that RE2 gives when it searches for one after the other (the two passes of
 * A. Frisch and L. Cardelli, "Greedy Regular Expression Matching", ICALP 2004).
 */
import { entryAt } from '../core/entry-at.ts'
import { END, type Jump, type PatternAutomaton, type Tables } from '../machines/linear-regex/pattern-automaton.ts'
import type { Match } from './detector.ts'

/** Operations of a slice, which takes about a millisecond, and its most characters. */
const SLICE_WORK = 600_000
const SLICE = 4_096
/** Rows are used again, unless they are many. */
const MAX_SPARE = 1 << 18
let spare: Uint32Array | undefined

/** @param from no match begins before this offset. @returns matches in order; none is empty, none overlaps another. */
export function* scanPattern(automaton: PatternAutomaton, text: string, from: number): Generator<void, Match[]> {
  const size = (text.length - from + 1) * automaton.words
  const rows = spare && spare.length >= size ? spare : new Uint32Array(size)
  spare = undefined
  const scan = new Scan(automaton, text, { from, rows })
  const { only, words } = automaton
  const starts = yield* only && words === 1 ? scan.backwardsInOneWord(only) : scan.backwards()
  const found = starts.length === 0 ? [] : yield* scan.forwards(starts)
  if (rows.length <= MAX_SPARE) spare = rows
  return found
}

class Scan {
  private readonly automaton: PatternAutomaton
  private readonly text: string
  private readonly from: number
  /** By place, from `from` on. */
  private readonly rows: Uint32Array
  /** Characters of a slice. */
  private readonly slice: number

  constructor(automaton: PatternAutomaton, text: string, { from, rows }: { from: number; rows: Uint32Array }) {
    this.automaton = automaton
    this.text = text
    this.from = from
    this.rows = rows
    this.slice = Math.min(SLICE, Math.ceil(SLICE_WORK / automaton.work))
  }

  /** Fills the rows. @returns the places where a match can begin, the last one first. */
  *backwards(): Generator<void, number[]> {
    const { automaton, text, from, rows } = this
    const { words } = automaton
    const starts: number[] = []
    let at = text.length
    let behind = -1
    rows.fill(0, (at - from) * words, (at - from + 1) * words)
    for (let steps = 1; ; steps++) {
      const before = this.runeBefore(at)
      const tables = automaton.tables(before, behind)
      if (tables.empty || this.meets((at - from) * words, tables.startRow)) starts.push(at)
      if (at <= from) return starts
      const to = at - (before > 0xffff ? 2 : 1)
      this.step(tables, { at: (at - from) * words, to: (to - from) * words, mask: automaton.maskAt(before) })
      at = to
      behind = before
      if (steps % this.slice === 0) yield
    }
  }

  /** As `backwards`, for the usual pattern, whose rows are numbers and which needs no neighbours: a third of the time. */
  *backwardsInOneWord(tables: Tables): Generator<void, number[]> {
    const { automaton, text, from, rows, slice } = this
    const { masks } = automaton
    const { empty, jumps } = tables
    const [last, self, chain, jumping, startRow] = [
      entryAt(tables.last, 0),
      entryAt(tables.self, 0),
      entryAt(tables.chain, 0),
      entryAt(tables.jumping, 0),
      entryAt(tables.startRow, 0),
    ]
    const starts: number[] = []
    let row = 0
    for (let at = text.length, steps = 1; ; steps++) {
      rows[at - from] = row
      if (empty || (row & startRow) !== 0) starts.push(at)
      if (at <= from) return starts
      const before = this.runeBefore(at)
      let next = last | (row & self) | ((row & chain) >>> 1)
      for (let live = row & jumping; live !== 0; live &= live - 1) {
        const jump = jumps[31 - Math.clz32(live & -live)]
        if (jump) next |= jump.words[0] ?? 0
      }
      row = next & (masks[automaton.maskAt(before)] ?? 0)
      at -= before > 0xffff ? 2 : 1
      if (steps % slice === 0) yield
    }
  }

  private step({ last, self, chain, jumping, jumps }: Tables, { at, to, mask }: { at: number; to: number; mask: number }): void {
    const { rows, automaton } = this
    const { words } = automaton
    // What follows the reader before it lies one bit further, perhaps in the next word.
    let carried = 0
    for (let i = words - 1; i >= 0; i--) {
      const row = rows[at + i] ?? 0
      const chained = row & (chain[i] ?? 0)
      rows[to + i] = (last[i] ?? 0) | (row & (self[i] ?? 0)) | (chained >>> 1) | carried
      carried = chained << 31
    }
    let done: Jump | undefined
    for (let i = 0; i < words; i++) {
      for (let live = (rows[at + i] ?? 0) & (jumping[i] ?? 0); live !== 0; live &= live - 1) {
        const jump = jumps[32 * i + 31 - Math.clz32(live & -live)]
        if (!jump || jump === done) continue
        done = jump
        const base = to + jump.at
        for (let k = 0; k < jump.words.length; k++) rows[base + k] = (rows[base + k] ?? 0) | (jump.words[k] ?? 0)
      }
    }
    this.restrict(to, mask)
  }

  /** Apart from `step`, which would otherwise be too long for V8 to inline: scans of several words then took a fifth longer. */
  private restrict(at: number, mask: number): void {
    const { rows, automaton } = this
    const { words, masks } = automaton
    for (let i = 0; i < words; i++) rows[at + i] = (rows[at + i] ?? 0) & (masks[mask + i] ?? 0)
  }

  private meets(at: number, row: Uint32Array): boolean {
    const { rows } = this
    for (let i = 0; i < row.length; i++) if (((rows[at + i] ?? 0) & (row[i] ?? 0)) !== 0) return true
    return false
  }

  *forwards(starts: readonly number[]): Generator<void, Match[]> {
    const { automaton, from, rows } = this
    const { words } = automaton
    const found: Match[] = []
    let free = from
    let steps = 0
    for (let i = starts.length - 1; i >= 0; i--) {
      const start = starts[i]
      if (start === undefined || start < free) continue
      let at = start
      let rune = this.runeAt(at)
      let { start: list } = automaton.tables(this.runeBefore(at), rune)
      for (;;) {
        const row = (at - from) * words
        let reader = END
        for (let k = 0; k < list.length; k++) {
          const each = list[k]
          if (each === undefined) break
          if (each !== END && ((rows[row + (each >> 5)] ?? 0) & (1 << (each & 31))) === 0) continue
          reader = each
          break
        }
        if (reader === END) break
        const before = rune
        at += before > 0xffff ? 2 : 1
        rune = this.runeAt(at)
        const next = automaton.tables(before, rune).follow[reader]
        if (next === undefined) throw new RangeError(`nothing follows reader ${reader}`)
        list = next
        if (++steps % this.slice === 0) yield
      }
      if (at > start) found.push({ start, end: at })
      free = at > start ? at : at + (rune > 0xffff ? 2 : 1)
    }
    return found
  }

  private runeAt(at: number): number {
    return this.text.codePointAt(at) ?? -1
  }

  /** A pair that `from` cuts in two is read as its second half. */
  private runeBefore(at: number): number {
    const { text } = this
    if (at === 0) return -1
    const unit = text.charCodeAt(at - 1)
    if ((unit & 0xfc00) !== 0xdc00 || at < 2 || at - 2 < this.from) return unit
    const rune = text.codePointAt(at - 2) ?? unit
    return rune > 0xffff ? rune : unit
  }
}
