/** The text of an answer, how far it has been read, and what of it has become certain. */
import { escapeAt } from './literals.ts'
import type { Around } from './text-ends.ts'
import { REACH } from './tokens-ahead.ts'

export type Place = 'before' | 'value' | 'key' | 'colon' | 'after' | 'text' | 'bare' | 'done' | 'given-up'
export type Open = '{' | '['

export class Cursor {
  text = ''
  ended = false
  /** Quote that the running text began with. */
  quote = '"'
  protected at = 0
  private out = ''
  protected place: Place = 'before'
  protected readonly open: Open[] = []
  /** Only a text that has one of these can end the wait. */
  protected awaited: RegExp | undefined
  /**
   * The beginning of a member of an object as it would be written, comma and key, until its value begins: a member that never gets a value
   * is left out.
   */
  private member: string | undefined
  /** Characters that had come when it began. */
  private memberAt = 0
  /** Characters that were read before `text`. */
  private read = 0
  private parked: string[] = []
  private parkedLength = 0
  /** White space since the last character that counted. */
  protected gap = ''

  get around(): Around {
    return this.open.at(-1)
  }

  /** Characters that are held. */
  get heldLength(): number {
    const from = this.member === undefined ? this.at : this.memberAt - this.read
    return this.text.length - from + this.parkedLength
  }

  /** Text that is held: as it came, behind a member that has begun. */
  get held(): string {
    return (this.member ?? '') + this.unread
  }

  private get unread(): string {
    return this.text.slice(this.at) + this.parked.join('')
  }

  protected emit(text: string): void {
    if (this.member === undefined) this.out += text
    else {
      this.member += text
      if (this.member.length > REACH) this.endMember()
    }
  }

  /** Text that has become certain since the last call. */
  protected certain(): string {
    const { out } = this
    this.out = ''
    return out
  }

  protected beginMember(): void {
    if (this.member !== undefined) return
    this.member = ''
    this.memberAt = this.read + this.at
  }

  /** Its value begins. */
  protected endMember(): void {
    if (this.member === undefined) return
    this.out += this.member
    this.member = undefined
  }

  /** @returns false where it has gone out already. */
  protected dropMember(): boolean {
    const isHere = this.member !== undefined
    this.member = undefined
    return isHere
  }

  /**
   * Text that cannot change what is waited for is put aside unread, so that long waits cost no more than short ones.
   * @returns false where the text has to be read.
   */
  protected park(more: string): boolean {
    if (this.awaited === undefined || this.awaited.test(more)) return false
    this.parked.push(more)
    this.parkedLength += more.length
    return true
  }

  /** The text that is to be read on: what was held, what was parked, what has come. */
  protected take(more: string): void {
    this.read += this.at
    this.text = this.unread + more
    this.parked = []
    this.parkedLength = 0
    this.awaited = undefined
    this.at = 0
  }

  protected keep(count: number): true {
    this.emit(count === 1 ? this.text.charAt(this.at) : this.text.slice(this.at, this.at + count))
    return this.drop(count)
  }

  protected drop(count: number): true {
    this.at += count
    this.gap = ''
    return true
  }

  protected write(text: string, place: Place = this.place): true {
    this.emit(text)
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
