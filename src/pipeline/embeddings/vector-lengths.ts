/**
 * Endpoints that give vectors of their own length whatever `dimensions` says, as llama.cpp does. Each such reply is work for the provider
 * that no caller can use, so it is remembered for a while; the server behind the address may be another one by then.
 */
import type { Clock } from '../../core/clock.ts'

const REMEMBERED_MS = 10 * 60_000
/** Endpoints that are remembered: names behind a wildcard are the caller's. */
const MOST = 1_000

interface Known {
  readonly length: number
  /** Monotonic milliseconds. */
  readonly until: number
}

export class VectorLengths {
  private readonly clock: Clock
  /** By the id of the endpoint, the one that was noted last stands last. */
  private readonly known = new Map<string, Known>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** @param length that came where another one was requested. */
  note(endpoint: string, length: number): void {
    this.known.delete(endpoint)
    this.known.set(endpoint, { length, until: this.clock.monotonic() + REMEMBERED_MS })
    if (this.known.size <= MOST) return
    for (const oldest of this.known.keys()) {
      this.known.delete(oldest)
      return
    }
  }

  /** @returns the length that the endpoint gives in place of the requested one; undefined where it may give that. */
  insteadOf(endpoint: string, dimensions: number | undefined): number | undefined {
    const known = dimensions === undefined ? undefined : this.known.get(endpoint)
    return !known || known.length === dimensions || this.clock.monotonic() >= known.until ? undefined : known.length
  }
}
