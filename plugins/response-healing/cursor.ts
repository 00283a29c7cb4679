/** The text of an answer, how far it has been read, and what of it has become certain. */
import { escapeAt } from './literals.ts'
import { REACH } from './lookahead.ts'
import type { Around } from './quotes.ts'

export type Place = 'before' | 'value' | 'key' | 'colon' | 'after' | 'text' | 'bare' | 'done'
export type Open = '{' | '['

export class Cursor {
  text = ''
  ended = false
  /** Quote that the running text began with. */
  quote = '"'
  protected at = 0
  protected out = ''
  protected place: Place = 'before'
  protected readonly open: Open[] = []
  /** White space since the last character that counted. */
  protected gap = ''

  get around(): Around {
    return this.open.at(-1)
  }

  /** What is held, as it came. */
  get held(): string {
    return this.text.slice(this.at)
  }

  protected keep(count: number): true {
    this.out += count === 1 ? this.text[this.at] : this.text.slice(this.at, this.at + count)
    return this.drop(count)
  }

  protected drop(count: number): true {
    this.at += count
    this.gap = ''
    return true
  }

  protected write(text: string, place: Place = this.place): true {
    this.out += text
    this.place = place
    return true
  }

  /** Goes past white space. */
  protected pass(gap: string): true {
    this.gap = (this.gap + gap).slice(0, REACH)
    this.at += gap.length
    return true
  }

  protected escape(): boolean {
    const found = escapeAt(this.text, this.at, this.ended)
    if (!found) return false
    this.drop(found.length)
    return this.write(found.written)
  }
}
