/** The relay of the pass lane: the provider's frames travel as they are, with a short list of patches. */
import { withSignedText } from '../../dialects/canon/provider-ids.ts'
import { markText } from '../../dialects/canon/reasoning-owner.ts'
import type { Final, PassStream, PassWire } from '../../dialects/types.ts'
import type { Relay } from './relay.ts'

/** Same wire on both sides: frames travel with a short list of patches. */
export class PassRelay implements Relay {
  readonly raw = true
  readonly facts: PassStream
  private readonly mark: ((text: string) => string) | undefined
  /** @param mark what becomes of text on its way: reasoning gets the mark of its account. */
  constructor(stream: PassStream, mark: ((text: string) => string) | undefined) {
    this.facts = stream
    this.mark = mark
  }
  feed(chunk: Buffer): string {
    const text = this.facts.feed(chunk)
    return this.mark && !this.facts.plain ? this.mark(text) : text
  }
  close(): string {
    const text = this.facts.close()
    return this.mark ? this.mark(text) : text
  }
  finish(final: Final): string {
    const text = this.facts.finish(final)
    return this.mark ? this.mark(text) : text
  }
}

/**
 * Marks what the provider signed or encrypted with its account, and signs its ids.
 * @param sign of the ids; undefined where the reply can hold none. @returns undefined where nothing is changed.
 */
export function marking(
  { signed }: PassWire,
  account: string | undefined,
  sign: ((id: string) => string) | undefined,
): ((text: string) => string) | undefined {
  if (account === undefined) return sign && ((text) => withSignedText(text, sign))
  if (!sign) return (text) => markText(text, signed, account)
  return (text) => withSignedText(markText(text, signed, account), sign)
}
