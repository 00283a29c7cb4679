/**
 * Search for a pattern anywhere in a text: one pass from its end, in a time that is bounded for each character. RE2 itself may take a
 * thousand times as long for a character, where a text makes it build a new state each time (re2js 2.10.0: 14 µs for `a.{0,60}b.{0,60}c`).
 */
import type { PatternAutomaton, Tables } from './pattern-automaton.ts'

/** @param automaton of a pattern (`compilePattern`), whose `work` bounds the operations for each character. */
export function holdsMatch(automaton: PatternAutomaton, text: string): boolean {
  const { words } = automaton
  let row = new Uint32Array(words)
  let next = new Uint32Array(words)
  let behind = -1
  for (let at = text.length; ; ) {
    const before = runeBefore(text, at)
    const tables = automaton.tables(before, behind)
    if (tables.empty || meets(row, tables.startRow)) return true
    if (at === 0) return false
    step(tables, row, next)
    const mask = automaton.maskAt(before)
    for (let i = 0; i < words; i++) next[i] = (next[i] ?? 0) & (automaton.masks[mask + i] ?? 0)
    const last = row
    row = next
    next = last
    at -= before > 0xffff ? 2 : 1
    behind = before
  }
}

/** Readers before a place from which a match can go on to its end, whatever they take. @param to gets them. */
function step({ last, self, chain, jumping, jumps }: Tables, row: Uint32Array, to: Uint32Array): void {
  // What follows the reader before it lies one bit further, perhaps in the next word.
  let carried = 0
  for (let i = row.length - 1; i >= 0; i--) {
    const live = row[i] ?? 0
    const chained = live & (chain[i] ?? 0)
    to[i] = (last[i] ?? 0) | (live & (self[i] ?? 0)) | (chained >>> 1) | carried
    carried = chained << 31
  }
  for (let i = 0; i < row.length; i++) {
    for (let live = (row[i] ?? 0) & (jumping[i] ?? 0); live !== 0; live &= live - 1) {
      const jump = jumps[32 * i + 31 - Math.clz32(live & -live)]
      if (!jump) continue
      for (let k = 0; k < jump.words.length; k++) to[jump.at + k] = (to[jump.at + k] ?? 0) | (jump.words[k] ?? 0)
    }
  }
}

function meets(row: Uint32Array, other: Uint32Array): boolean {
  for (let i = 0; i < row.length; i++) if (((row[i] ?? 0) & (other[i] ?? 0)) !== 0) return true
  return false
}

function runeBefore(text: string, at: number): number {
  if (at === 0) return -1
  const unit = text.charCodeAt(at - 1)
  if ((unit & 0xfc00) !== 0xdc00 || at < 2) return unit
  const rune = text.codePointAt(at - 2) ?? unit
  return rune > 0xffff ? rune : unit
}
