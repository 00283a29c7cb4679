/** Works a long reply off in short turns, so that however fast it comes the event loop stays free. */

/** In place of a chunk that has been worked off. */
const NOTHING = Buffer.alloc(0)

/** Source of the chunks. */
export interface Source {
  pause(): void
  resume(): void
}

/** Turns of work that may wait before the source is paused. */
const MAX_WAITING = 8

export class Turns {
  private readonly work: (chunk: Buffer) => void
  private readonly source: Source | undefined
  /** Bytes of one turn. */
  private readonly budget: number
  private readonly waiting: Buffer[] = []
  private next = 0
  private left: number
  private finished: (() => void) | undefined
  private scheduled = false

  private pending = 0
  private paused = false

  /** @param budget bytes. @param source is paused while too much waits. */
  constructor(budget: number, work: (chunk: Buffer) => void, source?: Source) {
    this.work = work
    this.source = source
    this.budget = budget
    this.left = budget
  }

  /** Works the chunk at once while the turn has room, else in one of the next turns. */
  push(chunk: Buffer): void {
    this.waiting.push(chunk)
    this.pending += chunk.length
    if (this.left > 0) this.run()
    if (this.paused || this.pending <= this.budget * MAX_WAITING) return
    this.paused = true
    this.source?.pause()
  }

  /** Calls `done` once all has been worked off. */
  end(done: () => void): void {
    this.finished = done
    if (this.next >= this.waiting.length) this.run()
  }

  /** Forgets what still waits. */
  stop(): void {
    this.waiting.length = 0
    this.next = 0
    this.finished = undefined
  }

  private run(): void {
    while (this.left > 0) {
      const chunk = this.waiting[this.next]
      if (chunk === undefined) break
      const piece = chunk.length > this.left ? chunk.subarray(0, this.left) : chunk
      if (piece === chunk) this.waiting[this.next++] = NOTHING
      else this.waiting[this.next] = chunk.subarray(this.left)
      this.left -= piece.length
      this.pending -= piece.length
      this.work(piece)
    }
    if (this.paused && this.pending <= this.budget) {
      this.paused = false
      this.source?.resume()
    }
    if (this.next >= this.waiting.length) {
      this.waiting.length = 0
      this.next = 0
      const done = this.finished
      this.finished = undefined
      done?.()
    }
    // What was worked in this turn of the event loop counts together, in however many chunks it came.
    if (this.left < this.budget && !this.scheduled) this.rest()
  }

  private rest(): void {
    this.scheduled = true
    setImmediate(() => {
      this.scheduled = false
      this.left = this.budget
      this.run()
    })
  }
}
