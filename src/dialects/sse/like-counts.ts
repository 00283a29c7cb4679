/** The member of a frame that holds counts, which differ in frames that are alike otherwise. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** Place of one number of a member: in an object of it under a name. */
interface Place {
  readonly holder: JsonObject
  readonly name: string
}

/** A report is an object of counts and of lists of such objects. */
const DEEPEST = 3
const NOWHERE = { start: 0, end: 0 }

/** A string, or a number with all that may belong to it. No string of a frame that is learnt has an escape. */
const STRING_OR_NUMBER = /"[^"]*"|-?\d[\d.eE+-]*/g
const DIGITS = /^\d+$/

export class LikeCounts {
  private readonly member: string
  private places: Place[] = []
  /** The member as it stood in the last frame that was read. */
  value: Json | undefined

  constructor(member: string) {
    this.member = member
  }

  /**
   * Finds the numbers of the member: each number of the frame is parsed as another one, which shows where it ends up, whatever
   * stands in the frame twice or elsewhere.
   * @returns the digits of each in the frame; undefined where the frame has other numbers than counts, or the member is no flat report.
   */
  learn(data: string): { start: number; end: number; count: number }[] | undefined {
    this.places = []
    const numbers: { start: number; end: number }[] = []
    let isCounts = true
    const marked = data.replace(STRING_OR_NUMBER, (found, start: number) => {
      if (found.startsWith('"')) return found
      isCounts &&= DIGITS.test(found)
      numbers.push({ start, end: start + found.length })
      return String(numbers.length)
    })
    if (!isCounts) return undefined
    const frame: unknown = JSON.parse(marked)
    this.value = isObject(frame) ? frame[this.member] : undefined
    if (!this.find(this.value, 0)) return undefined
    return this.places.map(({ holder, name }, count) => ({ ...(numbers[Number(holder[name]) - 1] ?? NOWHERE), count }))
  }

  /** The count at this index is another one in the frame at hand. */
  put(index: number, value: number): void {
    const place = this.places[index]
    if (place) place.holder[place.name] = value
  }

  /** @returns false where a number stands elsewhere than in an object near the top. */
  private find(value: Json | undefined, depth: number): boolean {
    if (typeof value !== 'object' || value === null) return typeof value !== 'number'
    if (depth > DEEPEST) return false
    if (Array.isArray(value)) return value.every((each) => this.find(each, depth + 1))
    return Object.entries(value).every(([name, each]) => {
      if (typeof each !== 'number') return this.find(each, depth + 1)
      this.places.push({ holder: value, name })
      return true
    })
  }
}
