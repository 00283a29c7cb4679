/** What becomes of a call when its caller leaves, its deadline passes or the process ends: the same for generations and embeddings. */
import type { Fault } from '../../core/faults.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { Head } from '../exchange.ts'
import type { DrainSlots } from './drain-slots.ts'

/** The attempt. Of the last three methods one is called at the cancellation; after `readOn` and a while, `gone`. */
export interface Cancellable {
  /** False where the provider cannot have seen anything of the request. */
  readonly sent: boolean
  /** The caller still waits, and gets this fault. */
  fail(fault: Fault): void
  /** The caller has left: the provider is read on for the usage that it reports. */
  readOn(): void
  /** The caller has left, and nothing more is read: what is known is settled. */
  gone(): void
}

export class Cancellation {
  /** Monotonic milliseconds at which the caller left, where the provider is read on. */
  leftAt: number | undefined
  private readonly head: Pick<Head, 'cancel' | 'clock'>
  private readonly attempt: Cancellable
  private takeBack: (() => void) | undefined
  private leaveSlot: (() => void) | undefined

  constructor(head: Pick<Head, 'cancel' | 'clock'>, attempt: Cancellable) {
    this.head = head
    this.attempt = attempt
  }

  /** True while the provider is read on, and none of it goes to the caller. */
  get discarding(): boolean {
    return this.leftAt !== undefined
  }

  /** Waits for the cancellation; one that has come already is reported now. */
  watch(provider: Pick<Provider, 'onAbort'>, drains: DrainSlots): void {
    this.takeBack = this.head.cancel.onAbort((reason) => this.cancelled(reason, provider, drains))
  }

  /** The attempt is over: nothing is reported any more. */
  end(): void {
    this.takeBack?.()
    this.leaveSlot?.()
  }

  private cancelled(reason: Fault, { onAbort }: Pick<Provider, 'onAbort'>, drains: DrainSlots): void {
    const { attempt } = this
    const { clock } = this.head
    // A caller that still waits for its reply does not wait for the usage as well.
    if (reason.code === 'deadline') {
      attempt.fail(reason)
      return
    }
    if (reason.code !== 'shutdown' && attempt.sent) this.leaveSlot = drains.take(clock, onAbort, () => attempt.gone())
    if (!this.leaveSlot) {
      attempt.gone()
      return
    }
    this.leftAt = clock.monotonic()
    attempt.readOn()
  }
}
