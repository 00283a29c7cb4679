/**
 * Endpoints that give vectors of their own length whatever `dimensions` says, as llama.cpp does. Each such reply is work for the provider
 * that no caller can use, so it is remembered for a while.
 */
import type { Clock } from '../../core/clock.ts'
import { Remembered } from '../../core/remembered.ts'

/** Names behind a wildcard are the caller's. */
const KEPT = { forMs: 10 * 60_000, most: 1_000 }

export class VectorLengths {
  private readonly known: Remembered<number>

  constructor(clock: Clock) {
    this.known = new Remembered(clock, KEPT)
  }

  /** @param length that came where another one was requested. */
  note(endpoint: string, length: number): void {
    this.known.note(endpoint, length)
  }

  /** @returns the length that the endpoint gives in place of the requested one; undefined where it may give that. */
  lengthInstead(endpoint: string, dimensions: number | undefined): number | undefined {
    const length = dimensions === undefined ? undefined : this.known.get(endpoint)
    return length === dimensions ? undefined : length
  }
}
