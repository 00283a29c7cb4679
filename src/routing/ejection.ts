/** When failures in a row take an endpoint out of the order, for how long, and the probes that bring it back; also as other processes say. */

import type { Json } from '../core/json.ts'

/** Failures in a row until the first ejection. */
const STREAK = 5
const FIRST_MS = 1_000
const MAX_MS = 30_000
/** In a row; from here on the time is the longest. */
const MAX_ROUNDS = 5
const JITTER = 0.2
/** After a success right behind another process's ejection, later ones are ignored for this long: the two see the endpoint differently. */
const DOUBT_MS = 60_000
/** A probe without an outcome for this long no longer keeps others from probing: the answer may just be slow. */
const PROBE_MS = 10_000
const NEVER = Number.NEGATIVE_INFINITY

export class Ejection {
  private streak = 0
  /** Ejections in a row, without a success between them. */
  private rounds = 0
  private until = NEVER
  private probedAt = NEVER
  /** Taken over from another process, and nothing seen of it here. */
  private borrowed = false
  private doubtedUntil = NEVER

  /**
   * Times are monotonic milliseconds.
   * @param since when it began to fail; the time counts from then. @param chance uniform in [0, 1).
   * @param mayEject false for a failure that counts in the row, and that may not be the one that ejects.
   * @returns true where that ejects it.
   */
  failed({ now, since }: { now: number; since: number }, chance: () => number, mayEject = true): boolean {
    this.streak++
    this.probedAt = NEVER
    // Requests that were under way at the ejection fail as well; they belong to the same outage.
    if (!mayEject || this.streak < STREAK || now < this.until) return false
    const length = Math.min(FIRST_MS * 2 ** this.rounds, MAX_MS)
    this.rounds++
    this.until = since + length * (1 - JITTER * chance())
    this.borrowed = false
    return true
  }

  succeeded(now: number): void {
    if (this.borrowed) this.doubtedUntil = now + DOUBT_MS
    this.borrowed = false
    this.streak = 0
    this.rounds = 0
    this.until = NEVER
    this.probedAt = NEVER
  }

  /** True from an ejection until a success, whether or not a probe is due. */
  get standing(): boolean {
    return this.until !== NEVER
  }

  /** State with which another process takes it over: the milliseconds that are left, and the ejections in a row. */
  remaining(now: number): { ms: number; rounds: number } {
    return { ms: Math.max(0, this.until - now), rounds: this.rounds }
  }

  /** Another process has ejected the endpoint: so it is here, for the same time, and then this one probes for itself. */
  takeOver(now: number, { ms, rounds }: { ms: number; rounds: number }): void {
    if (now < this.doubtedUntil) return
    if (!this.standing) this.borrowed = true
    this.until = Math.max(this.until, now + Math.min(ms, MAX_MS))
    this.rounds = Math.max(this.rounds, Math.min(rounds, MAX_ROUNDS))
    // A probe that fails ejects it anew.
    this.streak = Math.max(this.streak, STREAK)
  }

  /** It is over for another process: here a probe is due at once. */
  endedElsewhere(now: number): void {
    if (!this.standing) return
    this.until = Math.min(this.until, now)
    this.borrowed = false
  }

  /** A request is about to be sent: once the time is over it is the probe. */
  dispatched(now: number): void {
    if (this.until !== NEVER && this.left(now) === 0) this.probedAt = now
  }

  /** The request showed nothing about the endpoint: another may probe. */
  released(): void {
    this.probedAt = NEVER
  }

  /** Milliseconds until a probe may pass: until then requests should go elsewhere. */
  left(now: number): number {
    if (this.until === NEVER) return 0
    return Math.max(0, this.until - now, this.probedAt + PROBE_MS - now)
  }
}

interface EjectionMessage {
  readonly endpoint: string
  readonly ms: number
  readonly rounds: number
  /** The one key that it is for; undefined: all. */
  readonly key: string | undefined
  /** Owner of the key; undefined: it has no other owner. */
  readonly owner: string | undefined
}

/** Characters of an endpoint's id, and of a key's identity. */
const LONGEST = 1_024

/**
 * Reads the message by which processes share ejections: endpoint, milliseconds that are left (0: it is over), how many in a row, the
 * identity of the key where it is for that one alone, and that of its owner where it has one. An ejection for all because of the one key that
 * uses an endpoint names that key: other processes may serve other keys there.
 * @returns undefined for any other message.
 */
export function parseEjectionMessage(message: Json): EjectionMessage | undefined {
  if (!Array.isArray(message) || message.length < 3 || message.length > 5) return undefined
  const [endpoint, ms, rounds, key, owner] = message
  if (!isName(endpoint) || (key !== undefined && !isName(key)) || (owner !== undefined && !isName(owner))) return undefined
  return isCount(ms) && isCount(rounds) ? { endpoint, ms, rounds, key, owner } : undefined
}

function isName(value: Json | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST
}

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
