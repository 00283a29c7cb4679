/** Enters sign-ins that were refused into the audit log, so many in a minute that strangers cannot fill it. */
import type { UntimedEntry } from '../../api/index.ts'
import type { Clock } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import { VISITOR } from '../origins.ts'

/** Entries of one minute; the next entry counts those beyond. */
const MAX_PER_MINUTE = 60
const MINUTE = 60_000

export interface RefusedSignIn {
  readonly address: string
  /** Of the fault, or of the refusal at an identity provider. */
  readonly code: string
  readonly means: 'key' | 'code' | 'identity_provider'
  /** Of one at an identity provider: its name, and the member where it has named one. */
  readonly more?: JsonObject
}

export class RefusedSignIns {
  private readonly clock: Pick<Clock, 'monotonic'>
  private readonly note: (entry: UntimedEntry) => void
  private beganAt = Number.NEGATIVE_INFINITY
  private count = 0
  private skipped = 0

  constructor(clock: Pick<Clock, 'monotonic'>, note: (entry: UntimedEntry) => void) {
    this.clock = clock
    this.note = note
  }

  /** @returns false where it is not entered, since there were too many: the log has no line of it either. */
  enter({ address, code, means, more }: RefusedSignIn): boolean {
    const now = this.clock.monotonic()
    if (now - this.beganAt >= MINUTE) {
      this.beganAt = now
      this.count = 0
    }
    if (this.count >= MAX_PER_MINUTE) {
      this.skipped++
      return false
    }
    this.count++
    const skipped = this.skipped === 0 ? {} : { not_entered: this.skipped }
    this.skipped = 0
    const after = { means, error: code, ...more, ...skipped }
    this.note({ actor: VISITOR, address, action: 'session.refused', subject: 'control room', before: null, after })
    return true
  }
}
