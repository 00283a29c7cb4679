/**
 * Texts that were read of late. An answer that only calls tools has no text that could carry an annotation, so what it rests on
 * comes again without one; and a caller may ask several things about one file.
 */
import type { FileNote } from './annotations.ts'

const MINUTES = 15
/** UTF-16 units, of all notes together. */
const MOST = 16_000_000

interface Kept {
  note: FileNote
  size: number
  /** Milliseconds on the monotonic clock. */
  until: number
}

export class RecentNotes {
  private readonly kept = new Map<string, Kept>()
  private size = 0

  /** @param key names the caller, the way of reading and the file. @param now milliseconds on the monotonic clock. */
  get(key: string, now: number): FileNote | undefined {
    const found = this.kept.get(key)
    return found && found.until > now ? found.note : undefined
  }

  put(key: string, note: FileNote, now: number): void {
    const size = JSON.stringify(note.content).length
    this.drop(key)
    if (size > MOST / 4) return
    this.kept.set(key, { note, size, until: now + MINUTES * 60_000 })
    this.size += size
    // The oldest first.
    for (const [old, { until }] of this.kept) {
      if (this.size <= MOST && until > now) break
      this.drop(old)
    }
  }

  private drop(key: string): void {
    this.size -= this.kept.get(key)?.size ?? 0
    this.kept.delete(key)
  }
}

const gateways = new WeakMap<object, RecentNotes>()

/** The notes of one gateway. @param owner an object that lives as long as the gateway does. */
export function recentNotes(owner: object): RecentNotes {
  let found = gateways.get(owner)
  if (!found) {
    found = new RecentNotes()
    gateways.set(owner, found)
  }
  return found
}
