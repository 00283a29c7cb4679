/** Rate counters and news where the owner passes them on: all workers of one machine, without Redis. */
import type { Clock } from '../core/clock.ts'
import type { Json } from '../core/json.ts'
import { within } from './record-calls.ts'
import type { OwnerLine } from './remote-record.ts'
import type { CounterAnswer, CounterAsk, Counters, NewsWire, Topic } from './shared/types.ts'

/** Milliseconds after which the owner counts as not answering: a request waits for it. */
const LONGEST_COUNT = 500

export class RemoteCounters implements Counters {
  private readonly line: OwnerLine
  private readonly clock: Pick<Clock, 'after'>

  constructor(line: OwnerLine, clock: Pick<Clock, 'after'>) {
    this.line = line
    this.clock = clock
  }

  /** @throws Fault `unavailable` where the owner is gone, or does not answer. */
  take(ask: CounterAsk): Promise<CounterAnswer> {
    return within(this.clock, LONGEST_COUNT, this.line.ask('counter', ask))
  }

  async close(): Promise<void> {}
}

export class RemoteNews implements NewsWire {
  /** From the owner's welcome. */
  secret = ''
  private readonly line: OwnerLine
  private readonly listeners = new Map<Topic, ((message: Json) => void)[]>()

  constructor(line: OwnerLine) {
    this.line = line
  }

  commonSecret(hear: (secret: string) => void): void {
    hear(this.secret)
  }

  publish(topic: Topic, message: Json): void {
    this.line.notify('news', topic, message)
  }

  subscribe(topic: Topic, hear: (message: Json) => void): void {
    const listeners = this.listeners.get(topic)
    if (listeners) listeners.push(hear)
    else this.listeners.set(topic, [hear])
  }

  /** Message that another worker has published. */
  arrived(topic: Topic, message: Json): void {
    for (const hear of this.listeners.get(topic) ?? []) hear(message)
  }

  async close(): Promise<void> {
    this.listeners.clear()
  }
}
