/** A text that a regular expression of the usual kind matches; gives up on look-around and back-references. */
import { entryAt } from '../../core/entry-at.ts'

export interface TextLimits {
  least: number
  most: number
  /** Makes texts differ where the pattern leaves a choice. */
  nth: number
}

class Unreadable extends Error {}

/** A schema is the caller's: what it may cost is bounded. */
const MAX_PATTERN_LENGTH = 1_000
const MAX_REPEATS = 64

/** Tries `*` and `+` with more and more repeats until the length fits; undefined where it never does. */
export function patternText(pattern: string, limits: TextLimits): string | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return undefined
  try {
    const open = !pattern.startsWith('^') && !pattern.endsWith('$')
    for (let more = 0; more <= Math.min(MAX_REPEATS, limits.least + 1); more++) {
      const text = new PatternWriter(pattern, more, limits.nth).write()
      const padded = open ? text.padEnd(limits.least, '.') : text
      if (padded.length >= limits.least && padded.length <= limits.most) return padded
      if (more > 0 && text.length > limits.most) return undefined
    }
  } catch (problem) {
    if (!(problem instanceof Unreadable)) throw problem
  }
  return undefined
}

const CLASS_SAMPLES: Readonly<Record<string, string>> = { d: '0123456789', w: 'abcdefghij', s: ' ', D: 'a', W: '-', S: 'a' }
const CONTROL: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f', v: '\v' }
const LONGEST = 2_000
const DEEPEST = 32

class PatternWriter {
  private readonly chars: string[]
  private readonly more: number
  private readonly nth: number
  private at = 0
  private depth = 0
  private room = LONGEST

  constructor(pattern: string, more: number, nth: number) {
    this.chars = [...pattern]
    this.more = more
    this.nth = nth
  }

  write(): string {
    const text = this.alternation()
    if (this.at < this.chars.length) throw new Unreadable()
    return text
  }

  private alternation(): string {
    if (++this.depth > DEEPEST) throw new Unreadable()
    const options = [this.sequence()]
    while (this.chars[this.at] === '|') {
      this.at++
      options.push(this.sequence())
    }
    this.depth--
    return entryAt(options, this.nth % options.length)
  }

  private sequence(): string {
    let text = ''
    for (let char = this.chars[this.at]; char !== undefined && char !== '|' && char !== ')'; char = this.chars[this.at]) {
      this.at++
      const atom = this.atom(char)
      const times = this.repeats()
      this.room -= atom.length * times
      if (this.room < 0) throw new Unreadable()
      text += atom.repeat(times)
    }
    return text
  }

  private atom(char: string): string {
    if (char === '(') return this.group()
    if (char === '[') return pick(this.members(), this.nth)
    if (char === '\\') return pick(this.escaped(), this.nth)
    if (char === '^' || char === '$') return ''
    if (char === '.') return 'x'
    return char
  }

  private group(): string {
    if (this.chars[this.at] === '?') {
      const opening = /^\?(?::|<[A-Za-z_]\w*>)/.exec(this.chars.slice(this.at, this.at + 100).join(''))
      if (!opening) throw new Unreadable()
      this.at += opening[0].length
    }
    const text = this.alternation()
    if (this.chars[this.at++] !== ')') throw new Unreadable()
    return text
  }

  /** Characters that one escape stands for; '' for a zero-width one. */
  private escaped(): string {
    const char = this.chars[this.at++]
    if (char === undefined) throw new Unreadable()
    if (char === 'b') return ''
    const known = CLASS_SAMPLES[char] ?? CONTROL[char]
    if (known !== undefined) return known
    if (/[A-Za-z0-9]/.test(char)) throw new Unreadable()
    return char
  }

  private members(): string {
    const negated = this.chars[this.at] === '^'
    if (negated) this.at++
    let set = ''
    for (let char = this.chars[this.at++]; char !== ']'; char = this.chars[this.at++]) {
      if (char === undefined) throw new Unreadable()
      const from = char === '\\' ? this.escaped() : char
      const ranged = this.chars[this.at] === '-' && this.chars[this.at + 1] !== ']' && from.length === 1
      if (!ranged) {
        set += from
        continue
      }
      this.at++
      const end = this.chars[this.at++] ?? ''
      set += range(from, end === '\\' ? this.escaped() : end)
    }
    if (negated) set = [...'ax0-_ .,~'].filter((char) => !set.includes(char)).join('')
    if (set === '') throw new Unreadable()
    return set
  }

  private repeats(): number {
    const char = this.chars[this.at]
    let times = 1
    if (char === '*' || char === '+' || char === '?') {
      this.at++
      times = char === '*' ? this.more : char === '+' ? Math.max(1, this.more) : Math.min(1, this.more)
    } else if (char === '{') {
      const counted = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.chars.slice(this.at, this.at + 20).join(''))
      if (!counted) return 1
      this.at += counted[0].length
      const least = Number(counted[1])
      const most = counted[2] === undefined ? least : counted[3] === '' ? Infinity : Number(counted[3])
      times = Math.min(most, Math.max(least, this.more))
    } else return 1
    if (this.chars[this.at] === '?') this.at++
    return times
  }
}

function pick(set: string, nth: number): string {
  const chars = [...set]
  return chars.length === 0 ? '' : entryAt(chars, nth % chars.length)
}

/** The first few characters of a range. */
function range(from: string, to: string): string {
  const [low, high] = [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0]
  let set = ''
  for (let code = low; code <= high && set.length < 40; code++) set += String.fromCodePoint(code)
  return set
}
