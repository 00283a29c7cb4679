/** Shapes as automata: the places of a compiled RE2 program, and the characters that these distinguish. */
import { entryAt } from '../../core/entry-at.ts'
import { FOLD_CASE, type Instruction, isReader, kindName, linearRegex, OP } from './linear-regex.ts'

/** Beginning of a shape that stands free. */
const FREE = '\\b'

const LAST_RUNE = 0x10ffff

/** A set of characters. */
interface Kind {
  readonly takes: (rune: number) => boolean
  /** Borders of its ranges. */
  readonly borders: readonly number[]
}

/** One place of a shape: what stands there, and the places behind it. */
export interface Place {
  readonly kind: Kind
  readonly next: readonly number[]
  /** A shape may end with it. */
  readonly last: boolean
}

/** A shape by itself. */
interface Compiled {
  readonly places: readonly Place[]
  readonly first: readonly number[]
  /** It begins only where no letter or digit stands before. */
  readonly free: boolean
}

export function isAlphanumeric(unit: number): boolean {
  const lower = unit | 0x20
  return (unit >= 0x30 && unit <= 0x39) || (lower >= 0x61 && lower <= 0x7a)
}

/** Larger patterns are taken for any text: they are read everywhere, and answers wait for the whole window. */
const MAX_PLACES = 20_000
const MAX_WAYS = 200_000
const ANYTHING = '(?s:.)+'

const known = new Map<string, Compiled>()
/** Shapes of the operator's own patterns come and go with the configuration. */
const MAX_KNOWN = 2_000

export function compiled(shape: string): Compiled {
  let found = known.get(shape)
  if (!found) {
    found = compile(shape)
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(shape, found)
  }
  return found
}

function compile(shape: string): Compiled {
  const free = shape.startsWith(FREE)
  const source = free ? shape.slice(FREE.length) : shape
  const regex = linearRegex()
  const program = regex.compile(regex.translateRegExp(source)).re2().prog as { inst: Instruction[]; start: number }
  const { inst, start } = program
  const numbers = new Map<number, number>()
  for (const [pc, each] of inst.entries()) if (isReader(each)) numbers.set(pc, numbers.size)
  if (numbers.size > MAX_PLACES) return compile(ANYTHING)
  let ways = 0
  const placeNumbers = (pcs: readonly number[]): number[] => pcs.flatMap((each) => numbers.get(each) ?? [])
  const places: Place[] = []
  for (const pc of numbers.keys()) {
    const instruction = entryAt(inst, pc)
    const { readers, ends } = reached(inst, instruction.out)
    ways += readers.length
    if (ways > MAX_WAYS) return compile(ANYTHING)
    places.push({ kind: instructionKind(instruction), next: placeNumbers(readers), last: ends })
  }
  return { places, first: placeNumbers(reached(inst, start).readers), free }
}

const kinds = new Map<string, Kind>()

/** The same sets come again and again: letters alone are hundreds of ranges. */
function instructionKind(instruction: Instruction): Kind {
  const name = kindName(instruction)
  let kind = kinds.get(name)
  if (!kind) {
    kind = newKind(instruction)
    if (kinds.size >= MAX_KNOWN) kinds.clear()
    kinds.set(name, kind)
  }
  return kind
}

function newKind(instruction: Instruction): Kind {
  const { op, arg, runes } = instruction
  if (op === OP.RUNE_ANY) return { takes: () => true, borders: [] }
  if (op === OP.RUNE_ANY_NOT_NL) return { takes: (rune) => rune !== 10, borders: [10, 11] }
  const borders: number[] = []
  const [letter] = runes
  if (letter !== undefined && runes.length === 1) {
    for (const rune of (arg & FOLD_CASE) === 0 ? [letter] : variants(letter)) borders.push(rune, rune + 1)
  } else for (let i = 0; i < runes.length; i += 2) borders.push(entryAt(runes, i), entryAt(runes, i + 1) + 1)
  return { takes: (rune) => instruction.matchRune(rune), borders }
}

/** Characters that case folding takes for the same (Unicode simple folding has two more for k and s). */
function variants(rune: number): number[] {
  const char = String.fromCodePoint(rune)
  const all = new Set([char, char.toLowerCase(), char.toUpperCase(), char.toUpperCase().toLowerCase()])
  for (const [letter, other] of [
    ['k', '\u212a'],
    ['s', '\u017f'],
    ['å', '\u212b'],
    ['ω', '\u2126'],
    ['β', '\u03d0'],
    ['ε', '\u03f5'],
    ['θ', '\u03d1'],
    ['μ', '\u00b5'],
    ['π', '\u03d6'],
    ['ρ', '\u03f1'],
    ['σ', '\u03c2'],
    ['φ', '\u03d5'],
  ] as const)
    if (all.has(letter)) all.add(other)
  return [...all].filter((each) => [...each].length === 1).map((each) => each.codePointAt(0) ?? 0)
}

/** Places that are reached without reading; conditions such as word borders are taken for met. */
function reached(inst: readonly Instruction[], from: number): { readers: number[]; ends: boolean } {
  const seen = new Set<number>()
  const rest = [from]
  const readers: number[] = []
  let ends = false
  for (let pc = rest.pop(); pc !== undefined; pc = rest.pop()) {
    if (seen.has(pc)) continue
    seen.add(pc)
    const instruction = entryAt(inst, pc)
    const { op, out, arg } = instruction
    if (op === OP.MATCH) ends = true
    if (op === OP.FAIL || op === OP.MATCH) continue
    if (isReader(instruction)) readers.push(pc)
    else {
      rest.push(out)
      if (op === OP.ALT || op === OP.ALT_MATCH) rest.push(arg)
    }
  }
  return { readers, ends }
}

const ALPHANUMERIC: Kind = { takes: isAlphanumeric, borders: [0x30, 0x3a, 0x41, 0x5b, 0x61, 0x7b] }

/** A set of kinds with a name of 64 bits that changes with each of them: names of thousands of kinds at each of their borders would take seconds. */
class KindSet {
  private readonly marks: ReadonlyMap<Kind, readonly [number, number]>
  private readonly members = new Set<Kind>()
  private low = 0
  private high = 0

  constructor(kinds: Iterable<Kind>) {
    this.marks = new Map([...kinds].map((kind, i) => [kind, [mixed(2 * i + 1), mixed(2 * i + 2)]]))
  }

  get name(): string {
    return `${this.low}:${this.high}`
  }

  put(kind: Kind, isMember: boolean): void {
    if (this.members.has(kind) === isMember) return
    if (isMember) this.members.add(kind)
    else this.members.delete(kind)
    const [low, high] = this.marks.get(kind) ?? [0, 0]
    this.low ^= low
    this.high ^= high
  }
}

/** The finalizer of MurmurHash3, which spreads numbers that follow each other over 32 bits. */
function mixed(number: number): number {
  let bits = Math.imul(number, 0x9e3779b9)
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}

/** Classes of characters that no place distinguishes, by number. */
export class Classes {
  /** Of each number below 0x10000. */
  readonly low = new Uint16Array(0x10000)
  readonly count: number
  private readonly borders: readonly number[]
  private readonly numbers: readonly number[]

  constructor(places: readonly Place[]) {
    // The class of a character also shows whether a shape may begin behind it.
    const kinds = new Set([ALPHANUMERIC, ...places.map(({ kind }) => kind)])
    const changing = new Map<number, Kind[]>([0, 0x10000].map((at) => [at, []]))
    for (const kind of kinds) {
      for (const at of new Set([0, ...kind.borders])) {
        const here = changing.get(at)
        if (here) here.push(kind)
        else if (at <= LAST_RUNE) changing.set(at, [kind])
      }
    }
    const borders = [...changing.keys()].sort((a, b) => a - b)
    const taken = new KindSet(kinds)
    const byName = new Map<string, number>()
    this.numbers = borders.map((rune) => {
      for (const kind of changing.get(rune) ?? []) taken.put(kind, kind.takes(rune))
      const number = byName.get(taken.name) ?? byName.size
      byName.set(taken.name, number)
      return number
    })
    this.borders = borders
    this.count = byName.size
    for (const [i, rune] of borders.entries()) {
      if (rune < 0x10000) this.low.fill(entryAt(this.numbers, i), rune, Math.min(borders[i + 1] ?? 0x10000, 0x10000))
    }
  }

  of(rune: number): number {
    const number = rune < 0x10000 ? this.low[rune] : this.numbers[this.runeRange(rune)]
    if (number === undefined) throw new RangeError(`no class for character ${rune}`)
    return number
  }

  /** Number of the last border that is not behind the character. */
  private runeRange(rune: number): number {
    let from = 0
    let to = this.borders.length
    while (to - from > 1) {
      const middle = (from + to) >> 1
      const border = this.borders[middle]
      if (border !== undefined && border <= rune) from = middle
      else to = middle
    }
    return from
  }
}
