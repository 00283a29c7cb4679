/** Mends the texts within a document: quoted ones, and bare ones whose quotes are missing. */
import { Cursor } from './cursor.ts'
import { escaped } from './literals.ts'
import { colonInKey, commaInValue, endInValue, quoteInKey, quoteInValue, type Verdict } from './text-ends.ts'
import { bareKeyAt, closes, isCloser, isLetter, isQuote, isSpace, lineBetween, nextUnit, pastSpace } from './tokens-ahead.ts'

/** Characters of a text that need no second look. */
const PLAIN = /[^"'“”‘’\\\p{Cc},:}\]]+/uy
const BARE = /[^\s"\\\p{Cc},}\]]+/uy

export class TextMender extends Cursor {
  private inKey = false

  protected beginText(inKey: boolean): true {
    this.quote = this.text.charAt(this.at)
    this.inKey = inKey
    this.drop(1)
    return this.write('"', 'text')
  }

  private endText(): true {
    return this.write('"', this.inKey ? 'colon' : 'after')
  }

  protected inText(): boolean {
    PLAIN.lastIndex = this.at
    const plain = PLAIN.exec(this.text)
    if (plain) return this.keep(plain[0].length)
    const unit = this.text[this.at]
    if (unit === undefined) return this.ended && this.endText()
    if (unit === '\\') return this.escape()
    if (closes(this.quote, unit)) {
      const verdict = this.inKey ? quoteInKey(this, this.at) : quoteInValue(this, this.at, this.around)
      if (verdict !== 'closes') return verdict !== undefined && this.inner(unit)
      this.drop(1)
      return this.endText()
    }
    const verdict = this.verdict(unit)
    if (verdict === undefined) return false
    return verdict === 'ends' ? this.endText() : this.inner(unit)
  }

  private verdict(unit: string): Verdict | undefined {
    if (this.inKey) return unit === ':' ? colonInKey(this, this.at, this.quote) : unit === '\n' ? 'ends' : 'inner'
    if (unit === ',') return commaInValue(this, this.at, this)
    return isCloser(unit) || unit === '\n' ? endInValue(this, this.at, this.quote) : 'inner'
  }

  private inner(unit: string): true {
    if (unit !== '"' && unit >= ' ') return this.keep(1)
    this.drop(1)
    return this.write(escaped(unit))
  }

  /** A text without its opening quote, or without both. */
  protected inBare(): boolean {
    BARE.lastIndex = this.at
    const plain = BARE.exec(this.text)
    if (plain) return this.keep(plain[0].length)
    const unit = this.text[this.at]
    if (unit === undefined) return this.ended && this.write('"', 'after')
    if (unit === '\\') return this.escape()
    if (unit === '\n' || unit === '\r' || isCloser(unit)) return this.write('"', 'after')
    const next = nextUnit(this, this.at + 1)
    if (next === undefined) return false
    const where = pastSpace(this.text, this.at + 1)
    const ends = next === '' || isCloser(next) || lineBetween(this.text, this.at, where)
    if (unit === ',') return this.commaInBare(next, where, ends)
    if (unit === '"' && (ends || next === ',')) {
      this.drop(1)
      return this.write('"', 'after')
    }
    if (isSpace(unit) && (ends || next === ',')) return this.write('"', 'after')
    return this.inner(unit)
  }

  private commaInBare(next: string, where: number, ends: boolean): boolean {
    if (ends || this.around !== '{' || isQuote(next) || next === '{') return this.write('"', 'after')
    const key = isLetter(next) ? bareKeyAt(this, where) : false
    if (key === undefined) return false
    return key ? this.write('"', 'after') : this.inner(',')
  }
}
