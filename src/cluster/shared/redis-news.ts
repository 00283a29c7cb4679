/** News over Redis or Valkey, by publish and subscribe: connected processes receive it, nothing is kept. */
import type { Redis } from 'ioredis'
import type { Clock, Timer } from '../../core/clock.ts'
import { randomTag } from '../../core/ids.ts'
import type { Json } from '../../core/json.ts'
import { troubleOf } from './redis-connection.ts'
import type { NewsWire, Topic } from './types.ts'

/** Messages of one topic that one process sends in a second; further messages are dropped. */
const MOST_PER_SECOND: Readonly<Record<Topic, number>> = { session: 500, outage: 100, check: 20 }
/** Characters of a message that is looked at. */
const LONGEST = 4_096
/** Between signs of life of the listening connection, which otherwise never sends anything. */
const BEAT_MS = 10_000

export interface RedisNewsSource {
  speaker: Redis
  /** A connection that subscribes may send nothing else. */
  listener: Redis
  clock: Clock
  /** Before every name: of the key that holds the secret, and of the channels. */
  prefix: string
  /** Called with the reason why no news can be received, once for each reason. */
  report: (reason: string) => void
}

/** The sender's tag and the message, in the form of the wire. */
type Envelope = readonly [from: string, message: Json]

export class RedisNews implements NewsWire {
  private readonly source: RedisNewsSource
  /** Distinguishes this process's messages from those of others. */
  private readonly self = randomTag()
  private readonly ears = new Map<string, (message: Json) => void>()
  private readonly sent = new Map<Topic, { second: number; count: number }>()
  private readonly secretEars: ((secret: string) => void)[] = []
  private secret: string | undefined
  private beat: Timer | undefined
  private closed = false
  private unavailableFor: string | undefined

  constructor(source: RedisNewsSource) {
    this.source = source
    source.listener.on('message', (channel: string, text: string) => this.heard(channel, text))
    source.listener.on('ready', () => {
      for (const channel of this.ears.keys()) this.listen(channel)
    })
    source.speaker.on('ready', () => void this.agree())
    this.beat = source.clock.after(BEAT_MS, () => this.live())
  }

  publish(topic: Topic, message: Json): void {
    const { speaker } = this.source
    if (this.closed || speaker.status !== 'ready' || !this.mayTell(topic)) return
    const envelope: Envelope = [this.self, message]
    speaker.publish(this.channel(topic), JSON.stringify(envelope)).catch(() => {})
  }

  /** One ear for each topic. */
  subscribe(topic: Topic, hear: (message: Json) => void): void {
    const channel = this.channel(topic)
    this.ears.set(channel, hear)
    if (this.source.listener.status === 'ready') this.listen(channel)
  }

  commonSecret(hear: (secret: string) => void): void {
    this.secretEars.push(hear)
    if (this.secret !== undefined) hear(this.secret)
    else if (this.source.speaker.status === 'ready') void this.agree()
  }

  async close(): Promise<void> {
    this.closed = true
    this.beat?.cancel()
  }

  /** Publishing reaches all databases of a server, so the name says which one is meant. */
  private channel(topic: Topic): string {
    return `${this.source.prefix}news:v1:${this.source.speaker.options.db ?? 0}:${topic}`
  }

  private listen(channel: string): void {
    this.source.listener.subscribe(channel).catch((error) => {
      const reason = troubleOf(error)
      // A lost connection is opened again, and then subscribes again.
      if (this.closed || reason === 'not connected' || reason === this.unavailableFor) return
      this.unavailableFor = reason
      this.source.report(reason)
    })
  }

  private heard(channel: string, text: string): void {
    const hear = this.ears.get(channel)
    const envelope = hear && text.length <= LONGEST ? read(text) : undefined
    if (!hear || !envelope || envelope[0] === this.self || this.closed) return
    hear(envelope[1])
  }

  private mayTell(topic: Topic): boolean {
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
    return sent.count++ < MOST_PER_SECOND[topic]
  }

  /** The first process sets the secret; if the server loses it, a process that still knows it sets it again. */
  private async agree(): Promise<void> {
    const { speaker, prefix } = this.source
    if (this.secretEars.length === 0) return
    try {
      const key = `${prefix}secret:v1`
      await speaker.setnx(key, this.secret ?? `${randomTag()}${randomTag()}`)
      const secret = await speaker.get(key)
      if (!secret || secret === this.secret) return
      this.secret = secret
      for (const hear of this.secretEars) hear(secret)
    } catch {
      // Requested again once the connection is open again; meanwhile each process has its own secret.
    }
  }

  /** A connection whose other end is gone would wait for ever: it is closed when an answer is missing, and opened again. */
  private live(): void {
    if (this.closed) return
    if (this.source.listener.status === 'ready') this.source.listener.ping().catch(() => {})
    this.beat = this.source.clock.after(BEAT_MS, () => this.live())
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
