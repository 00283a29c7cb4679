/**
 * Where in a text that is still growing something may have begun: an automaton over the shapes of all detectors, which knows
 * of each attempt that is still alive where it began. What lies before the first of them no rule can reach any more.
 */
import { Classes, compiled, isAlphanumeric, type Place } from './shape-places.ts'

/** States that are kept; texts of one kind need a tenth. */
const MOST_STATES = 20_000

/** Attempts that are alive, by their places; those that began earlier come first. */
interface State {
  readonly places: readonly number[]
  /** The character read last was a letter or digit. */
  readonly inWord: boolean
  /** By class of the character that is read next. */
  readonly next: (Step | undefined)[]
}

interface Step {
  readonly state: State
  /** For each attempt of the new state the number of the one it comes from; -1 where it begins with this character. */
  readonly from: readonly number[]
  /** A shape may end with this character. */
  readonly ends: boolean
}

export class Viable {
  private readonly places: Place[] = []
  private readonly first: number[] = []
  private readonly freeFirst: number[] = []
  private readonly classes: Classes
  private states = new Map<string, State>()

  /** @param shapes RE2 patterns: each match of a detector, with what stands behind it and decides, is in one of them. */
  constructor(shapes: readonly string[]) {
    for (const shape of new Set(shapes)) {
      const { places, first, free } = compiled(shape)
      const base = this.places.length
      for (const { kind, next, last } of places) this.places.push({ kind, last, next: next.map((number) => base + number) })
      for (const number of first) (free ? this.freeFirst : this.first).push(base + number)
    }
    this.classes = new Classes(this.places)
  }

  /** @param before the character in front of the text; '' for none. */
  begin(before: string): Attempts {
    return new Attempts(this.state([], isAlphanumeric(before.charCodeAt(before.length - 1))), this)
  }

  /** What becomes of the attempts by one more character. */
  step(state: State, rune: number): Step {
    const kind = this.classes.of(rune)
    return state.next[kind] ?? this.learn(state, kind, rune)
  }

  private learn(state: State, kind: number, rune: number): Step {
    const { places } = this
    const found: number[] = []
    const from: number[] = []
    const known = new Set<number>()
    let ends = false
    const add = (place: number, source: number): void => {
      if (known.has(place) || !places[place].kind.takes(rune)) return
      known.add(place)
      ends ||= places[place].last
      if (places[place].next.length === 0) return
      found.push(place)
      from.push(source)
    }
    for (const [i, place] of state.places.entries()) for (const next of places[place].next) add(next, i)
    for (const place of this.first) add(place, -1)
    if (!state.inWord) for (const place of this.freeFirst) add(place, -1)
    if (this.states.size >= MOST_STATES) this.states = new Map()
    const step = { state: this.state(found, isAlphanumeric(rune)), from, ends }
    state.next[kind] = step
    return step
  }

  private state(places: readonly number[], inWord: boolean): State {
    const name = `${inWord ? 1 : 0}:${places.join()}`
    let state = this.states.get(name)
    if (!state) {
      state = { places, inWord, next: [] }
      this.states.set(name, state)
    }
    return state
  }
}

/** Attempts over one text, from some place on. */
export class Attempts {
  private state: State
  private readonly automaton: Viable
  /** Where each of them began. */
  private starts: number[] = []
  private at = 0
  private endsAt = 0

  constructor(state: State, automaton: Viable) {
    this.state = state
    this.automaton = automaton
  }

  /** @param text the whole text so far: what was read before is not read again. No character is cut in two. */
  read(text: string): void {
    const { automaton } = this
    let { state, starts, at } = this
    while (at < text.length) {
      const rune = text.codePointAt(at) ?? 0
      const step = automaton.step(state, rune)
      const { from } = step
      if (from.length > 0) {
        const next: number[] = []
        for (let i = 0; i < from.length; i++) next.push(from[i] === -1 ? at : starts[from[i]])
        starts = next
      } else if (starts.length > 0) starts = []
      state = step.state
      at += rune > 0xffff ? 2 : 1
      if (step.ends) this.endsAt = at
    }
    this.state = state
    this.starts = starts
    this.at = at
  }

  /** The first character of the earliest attempt that is alive; the end of what was read where there is none. */
  get earliest(): number {
    return this.starts.length > 0 ? this.starts[0] : this.at
  }

  /** False where surely no shape has ended. */
  get ended(): boolean {
    return this.endsAt > 0
  }

  /** The text has lost so many characters at its beginning; no attempt began among them. */
  shift(count: number): void {
    this.at -= count
    this.endsAt -= count
    for (let i = 0; i < this.starts.length; i++) this.starts[i] -= count
  }
}
