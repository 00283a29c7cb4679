/** Rate counters and news where the owner passes them on: all workers of one machine, without Redis. */
import type { Json } from '../core/json.ts'
import type { CounterAnswer, CounterAsk, Counters, NewsWire, Topic } from '../shared/types.ts'
import type { OwnerLine } from './remote-record.ts'

export class RemoteCounters implements Counters {
  private readonly line: OwnerLine

  constructor(line: OwnerLine) {
    this.line = line
  }

  take(ask: CounterAsk): Promise<CounterAnswer> {
    return this.line.ask('counter', ask)
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
    this.line.tell('news', topic, message)
  }

  subscribe(topic: Topic, hear: (message: Json) => void): void {
    const listeners = this.listeners.get(topic)
    if (listeners) listeners.push(hear)
    else this.listeners.set(topic, [hear])
  }

  /** What another worker has published. */
  arrived(topic: Topic, message: Json): void {
    for (const hear of this.listeners.get(topic) ?? []) hear(message)
  }

  async close(): Promise<void> {
    this.listeners.clear()
  }
}
