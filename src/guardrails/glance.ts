/** One pass over a text that shows whether any rule needs to read it: nearly no text holds a match. */
import { entryAt } from '../core/entry-at.ts'
import { Classes, compiled, isAlphanumeric, type Place } from './shape-places.ts'

/** States that are kept: when there are more, all are dropped and built anew. */
const MOST_STATES = 4_000
/** Characters that a state has to serve: shapes that need new ones all the time are read without a glance. */
const LEAST_USE = 20
/** States that are learnt in one look, large ones counted several times: what is new is read properly instead, so that no look takes long. */
const MOST_AT_ONCE = 200
const PLACES_OF_ONE = 32
/** Odd, as what ends a shape is: both are rare, and one question finds either. */
const UNKNOWN = -1
/** Of characters below this no fold changes anything. */
const PLAIN = 0x80

export class Glance {
  private readonly places: Place[] = []
  private readonly first: number[] = []
  private readonly freeFirst: number[] = []
  private readonly classes: Classes
  private readonly width: number
  private readonly names = new Map<string, number>()
  private readonly states: { places: readonly number[]; inWord: boolean }[] = []
  /** By state and class: twice the place of the next state's row, and one more where a shape may end. */
  private table: Int32Array
  private spent = false
  /** Characters that have been looked at since the states were last forgotten. */
  private served = 0
  /** Whether the text of the last look that went to its end was plain. */
  plain = false

  /** @param shapes as detectors have them. */
  constructor(shapes: readonly string[]) {
    for (const shape of new Set(shapes)) {
      const { places, first, free } = compiled(shape)
      const base = this.places.length
      for (const { kind, next, last } of places) this.places.push({ kind, last, next: next.map((number) => base + number) })
      for (const number of first) (free ? this.freeFirst : this.first).push(base + number)
    }
    this.classes = new Classes(this.places)
    this.width = this.classes.count
    this.table = new Int32Array(64 * this.width).fill(UNKNOWN)
    this.stateOf([], false)
  }

  /** False where surely nothing of what the shapes stand for is in the text. @param text as it is read: folded, if it is foldable. */
  mayHold(text: string): boolean {
    if (this.spent) return true
    const { low } = this.classes
    let { table } = this
    let row = 0
    let learnt = 0
    let units = 0
    this.served += text.length
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      units |= unit
      let kind = low[unit] ?? 0
      let rune = unit
      if (unit >= 0xd800 && unit <= 0xdbff) {
        rune = text.codePointAt(at) ?? unit
        if (rune > 0xffff) {
          kind = this.classes.of(rune)
          at++
        }
      }
      let next = table[row + kind] ?? UNKNOWN
      if ((next & 1) === 1) {
        if (next !== UNKNOWN) return true
        learnt += 1 + entryAt(this.states, row / this.width).places.length / PLACES_OF_ONE
        if (learnt > MOST_AT_ONCE) return true
        next = this.learn(row, kind, rune)
        if ((next & 1) === 1) return true
        table = this.table
      }
      row = next >> 1
    }
    this.plain = units < PLAIN
    return false
  }

  private learn(row: number, kind: number, rune: number): number {
    const { places, width } = this
    const from = entryAt(this.states, row / width)
    const found = new Set<number>()
    let ends = 0
    const add = (number: number): void => {
      if (found.has(number)) return
      const place = entryAt(places, number)
      if (!place.kind.takes(rune)) return
      if (place.last) ends = 1
      if (place.next.length > 0) found.add(number)
    }
    for (const number of from.places) for (const next of entryAt(places, number).next) add(next)
    for (const number of this.first) add(number)
    if (!from.inWord) for (const number of this.freeFirst) add(number)
    const next = this.stateOf(
      [...found].sort((a, b) => a - b),
      isAlphanumeric(rune),
    )
    if (next === UNKNOWN) {
      this.forget()
      return UNKNOWN
    }
    const entry = next * width * 2 + ends
    this.table[row + kind] = entry
    return entry
  }

  private forget(): void {
    this.spent = this.served < LEAST_USE * MOST_STATES
    this.served = 0
    this.names.clear()
    this.states.length = 0
    this.table.fill(UNKNOWN)
    this.stateOf([], false)
  }

  private stateOf(places: readonly number[], inWord: boolean): number {
    const name = `${inWord ? 1 : 0}:${places.join()}`
    const known = this.names.get(name)
    if (known !== undefined) return known
    if (this.states.length >= MOST_STATES) return UNKNOWN
    const number = this.states.push({ places, inWord }) - 1
    this.names.set(name, number)
    if ((number + 1) * this.width > this.table.length) {
      const wider = new Int32Array(this.table.length * 2).fill(UNKNOWN)
      wider.set(this.table)
      this.table = wider
    }
    return number
  }
}
