/** The free text within the arguments `{"input": "…"}` of a function that stands for a custom tool, read as it streams. */
import { isObject } from '../../core/json.ts'

/** Up to the first character of the text. */
const BEGIN = /^\s*\{\s*"input"\s*:\s*"/
/** Arguments that have not begun so after so many characters are read at their end. */
const MAX_BEGIN_LENGTH = 64

/** One escape; of two halves of a character both. */
const ESCAPE = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|["\\/bfnrt])/y
/** The beginning of an escape whose rest has not come. */
const HALF = /^\\(?:u[\da-fA-F]{0,3}|u[dD][89abAB][\da-fA-F]{2}(?:\\(?:u[\da-fA-F]{0,3})?)?)?$/
const MAX_ESCAPE_LENGTH = 12

export class InputText {
  private state: 'before' | 'inside' | 'after' = 'before'
  /** Arguments that have not been read. */
  private held = ''

  /** @returns what of the text has come. */
  push(args: string): string {
    if (this.state === 'after') return ''
    this.held += args
    if (this.state === 'before') {
      if (this.held.length - args.length > MAX_BEGIN_LENGTH) return ''
      const begin = BEGIN.exec(this.held)
      if (begin === null) return ''
      this.state = 'inside'
      this.held = this.held.slice(begin[0].length)
    }
    return this.inside()
  }

  /** @returns the rest: all of it where the arguments did not begin as they should. */
  end(): string {
    const { state, held } = this
    this.state = 'after'
    return state === 'before' ? readWhole(held) : ''
  }

  private inside(): string {
    const { held } = this
    let out = ''
    let at = 0
    for (;;) {
      const next = nextSpecial(held, at)
      out += held.slice(at, next)
      if (next === held.length || held[next] === '"') {
        if (next < held.length) this.state = 'after'
        this.held = ''
        return out
      }
      if (held.length - next < MAX_ESCAPE_LENGTH && HALF.test(held.slice(next))) {
        this.held = held.slice(next)
        return out
      }
      ESCAPE.lastIndex = next
      const found = ESCAPE.exec(held)?.[0]
      // Models write backslashes that escape nothing, as in a pattern.
      out += found === undefined ? '\\' : (JSON.parse(`"${found}"`) as string)
      at = next + (found?.length ?? 1)
    }
  }
}

/** Place of the next quotation mark or backslash, else the end. */
function nextSpecial(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22 || code === 0x5c) return at
  }
  return text.length
}

/** Members in another order, a member of another name, or the text without any JSON: models write all of these. */
function readWhole(args: string): string {
  try {
    const value: unknown = JSON.parse(args)
    if (typeof value === 'string') return value
    if (!isObject(value)) return args
    if (typeof value.input === 'string') return value.input
    const texts = Object.values(value).filter((each) => typeof each === 'string')
    return texts.length === 1 && texts[0] !== undefined ? texts[0] : Object.keys(value).length === 0 ? '' : args
  } catch {
    return args
  }
}
