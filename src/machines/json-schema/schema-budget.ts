/** Greatest cost of one check of a value against a stranger's schema: steps and depth, with comparisons and patterns among the steps. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { linearRegex } from '../linear-regex/linear-regex.ts'
import { patternSize } from '../linear-regex/pattern-cost.ts'

/** About 30 ms; the largest schemas that providers take need a hundredth. */
const STEPS = 100_000
const DEEPEST = 200
/** Steps that each piece of a pattern costs to compile (15 µs). */
const STEPS_OF_PIECE = 50

export class Undecided extends Error {}

interface Pattern {
  test(text: string): boolean
  /** Steps of one character. */
  readonly cost: number
}

export class SchemaBudget {
  private left = STEPS
  private depth = 0
  private readonly listed = new Map<JsonObject, readonly [string, Json | undefined][]>()
  /** Undefined for those that RE2 cannot read. */
  private readonly patterns = new Map<string, Pattern | undefined>()

  /** @throws Undecided where the budget does not suffice. */
  spend(steps: number): void {
    this.left -= steps
    if (this.left < 0) throw new Undecided()
  }

  enter(): void {
    this.spend(1)
    if (++this.depth > DEEPEST) throw new Undecided()
  }

  leave(): void {
    this.depth--
  }

  /** Members of a part of the schema, listed once: it may be large, and come up often. */
  entries(part: Json | undefined): readonly [string, Json | undefined][] {
    if (!isObject(part)) return []
    const known = this.listed.get(part)
    if (known) return known
    const entries = Object.entries(part)
    this.listed.set(part, entries)
    return entries
  }

  allDiffer(values: readonly Json[]): boolean {
    this.spend(values.length)
    const plain = values.filter((value) => typeof value !== 'object' || value === null)
    if (new Set(plain).size < plain.length) return false
    const others = values.filter((value) => typeof value === 'object' && value !== null)
    for (const [i, one] of others.entries()) for (let j = 0; j < i; j++) if (this.same(one, others[j] ?? null)) return false
    return true
  }

  same(a: Json, b: Json): boolean {
    this.spend(1)
    if (typeof a === 'string' && typeof b === 'string') {
      if (a.length !== b.length) return false
      this.spend(a.length / 256)
      return a === b
    }
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
    this.enter()
    const same = Array.isArray(a) ? this.sameList(a, b) : isObject(b) && this.sameObject(a, b)
    this.leave()
    return same
  }

  private sameList(a: Json[], b: Json): boolean {
    return Array.isArray(b) && a.length === b.length && a.every((one, i) => this.same(one, b[i] ?? null))
  }

  private sameObject(a: JsonObject, b: JsonObject): boolean {
    const keys = Object.keys(a)
    this.spend(keys.length)
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && this.same(a[key] ?? null, b[key] ?? null))
  }

  /** In linear time, whatever the pattern. @returns undefined for a pattern that cannot be used so. */
  matches(pattern: string, text: string): boolean | undefined {
    if (!this.patterns.has(pattern)) this.patterns.set(pattern, this.compiled(pattern))
    const known = this.patterns.get(pattern)
    if (!known) return undefined
    this.spend(1 + text.length * known.cost)
    return known.test(text)
  }

  private compiled(pattern: string): Pattern | undefined {
    const regex = linearRegex()
    try {
      const source = regex.translateRegExp(pattern)
      const size = patternSize(source)
      if (size === undefined) return undefined
      this.spend(size * STEPS_OF_PIECE)
      const compiled = regex.compile(source)
      return { test: (text) => compiled.test(text), cost: Math.max(1, size / 8) / 4 }
    } catch (problem) {
      if (problem instanceof Undecided) throw problem
      return undefined
    }
  }
}
