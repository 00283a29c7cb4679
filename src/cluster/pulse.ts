/** The pulse of a process: reports to the store of record that it lives, and receives changes. */
import type { Clock, Timer } from '../core/clock.ts'
import type { LeaseName, PulseReply, StoreOfRecord } from '../store/record.ts'
import { type ClusterReport, OutageReport, within } from './record-calls.ts'

export interface PulsesOptions {
  readonly node: string
  /** Name for an operator: host and process. */
  readonly label: string
  readonly record: Pick<StoreOfRecord, 'pulse'>
  readonly clock: Clock
  /** Hashes of changed keys; undefined: whatever was cached may have changed. */
  readonly changed: (hashes: readonly string[] | undefined) => void
  /** Leases of which others want what lies idle here. */
  readonly wanted: (leases: readonly LeaseName[]) => void
  /** Called after every pulse that was answered. @param silence milliseconds since the record itself answered. */
  readonly answered: (silence: number) => void
  /** Called after every pulse, before anything else: milliseconds of silence before it ended. */
  readonly silence: (ms: number) => void
  /** Called before `answered` where the record may have ended the leases of this process, and after the first pulse. */
  readonly forgotten: () => void
  readonly report: (report: ClusterReport) => void
}

/** Milliseconds from an answer to the next pulse; and without one after which the process counts as lost. */
const EVERY = 250
const EXPIRY = 10_000
/** Milliseconds after which a pulse counts as unanswered. */
const MAX_PULSE_MS = 2_000

export class Pulses {
  /** Processes that are alive by the last answer; this one alone before it. */
  nodes = 1
  private readonly options: PulsesOptions
  private readonly outage: OutageReport
  private cursor: string | undefined
  private timer: Timer | undefined
  private beating: Promise<void> | undefined
  /** Something happened after the pulse that is under way had left. */
  private isWakePending = false
  private closed = false
  private life: number | undefined
  /** Time at which the last answered pulse was sent; earlier where the answer says that the record itself answered before. */
  private lastAnswer: Moment

  constructor(options: PulsesOptions) {
    this.options = options
    this.lastAnswer = currentMoment(options.clock)
    this.outage = new OutageReport('pulse', options.report)
  }

  /** True from a pulse that was not answered to the next one that is. */
  get lost(): boolean {
    return this.outage.isLost
  }

  /**
   * Milliseconds since the last pulse that was answered had left, by the clock that counts more of them: the monotonic one
   * stands still while a machine is suspended, and the other one may be set back.
   */
  get silence(): number {
    const { clock } = this.options
    return Math.max(clock.monotonic() - this.lastAnswer.monotonic, clock.now() - this.lastAnswer.wall)
  }

  /** Pulses now, and from then on by itself. Resolves when this pulse is over, answered or not. */
  now(): Promise<void> {
    if (this.beating) this.isWakePending = true
    else if (!this.closed) {
      this.timer?.cancel()
      this.beating = this.beat().finally(() => {
        this.beating = undefined
        if (this.closed) return
        this.timer = this.options.clock.after(this.isWakePending ? 0 : EVERY, () => void this.now())
        this.isWakePending = false
      })
    }
    return this.beating ?? Promise.resolve()
  }

  close(): void {
    this.closed = true
    this.timer?.cancel()
  }

  private async beat(): Promise<void> {
    const { node, label, record, clock, changed, wanted, answered, silence, forgotten } = this.options
    const left = currentMoment(clock)
    let reply: PulseReply
    try {
      reply = await within(clock, MAX_PULSE_MS, record.pulse({ node, label, expiry: EXPIRY, cursor: this.cursor }))
    } catch (thrown) {
      silence(this.silence)
      this.outage.failed(thrown)
      return
    }
    if (this.closed) return
    silence(this.silence)
    const behind = reply.silence ?? 0
    this.lastAnswer = { monotonic: left.monotonic - behind, wall: left.wall - behind }
    this.outage.went()
    this.cursor = reply.cursor
    this.nodes = Math.max(1, reply.nodes)
    if (reply.life !== this.life) forgotten()
    this.life = reply.life
    if (reply.changed === undefined || reply.changed.length > 0) changed(reply.changed)
    if (reply.wanted.length > 0) wanted(reply.wanted)
    answered(behind)
  }
}

interface Moment {
  readonly monotonic: number
  readonly wall: number
}

function currentMoment(clock: Clock): Moment {
  return { monotonic: clock.monotonic(), wall: clock.now() }
}
