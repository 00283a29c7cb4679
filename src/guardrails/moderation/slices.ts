/** Bounded pieces of texts, and of lists of them: moderation services limit the size of a text. */

export interface Slice {
  /** The text that it is of. */
  readonly text: string
  readonly part: string
}

/** UTF-16 units of a slice, and those that the next one repeats, so that what lies on a border is read whole. */
const LONGEST = 8_000
const AGAIN = 400

/** Distinct texts in slices; those of white space alone are left out. */
export function textSlices(texts: readonly string[]): Slice[] {
  const slices: Slice[] = []
  for (const text of new Set(texts)) {
    if (text.trim() === '') continue
    for (let from = 0; ; from += LONGEST - AGAIN) {
      const part = text.slice(from, from + LONGEST).toWellFormed()
      slices.push({ text, part })
      if (from + LONGEST >= text.length) break
    }
  }
  return slices
}

/** @param count slices of a batch at most. @param size UTF-16 units of a batch at most. */
export function sliceBatches(slices: readonly Slice[], count: number, size: number): Slice[][] {
  const batches: Slice[][] = []
  let room = 0
  for (const slice of slices) {
    const last = batches.at(-1)
    if (last && last.length < count && slice.part.length <= room) {
      last.push(slice)
      room -= slice.part.length
    } else {
      batches.push([slice])
      room = size - slice.part.length
    }
  }
  return batches
}

/** Calls that run at once for one request. */
const AT_ONCE = 4

/** The results in the order of the works; rejects with the first that does, and begins no other then. */
export async function runAll<W, R>(works: readonly W[], run: (work: W) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const rest = works.entries()
  let failed = false
  const lane = async (): Promise<void> => {
    for (const [i, work] of rest) {
      if (failed) return
      try {
        results[i] = await run(work)
      } catch (thrown) {
        failed = true
        throw thrown
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return results
}
