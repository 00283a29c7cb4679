/**
 * Token counts of things that providers keep, from earlier requests: a file, cached content. The content under such an id never changes, so
 * the input of a request that named it bounds what it adds to a later one. Kept in this process alone: an unknown id is counted or held in
 * full.
 */

/** Ids that are kept; the one that has not been used for the longest goes. */
const MAX_IDS = 10_000
/** A template, and a model that may read the same thing in another mode. */
const SHARE = 9 / 8

/** One earlier request: its input bounds all that it named together. */
interface SeenRequest {
  readonly tokens: number
}

export class SeenInputs {
  private readonly requests = new Map<string, SeenRequest>()

  /**
   * @param place account and model that read them: tokens differ by model.
   * @param tokens of all input of the request that named them.
   */
  note(place: string, ids: readonly string[], tokens: number): void {
    if (tokens <= 0) return
    const request: SeenRequest = { tokens: Math.ceil(tokens * SHARE) }
    for (const id of ids) {
      const name = inputName(place, id)
      const before = this.requests.get(name)
      this.requests.delete(name)
      this.requests.set(name, before && before.tokens <= request.tokens ? before : request)
    }
    for (const [oldest] of this.requests) {
      if (this.requests.size <= MAX_IDS) break
      this.requests.delete(oldest)
    }
  }

  /** @returns the most tokens of each; undefined for one that has not been seen. Those of one earlier request are counted with its first. */
  bounds(place: string, ids: readonly string[]): (number | undefined)[] {
    const counted = new Map<SeenRequest, Set<string>>()
    return ids.map((id) => {
      const request = this.requests.get(inputName(place, id))
      if (!request) return undefined
      const named = counted.get(request)
      // Named once more, it is read once more.
      if (named === undefined || named.has(id)) {
        counted.set(request, new Set([id]))
        return request.tokens
      }
      named.add(id)
      return 0
    })
  }
}

const inputName = (place: string, id: string): string => `${place} ${id}`
