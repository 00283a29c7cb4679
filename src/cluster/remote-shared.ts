/** Rate counters and messages by way of the owner: all workers of one machine, without Redis. */
import type { Clock } from '../core/clock.ts'
import type { Json } from '../core/json.ts'
import { within } from './record-calls.ts'
import type { OwnerLine } from './remote-record.ts'
import type { CounterAnswer, CounterAsk, Counters, PubSub, Topic } from './shared/types.ts'

/** Milliseconds after which the owner counts as not answering: a request waits for it. */
const MAX_COUNT_MS = 500

export class RemoteCounters implements Counters {
  private readonly line: OwnerLine
  private readonly clock: Pick<Clock, 'after'>

  constructor(line: OwnerLine, clock: Pick<Clock, 'after'>) {
    this.line = line
    this.clock = clock
  }

  /** @throws Fault `unavailable` where the owner is gone, or does not answer. */
  take(ask: CounterAsk): Promise<CounterAnswer> {
    return within(this.clock, MAX_COUNT_MS, this.line.ask('counter', ask))
  }

  async close(): Promise<void> {}
}

export class RemotePubSub implements PubSub {
  /** From the owner's welcome. */
  secret = ''
  private readonly line: OwnerLine
  private readonly listeners = new Map<Topic, ((message: Json) => void)[]>()

  constructor(line: OwnerLine) {
    this.line = line
  }

  commonSecret(onSecret: (secret: string) => void): void {
    onSecret(this.secret)
  }

  publish(topic: Topic, message: Json): void {
    this.line.notify('publish', topic, message)
  }

  subscribe(topic: Topic, onMessage: (message: Json) => void): void {
    const listeners = this.listeners.get(topic)
    if (listeners) listeners.push(onMessage)
    else this.listeners.set(topic, [onMessage])
  }

  /** Message that another worker has published. */
  receive(topic: Topic, message: Json): void {
    for (const onMessage of this.listeners.get(topic) ?? []) onMessage(message)
  }

  async close(): Promise<void> {
    this.listeners.clear()
  }
}
