/** A plugin's tap as the stream sees it: whatever the plugin does wrong ends there, and a promise where none belongs is noticed. */
import { isObject } from '../../core/json.ts'
import type { StreamEvent, Tap } from '../../plugin-api/index.ts'

/**
 * What a tap that stands in the stream still owes: events that it was given and has not handed on.
 * As long as a tap only passes on or holds back, what it owes can be handed on in its place.
 * Once it has changed something, what it would have made of the rest is unknown.
 */
export class OwedEvents {
  /** True once something came out that never went in. */
  changed = false
  private owed: StreamEvent[] = []

  given(event: StreamEvent): void {
    if (!this.changed) this.owed.push(event)
  }

  handedOn(event: StreamEvent): void {
    if (this.changed) return
    const at = this.owed.indexOf(event)
    // Only what is no part of a block may overtake what is held.
    if (at === 0 || (at > 0 && event.type === 'usage')) this.owed.splice(at, 1)
    else if (event.type !== 'block-delta' || !this.paid(event.block, event.text)) {
      this.changed = true
      this.owed = []
    }
  }

  /** Hands on all that is owed. */
  take(): readonly StreamEvent[] {
    const { owed } = this
    this.owed = []
    return owed
  }

  /** Text that was cut anew: it must be how the owed text begins. */
  private paid(block: number, text: string): boolean {
    let rest = text
    while (rest !== '') {
      const [first] = this.owed
      if (first?.type !== 'block-delta' || first.block !== block) return false
      if (first.text.startsWith(rest)) {
        if (first.text === rest) this.owed.shift()
        else this.owed[0] = { ...first, text: first.text.slice(rest.length) }
        return true
      }
      if (!rest.startsWith(first.text)) return false
      rest = rest.slice(first.text.length)
      this.owed.shift()
    }
    return true
  }
}

export interface TapOwner {
  /** True where the stream may go on without the tap. */
  readonly maySkip: boolean
  /** Takes note of a failure. @param skip the stream goes on without the tap. @throws Fault where it does not. */
  tapFailed(thrown: unknown, skip: boolean): void
}

/** What a plugin gave is not what the interface says. */
export class Junk extends TypeError {}

export class GuardedTap implements Tap {
  readonly mode: Tap['mode']
  private readonly tap: Tap
  private readonly owner: TapOwner
  private readonly owed: OwedEvents | undefined
  /** Failed: events go by. */
  private done = false
  /** The plugin may hand events on only while it is given one. */
  private open = false
  private next: (event: StreamEvent) => void = () => {}
  private beyond: { thrown: unknown } | undefined

  constructor(tap: Tap, owner: TapOwner) {
    this.tap = tap
    this.mode = tap.mode
    this.owner = owner
    this.owed = tap.mode === 'mutate' && owner.maySkip ? new OwedEvents() : undefined
  }

  push(event: StreamEvent, emit: (event: StreamEvent) => void): void {
    if (this.done) {
      if (this.mode === 'mutate') emit(event)
      return
    }
    this.next = emit
    this.owed?.given(event)
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
      if (strayPromise(step())) throw new Junk(`${name} gave a promise`)
    } catch (thrown) {
      this.failed(this.beyond ? undefined : thrown)
    } finally {
      this.open = false
    }
    if (!this.beyond) return
    // What stands behind this tap has failed: that is not the plugin's fault, and not its to swallow.
    this.done = true
    throw this.beyond.thrown
  }

  private readonly hand = (event: StreamEvent): void => {
    if (!this.open || this.mode === 'observe') return
    if (!isEvent(event)) throw new Junk('no event was emitted')
    this.owed?.handedOn(event)
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
    const skip = this.owner.maySkip && this.owed?.changed !== true
    this.owner.tapFailed(thrown, skip)
    for (const event of this.owed?.take() ?? []) this.pass(event)
  }
}

const TYPES: ReadonlySet<unknown> = new Set([
  'start',
  'block-start',
  'block-delta',
  'block-note',
  'block-end',
  'usage',
  'end',
  'fault',
  'opaque',
] satisfies StreamEvent['type'][])

function isEvent(event: unknown): boolean {
  if (!isObject(event) || !TYPES.has(event.type)) return false
  const { type } = event
  if (typeof type === 'string' && type.startsWith('block-') && typeof event.block !== 'number') return false
  return type !== 'block-delta' || typeof event.text === 'string'
}

/** A promise where none belongs. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && 'then' in value && typeof value.then === 'function'
}

/** True for a promise; its rejection is then ignored. */
export function strayPromise(value: unknown): boolean {
  if (!isThenable(value)) return false
  Promise.resolve(value).catch(() => {})
  return true
}
