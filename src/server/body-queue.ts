/**
 * The order in which long bodies are worked on, and which of them come too late for it.
 *
 * A few are worked on per turn of the event loop, so that their texts stay in the processor's caches from the parse to the provider's
 * request, and callers with short ones get their turn in between. Keys take turns by bytes (start-time fair queueing, Goyal, Vin and
 * Cheng, SIGCOMM 1996): a key that sends much waits behind its own. What waits and is on its way is worked on in a time that is known
 * from the bytes of the last second. Where that would pass the longest wait, the newest body of the key that has the most there is refused.
 */
import type { Fault } from '../core/faults.ts'
import type { BodyPlace, BodyQueue as Ordering } from '../pipeline/dependencies.ts'
import type { Cancel } from '../plugin-api/exchange.ts'
import { ConnectionTurns } from './connection-turns.ts'
import { ShedRatio } from './shed-ratio.ts'

/** Bytes up to which a body is a short one: it waits for no other. */
export const SHORT_BODY = 64 * 1024

/** Bytes of long bodies that are worked on in one turn; one of them whatever its length. */
const TURN_BYTES = 384 * 1024

/**
 * Milliseconds, and turns of the event loop, for which a body counts with its whole length while it is on its way. Afterwards it counts
 * with what has come: so a caller that sends slowly takes no place, and a process that reads slowly does not take that for a slow caller.
 */
const ON_THE_WAY = 100
const TURNS_ON_THE_WAY = 8

/** Part of the longest wait that is filled: an estimate is no promise. */
const FILLED = 0.8

/** Bytes per millisecond before any were measured, and the least that is believed of a machine. */
const FIRST_RATE = 50 * 1024
const MIN_RATE = 1024
/** Milliseconds of work without a pause over which it is measured, and the weight of the latest of them. */
const MEASURED = 100
const LATEST = 0.3

/** Digests of secrets whose key is remembered, so that a refusal needs no look-up of it. */
const MAX_DIGESTS = 4096

/** Key of a long body. */
export type Sender = Parameters<Ordering['expect']>[1]

export interface BodyQueueOptions {
  now: () => number
  /** Calls `fn` at the end of this turn, or of the next one. */
  soon: (fn: () => void) => void
  /** @param wait milliseconds until there is room. @returns what a body is refused with. */
  refusal: (wait: number) => Fault
}

interface Account {
  readonly name: string
  readonly waiting: Place[]
  /** Bytes of bodies that wait or are on their way. */
  bytes: number
  /** Up to which point of the common time its bodies have been worked on. */
  finish: number
}

class Place implements BodyPlace {
  account: Account
  /** When it was announced, in milliseconds and in turns. */
  readonly announced: number
  readonly turn: number
  /** Bytes that have come of it. */
  received = 0
  /** Its part of the bytes of the queue. */
  counted = 0
  bytes = 0
  /** When it has come. */
  since = 0
  go: (() => void) | undefined
  refuse: ((fault: Fault) => void) | undefined
  private readonly queue: BodyQueue

  constructor(queue: BodyQueue, account: Account, { now, turn }: { now: number; turn: number }) {
    this.queue = queue
    this.account = account
    this.announced = now
    this.turn = turn
  }

  arrive(bytes: number): void {
    this.queue.arrive(this, bytes)
  }

  begin(bytes: number, cancel: Cancel): Promise<void> | undefined {
    return this.queue.begin(this, bytes, cancel)
  }

  leave(): void {
    this.queue.leave(this)
  }
}

export class BodyQueue {
  private readonly options: BodyQueueOptions
  private readonly accounts = new Map<string, Account>()
  private readonly digests = new Map<string, string>()
  private readonly ratio: ShedRatio
  readonly connections = new ConnectionTurns()
  /** On their way, in the order in which they were announced. */
  private readonly coming = new Set<Place>()
  /** In the order in which they came. */
  private readonly waiting = new Set<Place>()
  /** Bytes of all bodies that wait or are on their way, and of those that wait. */
  private bytes = 0
  private waitingBytes = 0
  /** Bytes that this turn works on. */
  private turnBytes = 0
  private scheduled = false
  private turns = 0
  /** Of the fair order: grows with the bytes that are worked on. */
  private time = 0
  private rate = FIRST_RATE
  /** Bytes of the time that is being measured, and its beginning; undefined where nothing waits. */
  private measuredBytes = 0
  private measuredSince: number | undefined
  private longestWait = 2_000
  private mostBytes = Number.POSITIVE_INFINITY

  constructor(options: BodyQueueOptions) {
    this.options = options
    this.ratio = new ShedRatio(options.now)
  }

  /** @param wait milliseconds that a body may wait. @param most bytes that may wait, whatever the machine can do. */
  resize(wait: number, most: number): void {
    this.longestWait = wait
    this.mostBytes = most
  }

  /** Long bodies that have come and wait. */
  get size(): number {
    return this.waiting.size
  }

  /** Milliseconds until what waits and is on its way will have been worked on, by the last measurement. */
  get wait(): number {
    this.forgetSlow()
    return this.bytes / this.rate
  }

  /**
   * Decides by the head of a request alone, where that is possible: not for a key that has not been seen yet.
   * @param callerDigest reads the secret of the request, only where it matters. @returns what it is refused with.
   */
  refusalFor(bytes: number, callerDigest: () => string | undefined): Fault | undefined {
    if (!this.isFull(bytes)) return undefined
    const digest = callerDigest()
    const payer = digest === undefined ? undefined : this.digests.get(digest)
    if (payer === undefined || this.greediest(payer, bytes) !== payer) return undefined
    this.ratio.offered(payer)
    return this.refusal(payer)
  }

  /** @param callerDigest as above. @returns what a short request is refused with, where long bodies of its key are. */
  refusalOfShort(callerDigest: () => string | undefined): Fault | undefined {
    if (this.bytes === 0) return undefined
    const digest = callerDigest()
    const payer = digest === undefined ? undefined : this.digests.get(digest)
    return payer === undefined || this.ratio.admitsShort(payer) ? undefined : this.options.refusal(this.bytes / this.rate)
  }

  /** A long body is about to be read, or has come without having been announced. @throws what `refusal` makes where it would come too late. */
  expect(bytes: number, { payer, digest }: Sender): BodyPlace {
    this.remember(digest, payer)
    this.ratio.offered(payer)
    this.makeRoom(payer, bytes)
    const place = new Place(this, this.openAccount(payer), { now: this.options.now(), turn: this.turns })
    this.count(place, bytes)
    this.coming.add(place)
    return place
  }

  /** A turn of the event loop has ended. */
  endTurn(): void {
    this.turns++
  }

  /** See `BodyPlace.arrive`. */
  arrive(place: Place, bytes: number): void {
    place.received += bytes
    if (this.coming.has(place)) return
    place.account = this.openAccount(place.account.name)
    this.count(place, place.received)
  }

  /** See `BodyPlace.begin`. */
  begin(place: Place, bytes: number, cancel: Cancel): Promise<void> | undefined {
    if (!this.coming.delete(place)) {
      // It came too slowly to keep its place.
      this.count(place, 0)
      this.makeRoom(place.account.name, bytes)
      place.account = this.openAccount(place.account.name)
    }
    this.count(place, bytes)
    place.bytes = bytes
    this.schedule()
    if (this.waiting.size === 0 && this.fits(bytes)) {
      this.turnBytes += bytes
      this.work(place)
      return undefined
    }
    place.since = this.options.now()
    if (this.waiting.size === 0) this.startMeasuring(place.since)
    this.waiting.add(place)
    this.waitingBytes += bytes
    place.account.waiting.push(place)
    return new Promise((resolve, reject) => {
      const untie = cancel.onAbort(() => {
        this.leave(place)
        resolve()
      })
      place.go = () => {
        untie()
        resolve()
      }
      place.refuse = (fault) => {
        untie()
        reject(fault)
      }
    })
  }

  /** Whatever it had is free. */
  leave(place: Place): void {
    this.coming.delete(place)
    if (this.waiting.delete(place)) {
      place.account.waiting.splice(place.account.waiting.indexOf(place), 1)
      this.waitingBytes -= place.bytes
    }
    this.count(place, 0)
    this.forget(place.account)
  }

  /** @throws what `refusal` makes, where none of another key can go. */
  private makeRoom(payer: string, bytes: number): void {
    while (this.isFull(bytes)) {
      const greediest = this.greediest(payer, bytes)
      const newest = greediest === payer ? undefined : this.accounts.get(greediest)?.waiting.at(-1)
      if (newest) this.refuse(newest)
      // What the other has is still on its way, and may be no more than announced: it is judged again when it has come.
      else if (greediest === payer || !this.displace(greediest)) throw this.refusal(payer)
    }
  }

  /** The newest body of a key that is on its way counts with what has come of it. @returns false where there is none. */
  private displace(name: string): boolean {
    let newest: Place | undefined
    for (const place of this.coming) if (place.account.name === name && place.received < place.counted) newest = place
    if (!newest) return false
    this.coming.delete(newest)
    this.count(newest, newest.received)
    return true
  }

  private refusal(payer: string): Fault {
    this.ratio.refused(payer)
    return this.options.refusal(this.bytes / this.rate)
  }

  private refuse(place: Place): void {
    const fault = this.refusal(place.account.name)
    this.leave(place)
    place.refuse?.(fault)
  }

  private isFull(bytes: number): boolean {
    this.forgetSlow()
    // One body is taken whatever its length: otherwise a large one would be refused for ever.
    if (this.bytes === 0) return false
    if (this.bytes + bytes > this.longestWait * FILLED * this.rate) return true
    // What is on its way waits for memory by itself.
    return this.waiting.size > 0 && this.waitingBytes + bytes > this.mostBytes
  }

  /** The key with the most bytes here, if this one got so many more. */
  private greediest(payer: string, bytes: number): string {
    let [greediest, most] = [payer, (this.accounts.get(payer)?.bytes ?? 0) + bytes]
    for (const account of this.accounts.values()) if (account.bytes > most) [greediest, most] = [account.name, account.bytes]
    return greediest
  }

  /** A body that does not come soon takes no place until it has come. */
  private forgetSlow(): void {
    const now = this.options.now()
    for (const place of this.coming) {
      if (now - place.announced <= ON_THE_WAY || this.turns - place.turn <= TURNS_ON_THE_WAY) return
      this.coming.delete(place)
      this.count(place, place.received)
    }
  }

  private fits(bytes: number): boolean {
    return this.turnBytes === 0 || this.turnBytes + bytes <= TURN_BYTES
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    this.options.soon(this.nextTurn)
  }

  private readonly nextTurn = (): void => {
    const now = this.options.now()
    this.scheduled = false
    this.turnBytes = 0
    if (this.connections.goFirst(this.waiting.size > 0)) {
      this.schedule()
      return
    }
    this.measure(now)
    for (const place of this.waiting) {
      if (now - place.since <= this.longestWait) break
      this.refuse(place)
    }
    for (let next = this.next(); next && this.fits(next.bytes); next = this.next()) {
      this.turnBytes += next.bytes
      this.waiting.delete(next)
      this.waitingBytes -= next.bytes
      next.account.waiting.shift()
      this.work(next)
      next.go?.()
    }
    if (this.waiting.size === 0) this.measuredSince = undefined
    if (this.turnBytes > 0) this.schedule()
  }

  /** Of the first bodies of all keys, that of the key which has been served least. */
  private next(): Place | undefined {
    let found: Place | undefined
    let least = Number.POSITIVE_INFINITY
    for (const account of this.accounts.values()) {
      const first = account.waiting[0]
      const start = Math.max(this.time, account.finish)
      if (!first) this.forget(account)
      else if (start < least) {
        found = first
        least = start
      }
    }
    return found
  }

  private work(place: Place): void {
    const { account, bytes } = place
    this.time = Math.max(this.time, account.finish)
    account.finish = this.time + bytes
    this.measuredBytes += bytes
    this.count(place, 0)
    this.forget(account)
  }

  private startMeasuring(now: number): void {
    this.measuredSince = now
    this.measuredBytes = 0
  }

  /** Only while bodies wait: else it is the callers who are slow. */
  private measure(now: number): void {
    const { measuredSince: since, measuredBytes: bytes } = this
    if (since === undefined || now - since < MEASURED || bytes === 0) return
    const found = bytes / (now - since)
    this.rate = Math.max(MIN_RATE, this.rate + LATEST * (found - this.rate))
    this.startMeasuring(now)
  }

  private count(place: Place, bytes: number): void {
    const more = bytes - place.counted
    this.bytes += more
    place.account.bytes += more
    place.counted = bytes
  }

  private openAccount(name: string): Account {
    let account = this.accounts.get(name)
    if (!account) {
      account = { name, waiting: [], bytes: 0, finish: this.time }
      this.accounts.set(name, account)
    }
    return account
  }

  /** One with nothing here is remembered as long as it is ahead of the others. */
  private forget(account: Account): void {
    if (this.bytes === 0) this.accounts.clear()
    else if (account.bytes === 0 && account.finish <= this.time) this.accounts.delete(account.name)
  }

  private remember(digest: string, payer: string): void {
    this.digests.delete(digest)
    this.digests.set(digest, payer)
    const [oldest] = this.digests.keys()
    if (this.digests.size > MAX_DIGESTS && oldest !== undefined) this.digests.delete(oldest)
  }
}
