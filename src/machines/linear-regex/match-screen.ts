/** One pass over a text that shows whether any rule needs to read it: nearly no text holds a match. */
import { entryAt } from '../../core/entry-at.ts'
import { MACHINES_ON } from '../switch.ts'
import { Classes, compiled, isAlphanumeric, type Place } from './shape-places.ts'

/** States that are kept: when there are more, all are dropped and built anew. */
const MAX_STATES = 4_000
/** Characters that a state has to serve: shapes that need new ones all the time are read without a screen. */
const MIN_USE = 20
/** States that are learnt in one look, large ones counted several times: what is new is read properly instead, so that no look takes long. */
const MAX_AT_ONCE = 200
const PLACES_OF_ONE = 32
/** Odd, as what ends a shape is: both are rare, and one question finds either. */
const UNKNOWN = -1
/** Of characters below this no fold changes anything. */
const PLAIN = 0x80
/** Units of a text that is looked at as bytes, at the most: a window of a scan and what is ahead of it. */
const MAX_BYTES = 20_480
/** Room for one character more: only a text of ASCII then has as many bytes as units. */
const bytes = Buffer.allocUnsafeSlow(MAX_BYTES + 4)
/** Units from which on a text is looked at in four places at once. */
const LONG = 256
const SPACE = 0x20
/** In the table of ASCII: not known yet; a shape may end. States have the numbers behind these. */
const NEW = 0
const ENDS = 1
const FIRST_STATE = 2

export class MatchScreen {
  private readonly places: Place[] = []
  private readonly first: number[] = []
  private readonly freeFirst: number[] = []
  private readonly classes: Classes
  private readonly width: number
  private readonly names = new Map<string, number>()
  private readonly states: { places: readonly number[]; inWord: boolean }[] = []
  /** By state and class: twice the place of the next state's row, and one more where a shape may end. */
  private table: Int32Array
  /**
   * The same for ASCII, by state and unit: the next state, `NEW` or `ENDS`. It is small, since each request finds it in far memory.
   */
  private ascii = new Uint16Array(64 * PLAIN)
  private learnt = 0
  private spent = false
  /** Characters that have been looked at since the states were last forgotten. */
  private served = 0
  /** True if the text of the last look that went to its end was plain. */
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
    this.findState([], false)
  }

  /** False where surely nothing of what the shapes stand for is in the text. @param text as it is read: folded, if it is foldable. */
  mayHold(text: string): boolean {
    if (!MACHINES_ON || this.spent) return true
    this.served += text.length
    this.learnt = 0
    const { length } = text
    if (length > MAX_BYTES || bytes.write(text) !== length) return this.mayHoldAny(text)
    const held = length < LONG ? this.follow(FIRST_STATE, 0, length) === ENDS : this.inFourPlaces(length)
    if (!held) this.plain = true
    return held
  }

  /** As `mayHold`, for a text beyond ASCII or a very long one. */
  private mayHoldAny(text: string): boolean {
    const { low } = this.classes
    let { table } = this
    let row = 0
    let units = 0
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
        next = this.learn(row, kind, rune)
        if ((next & 1) === 1) return true
        table = this.table
      }
      row = next >> 1
    }
    this.plain = units < PLAIN
    return false
  }

  /** The state behind the bytes from a place to another; `ENDS` where a shape may end on the way. */
  private follow(state: number, from: number, to: number): number {
    for (let at = from; at < to; at++) {
      const unit = bytes[at] ?? 0
      state = this.ascii[state * PLAIN + unit] || this.learnAscii(state, unit)
      if (state === ENDS) return ENDS
    }
    return state
  }

  /**
   * Four parts of the bytes at once, each from behind a space as if nothing had begun before it: each step waits for the one before
   * it, so that four at once take little longer than one.
   */
  private inFourPlaces(length: number): boolean {
    const second = behindSpace(length >> 2, length)
    const third = behindSpace(length >> 1, length)
    const fourth = behindSpace((length >> 2) * 3, length)
    const most = Math.min(second, third - second, fourth - third, length - fourth)
    let a = FIRST_STATE
    let b = FIRST_STATE
    let c = FIRST_STATE
    let d = FIRST_STATE
    for (let at = 0; at < most; at++) {
      // One table for the whole of the inner loop, so that its place need not be looked up at each step.
      const { ascii } = this
      for (; at < most; at++) {
        const w = ascii[a * PLAIN + (bytes[at] ?? 0)] ?? NEW
        const x = ascii[b * PLAIN + (bytes[second + at] ?? 0)] ?? NEW
        const y = ascii[c * PLAIN + (bytes[third + at] ?? 0)] ?? NEW
        const z = ascii[d * PLAIN + (bytes[fourth + at] ?? 0)] ?? NEW
        if (w < FIRST_STATE || x < FIRST_STATE || y < FIRST_STATE || z < FIRST_STATE) break
        a = w
        b = x
        c = y
        d = z
      }
      if (at === most) break
      a = this.follow(a, at, at + 1)
      if (a !== ENDS) b = this.follow(b, second + at, second + at + 1)
      if (a !== ENDS && b !== ENDS) c = this.follow(c, third + at, third + at + 1)
      if (a === ENDS || b === ENDS || c === ENDS) return true
      d = this.follow(d, fourth + at, fourth + at + 1)
      if (d === ENDS) return true
    }
    return this.joined([a, b, c, d], [0, second, third, fourth, length], most)
  }

  /**
   * An attempt that began before a part is followed into it until both states are one, mostly for a byte: from there on the part was right.
   * Before, its states had less than the right ones, so that none has shown too much.
   * @param done bytes of each part that have been looked at.
   */
  private joined(states: readonly number[], borders: readonly number[], done: number): boolean {
    for (const [part, reached] of states.entries()) {
      let at = entryAt(borders, part + 1)
      let state = this.follow(reached, entryAt(borders, part) + done, at)
      const next = borders[part + 2]
      if (next === undefined || state === ENDS) return state === ENDS
      let own = FIRST_STATE
      for (; state !== own && at < next; at++) {
        own = this.follow(own, at, at + 1)
        if (own !== ENDS) state = this.follow(state, at, at + 1)
        if (own === ENDS || state === ENDS) return true
      }
      if (state !== own) return this.follow(state, next, borders.at(-1) ?? next) === ENDS
    }
    return false
  }

  /** The entry of the table of ASCII, made of the other one's. */
  private learnAscii(state: number, unit: number): number {
    const { width, classes } = this
    const row = (state - FIRST_STATE) * width
    const kind = classes.of(unit)
    const known = this.table[row + kind] ?? UNKNOWN
    const next = known === UNKNOWN ? this.learn(row, kind, unit) : known
    if (next === UNKNOWN) return ENDS
    const entry = (next & 1) === 1 ? ENDS : (next >> 1) / width + FIRST_STATE
    this.ascii[state * PLAIN + unit] = entry
    return entry
  }

  /** @returns the entry; `UNKNOWN` where there is too much to learn. */
  private learn(row: number, kind: number, rune: number): number {
    const { places, width } = this
    const from = entryAt(this.states, row / width)
    this.learnt += 1 + from.places.length / PLACES_OF_ONE
    if (this.learnt > MAX_AT_ONCE) return UNKNOWN
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
    const next = this.findState(
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
    this.spent = this.served < MIN_USE * MAX_STATES
    this.served = 0
    this.names.clear()
    this.states.length = 0
    this.table.fill(UNKNOWN)
    this.ascii.fill(NEW)
    this.findState([], false)
  }

  private findState(places: readonly number[], inWord: boolean): number {
    const name = `${inWord ? 1 : 0}:${places.join()}`
    const known = this.names.get(name)
    if (known !== undefined) return known
    if (this.states.length >= MAX_STATES) return UNKNOWN
    const number = this.states.push({ places, inWord }) - 1
    this.names.set(name, number)
    if ((number + 1) * this.width > this.table.length) {
      const wider = new Int32Array(this.table.length * 2).fill(UNKNOWN)
      wider.set(this.table)
      this.table = wider
    }
    if ((number + FIRST_STATE + 1) * PLAIN > this.ascii.length) {
      const wider = new Uint16Array(this.ascii.length * 2)
      wider.set(this.ascii)
      this.ascii = wider
    }
    return number
  }
}

/** The first place behind a space from a place on; the end of the text where no space comes soon. */
function behindSpace(from: number, length: number): number {
  for (let at = from; at < length; at++) if (bytes[at] === SPACE) return at + 1
  return length
}
