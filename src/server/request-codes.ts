/** Status, client and lane of a request as one small integer: the cheapest key that a count can have. */
import { NONE, OTHER } from '../core/tallies.ts'

/** Clients and lanes that get a number of their own; the one above stands for all that come later. */
export const MAX_WORDS = 16
const LANE_UNIT = MAX_WORDS + 1
const STATUS_UNIT = LANE_UNIT * LANE_UNIT

export class RequestCodes {
  private readonly clients: string[] = []
  private readonly lanes: string[] = []

  lane(word: string): number {
    return indexOf(this.lanes, word)
  }

  laneWord(index: number): string {
    return wordAt(this.lanes, index)
  }

  /** @param lane as `lane()` numbered it. */
  code(status: number, client: string, lane: number): number {
    return status * STATUS_UNIT + indexOf(this.clients, client) * LANE_UNIT + lane
  }

  labels(code: number): { client: string; status: string; lane: string } {
    return {
      client: wordAt(this.clients, Math.floor(code / LANE_UNIT) % LANE_UNIT),
      status: String(Math.floor(code / STATUS_UNIT)),
      lane: wordAt(this.lanes, code % LANE_UNIT),
    }
  }
}

function indexOf(words: string[], word: string): number {
  const found = words.indexOf(word)
  if (found >= 0) return found
  return words.length < MAX_WORDS ? words.push(word) - 1 : MAX_WORDS
}

function wordAt(words: readonly string[], index: number): string {
  const word = index < words.length ? words[index] : OTHER
  return word === '' ? NONE : word
}
