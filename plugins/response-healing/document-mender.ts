/**
 * Mends a JSON document while it comes in: its brackets, commas, names and values. Certain characters leave at once; those that only the
 * next characters can explain are held. The output is valid JSON by construction, and a valid document leaves as it came.
 */

import { beginningAt } from './beginning.ts'
import type { Open } from './cursor.ts'
import { halfConstant, healLiteral, mayBeLiteral } from './literals.ts'
import { TextMender } from './text-mender.ts'
import {
  bareKeyAt,
  commentAt,
  FAR,
  fenceAt,
  isCloser,
  isDigit,
  isLetter,
  isQuote,
  isSpace,
  keywordAt,
  lineBetween,
  nextUnit,
  pastSpace,
  quotedKeyAt,
  REACH,
} from './tokens-ahead.ts'

const CLOSER = { '{': '}', '[': ']' } as const
/** Characters before a document; an answer that goes on for longer without one is left as it is. */
const MAX_WAIT_LENGTH = 64 * 1024
const END_OF_NUMBER = /[^\d.eE+-]/
const WORD = /[^\s,{}[\]"`]+/y

export class DocumentMender extends TextMender {
  /** Nothing of the innermost bracket's content has been written. */
  private empty = false
  /** The same when the member began that waits for its value. */
  private wasEmpty = false
  /** Something behind the document has been left out. */
  private tail = false
  /** End of the comment that is being skipped. */
  private comment: string | undefined
  /** Search for the beginning goes on here. */
  private searched = 0

  /** @returns what has become certain. */
  push(more: string): string {
    if (this.place === 'given-up') return more
    if (this.park(more)) return ''
    this.searched = Math.max(0, this.searched - this.at)
    this.take(more)
    return this.work()
  }

  /** No more will come. @returns the rest, with everything closed; the text as it is where no document began. */
  finish(): string {
    this.searched = Math.max(0, this.searched - this.at)
    this.take('')
    this.ended = true
    const rest = this.work()
    return this.place === 'before' ? rest + this.giveUp() : rest
  }

  /** True as long as no document has begun. */
  get idle(): boolean {
    return this.place === 'before' || this.place === 'given-up'
  }

  /** True where a document has begun and is not whole yet. */
  get unfinished(): boolean {
    return !this.idle && this.place !== 'done'
  }

  private work(): string {
    while (this.step()) {}
    return this.certain()
  }

  /** @returns false where more text is needed, or everything is done. */
  private step(): boolean {
    if (this.place === 'before') return this.begin()
    if (this.place === 'given-up') return false
    if (this.comment !== undefined) return this.inComment(this.comment)
    if (this.place === 'text') return this.inText()
    if (this.place === 'bare') return this.inBare()
    if (this.at >= this.text.length) return this.ended && this.place !== 'done' && this.stop()
    const unit = this.text.charAt(this.at)
    if (isSpace(unit)) return this.space()
    if (this.place === 'done') {
      this.tail = true
      return this.drop(this.text.length - this.at)
    }
    const comment = commentAt(this, this.at)
    if (comment !== false) return comment === true && this.beginComment()
    if (unit === '`') {
      const fence = fenceAt(this, this.at)
      return fence === true ? this.stop() : fence === false && this.drop(1)
    }
    switch (this.place) {
      case 'value':
        return this.atValue(unit)
      case 'key':
        return this.atKey(unit)
      case 'colon':
        return this.atColon(unit)
      default:
        return this.afterValue(unit)
    }
  }

  private space(): true {
    const gap = this.text.slice(this.at, pastSpace(this.text, this.at))
    // Behind the document only what a sound one could have there.
    if (!this.tail) this.emit(gap)
    return this.pass(gap)
  }

  private beginComment(): true {
    this.comment = this.text[this.at + 1] === '/' ? '\n' : '*/'
    this.at += 2
    return true
  }

  private inComment(end: string): boolean {
    const found = this.text.indexOf(end, this.at)
    if (found === -1) {
      // A star may be the first half of the end.
      this.at = this.text.endsWith('*') && !this.ended ? Math.max(this.at, this.text.length - 1) : this.text.length
      if (!this.ended) return false
    } else this.at = end === '\n' ? found : found + 2
    this.comment = undefined
    return true
  }

  private begin(): boolean {
    // White space in front may belong to a sound document.
    const blank = pastSpace(this.text, this.at)
    if (blank > this.at) this.keep(blank - this.at)
    const found = beginningAt(this, this.at, Math.max(this.at, this.searched))
    this.searched = found.searched
    if (found.at === undefined) {
      if (this.text.length - this.at > MAX_WAIT_LENGTH) this.emit(this.giveUp())
      else this.awaited = found.awaits
      return false
    }
    this.at = found.at
    return this.enter(this.text[this.at] as Open)
  }

  /** No document is looked for any more. @returns what was held. */
  private giveUp(): string {
    const { held } = this
    this.take('')
    this.text = ''
    this.place = 'given-up'
    return held
  }

  private enter(bracket: Open): true {
    this.endMember()
    this.open.push(bracket)
    this.empty = true
    this.place = bracket === '{' ? 'key' : 'value'
    return this.keep(1)
  }

  private leave(): void {
    const bracket = this.open.pop()
    if (bracket) this.emit(CLOSER[bracket])
    this.place = this.open.length === 0 ? 'done' : 'after'
    this.empty = false
  }

  /** Closes all that is open; whatever follows is no part of the document. */
  private stop(): true {
    if (this.place === 'colon') this.withoutValue(':null')
    else if (this.place === 'value' && this.around === '{') this.withoutValue('null')
    else if (this.place === 'key') this.withoutValue('')
    while (this.open.length > 0) this.leave()
    return true
  }

  /**
   * A member that has a name and no value is left out, as parsers of partial JSON do (run: npm ai 7.0.173,
   * `parsePartialJson`; PyPI jiter 0.19.0, `partial_mode`): the model did not say `null`, and a schema that has the member as a text refuses it.
   * @param rest makes it whole where its name was so long that it went out before.
   */
  private withoutValue(rest: string): true {
    if (!this.dropMember()) return this.write(rest, 'after')
    this.empty = this.wasEmpty
    this.place = 'after'
    return true
  }

  private named(): void {
    this.wasEmpty = this.empty
    this.beginMember()
  }

  private quoted(inKey: boolean): true {
    if (!inKey) this.endMember()
    else if (this.empty) this.named()
    this.empty = false
    return this.beginText(inKey)
  }

  private atValue(unit: string): boolean {
    if (isQuote(unit)) return this.quoted(false)
    if (unit === '{' || unit === '[') return this.enter(unit)
    if (isCloser(unit) || unit === ',') {
      if (this.around === '{') return this.withoutValue('null')
      if (unit === ',') return this.drop(1)
      return this.write('', 'after')
    }
    if (unit === ':' || unit === '=') return this.drop(1)
    return this.literal()
  }

  private literal(): boolean {
    WORD.lastIndex = this.at
    const word = WORD.exec(this.text)?.[0]
    if (word === undefined) return this.drop(1)
    const isValue = /[\p{L}\p{N}]/u.test(word.charAt(0)) || /^[+\-.$_#@/(<*&%!?~^|]/.test(word)
    if (isValue) this.endMember()
    const end = this.at + word.length
    const whole = end < this.text.length || this.ended
    if (!whole && mayBeLiteral(word)) {
      this.awaited = word.length > REACH ? END_OF_NUMBER : undefined
      return false
    }
    const literal = whole ? (healLiteral(word) ?? (end === this.text.length ? halfConstant(word) : undefined)) : undefined
    if (literal !== undefined) {
      // `12 Main Street` is one text whose quotes are missing.
      const next = nextUnit(this, end)
      if (next === undefined && isSpace(this.text.charAt(end)) && !lineBetween(this.text, end, this.text.length)) return false
      const where = pastSpace(this.text, end)
      const goesOn = next !== undefined && isLetter(next) && !lineBetween(this.text, end, where)
      const key = goesOn ? (this.around === '{' ? bareKeyAt(this, where) : keywordAt(this, where)) : true
      if (key === undefined) return false
      if (key) {
        this.empty = false
        this.drop(word.length)
        return this.write(literal, 'after')
      }
    }
    if (!isValue) return this.drop(1)
    this.empty = false
    return this.write('"', 'bare')
  }

  private atKey(unit: string): boolean {
    if (isQuote(unit)) return this.quoted(true)
    if (isCloser(unit)) return this.withoutValue('')
    if (isLetter(unit) || isDigit(unit)) {
      const key = bareKeyAt(this, this.at)
      if (key === undefined) return false
      const written = /^[\p{L}\p{N}_$ .-]+/u.exec(this.text.slice(this.at, this.at + REACH))?.[0] ?? unit
      const quoted = /["']/.test(this.text[this.at + written.length] ?? '')
      if (this.empty) this.named()
      this.empty = false
      this.drop(written.length + (quoted ? 1 : 0))
      return this.write(JSON.stringify(written.trimEnd()), 'colon')
    }
    return this.drop(1)
  }

  private atColon(unit: string): boolean {
    if (unit === ':') {
      this.place = 'value'
      return this.keep(1)
    }
    if (unit === '=' || unit === '>') return this.drop(1)
    if (isCloser(unit) || unit === ',') return this.withoutValue(':null')
    return this.write(':', 'value')
  }

  private afterValue(unit: string): boolean {
    if (unit === ',') return this.comma()
    if (isCloser(unit)) return this.closer(unit)
    const { around } = this
    if (isQuote(unit)) {
      if (this.isMissing('[', this.at) !== false) return this.closeFor('[', this.at)
      return this.separate()
    }
    if (unit === '{' || unit === '[') {
      if (around === '[') return this.separate()
      return unit === '{' && this.open.at(-2) === '[' ? this.closeOne() : this.drop(1)
    }
    // No key begins with a minus.
    if (!isLetter(unit) && !isDigit(unit) && (unit !== '-' || around === '{')) return this.drop(1)
    const goesOn = around === '{' ? bareKeyAt(this, this.at) : isLetter(unit) ? keywordAt(this, this.at) : true
    if (goesOn === undefined) return false
    // Behind an empty line the model speaks again: `Note: …` is no key.
    const empty = /\n\s*\n/.test(this.gap)
    if (!goesOn || empty) return this.stop()
    return this.separate()
  }

  private closeOne(): true {
    this.leave()
    return true
  }

  /** True if the innermost list, or object, lacks its bracket: what stands at `at` belongs to what is around it. */
  private isMissing(bracket: Open, at: number): boolean | undefined {
    if (this.around !== bracket) return false
    const outer = this.open.at(-2)
    if (bracket === '[') return outer === '{' && quotedKeyAt(this, at, true)
    return outer === '[' && this.text[at] === '{'
  }

  private closeFor(bracket: Open, at: number): boolean {
    return this.isMissing(bracket, at) === true && this.closeOne()
  }

  private comma(): boolean {
    const next = nextUnit(this, this.at + 1)
    if (next === undefined) return false
    const where = pastSpace(this.text, this.at + 1)
    if (next === '' || next === ',' || isCloser(next)) return this.drop(1)
    if (next === '/' || next === '`') {
      const end = next === '/' ? commentAt(this, where) : fenceAt(this, where)
      if (end === undefined) return false
      // What follows the comment decides whether the comma is written.
      if (end) return this.drop(1)
    }
    const { around } = this
    if (around === undefined) return this.drop(1)
    const missing = this.isMissing(around, where)
    if (missing !== false) return missing === true && this.closeOne()
    if (next === FAR || isQuote(next)) return this.keepComma()
    // Behind an empty line the model speaks again.
    const empty = /\n\s*\n/.test(this.text.slice(this.at, where))
    if (around === '[') {
      if (!isLetter(next)) return /[\p{N}{[+.-]/u.test(next) ? this.keepComma() : this.drop(1)
      const keyword = keywordAt(this, where)
      if (keyword === undefined) return false
      return !keyword && empty ? this.drop(1) : this.keepComma()
    }
    const key = isLetter(next) || isDigit(next) ? bareKeyAt(this, where) : false
    if (key === undefined) return false
    return key && !empty ? this.keepComma() : this.drop(1)
  }

  /** Between two members; before the first one nothing stands. */
  private separate(): true {
    if (this.around === '{') this.named()
    return this.write(this.empty ? '' : ',', this.around === '{' ? 'key' : 'value')
  }

  private keepComma(): true {
    this.drop(1)
    return this.separate()
  }

  private closer(unit: string): boolean {
    const { around } = this
    const wanted = unit === '}' ? '{' : '['
    if (around === undefined || !this.open.includes(wanted)) return this.drop(1)
    const depth = this.open.lastIndexOf(wanted)
    if (depth > 0 && around === wanted) {
      this.drop(1)
      return this.closeOne()
    }
    const next = nextUnit(this, this.at + 1)
    if (next === undefined) return false
    const whole = this.empty && around === wanted
    const goesOn = depth === 0 && next === ',' && !whole ? this.goesOnBehind(pastSpace(this.text, this.at + 1)) : false
    if (goesOn === undefined) return false
    if (goesOn) {
      // The document goes on: one bracket too many, or one of the wrong kind.
      this.drop(1)
      return around === wanted ? true : this.closeOne()
    }
    this.drop(1)
    while (this.open.length > depth) this.leave()
    return true
  }

  /** True if another member of the outermost bracket follows the comma at `at`. */
  private goesOnBehind(comma: number): boolean | undefined {
    const next = nextUnit(this, comma + 1)
    if (next === undefined) return undefined
    const where = pastSpace(this.text, comma + 1)
    if (this.open[0] === '{') return isQuote(next) ? quotedKeyAt(this, where) : isLetter(next) ? bareKeyAt(this, where) : false
    return isQuote(next) || isDigit(next) || next === '{' || next === '-'
  }
}
