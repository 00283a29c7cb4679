/** An answer on its way through healing: piece by piece in a stream, all at once otherwise. */
import { jsonrepair } from 'jsonrepair'
import { DocumentMender } from './document-mender.ts'

/** Longer answers are not given to the second opinion: it takes three seconds for a million characters. */
const SECOND_OPINION = 64 * 1024

/** Longer answers are not mended as a whole: that would stop all other requests for too long. */
const LONGEST = 256 * 1024

export interface Healer {
  /** @returns what may leave now. */
  push(text: string): string
  /** The answer is whole. @returns the rest, mended. */
  finish(): string
  /** The answer was cut off. @returns the rest as it came. */
  cut(): string
  /** Characters that are held: the last ones that came. */
  readonly heldLength: number
  /** True where neither mending nor more text would change anything. */
  readonly settled: boolean
}

export class StreamHealer implements Healer {
  private readonly mender = new DocumentMender()

  push(text: string): string {
    return this.mender.push(text)
  }

  finish(): string {
    return this.mender.idle ? secondOpinion(this.mender.finish()) : this.mender.finish()
  }

  cut(): string {
    return this.mender.held
  }

  get heldLength(): number {
    return this.mender.heldLength
  }

  get settled(): boolean {
    return this.mender.heldLength === 0 && !this.mender.unfinished
  }
}

export class WholeHealer implements Healer {
  readonly settled = false
  private held = ''

  get heldLength(): number {
    return this.held.length
  }

  push(text: string): string {
    this.held += text
    return ''
  }

  finish(): string {
    const { held } = this
    this.held = ''
    if (held === '' || held.length > LONGEST || isJson(held)) return held
    const mender = new DocumentMender()
    const mended = mender.push(held)
    return mender.idle ? secondOpinion(mended + mender.finish()) : mended + mender.finish()
  }

  cut(): string {
    const { held } = this
    this.held = ''
    return held
  }
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** No document begins in the text as far as the mender sees: rarer damage is the library's. Prose stays prose. */
function secondOpinion(text: string): string {
  if (text.length > SECOND_OPINION || !/[{[]/.test(text) || isJson(text)) return text
  try {
    const repaired = jsonrepair(text)
    return /^\s*[{[]/.test(repaired) && /^\W*[{[]/.test(text) ? repaired : text
  } catch {
    return text
  }
}
