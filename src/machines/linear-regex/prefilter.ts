/**
 * Literals that every match of a pattern must contain, so that most texts are passed without running the pattern.
 * Reads a subset of RE2 syntax and gives up (no prefilter) on anything outside it: a prefilter may let a text
 * through that does not match, but must never hide one that does.
 */

import { MACHINES_ON } from '../switch.ts'

/** True if the text may match. */
export type Prefilter = (text: string) => boolean

/** Any one of these is in every match; undefined: nothing is certain. */
type Needles = string[] | undefined

const SHORTEST = 2
const MAX_NEEDLES = 16
const DEEPEST = 32

class Unreadable extends Error {}

/** @param pattern of RE2 syntax that has compiled. */
export function patternPrefilter(pattern: string): Prefilter | undefined {
  if (!MACHINES_ON) return undefined
  const [prefix = '', flags = ''] = /^\(\?([imsU]+)\)/.exec(pattern) ?? []
  const folded = flags.includes('i')
  let needles: Needles
  try {
    needles = new LiteralReader(pattern.slice(prefix.length), folded).whole()
  } catch (problem) {
    if (problem instanceof Unreadable) return undefined
    throw problem
  }
  if (needles === undefined) return undefined
  if (folded) {
    const expression = new RegExp(needles.map((needle) => needle.replace(/[^a-z0-9]/gi, '\\$&')).join('|'), 'i')
    return (text) => expression.test(text)
  }
  const list = needles
  const [only] = list
  if (only !== undefined && list.length === 1) return (text) => text.includes(only)
  return (text) => list.some((needle) => text.includes(needle))
}

/** Recursive descent over alternation, sequence and atom. */
class LiteralReader {
  private readonly chars: string[]
  private readonly folded: boolean
  private at = 0
  private depth = 0

  constructor(pattern: string, folded: boolean) {
    this.chars = [...pattern]
    this.folded = folded
  }

  whole(): Needles {
    const needles = this.alternation()
    if (this.at < this.chars.length) throw new Unreadable()
    return needles
  }

  private alternation(): Needles {
    if (++this.depth > DEEPEST) throw new Unreadable()
    let all: Needles = this.sequence()
    while (this.chars[this.at] === '|') {
      this.at++
      const next = this.sequence()
      all = all && next && all.length + next.length <= MAX_NEEDLES ? [...all, ...next] : undefined
    }
    this.depth--
    return all
  }

  private sequence(): Needles {
    let best: Needles
    let run = ''
    const offer = (needles: Needles): void => {
      if (needles && weight(needles) >= SHORTEST && weight(needles) > weight(best)) best = needles
    }
    const close = (): void => {
      offer(run === '' ? undefined : [run])
      run = ''
    }
    for (let char = this.chars[this.at]; char !== undefined && char !== '|' && char !== ')'; char = this.chars[this.at]) {
      this.at++
      const group = char === '(' ? this.group() : undefined
      const literal = char === '(' ? undefined : this.atom(char)
      const repeat = this.quantifier()
      if (literal === undefined || repeat === 'optional') {
        close()
        if (repeat !== 'optional') offer(group)
        continue
      }
      run += literal
      if (repeat === 'repeated') close()
    }
    close()
    return best
  }

  /** After `(`, up to and including its `)`. */
  private group(): Needles {
    if (this.chars[this.at] === '?') {
      this.at++
      const named = /^(?:P?<[A-Za-z0-9_]+>|:)/.exec(this.chars.slice(this.at, this.at + 100).join(''))
      if (!named) throw new Unreadable()
      this.at += named[0].length
    }
    const needles = this.alternation()
    if (this.chars[this.at++] !== ')') throw new Unreadable()
    return needles
  }

  /** One atom that starts with `char`: its literal character, or undefined where it stands for several or for none. */
  private atom(char: string): string | undefined {
    if (char === '\\') return this.escaped()
    if (char === '[') return this.skipClass()
    if (char === '.' || char === '^' || char === '$') return undefined
    if (char === '*' || char === '+' || char === '?' || char === '{') throw new Unreadable()
    return this.literal(char)
  }

  private literal(char: string): string | undefined {
    if (!this.folded) return char
    // Beyond ASCII, case folds in ways that engines disagree on; k and s have folds out there (Kelvin sign, long s).
    return /^[\x20-\x7e]$/.test(char) && !/[ks]/i.test(char) ? char : undefined
  }

  private escaped(): string | undefined {
    const char = this.chars[this.at++] ?? ''
    if (/^[dDwWsSbBAztnrfva]$/.test(char)) return undefined
    // Other letters and digits are escapes of many forms (\x{41}, \pL, \Q…\E).
    if (!/^[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]$/.test(char)) throw new Unreadable()
    return this.literal(char)
  }

  private skipClass(): undefined {
    if (this.chars[this.at] === '^') this.at++
    for (let first = true; ; first = false) {
      const char = this.chars[this.at++]
      if (char === undefined || char === '[') throw new Unreadable()
      if (char === '\\') this.at++
      else if (char === ']' && !first) return undefined
    }
  }

  private quantifier(): 'once' | 'repeated' | 'optional' {
    const char = this.chars[this.at]
    let kind: 'repeated' | 'optional'
    if (char === '*' || char === '?') kind = 'optional'
    else if (char === '+') kind = 'repeated'
    else if (char === '{') {
      const counted = /^\{(\d+)(?:,\d*)?\}/.exec(this.chars.slice(this.at, this.at + 20).join(''))
      if (!counted) throw new Unreadable()
      this.at += counted[0].length - 1
      kind = Number(counted[1]) === 0 ? 'optional' : 'repeated'
    } else return 'once'
    this.at++
    if (this.chars[this.at] === '?') this.at++
    return kind
  }
}

/** Length of the shortest: the weakest decides how much is passed over. */
function weight(needles: Needles): number {
  return needles ? Math.min(...needles.map((needle) => needle.length)) : 0
}
