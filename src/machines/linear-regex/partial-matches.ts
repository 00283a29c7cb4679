/**
 * Partial matches in a text that grows: an automaton over the shapes of all detectors, which keeps for each partial match the place where
 * it began. Text before the earliest of them can be in no later match, so a stream may release it.
 */
import { entryAt } from '../../core/entry-at.ts'
import { Classes, compiled, isAlphanumeric, type Place } from './shape-places.ts'

/** States that are kept; texts of one kind need a tenth of them. */
const MAX_STATES = 20_000
/** Places of a state that is kept: larger ones rarely come again, and would take time to name and memory to keep. */
const MAX_KEPT = 128
const MAX_TURNS = 0xffffffff
/** Effect of a character on a place that takes it: a shape may end with it, or surely does. */
const TAKEN = 1
const LAST = 2
const OVER = 4

/** Partial matches, by their places in the automaton; those that began earlier come first. */
interface State {
  readonly places: readonly number[]
  /** The character read last was a letter or digit. */
  readonly inWord: boolean
  /** By class of the character that is read next. */
  readonly next: (Step | undefined)[]
}

interface Step {
  readonly state: State
  /** For each partial match of the new state the number of the one it continues; -1 where it begins with this character. */
  readonly from: readonly number[]
  /** A shape may end with this character. */
  readonly ends: boolean
}

interface WideStep {
  readonly state: State
  readonly starts: readonly number[]
  readonly ends: boolean
}

/** The places behind each place, all in one row. */
class Ways {
  readonly ways: Uint32Array
  /** By place: where its own begin in `ways`; one entry more for their end. */
  readonly from: Uint32Array

  constructor(places: readonly Place[]) {
    this.from = new Uint32Array(places.length + 1)
    for (const [i, { next }] of places.entries()) this.from[i + 1] = (this.from[i] ?? 0) + next.length
    this.ways = Uint32Array.from(places.flatMap(({ next }) => next))
  }
}

export class PartialMatchAutomaton {
  private readonly places: Place[] = []
  private readonly first: number[] = []
  private readonly freeFirst: number[] = []
  private readonly classes: Classes
  private states = new Map<string, State>()
  /** By place: the step in which it was met last. */
  private readonly met: Uint32Array
  private turns = 0
  private wide: Ways | undefined
  /** By class. */
  private readonly takers: (Uint8Array | undefined)[] = []

  /** @param shapes RE2 patterns: each match of a detector, with what stands behind it and decides, is in one of them. */
  constructor(shapes: readonly string[]) {
    for (const shape of new Set(shapes)) {
      const { places, first, free } = compiled(shape)
      const base = this.places.length
      for (const { kind, next, last } of places) this.places.push({ kind, last, next: next.map((number) => base + number) })
      for (const number of first) (free ? this.freeFirst : this.first).push(base + number)
    }
    this.classes = new Classes(this.places)
    this.met = new Uint32Array(this.places.length)
  }

  /** @param before the character in front of the text; '' for none. */
  begin(before: string): PartialMatches {
    return new PartialMatches(this.state([], isAlphanumeric(before.charCodeAt(before.length - 1))), this)
  }

  /** Partial matches after one more character. */
  step(state: State, rune: number): Step {
    const kind = this.classes.of(rune)
    return state.next[kind] ?? this.learn(state, kind, rune)
  }

  private learn(state: State, kind: number, rune: number): Step {
    const { places, met } = this
    const found: number[] = []
    const from: number[] = []
    const turn = this.turn()
    let ends = false
    const add = (number: number, source: number): void => {
      if (met[number] === turn) return
      met[number] = turn
      const place = entryAt(places, number)
      if (!place.kind.takes(rune)) return
      ends ||= place.last
      if (place.next.length === 0) return
      found.push(number)
      from.push(source)
    }
    for (let i = 0; i < state.places.length; i++) for (const next of entryAt(places, entryAt(state.places, i)).next) add(next, i)
    for (const place of this.first) add(place, -1)
    if (!state.inWord) for (const place of this.freeFirst) add(place, -1)
    const inWord = isAlphanumeric(rune)
    if (found.length > MAX_KEPT) return { state: { places: found, inWord, next: [] }, from, ends }
    const step = { state: this.state(found, inWord), from, ends }
    state.next[kind] = step
    return step
  }

  /** As `step`, for partial matches that are too many to keep their set: places and beginnings in one go. */
  stepWide(state: State, starts: readonly number[], { rune, at }: { rune: number; at: number }): WideStep {
    const { met } = this
    this.wide ??= new Ways(this.places)
    const { ways, from } = this.wide
    const takes = this.runeTakers(rune)
    const turn = this.turn()
    const places: number[] = []
    const began: number[] = []
    let ends = false
    const add = (number: number, start: number): void => {
      const taken = takes[number] ?? 0
      if (met[number] === turn || taken === 0) return
      met[number] = turn
      ends ||= (taken & LAST) !== 0
      if ((taken & OVER) !== 0) return
      places.push(number)
      began.push(start)
    }
    for (let i = 0; i < starts.length; i++) {
      const place = state.places[i]
      const start = starts[i]
      if (place === undefined || start === undefined) break
      const end = from[place + 1] ?? 0
      for (let k = from[place] ?? end; k < end; k++) add(ways[k] ?? 0, start)
    }
    for (const place of this.first) add(place, at)
    if (!state.inWord) for (const place of this.freeFirst) add(place, at)
    const inWord = isAlphanumeric(rune)
    const next = places.length > MAX_KEPT ? { places, inWord, next: [] } : this.state(places, inWord)
    return { state: next, starts: began, ends }
  }

  /** By place, of the class of a character: 0 where the place does not take it. */
  private runeTakers(rune: number): Uint8Array {
    const kind = this.classes.of(rune)
    let takers = this.takers[kind]
    if (!takers) {
      takers = Uint8Array.from(this.places, ({ kind, last, next }) =>
        kind.takes(rune) ? TAKEN | (last ? LAST : 0) | (next.length === 0 ? OVER : 0) : 0,
      )
      this.takers[kind] = takers
    }
    return takers
  }

  /** A number that marks what is met in one step. */
  private turn(): number {
    if (this.turns === MAX_TURNS) {
      this.turns = 0
      this.met.fill(0)
    }
    return ++this.turns
  }

  private state(places: readonly number[], inWord: boolean): State {
    const name = `${inWord ? 1 : 0}:${places.join()}`
    let state = this.states.get(name)
    if (!state) {
      if (this.states.size >= MAX_STATES) this.states = new Map()
      state = { places, inWord, next: [] }
      this.states.set(name, state)
    }
    return state
  }
}

/** Partial matches of one text, from some place on. */
export class PartialMatches {
  private state: State
  private readonly automaton: PartialMatchAutomaton
  /** Beginning of each of them. */
  private starts: readonly number[] = []
  private endsAt = 0

  constructor(state: State, automaton: PartialMatchAutomaton) {
    this.state = state
    this.automaton = automaton
  }

  /** @param rune the next character. @param at where it stands in the text, and `end` where it ends there. */
  read(rune: number, at: number, end: number): void {
    const { starts } = this
    if (starts.length > MAX_KEPT) {
      const wide = this.automaton.stepWide(this.state, starts, { rune, at })
      this.state = wide.state
      this.starts = wide.starts
      if (wide.ends) this.endsAt = end
      return
    }
    const step = this.automaton.step(this.state, rune)
    const { from } = step
    if (from.length > 0) {
      const next: number[] = []
      for (const source of from) {
        const start = source === -1 ? at : starts[source]
        if (start === undefined) throw new RangeError(`no partial match ${source} among ${starts.length}`)
        next.push(start)
      }
      this.starts = next
    } else if (starts.length > 0) this.starts = []
    this.state = step.state
    if (step.ends) this.endsAt = end
  }

  /** The first character of the earliest partial match; Infinity where there is none. */
  get earliest(): number {
    return this.starts[0] ?? Number.POSITIVE_INFINITY
  }

  /** False where surely no shape has ended. */
  get ended(): boolean {
    return this.endsAt > 0
  }

  /** The same partial matches, for a text that goes on in another way. */
  copy(): PartialMatches {
    const copy = new PartialMatches(this.state, this.automaton)
    copy.starts = this.starts
    copy.endsAt = this.endsAt
    return copy
  }

  /** The text has lost so many characters at its beginning; no partial match began among them. */
  shift(count: number): void {
    this.endsAt -= count
    if (this.starts.length > 0) this.starts = this.starts.map((start) => start - count)
  }
}
