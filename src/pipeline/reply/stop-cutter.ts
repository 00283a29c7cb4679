/**
 * Cuts an answer at the caller's stop sequences where the provider does not take them: the text goes on with a window that is as
 * long as the longest sequence that may still come, and ends in front of the first one that does.
 */
import { MEMBERS, type StreamEvent } from '../../dialects/canon/events.ts'

export class StopCutter {
  /** True once a sequence has been met. */
  met = false
  private readonly sequences: readonly string[]
  /** By block of text: what may be the beginning of a sequence. */
  private readonly held = new Map<number, string>()
  private readonly open = new Set<number>()
  private fingerprint: string | undefined

  constructor(sequences: readonly string[]) {
    this.sequences = sequences
  }

  /** @returns the events as far as the caller gets them. Of what comes behind a sequence usage and members of the reply are left. */
  push(events: readonly StreamEvent[]): StreamEvent[] {
    const out: StreamEvent[] = []
    for (const event of events) {
      if (this.met) {
        if (event.type === 'usage' || (event.type === 'opaque' && event.of.type === MEMBERS)) out.push(event)
      } else this.take(event, out)
    }
    return out
  }

  private take(event: StreamEvent, out: StreamEvent[]): void {
    if (event.type === 'start') this.fingerprint = event.fingerprint
    if (event.type === 'block-start') {
      this.open.add(event.block)
      if (event.kind === 'text') this.held.set(event.block, '')
    }
    if (event.type === 'block-delta') {
      const before = this.held.get(event.block)
      if (before !== undefined) {
        this.text(event.block, before + event.text, out)
        return
      }
    }
    if (event.type === 'block-end') {
      this.open.delete(event.block)
      this.release(event.block, out)
    }
    if (event.type === 'end' || event.type === 'fault') for (const block of [...this.held.keys()]) this.release(block, out)
    out.push(event)
  }

  private text(block: number, text: string, out: StreamEvent[]): void {
    const found = this.first(text)
    const until = found?.at ?? text.length - this.undecided(text)
    if (until > 0) out.push({ type: 'block-delta', block, text: text.slice(0, until) })
    if (found === undefined) {
      this.held.set(block, text.slice(until))
      return
    }
    this.met = true
    this.held.delete(block)
    for (const each of this.held.keys()) this.release(each, out)
    for (const each of this.open) out.push({ type: 'block-end', block: each })
    const end: StreamEvent = { type: 'end', reason: 'stop', sequence: found.sequence }
    if (this.fingerprint !== undefined) end.fingerprint = this.fingerprint
    out.push(end)
  }

  /** The sequence that begins first; of two at one place the one that the caller named first. */
  private first(text: string): { at: number; sequence: string } | undefined {
    let found: { at: number; sequence: string } | undefined
    for (const sequence of this.sequences) {
      const at = text.indexOf(sequence)
      if (at !== -1 && (found === undefined || at < found.at)) found = { at, sequence }
    }
    return found
  }

  /** Length of the end of a text that may be the beginning of a sequence. */
  private undecided(text: string): number {
    let most = 0
    for (const sequence of this.sequences) {
      for (let length = Math.min(sequence.length - 1, text.length); length > most; length--)
        if (text.endsWith(sequence.slice(0, length))) most = length
    }
    return most
  }

  /** The block ends: what was held of it is text after all. */
  private release(block: number, out: StreamEvent[]): void {
    const text = this.held.get(block)
    this.held.delete(block)
    if (text !== undefined && text !== '') out.push({ type: 'block-delta', block, text })
  }
}
