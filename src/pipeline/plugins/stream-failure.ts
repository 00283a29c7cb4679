/**
 * Failures of a plugin within a stream. The stream goes on without its tap where the plugin may be skipped and has changed no event;
 * otherwise it ends with a fault.
 */
import type { StreamEvent, Tap } from '../../plugin-api/index.ts'
import { InvalidValue, isEvent, strayPromise } from './invalid-values.ts'
import { PendingEvents } from './pending-events.ts'

export interface TapOwner {
  /** True where the stream may go on without the tap. */
  readonly maySkip: boolean
  /** Takes note of a failure. @param skip the stream goes on without the tap. @throws Fault where it does not. */
  tapFailed(thrown: unknown, skip: boolean): void
}

export class GuardedTap implements Tap {
  readonly mode: Tap['mode']
  private readonly tap: Tap
  private readonly owner: TapOwner
  private readonly pending: PendingEvents | undefined
  /** The tap has failed: events go past it. */
  private done = false
  /** True while the plugin is given an event: only then it may emit any. */
  private open = false
  private next: (event: StreamEvent) => void = () => {}
  /** Error of the receiver of the events. */
  private beyond: { thrown: unknown } | undefined

  constructor(tap: Tap, owner: TapOwner) {
    this.tap = tap
    this.mode = tap.mode
    this.owner = owner
    this.pending = tap.mode === 'mutate' && owner.maySkip ? new PendingEvents() : undefined
  }

  push(event: StreamEvent, emit: (event: StreamEvent) => void): void {
    if (this.done) {
      if (this.mode === 'mutate') emit(event)
      return
    }
    this.next = emit
    this.pending?.received(event)
    this.guarded(() => this.tap.push(event, this.hand), 'push')
  }

  finish(emit: (event: StreamEvent) => void): void {
    const { tap } = this
    if (this.done || !tap.finish) return
    this.next = emit
    this.guarded(() => tap.finish?.(this.hand), 'finish')
  }

  private guarded(step: () => unknown, name: string): void {
    this.open = true
    try {
      if (strayPromise(step())) throw new InvalidValue(`${name} gave a promise`)
    } catch (thrown) {
      this.failed(this.beyond ? undefined : thrown)
    } finally {
      this.open = false
    }
    if (!this.beyond) return
    // The receiver of the events has failed: the plugin is not to blame, and must not swallow the error.
    this.done = true
    throw this.beyond.thrown
  }

  private readonly hand = (event: StreamEvent): void => {
    if (!this.open || this.mode === 'observe') return
    if (!isEvent(event)) throw new InvalidValue('no event was emitted')
    this.pending?.emitted(event)
    this.pass(event)
  }

  private pass(event: StreamEvent): void {
    try {
      this.next(event)
    } catch (thrown) {
      this.beyond ??= { thrown }
      throw thrown
    }
  }

  private failed(thrown: unknown): void {
    if (this.beyond) return
    this.done = true
    const skip = this.owner.maySkip && this.pending?.changed !== true
    this.owner.tapFailed(thrown, skip)
    for (const event of this.pending?.take() ?? []) this.pass(event)
  }
}
