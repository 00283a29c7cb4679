/** How fast callers take their replies. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../core/clock.ts'
import { SLOWEST } from './body-arrival.ts'

/** Milliseconds in which a caller has to take something of what waits for it. */
const LONGEST_SILENCE = 60_000

/** Milliseconds of waiting after which the caller has to have taken `SLOWEST` on average, as for bodies on their way in. */
const SLOW_AFTER = 60_000

/** What is watched: a reply over HTTP, or a connection that has been handed over. */
export type Watched = Pick<ServerResponse, 'destroyed' | 'writableFinished' | 'writableLength'> & {
  readonly socket: Socket | null
  destroy(): unknown
}

/**
 * Cuts off a caller that does not take its reply, or takes it too slowly: what it leaves waiting is held in memory.
 * Only time in which bytes wait for the caller counts, so that a stream whose provider is slow is never cut off for that.
 */
export class ReadingWatch {
  private readonly response: Watched
  private readonly clock: Clock
  private timer: Timer | undefined
  /** Milliseconds for which bytes have waited for the caller. */
  private waited = 0
  /** Bytes that the system has taken meanwhile. */
  private read = 0
  /** What `taken` was when it was last looked at, and when that was and when it last rose: monotonic milliseconds. */
  private before: number | undefined
  private looked = 0
  private rose = 0

  constructor(response: Watched, clock: Clock) {
    this.response = response
    this.clock = clock
  }

  /** From now on bytes wait for the caller. @returns false where they did already. */
  begin(): boolean {
    if (this.timer) return false
    this.looked = this.clock.monotonic()
    this.rose = this.looked
    this.before = this.taken()
    this.arm()
    return true
  }

  /** Nothing waits any more. */
  end(): void {
    if (!this.timer) return
    this.count(true)
    this.timer.cancel()
    this.timer = undefined
  }

  /** @param waited whether bytes have waited since the last look. */
  private count(waited: boolean): void {
    const { before } = this
    const now = this.clock.monotonic()
    const after = this.taken()
    if (!waited || before === undefined || after === undefined) this.rose = now
    else {
      this.waited += now - this.looked
      this.read += after - before
      if (after > before) this.rose = now
    }
    this.before = after
    this.looked = now
  }

  /** One timer for the earlier of the two limits, as far as is known now. */
  private arm(): void {
    const slow = this.looked + Math.max(SLOW_AFTER, (this.read * 1000) / SLOWEST) - this.waited
    const due = Math.min(this.rose + LONGEST_SILENCE, slow)
    this.timer = this.clock.after(Math.max(1, Math.ceil(due - this.looked)), this.look)
  }

  private readonly look = (): void => {
    const { response } = this
    if (response.destroyed || response.writableFinished) return
    // Where nothing waits now, as in a download whose disk is slow, the time is not the caller's.
    this.count(unsent(response) > 0)
    const silent = this.looked - this.rose >= LONGEST_SILENCE
    const slow = this.waited >= SLOW_AFTER && this.read * 1000 < this.waited * SLOWEST
    if (silent || slow) response.destroy()
    else this.arm()
  }

  /**
   * Bytes of the connection that the system has taken so far; keep-alive comments, which queue up meanwhile, do not change it.
   * Undefined for a reply behind another one in its pipeline: the wait is not its own.
   */
  private taken(): number | undefined {
    const { socket } = this.response
    return socket ? socket.bytesWritten - queueOf(socket) : undefined
  }
}

/** Bytes of a reply that the system has not taken yet. */
export function unsent(response: Watched): number {
  // A reply behind another one in its pipeline has no socket, and holds its bytes itself.
  return response.socket ? queueOf(response.socket) : response.writableLength
}

/** What Node's own socket time-out looks at. */
function queueOf(socket: Socket & { _handle?: { writeQueueSize?: number } | null }): number {
  return (socket._handle?.writeQueueSize ?? 0) + socket.writableLength
}
