/** RE2 in JavaScript, loaded with the first pattern: 260 KB of source that most configurations never use; and what is read of its programs. */
import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

let loaded: typeof RE2JS | undefined

/** The class that compiles patterns which are matched in linear time. */
export function linearRegex(): typeof RE2JS {
  loaded ??= (createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }).RE2JS
  return loaded
}

/** Instructions of a compiled RE2 program, as far as they matter here (re2js 2.10.0, src/Inst.js). */
export interface Instruction {
  readonly op: number
  readonly out: number
  readonly arg: number
  readonly runes: readonly number[]
  matchRune(rune: number): boolean
}

/** Kinds of instructions (RE2's own numbers). */
export const OP = {
  ALT: 1,
  ALT_MATCH: 2,
  EMPTY_WIDTH: 4,
  FAIL: 5,
  MATCH: 6,
  RUNE: 8,
  RUNE_ANY: 10,
  RUNE_ANY_NOT_NL: 11,
} as const
export const FOLD_CASE = 1

/** True for an instruction that reads a character. */
export function isReader({ op }: Pick<Instruction, 'op'>): boolean {
  return op >= OP.RUNE && op <= OP.RUNE_ANY_NOT_NL
}

/** The same for instructions that take the same characters: the same sets come again and again, and letters alone are hundreds of ranges. */
export function kindName({ op, arg, runes }: Instruction): string {
  let sum = 0
  for (const rune of runes) sum = (Math.imul(sum, 31) + rune) | 0
  return `${op}:${runes.length === 1 ? arg : ''}:${runes.length}:${runes[0]}:${runes[runes.length - 1]}:${sum}`
}
