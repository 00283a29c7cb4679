/**
 * Messages of a WebSocket on their way in, which the library keeps until they are whole: their bytes count in the memory of request
 * bodies, and they have to come as fast as the body of a request.
 */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { Clock, Timer } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { MAX_SILENCE_MS, SLOWEST } from '../body-arrival.ts'
import { BODY_WEIGHT, type BodyMemory, BodyShare, noBodyMemory } from '../body-memory.ts'

/** Bytes of a control frame beside its payload: two of head, four of mask (RFC 6455 section 5.2). */
const CONTROL_HEAD = 6

/** Pings and pongs that a client may send per minute: each may keep the piece of memory that it came in. */
const MAX_CONTROLS = 120
const MINUTE = 60_000

export interface ArrivalSource {
  readonly memory: BodyMemory
  readonly clock: Clock
  readonly payer: string
  /** Milliseconds after which the average rate counts. */
  readonly slowAfter: number
  /** Ends the connection. */
  readonly refuse: (fault: Fault) => void
}

export class MessageArrival {
  private readonly ws: WebSocket
  private readonly source: ArrivalSource
  /** Bytes of a message that is not whole, and of those the bytes that count in the memory. */
  private pending = 0
  private counted = 0
  private share: BodyShare | undefined
  private started = 0
  private lastByte = 0
  private timer: Timer | undefined
  private looking = false
  private controls = 0
  private minute = 0

  /** @param socket whose bytes reach this before they reach the library. */
  constructor(ws: WebSocket, socket: Socket, source: ArrivalSource) {
    this.ws = ws
    this.source = source
    socket.prependListener('data', this.take)
    ws.on('ping', this.control)
    ws.on('pong', this.control)
    ws.once('close', () => {
      this.timer?.cancel()
      this.share?.release()
    })
  }

  /** A message is whole. @returns what holds its memory, from now on the caller's to release. */
  whole(): BodyShare {
    const share = this.share ?? this.open()
    this.share = undefined
    this.pending = 0
    this.counted = 0
    share.arrived()
    return share
  }

  private open(): BodyShare {
    const share = new BodyShare(this.source.memory)
    share.for(this.source.payer)
    return share
  }

  private readonly take = (chunk: Buffer): void => {
    this.lastByte = this.source.clock.monotonic()
    if (this.pending === 0) this.started = this.lastByte
    this.pending += chunk.length
    if (this.looking) return
    this.looking = true
    // Only then has the library read the chunk: nearly all of them hold a whole message.
    process.nextTick(this.look)
  }

  private readonly control = (data: Buffer): void => {
    this.pending = Math.max(0, this.pending - data.length - CONTROL_HEAD)
    const minute = Math.floor(this.source.clock.monotonic() / MINUTE)
    if (minute !== this.minute) {
      this.minute = minute
      this.controls = 0
    }
    if (++this.controls > MAX_CONTROLS)
      this.source.refuse(new Fault('rate_limited', { message: `Rate limit exceeded: ${MAX_CONTROLS} pings per minute` }))
  }

  private readonly look = (): void => {
    this.looking = false
    if (this.pending === 0) {
      this.timer?.cancel()
      this.timer = undefined
      this.share?.release()
      this.share = undefined
      this.counted = 0
      return
    }
    if (this.ws.readyState !== this.ws.OPEN) return
    this.timer ??= this.arm()
    const more = this.pending - this.counted
    if (more <= 0) return
    this.counted = this.pending
    this.share ??= this.open()
    if (!this.share.take(more * BODY_WEIGHT, this.granted)) this.ws.pause()
  }

  private readonly granted = (granted: boolean): void => {
    if (!granted) {
      this.source.refuse(noBodyMemory())
      return
    }
    // The time in which the gateway held the message back is not the client's.
    this.started = this.source.clock.monotonic()
    this.lastByte = this.started
    this.ws.resume()
  }

  private arm(): Timer {
    const { clock, slowAfter } = this.source
    const due = Math.min(this.lastByte + MAX_SILENCE_MS, this.started + Math.max(slowAfter, (this.pending * 1000) / SLOWEST))
    return clock.after(Math.max(1, due - clock.monotonic()), this.judge)
  }

  private readonly judge = (): void => {
    const { clock, slowAfter, refuse } = this.source
    const now = clock.monotonic()
    const elapsed = now - this.started
    const silent = now - this.lastByte >= MAX_SILENCE_MS
    if (!this.ws.isPaused && (silent || (elapsed >= slowAfter && this.pending * 1000 < elapsed * SLOWEST)))
      refuse(new Fault('client_timeout', { message: 'The request was not received in time: a message came too slowly' }))
    else this.timer = this.arm()
  }
}
