/** Messages over Redis or Valkey, by publish and subscribe: connected processes receive them, nothing is kept. */
import type { Redis } from 'ioredis'
import type { Clock, Timer } from '../../core/clock.ts'
import { randomTag } from '../../core/ids.ts'
import type { Json } from '../../core/json.ts'
import { errorSummary } from './redis-connection.ts'
import type { PubSub, Topic } from './types.ts'

/** Messages of one topic that one process sends in a second; further messages are dropped. */
const MAX_PER_SECOND: Readonly<Record<Topic, number>> = { session: 500, outage: 100, check: 20 }
/** Characters of a message that is looked at. */
const LONGEST = 4_096
/** Between signs of life of the listening connection, which otherwise never sends anything. */
const BEAT_MS = 10_000

export interface RedisPubSubOptions {
  publisher: Redis
  /** A connection that subscribes may send nothing else. */
  subscriber: Redis
  clock: Clock
  /** Before every name: of the key that holds the secret, and of the channels. */
  prefix: string
  /** Called with the reason why no messages can be received, once for each reason. */
  report: (reason: string) => void
}

/** The sender's tag and the message, in the form of the wire. */
type Envelope = readonly [from: string, message: Json]

export class RedisPubSub implements PubSub {
  private readonly source: RedisPubSubOptions
  /** Distinguishes this process's messages from those of others. */
  private readonly self = randomTag()
  private readonly handlers = new Map<string, (message: Json) => void>()
  private readonly sent = new Map<Topic, { second: number; count: number }>()
  private readonly secretListeners: ((secret: string) => void)[] = []
  private secret: string | undefined
  private beat: Timer | undefined
  private closed = false
  private unavailableFor: string | undefined

  constructor(source: RedisPubSubOptions) {
    this.source = source
    source.subscriber.on('message', (channel: string, text: string) => this.receive(channel, text))
    source.subscriber.on('ready', () => {
      for (const channel of this.handlers.keys()) this.listen(channel)
    })
    source.publisher.on('ready', () => void this.agree())
    this.beat = source.clock.after(BEAT_MS, () => this.ping())
  }

  publish(topic: Topic, message: Json): void {
    const { publisher } = this.source
    if (this.closed || publisher.status !== 'ready' || !this.mayPublish(topic)) return
    const envelope: Envelope = [this.self, message]
    publisher.publish(this.channel(topic), JSON.stringify(envelope)).catch(() => {})
  }

  /** One handler for each topic. */
  subscribe(topic: Topic, onMessage: (message: Json) => void): void {
    const channel = this.channel(topic)
    this.handlers.set(channel, onMessage)
    if (this.source.subscriber.status === 'ready') this.listen(channel)
  }

  commonSecret(onSecret: (secret: string) => void): void {
    this.secretListeners.push(onSecret)
    if (this.secret !== undefined) onSecret(this.secret)
    else if (this.source.publisher.status === 'ready') void this.agree()
  }

  async close(): Promise<void> {
    this.closed = true
    this.beat?.cancel()
  }

  /** Publishing reaches all databases of a server, so the name says which one is meant. */
  private channel(topic: Topic): string {
    return `${this.source.prefix}news:v1:${this.source.publisher.options.db ?? 0}:${topic}`
  }

  private listen(channel: string): void {
    this.source.subscriber.subscribe(channel).catch((error) => {
      const reason = errorSummary(error)
      // A lost connection is opened again, and then subscribes again.
      if (this.closed || reason === 'not connected' || reason === this.unavailableFor) return
      this.unavailableFor = reason
      this.source.report(reason)
    })
  }

  private receive(channel: string, text: string): void {
    const handler = this.handlers.get(channel)
    const envelope = handler && text.length <= LONGEST ? read(text) : undefined
    if (!handler || !envelope || envelope[0] === this.self || this.closed) return
    handler(envelope[1])
  }

  private mayPublish(topic: Topic): boolean {
    const second = Math.floor(this.source.clock.monotonic() / 1_000)
    let sent = this.sent.get(topic)
    if (!sent) {
      sent = { second, count: 0 }
      this.sent.set(topic, sent)
    }
    if (sent.second !== second) {
      sent.second = second
      sent.count = 0
    }
    return sent.count++ < MAX_PER_SECOND[topic]
  }

  /** The first process sets the secret; if the server loses it, a process that still knows it sets it again. */
  private async agree(): Promise<void> {
    const { publisher, prefix } = this.source
    if (this.secretListeners.length === 0) return
    try {
      const key = `${prefix}secret:v1`
      await publisher.setnx(key, this.secret ?? `${randomTag()}${randomTag()}`)
      const secret = await publisher.get(key)
      if (!secret || secret === this.secret) return
      this.secret = secret
      for (const onSecret of this.secretListeners) onSecret(secret)
    } catch {
      // Requested again once the connection is open again; meanwhile each process has its own secret.
    }
  }

  /** A connection whose other end is gone would wait for ever: it is closed when an answer is missing, and opened again. */
  private ping(): void {
    if (this.closed) return
    if (this.source.subscriber.status === 'ready') this.source.subscriber.ping().catch(() => {})
    this.beat = this.source.clock.after(BEAT_MS, () => this.ping())
  }
}

/** A message over the wire may be anything. */
function read(text: string): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!Array.isArray(value) || value.length !== 2 || typeof value[0] !== 'string') return undefined
    return [value[0], value[1] as Json]
  } catch {
    return undefined
  }
}
