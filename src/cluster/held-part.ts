/**
 * A part of the store as this process holds it. What was read last stays in force until something newer has been read: a store that does
 * not answer changes nothing.
 */
import type { Clock, Timer } from '../core/clock.ts'
import { type ClusterReport, type Dealing, OutageReport, unreachable, within } from './record-calls.ts'

export interface HeldPartOptions {
  readonly clock: Pick<Clock, 'after'>
  readonly report: (report: ClusterReport) => void
}

/** Milliseconds after which a reading counts as failed, and until it is tried again. */
const MAX_READ_MS = 2_000
const RETRY = 500

const ignore = (): void => {}

export abstract class HeldPart {
  private readonly clock: Pick<Clock, 'after'>
  private readonly outage: OutageReport
  private readonly hearers: (() => void)[] = []
  /** Reading that runs now, never rejected; and the reading that comes after it. */
  private reading: Promise<void> = Promise.resolve()
  private queued: Promise<void> | undefined
  private timer: Timer | undefined
  private closed = false

  /** @param what names it in reports of an outage. */
  constructor(what: Dealing, { clock, report }: HeldPartOptions) {
    this.clock = clock
    this.outage = new OutageReport(what, report)
  }

  /** Reads what the store has now. @returns what puts it in force, which returns whether anything has changed. */
  protected abstract look(): Promise<() => boolean>

  /** Reads it for the first time: nothing is to be served before. @throws Fault `unavailable`. */
  load(): Promise<void> {
    return this.refresh()
  }

  /** Reads what other processes have changed by now. @throws Fault `unavailable`. */
  renew(): Promise<void> {
    return this.refresh()
  }

  /** Calls `hear` whenever something else is in force. */
  onChange(hear: () => void): void {
    this.hearers.push(hear)
  }

  /** It has changed, or may have: read until that has worked. */
  changed(): void {
    this.timer?.cancel()
    this.timer = undefined
    if (this.closed) return
    this.refresh().then(
      () => this.outage.went(),
      (thrown: unknown) => {
        if (this.closed) return
        this.outage.failed(thrown)
        this.timer?.cancel()
        this.timer = this.clock.after(RETRY, () => this.changed())
      },
    )
  }

  close(): void {
    this.closed = true
    this.timer?.cancel()
  }

  /** Changes of this process are in force here when the change returns, or soon after where it cannot be read. */
  protected async through<T>(write: () => T | Promise<T>): Promise<T> {
    try {
      return await write()
    } finally {
      await this.refresh().catch(() => this.changed())
    }
  }

  /** A reading that has not begun yet will see whatever has changed by now. @throws Fault `unavailable`. */
  private refresh(): Promise<void> {
    this.queued ??= this.reading.then(() => {
      this.queued = undefined
      const read = this.read()
      this.reading = read.catch(ignore)
      return read
    })
    return this.queued
  }

  private async read(): Promise<void> {
    const take = await within(this.clock, MAX_READ_MS, this.look()).catch((thrown: unknown) => {
      throw unreachable(thrown)
    })
    if (this.closed || !take()) return
    for (const hear of this.hearers) hear()
  }
}
