/**
 * Leaves an endpoint alone that keeps failing. After five failures in a row it is ejected for 1 s; then one request
 * may probe it. The probe's success ends the ejection, its failure doubles the time: 1, 2, 4, 8, 16, 30, 30 … s.
 * Each time is shortened by up to a fifth, by chance, so that several gateways do not probe in step. None is ever
 * longer than the outage window of 30 s, so ejection never puts off the recovery of an endpoint that is well again.
 */

/** Failures in a row until the first ejection. */
const STREAK = 5
const FIRST_MS = 1_000
const LONGEST_MS = 30_000
const JITTER = 0.2
/** A probe without an outcome for this long no longer keeps others from probing: the answer may just be slow. */
const PROBE_MS = 10_000
const NEVER = Number.NEGATIVE_INFINITY

export class Ejection {
  private streak = 0
  /** How often in a row it has been ejected without a success. */
  private rounds = 0
  private until = NEVER
  private probedAt = NEVER

  /**
   * Times are monotonic milliseconds.
   * @param since when it began to fail; the time counts from then. @param chance uniform in [0, 1).
   */
  failed({ now, since }: { now: number; since: number }, chance: () => number): void {
    this.streak++
    this.probedAt = NEVER
    // Requests that were under way at the ejection fail as well; they are the same trouble, not a new one.
    if (this.streak < STREAK || now < this.until) return
    const length = Math.min(FIRST_MS * 2 ** this.rounds, LONGEST_MS)
    this.rounds++
    this.until = since + length * (1 - JITTER * chance())
  }

  /** @returns how many failures in a row this success ends that were too few to eject. */
  succeeded(): number {
    const loose = this.streak < STREAK ? this.streak : 0
    this.streak = 0
    this.rounds = 0
    this.until = NEVER
    this.probedAt = NEVER
    return loose
  }

  /** A request is about to be sent: once the time is over it is the probe. */
  dispatched(now: number): void {
    if (this.until !== NEVER && this.left(now) === 0) this.probedAt = now
  }

  /** The request told nothing of the endpoint: another may probe. */
  released(): void {
    this.probedAt = NEVER
  }

  /** Milliseconds until a probe may pass: until then requests should go elsewhere. */
  left(now: number): number {
    if (this.until === NEVER) return 0
    return Math.max(0, this.until - now, this.probedAt + PROBE_MS - now)
  }
}
