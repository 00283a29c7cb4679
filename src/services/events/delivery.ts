/** Sends events to receivers: what is due, a few at a time for each, and again with growing waits until they are taken or given up. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { counter, type MetricRegistry, open, reading } from '../../machines/metrics/metrics.ts'
import type { AttemptResult, Claimed, DeliverableEvents } from '../../store/events.ts'
import { guardedPost, OutboundPolicy } from '../outbound/index.ts'
import { cloudEvent, signedHeaders } from './webhook.ts'

/** Destinations of events, as the configuration states them. */
interface ReceiverSettings {
  readonly name: string
  readonly url: string
  readonly secret: string
  /** Secrets that receivers may still know: every delivery is signed with them as well. */
  readonly formerSecrets: readonly string[]
  /** Empty for all types. */
  readonly types: readonly string[]
  /** Milliseconds: of one attempt, and after which a delivery is given up. */
  readonly timeout: number
  readonly giveUpAfter: number
  readonly concurrency: number
}

export interface EventSettings {
  readonly source: string
  /** Milliseconds for which events are kept. */
  readonly retention: number
  /** Percent of a key's limit. */
  readonly budgetShares: readonly number[]
  readonly receivers: readonly ReceiverSettings[]
}

const delivered = counter('events_delivered_total', 'Events that a receiver has taken.', { labels: [open('receiver')], limit: 20 })
const failed = counter('events_failed_total', 'Attempts to deliver an event that failed, by receiver.', {
  labels: [open('receiver')],
  limit: 20,
})
const pending = reading('gauge', 'events_pending', 'Deliveries of events that are still to be made.')
const dead = reading('gauge', 'events_dead', 'Deliveries of events that were given up and are kept.')

/** Milliseconds between two looks: other processes of the gateway add events, too. */
const LOOK = 2_000
/** The same after the store did not answer. */
const LOOK_AGAIN = 5_000
/** Milliseconds on top of the time limit of an attempt, for which a claim holds. */
const CLAIM_MARGIN = 30_000
/** Looks after which the numbers of pending and dead deliveries are counted anew. */
const COUNT_EVERY = 15

interface DeliveryOptions {
  readonly store: DeliverableEvents
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricRegistry
}

export class EventDelivery {
  private readonly options: DeliveryOptions
  private settings: EventSettings
  private readonly sending = new Map<string, number>()
  private readonly running = new Set<Promise<void>>()
  private readonly stop = new AbortController()
  private timer: Timer | undefined
  private looking: Promise<void> | undefined
  private again = false
  private looks = 0
  private counts = { pending: 0, dead: 0 }

  constructor(settings: EventSettings, options: DeliveryOptions) {
    this.settings = settings
    this.options = options
    options.metrics.of(pending).from(() => this.counts.pending)
    options.metrics.of(dead).from(() => this.counts.dead)
    this.wake()
  }

  /** A reload: deliveries under way keep theirs. */
  apply(settings: EventSettings): void {
    this.settings = settings
    this.wake()
  }

  /** Looks now for what is due. */
  wake(): void {
    if (this.stop.signal.aborted) return
    if (this.looking) {
      this.again = true
      return
    }
    this.timer?.cancel()
    this.timer = undefined
    if (this.settings.receivers.length === 0) return
    this.looking = this.look()
  }

  /** Attempts under way are cut: they come again, with the same id. */
  async close(): Promise<void> {
    this.stop.abort()
    this.timer?.cancel()
    await this.looking
    await Promise.all(this.running)
  }

  private async look(): Promise<void> {
    let wait = LOOK
    try {
      const { store, clock } = this.options
      const { receivers } = this.settings
      await store.spread(receivers, clock.now())
      for (const receiver of receivers) await this.begin(receiver)
      if (this.looks++ % COUNT_EVERY === 0) await this.count()
    } catch (cause) {
      wait = LOOK_AGAIN
      this.options.log.warn({ cause: cause instanceof Error ? cause.message : 'unknown' }, 'events cannot be read from the store')
    }
    this.looking = undefined
    if (this.stop.signal.aborted) return
    if (this.again) {
      this.again = false
      this.wake()
    } else this.timer = this.options.clock.after(wait, () => this.wake())
  }

  private async begin(receiver: ReceiverSettings): Promise<void> {
    const { store, clock } = this.options
    const { name, timeout, concurrency } = receiver
    const most = concurrency - (this.sending.get(name) ?? 0)
    if (most <= 0) return
    const now = clock.now()
    const found = await store.claim({ receiver: name, now, until: now + timeout + CLAIM_MARGIN, most })
    for (const claimed of found) {
      this.sending.set(name, (this.sending.get(name) ?? 0) + 1)
      const run = this.deliver(claimed, receiver).finally(() => {
        this.sending.set(name, (this.sending.get(name) ?? 1) - 1)
        this.running.delete(run)
        this.wake()
      })
      this.running.add(run)
    }
  }

  private async deliver(claimed: Claimed, receiver: ReceiverSettings): Promise<void> {
    const { store, clock, log, metrics } = this.options
    const { status, problem, wait } = await this.send(claimed, receiver)
    // Cut by the end of this process: the claim ends, and it is sent again.
    if (problem === 'aborted' && this.stop.signal.aborted) return
    const { name } = receiver
    const at = clock.now()
    const result = attemptResult(claimed, receiver, { at, status, problem, wait, chance: clock.random() })
    if (result.state === 'delivered') metrics.of(delivered).series(name).add()
    else {
      metrics.of(failed).series(name).add()
      log.warn({ receiver: name, event: claimed.event.id, attempts: claimed.attempts + 1, status, problem }, 'an event was not delivered')
    }
    if (result.state === 'dead') {
      log.error({ receiver: name, event: claimed.event.id }, 'an event is given up')
    }
    try {
      await store.conclude(result)
      if (status === GONE && (await store.setDisabled(name, at)))
        log.error({ receiver: name }, 'a receiver wants no more events: it answered 410 and is disabled')
    } catch (cause) {
      // The claim ends by itself: then it comes again, with the same id.
      log.warn({ receiver: name, cause: cause instanceof Error ? cause.message : 'unknown' }, 'the end of a delivery was not stored')
    }
  }

  private async send({ event }: Claimed, { url, secret, formerSecrets, timeout }: ReceiverSettings): Promise<Sent> {
    const { clock } = this.options
    const body = Buffer.from(JSON.stringify(cloudEvent(event, this.settings.source)))
    const headers = signedHeaders(event.id, body, [secret, ...formerSecrets], clock.now())
    try {
      const reply = await guardedPost({ url, headers, body, policy: policyFor(url), clock, timeout, signal: this.stop.signal })
      const { status } = reply
      if (status >= 200 && status <= 299) return { status, problem: null, wait: 0 }
      return { status, problem: `status ${status}`, wait: namedWait(reply.headers, clock.now()) }
    } catch (thrown) {
      return { status: null, problem: thrown instanceof Error ? thrown.message.slice(0, MAX_PROBLEM_LENGTH) : 'failed', wait: 0 }
    }
  }

  private async count(): Promise<void> {
    const states = await this.options.store.receivers()
    this.counts = {
      pending: states.reduce((sum, state) => sum + state.pending, 0),
      dead: states.reduce((sum, state) => sum + state.dead, 0),
    }
  }
}

interface Sent {
  readonly status: number | null
  readonly problem: string | null
  /** Milliseconds that the receiver named. */
  readonly wait: number
}

/** Standard Webhooks 1.0.0, "Delivery success and failure": the receiver is to be disabled. */
const GONE = 410
const MAX_PROBLEM_LENGTH = 200

interface Ended extends Sent {
  readonly at: number
  readonly chance: number
}

function attemptResult({ event, attempts, firstAt }: Claimed, receiver: ReceiverSettings, ended: Ended): AttemptResult {
  const { at, status, problem, wait, chance } = ended
  const dueAt = at + Math.max(wait, retryWait(attempts + 1, chance))
  // What a receiver refuses with 410 waits for it to be enabled again.
  const isLate = dueAt - firstAt > receiver.giveUpAfter && status !== GONE
  const state = problem === null ? 'delivered' : isLate ? 'dead' : 'pending'
  return { receiver: receiver.name, event: event.number, state, at, dueAt, status, problem }
}

/** The operator wrote the address down: it may be a private one, but never that of a cloud's metadata service (decision 13). */
function policyFor(url: string): OutboundPolicy {
  const { hostname, port, protocol } = new URL(url)
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  return new OutboundPolicy({ allowPrivate: [`${hostname}:${number}`], ports: [number] })
}

/** Milliseconds until the second attempt; each later wait is three times as long, up to the longest: 5 s, 15 s, 45 s … 6 h. */
const FIRST = 5_000
const FACTOR = 3
const LONGEST = 6 * 3_600_000
/** Each wait is shortened by up to this part, by chance, so that what failed together does not come again together. */
const JITTER = 0.2
/** A receiver that names a longer wait gets this one (`Retry-After`). */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000

/** @param attempts that have failed, at least 1. @param chance in [0, 1). @returns milliseconds. */
function retryWait(attempts: number, chance: number): number {
  return Math.min(FIRST * FACTOR ** (attempts - 1), LONGEST) * (1 - JITTER * chance)
}

/** Seconds, or a date (RFC 9110 section 10.2.3). @returns milliseconds; 0 where nothing is named. */
function namedWait({ 'retry-after': header }: IncomingHttpHeaders, now: number): number {
  if (typeof header !== 'string') return 0
  const wait = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isFinite(wait) && wait > 0 ? Math.min(wait, MAX_RETRY_AFTER_MS) : 0
}
