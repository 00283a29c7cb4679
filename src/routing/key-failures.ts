/**
 * Failures of the requests of single keys at one endpoint, so that what one caller sends moves that caller alone. Of a size that no
 * traffic changes, and touched by successes only where a key has failed before.
 */
import { Ejection } from './ejection.ts'
import { OutcomeWindow } from './outcome-window.ts'

const NEVER = Number.NEGATIVE_INFINITY
/** An endpoint that failed is tried last for this long (docs/contract.md#endpoint-choice, rule 3). */
export const OUTAGE_MS = 30_000
/** So many failed attempts in a row within the outage window make an endpoint a failing one. */
const FAILING_STREAK = 5
/** Keys that are remembered; of more, those that failed longest ago are forgotten. */
const MAX_KEYS = 16
const MINUTE = 60_000

/** The key of the gateway's own probes, which speak for all. */
export const OURS = ''

/** Outcomes from which the band is computed: the last half hour. */
export const steadyWindow = (): OutcomeWindow => new OutcomeWindow(3 * MINUTE, 10)

/** When the last attempts failed, in a ring; one that served empties it. */
export class FailedAttempts {
  private readonly at = new Float64Array(FAILING_STREAK)
  private count = 0

  add(now: number): void {
    this.at[this.count++ % FAILING_STREAK] = now
  }

  clear(): void {
    this.count = 0
  }

  /** True where the last five attempts were within 30 s and all of them failed. */
  failing(now: number): boolean {
    // The next place of the ring holds the oldest of the five.
    const oldest = this.at[this.count % FAILING_STREAK]
    return this.count >= FAILING_STREAK && oldest !== undefined && now - oldest <= OUTAGE_MS
  }
}

/** One key's. Times are monotonic milliseconds. */
export class KeyStanding {
  readonly ejection = new Ejection()
  readonly attempts = new FailedAttempts()
  /** Outcomes that the band counts of it, since it first failed: that is left out of the band that others see. */
  readonly steady = steadyWindow()
  outageUntil = NEVER
  restUntil = NEVER
  /** Of the key: keys of one owner say nothing of those of others. */
  owner = ''
  /** When it failed last, and how often the endpoint had served by then. */
  failedAt = NEVER
  servedBefore = -1
  /** Failures since its last success that led to no ejection. */
  loose = 0

  /** Its outage is over; a rest stands. */
  reset(now: number): void {
    this.ejection.succeeded(now)
    this.attempts.clear()
    this.outageUntil = NEVER
    this.loose = 0
  }
}

export class KeyFailures {
  /** The one that failed last stands last. */
  private readonly keys = new Map<string, KeyStanding>()
  /** Until when all keys of an owner are in an outage. */
  private readonly owners = new Map<string, number>()
  /** An entry that is dropped may have failures that are not counted yet. */
  private readonly dropped: (standing: KeyStanding) => void

  constructor(dropped: (standing: KeyStanding) => void) {
    this.dropped = dropped
  }

  get(key: string): KeyStanding | undefined {
    return this.keys.get(key)
  }

  /** The key fails: its standing is the newest. */
  open(key: string): KeyStanding {
    const known = this.keys.get(key)
    if (known) this.keys.delete(key)
    const standing = known ?? new KeyStanding()
    this.keys.set(key, standing)
    if (this.keys.size > MAX_KEYS) this.dropOldest()
    return standing
  }

  all(): Iterable<KeyStanding> {
    return this.keys.values()
  }

  /**
   * Owners whose keys the failure of one moves: another key has failed within the last 30 s, and the endpoint has served nothing since.
   * @param served how often so far. @returns `all` where one of another owner has, `owner` where only one of the same has.
   */
  moves(key: string, { owner, now, served }: { owner: string; now: number; served: number }): 'all' | 'owner' | undefined {
    let moved: 'owner' | undefined
    for (const [other, { failedAt, servedBefore, owner: others }] of this.keys) {
      if (other === key || servedBefore !== served || now - failedAt > OUTAGE_MS) continue
      if (others !== owner) return 'all'
      moved = 'owner'
    }
    return moved
  }

  /** All keys of the owner are in an outage. */
  moveOwner(owner: string, until: number): void {
    const before = this.owners.get(owner) ?? NEVER
    this.owners.delete(owner)
    this.owners.set(owner, Math.max(before, until))
    if (this.owners.size <= MAX_KEYS) return
    for (const oldest of this.owners.keys()) {
      this.owners.delete(oldest)
      return
    }
  }

  ownerOutage(owner: string): number {
    return this.owners.get(owner) ?? NEVER
  }

  /** @param owner undefined for all. */
  forgiveOwner(owner: string | undefined): void {
    if (owner === undefined) this.owners.clear()
    else this.owners.delete(owner)
  }

  /** Outcomes of the last half hour of the other owner with the most failures. @param owner whose keys are not looked at. */
  worst(owner: string | undefined, now: number): readonly OutcomeWindow[] {
    const failures = new Map<string, number>()
    let worst: string | undefined
    for (const { owner: other, steady } of this.keys.values()) {
      if (other === owner || other === OURS) continue
      const sum = (failures.get(other) ?? 0) + steady.failures(now)
      failures.set(other, sum)
      if (sum > 0 && sum > (worst === undefined ? 0 : (failures.get(worst) ?? 0))) worst = other
    }
    return worst === undefined ? [] : [...this.keys.values()].filter((each) => each.owner === worst).map(({ steady }) => steady)
  }

  private dropOldest(): void {
    for (const [key, standing] of this.keys) {
      this.keys.delete(key)
      this.dropped(standing)
      return
    }
  }
}

/** Outcomes of the key that uses the endpoint alone that are looked at, and how many of them may fail at most. */
const LAST = 20
const MAX_FAILED = 10
const ALL_BITS = 2 ** LAST - 1
/** A key whose last outcome is longer ago does not use the endpoint now. */
const IN_USE_MS = 5 * MINUTE

/** Use of an endpoint by a single key, and the ends of its last requests: numbers alone, since it sees every success. */
export class SoleKey {
  private key = ''
  private lastAt = NEVER
  /** When another key than `key` had its last outcome. */
  private otherAt = NEVER
  /** A bit for each of the last outcomes in a row: 1 failed. */
  private bits = 0

  note(key: string, good: boolean, now: number): void {
    if (key !== this.key) {
      this.otherAt = this.lastAt
      this.key = key
      this.bits = 0
    }
    this.lastAt = now
    this.bits = ((this.bits << 1) | (good ? 0 : 1)) & ALL_BITS
  }

  /** The key that has used the endpoint last, where no other has of late. */
  alone(now: number): string | undefined {
    return this.key === '' || now - this.otherAt <= IN_USE_MS ? undefined : this.key
  }

  /** True where one key uses the endpoint alone, and more than half of its last 20 requests have failed. */
  mostlyFails(now: number): boolean {
    if (this.alone(now) === undefined) return false
    let failed = 0
    for (let bits = this.bits; bits !== 0; bits &= bits - 1) failed++
    return failed > MAX_FAILED
  }
}
