/** A compiled RE2 program as bit rows: one bit for each instruction that reads a character, a "reader". */
import { entryAt } from '../../core/entry-at.ts'
import { type Instruction, isReader, kindName, linearRegex, OP } from './linear-regex.ts'

/** A list of readers in order of priority holds this number where the match may end. */
export const END = -1

/** Facts of a place whose characters before and behind are known. */
export interface Tables {
  /** Readers that come first in a match, in order of priority, and the same as a row. */
  readonly start: readonly number[]
  readonly startRow: Uint32Array
  /** True where a match may end before it has read anything. */
  readonly empty: boolean
  /** By reader: those that may follow it, in order of priority. */
  readonly follow: readonly (readonly number[])[]
  /** Readers behind which a match may end. */
  readonly last: Uint32Array
  /** Readers that follow themselves, and those that follow the reader before them. */
  readonly self: Uint32Array
  readonly chain: Uint32Array
  /** Readers that follow others still, and by reader those others. */
  readonly jumping: Uint32Array
  readonly jumps: readonly (Jump | undefined)[]
}

/** Part of a row: its words from `at` on. */
export interface Jump {
  readonly at: number
  readonly words: Uint32Array
}

/** Steps from one instruction to the next; without the ranges of characters, which can be millions of numbers. */
type Step = Pick<Instruction, 'op' | 'out' | 'arg'>

/** Internals of re2js 2.10.0 (src/RE2.js, src/DFA.js): its program, and the borders between the character classes that the program distinguishes. */
interface Internals {
  readonly prog: { readonly inst: readonly Instruction[]; readonly start: number }
  readonly dfa: { readonly classBounds: ArrayLike<number> }
}

/** Conditions on the neighbours of a place, RE2's own numbers (re2js src/Utils.js, EMPTY_*). */
const BEGIN_LINE = 1
const END_LINE = 2
const BEGIN_TEXT = 4
const END_TEXT = 8
const WORD_BORDER = 16
const NO_WORD_BORDER = 32
const ALL_CONDITIONS = 63

/** Kinds of a neighbour. */
const NONE = 0
const NEWLINE = 1
const WORD = 2
const OTHER = 3

const LATIN = 0x100
/** Operations on words for one character, at the most: 100 KB take up to 50 ms with so many (bench/guardrails.ts). */
export const MAX_WORK = 350
/** Operations that a character takes for each word of a row, whatever the pattern. */
const WORK_OF_WORD = 5
/** Readers, classes of characters for each kind of reader, and ways between readers: beyond it a pattern is refused before the tables are made. */
const MAX_READERS = 32 * Math.floor(MAX_WORK / WORK_OF_WORD)
const MAX_CELLS = 1_000_000
const MAX_WAYS = 500_000

export class PatternTooCostly extends Error {}

export class PatternAutomaton {
  /** 32-bit words of a row. */
  readonly words: number
  /** Operations on words that one character takes at the most. */
  readonly work: number
  /** Numbers that it holds, about. */
  readonly size: number
  /** Rows of readers that take the same characters. */
  readonly masks: Uint32Array
  private readonly steps: readonly Step[]
  private readonly first: number
  private readonly readers: readonly number[]
  /** By instruction: number of the reader. */
  private readonly numbers = new Map<number, number>()
  private readonly borders: ArrayLike<number>
  /** By class of a character: where its row begins in `masks`. */
  private readonly rows: Uint32Array
  private readonly latin = new Uint32Array(LATIN)
  /** The tables of every place where neighbours do not matter. */
  readonly only: Tables | undefined
  /** By the kinds of both neighbours. */
  private readonly byKinds: (Tables | undefined)[] = []

  /**
   * @param pattern of RE2 syntax that compiles.
   * @throws PatternTooCostly where a character may take more than the steps that keep a scan within 50 ms per 100 KB.
   */
  constructor(pattern: string) {
    const compiled = linearRegex().compile(pattern).re2() as unknown as Internals
    const { prog } = compiled
    this.steps = prog.inst.map(({ op, out, arg }) => ({ op, out, arg }))
    this.first = prog.start
    const readers: number[] = []
    let conditions = 0
    for (const [pc, each] of prog.inst.entries()) {
      if (isReader(each)) this.numbers.set(pc, readers.push(pc) - 1)
      if (each.op === OP.EMPTY_WIDTH) conditions |= each.arg
    }
    if (readers.length > MAX_READERS) throw new PatternTooCostly()
    this.readers = readers
    this.words = Math.ceil(readers.length / 32)
    this.borders = compiled.dfa.classBounds
    this.rows = new Uint32Array(this.borders.length + 1)
    this.masks = this.instructionMasks(prog.inst)
    for (let rune = 0; rune < LATIN; rune++) this.latin[rune] = entryAt(this.rows, this.search(rune))
    const widest = this.build(ALL_CONDITIONS)
    this.only = conditions === 0 ? widest : undefined
    this.work = this.mostWork(widest)
    if (this.work > MAX_WORK) throw new PatternTooCostly()
    this.size = this.masks.length + prog.inst.length + widest.follow.reduce((sum, list) => sum + list.length, 0)
  }

  /** Beginning in `masks` of the row of a character's class. */
  maskAt(rune: number): number {
    const mask = rune < LATIN ? this.latin[rune] : this.rows[this.search(rune)]
    if (mask === undefined) throw new RangeError(`no class for character ${rune}`)
    return mask
  }

  /** @param before the character before the place, and `behind` the one behind it; -1 for none. */
  tables(before: number, behind: number): Tables {
    return this.only ?? this.borderTables(before, behind)
  }

  private borderTables(before: number, behind: number): Tables {
    const kinds = runeKind(before) * 4 + runeKind(behind)
    let tables = this.byKinds[kinds]
    if (!tables) {
      tables = this.build(conditionsAt(runeKind(before), runeKind(behind)))
      this.byKinds[kinds] = tables
    }
    return tables
  }

  private search(rune: number): number {
    const { borders } = this
    let from = 0
    let to = borders.length
    while (from < to) {
      const middle = (from + to) >> 1
      const border = borders[middle]
      if (border !== undefined && border <= rune) from = middle + 1
      else to = middle
    }
    return from
  }

  /** Fills `rows`. Classes that the same readers take share a row: a pattern of one word for letters has 1,370 classes, and two rows. */
  private instructionMasks(inst: readonly Instruction[]): Uint32Array {
    const { words, borders, readers, rows } = this
    const kinds = new Map<string, { first: Instruction; numbers: number[] }>()
    for (const [number, pc] of readers.entries()) {
      const first = entryAt(inst, pc)
      const name = kindName(first)
      const kind = kinds.get(name)
      if (kind) kind.numbers.push(number)
      else kinds.set(name, { first, numbers: [number] })
    }
    if (kinds.size * rows.length > MAX_CELLS) throw new PatternTooCostly()
    const all = [...kinds.values()]
    const known = new Map<string, number>()
    const masks: Uint32Array[] = []
    for (let at = 0; at < rows.length; at++) {
      const rune = at === 0 ? 0 : entryAt(borders, at - 1)
      const taking = all.filter(({ first }) => takes(first, rune))
      const name = taking.map(({ numbers }) => numbers[0]).join()
      let row = known.get(name)
      if (row === undefined) {
        row = masks.push(this.row(taking.flatMap(({ numbers }) => numbers))) - 1
        known.set(name, row)
      }
      rows[at] = row * words
    }
    const joined = new Uint32Array(masks.length * words)
    for (const [index, mask] of masks.entries()) joined.set(mask, index * words)
    return joined
  }

  private build(met: number): Tables {
    const walk = new Walk(this.steps, this.numbers, met)
    const follow = this.readers.map((pc) => walk.from(entryAt(this.steps, pc).out))
    const start = walk.from(this.first)
    return { start, startRow: this.row(start), empty: start.includes(END), follow, ...this.followTables(follow) }
  }

  private followTables(follow: readonly (readonly number[])[]): Pick<Tables, 'last' | 'self' | 'chain' | 'jumping' | 'jumps'> {
    const { words } = this
    const [last, self, chain] = [new Uint32Array(words), new Uint32Array(words), new Uint32Array(words)]
    const before: number[][] = follow.map(() => [])
    for (const [number, list] of follow.entries()) {
      for (const next of list) {
        if (next === END) set(last, 0, number)
        else if (next === number) set(self, 0, number)
        else if (next === number + 1) set(chain, 0, next)
        else entryAt(before, next).push(number)
      }
    }
    const jumping = new Uint32Array(words)
    const known = new Map<string, Jump>()
    const jumps = before.map((from, number) => {
      if (from.length === 0) return undefined
      set(jumping, 0, number)
      const name = from.join()
      const jump = known.get(name) ?? trimmed(this.row(from))
      known.set(name, jump)
      return jump
    })
    return { last, self, chain, jumping, jumps }
  }

  /** Of one character only the readers that take its class can be in the row behind it. */
  private mostWork({ start, follow, jumps }: Tables): number {
    const { words, masks, readers } = this
    let most = 0
    for (let row = 0; row < masks.length; row += words) {
      let work = 0
      let before: Jump | undefined
      for (let number = 0; number < readers.length; number++) {
        const jump = jumps[number]
        if (!jump || (entryAt(masks, row + (number >> 5)) & (1 << (number & 31))) === 0) continue
        work += jump === before ? 2 : 2 + jump.words.length
        before = jump
      }
      most = Math.max(most, work)
    }
    const longest = follow.reduce((length, list) => Math.max(length, list.length), start.length)
    return WORK_OF_WORD * words + most + Math.ceil(longest / 2)
  }

  private row(readers: readonly number[]): Uint32Array {
    const row = new Uint32Array(this.words)
    for (const reader of readers) if (reader !== END) set(row, 0, reader)
    return row
  }
}

/** Follows what reads nothing, in order of priority, as RE2 itself does: each instruction counts once. */
class Walk {
  private readonly inst: readonly Step[]
  private readonly numbers: ReadonlyMap<number, number>
  private readonly met: number
  private readonly known = new Map<number, readonly number[]>()
  private ways = 0

  constructor(inst: readonly Step[], numbers: ReadonlyMap<number, number>, met: number) {
    this.inst = inst
    this.numbers = numbers
    this.met = met
  }

  /** @throws PatternTooCostly for a program with too many ways. */
  from(first: number): readonly number[] {
    const known = this.known.get(first)
    if (known) return known
    const found: number[] = []
    const seen = new Set<number>()
    const rest = [first]
    for (let pc = rest.pop(); pc !== undefined; pc = rest.pop()) {
      if (seen.has(pc)) continue
      seen.add(pc)
      if (++this.ways > MAX_WAYS) throw new PatternTooCostly()
      const step = entryAt(this.inst, pc)
      const { op, out, arg } = step
      if (op === OP.MATCH) found.push(END)
      else if (isReader(step)) found.push(this.numbers.get(pc) ?? END)
      else if (op === OP.ALT || op === OP.ALT_MATCH) rest.push(arg, out)
      else if (op === OP.EMPTY_WIDTH ? (arg & ~this.met) === 0 : op !== OP.FAIL) rest.push(out)
    }
    this.known.set(first, found)
    return found
  }
}

function trimmed(row: Uint32Array): Jump {
  const at = row.findIndex((word) => word !== 0)
  return { at, words: row.slice(at, row.findLastIndex((word) => word !== 0) + 1) }
}

function takes(instruction: Instruction, rune: number): boolean {
  if (instruction.op === OP.RUNE_ANY) return true
  return instruction.op === OP.RUNE_ANY_NOT_NL ? rune !== 10 : instruction.matchRune(rune)
}

function set(row: Uint32Array, from: number, number: number): void {
  const at = from + (number >> 5)
  row[at] = entryAt(row, at) | (1 << (number & 31))
}

function runeKind(rune: number): number {
  if (rune === -1) return NONE
  if (rune === 10) return NEWLINE
  const lower = rune | 0x20
  return (rune >= 0x30 && rune <= 0x39) || (rune < LATIN && lower >= 0x61 && lower <= 0x7a) || rune === 0x5f ? WORD : OTHER
}

/** As `emptyOpContext()` of re2js. */
function conditionsAt(before: number, behind: number): number {
  let met = (before === WORD) === (behind === WORD) ? NO_WORD_BORDER : WORD_BORDER
  if (before === NONE) met |= BEGIN_TEXT | BEGIN_LINE
  if (before === NEWLINE) met |= BEGIN_LINE
  if (behind === NONE) met |= END_TEXT | END_LINE
  if (behind === NEWLINE) met |= END_LINE
  return met
}
