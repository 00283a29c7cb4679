/**
 * The lanes of one WebSocket: each runs its requests one after the other, several run at the same time (OpenAI's guide "WebSocket
 * mode", "Run conversations in parallel"). Each keeps its latest conversation, from which any lane may go on.
 */
import { Fault } from '../../core/faults.ts'
import type { SocketRequest } from '../../dialects/types.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { BodyShare } from '../body-memory.ts'
import type { Histories, Keeper } from './histories.ts'

/** Guide, "Limits per connection": responses at the same time, and lanes with a name. */
const MAX_ACTIVE = 16
const MAX_NAMED = 32
/** Requests of one connection that wait: about as many as lanes. Their bytes count in the memory of bodies. */
const MAX_WAITING = 64

const TOO_MANY_WAIT = new Fault('conflict', {
  message: `On this connection ${MAX_WAITING} requests wait for responses in flight: wait for their end, or open another connection`,
  metadata: { code: 'response_already_in_flight' },
})

const NO_MORE_LANES = new Fault('bad_request', {
  message: `stream_id: a connection has at most ${MAX_NAMED}: use one of them again, or open another connection`,
  metadata: { field: 'stream_id', code: 'websocket_stream_limit_reached' },
})

interface Last {
  readonly id: string
  readonly conversation: Buffer
}

export class Lane implements Keeper {
  readonly payer: string
  readonly name: string | undefined
  /** The response in flight. */
  turn: Exchange | undefined
  last: Last | undefined

  constructor(name: string | undefined, payer: string) {
    this.name = name
    this.payer = payer
  }

  forget(): void {
    this.last = undefined
  }
}

export interface Waiting {
  readonly lane: Lane
  readonly request: SocketRequest
  /** Bytes of the message. */
  readonly length: number
  readonly share: BodyShare
}

export class Lanes {
  private readonly payer: string
  private readonly histories: Histories
  private readonly own: Lane
  private readonly named = new Map<string, Lane>()
  private waiting: Waiting[] = []

  constructor(payer: string, histories: Histories) {
    this.payer = payer
    this.histories = histories
    this.own = new Lane(undefined, payer)
  }

  /** @throws Fault 400 where the connection has no room for another lane. */
  at(name: string | undefined): Lane {
    if (name === undefined) return this.own
    const found = this.named.get(name)
    if (found) return found
    if (this.named.size === MAX_NAMED) throw NO_MORE_LANES
    const lane = new Lane(name, this.payer)
    this.named.set(name, lane)
    return lane
  }

  get all(): Lane[] {
    return [this.own, ...this.named.values()]
  }

  get isIdle(): boolean {
    return this.waiting.length === 0 && this.all.every(({ turn }) => !turn)
  }

  /** @throws Fault 409 where too many wait. */
  wait(request: Waiting): void {
    if (this.waiting.length === MAX_WAITING) throw TOO_MANY_WAIT
    this.waiting.push(request)
  }

  /** The first request that may begin now, and no longer waits. */
  next(): Waiting | undefined {
    if (this.waiting.length === 0 || this.all.filter(({ turn }) => turn).length >= MAX_ACTIVE) return undefined
    const at = this.waiting.findIndex(({ lane }) => !lane.turn)
    return at === -1 ? undefined : this.waiting.splice(at, 1)[0]
  }

  /** Those that waited will not begin. */
  takeWaiting(): Waiting[] {
    const taken = this.waiting
    this.waiting = []
    return taken
  }

  /** The conversation after a response, in whichever lane it was. */
  after(id: string): Buffer | undefined {
    return this.all.find(({ last }) => last?.id === id)?.last?.conversation
  }

  keep(lane: Lane, last: Last): void {
    lane.last = this.histories.keep(lane, last.conversation.length) ? last : undefined
  }

  drop(lane: Lane): void {
    lane.last = undefined
    this.histories.drop(lane)
  }
}
