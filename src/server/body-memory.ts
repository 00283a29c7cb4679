/**
 * One budget of memory for the request bodies of all callers of a process, and for long replies that their callers have not taken,
 * so that many large ones cannot exhaust it.
 */
import { totalmem } from 'node:os'
import type { Clock, Timer } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'

/**
 * Memory that a body takes per byte of its text, from its arrival to the end of its request. Measured with a provider that never
 * answers, 40 bodies of 10 MB and 400 of 330 KB: 1 byte for the parsed strings, 1 for the body written for the provider, and up
 * to 1 that is collected late. `node bench/uploads.ts` shows what all of it comes to.
 */
export const BODY_WEIGHT = 3

/** Memory of a body of 64 KB. */
const LARGE_BODY = 64 * 1024 * BODY_WEIGHT

/** Milliseconds that a body waits for memory before its request is refused. */
const DEFAULT_WAIT = 2_000

/** Bodies that wait at once; each of them may keep some 128 KB in buffers of the socket that the budget does not count. */
const MAX_WAITING = 256

/** The default is a quarter of what the process may use, and not more than this. */
const MAX_DEFAULT = 512 * 1024 ** 2

/**
 * Bytes of the budget where the configuration names none. The limit of the process's cgroup counts where it has one
 * (v1 and v2: libuv, `uv_get_constrained_memory`), else the memory of the machine.
 */
export function defaultBodyMemory(): number {
  const constrained = process.constrainedMemory()
  const machine = totalmem()
  return Math.min(Math.floor((constrained > 0 ? Math.min(constrained, machine) : machine) / 4), MAX_DEFAULT)
}

/** Part of the limit that is reserved at most: short bodies need room beside it. */
const MAX_RESERVE = 0.75

/** Milliseconds for which a body that arrives may keep the reserve. */
const RESERVED_FOR = 10_000

/**
 * Parts of the unreserved memory, and of the places to wait, that the bodies of one payer may take while they arrive. Without
 * them a single key could keep all memory for half an hour at no cost: 32 MB sent at once may be followed by one byte every
 * 29 seconds for as long as that. Bodies that have arrived are paid for by what the provider does with them.
 */
const ARRIVING_PART = 0.5
const WAITING_PART = 0.75

/** All requests of one key, and of the keys that it has issued. */
interface Payer {
  readonly name: string
  /** Requests that may hold memory. */
  shares: number
  /** Bytes of memory of its bodies that have not arrived yet. */
  arriving: number
  waiting: number
}

interface Waiting {
  share: BodyShare
  bytes: number
  done: (granted: boolean) => void
  timer: Timer
}

export class BodyMemory {
  /** Bytes that all requests hold together. */
  used = 0
  /** Bytes that they may hold. */
  limit = 0
  private longestWait = DEFAULT_WAIT
  /** The most bytes that one request has held since this was last read. */
  private largest = 0
  /** Called where a body finds no room: gives back memory of what may be forgotten. */
  onShortage: ((bytes: number) => void) | undefined
  private readonly refused: () => void
  private readonly clock: Clock
  /** Part of the limit that only one arriving body at a time may use, so that bodies that have half arrived cannot block each other. */
  private reserve = 0
  private reserved: BodyShare | undefined
  private reservedUntil: Timer | undefined
  /** In order of the beginning of their wait. */
  private readonly waiting = new Set<Waiting>()
  /** Payers with a request in flight. */
  private readonly payers = new Map<string, Payer>()

  /** @param refused called for every request that is refused. */
  constructor(clock: Clock, refused: () => void) {
    this.clock = clock
    this.refused = refused
  }

  /** @param limit bytes of memory. @param longest bytes of the longest body that a caller may send. @param wait milliseconds that a body may wait for memory. */
  resize(limit: number, longest: number, wait = DEFAULT_WAIT): void {
    this.limit = limit
    this.longestWait = wait
    this.reserve = Math.min(longest * BODY_WEIGHT, limit * MAX_RESERVE)
    this.grantWaiting()
  }

  /** Called by a share. @returns false where `done` will be called later, with false if the request is to be refused. */
  take(share: BodyShare, bytes: number, done: (granted: boolean) => void): boolean {
    if (this.fits(share, bytes)) {
      this.add(share, bytes)
      return true
    }
    this.giveReserve(share)
    if (!this.fits(share, bytes)) this.onShortage?.(bytes)
    if (this.fits(share, bytes)) {
      this.add(share, bytes)
      return true
    }
    const { payer } = share
    if (this.waiting.size >= MAX_WAITING || (payer && payer.waiting >= MAX_WAITING * WAITING_PART)) {
      // A caller of this function expects the answer later, as after any wait.
      process.nextTick(() => this.refuse(done))
      return false
    }
    const timer = this.clock.after(this.longestWait, () => {
      this.forget(entry)
      this.refuse(done)
    })
    const entry: Waiting = { share, bytes, done, timer }
    share.waiting = entry
    this.waiting.add(entry)
    if (payer) payer.waiting++
    return false
  }

  /** Called by a share. @returns false, with nothing taken, where there is no room or others wait. */
  takeNow(share: BodyShare, bytes: number): boolean {
    if (this.waiting.size > 0 || !this.fits(share, bytes)) return false
    this.add(share, bytes)
    return true
  }

  /** As `takeNow`, called by a share whose body has come whole. */
  takeWhole(share: BodyShare, bytes: number): boolean {
    if (this.waiting.size > 0 || !this.fits(share, bytes)) return false
    share.arriving = false
    this.add(share, bytes)
    return true
  }

  /** Called by a share whose body has arrived: the reserve is for bodies that have not. */
  arrived(share: BodyShare): void {
    if (!share.arriving) return
    share.arriving = false
    if (share.payer) share.payer.arriving -= share.held
    if (this.reserved === share) this.handOn()
  }

  /** Called by a share once the payer of its request is known. */
  enter(name: string): Payer {
    let payer = this.payers.get(name)
    if (!payer) {
      payer = { name, shares: 0, arriving: 0, waiting: 0 }
      this.payers.set(name, payer)
    }
    payer.shares++
    return payer
  }

  /** Called by a share whose request has ended. */
  leave(payer: Payer): void {
    payer.shares--
    if (payer.shares === 0) this.payers.delete(payer.name)
  }

  /** Called by a share that gives its bytes back and waits for no more. */
  free(share: BodyShare): void {
    this.used -= share.held
    if (share.payer && share.arriving) share.payer.arriving -= share.held
    share.held = 0
    if (share.waiting) this.forget(share.waiting)
    if (this.reserved === share) this.handOn()
    else if (this.waiting.size > 0) this.grantWaiting()
  }

  /** Called by a share that gives some of its bytes back. */
  giveBack(share: BodyShare, bytes: number): void {
    this.add(share, -bytes)
    this.grantWaiting()
  }

  /** Called by a share whose body has made way for its reply. */
  keep(share: BodyShare, bytes: number): void {
    this.arrived(share)
    this.add(share, bytes - share.held)
    this.grantWaiting()
  }

  private fits(share: BodyShare, bytes: number): boolean {
    // A single body passes whatever the limit is: otherwise a small limit would refuse it for ever.
    if (this.used === share.held) return true
    const { reserved } = this
    // What has arrived would pass the reserve on at once.
    if (reserved === share || (!reserved && !share.arriving)) return this.used + bytes <= this.limit
    const inReserve = reserved ? Math.min(reserved.held, this.reserve) : 0
    return this.used - inReserve + bytes <= this.limit - this.reserve && this.fitsPart(share, bytes)
  }

  private fitsPart({ payer, arriving }: BodyShare, bytes: number): boolean {
    return !arriving || payer === undefined || payer.arriving + bytes <= (this.limit - this.reserve) * ARRIVING_PART
  }

  /** Gives a body that arrives the reserve if it is free. One that has had it for long, and a payer beyond its part, has to do without. */
  private giveReserve(share: BodyShare): void {
    if (this.reserved || !share.arriving || share.late || !this.fitsPart(share, 0)) return
    this.reserved = share
    this.reservedUntil = this.clock.after(RESERVED_FOR, () => {
      share.late = true
      this.handOn()
    })
  }

  private handOn(): void {
    this.reservedUntil?.cancel()
    this.reserved = undefined
    this.grantWaiting()
  }

  /** @returns whether a large body has come since the last call. */
  hadLargeBody(): boolean {
    const { largest } = this
    this.largest = 0
    return largest >= LARGE_BODY
  }

  private add(share: BodyShare, bytes: number): void {
    this.used += bytes
    share.held += bytes
    if (share.held > this.largest) this.largest = share.held
    if (share.payer && share.arriving) share.payer.arriving += bytes
  }

  /** In order of their wait; only the owner of the reserve may overtake, and all may overtake a payer that has its part. */
  private grantWaiting(): void {
    let blocked = false
    for (const entry of this.waiting) {
      const { share, bytes } = entry
      this.giveReserve(share)
      if ((blocked && this.reserved !== share) || !this.fits(share, bytes)) {
        if (this.fitsPart(share, bytes)) blocked = true
        continue
      }
      this.forget(entry)
      this.add(share, bytes)
      entry.done(true)
    }
  }

  private refuse(done: (granted: boolean) => void): void {
    this.refused()
    done(false)
  }

  private forget(entry: Waiting): void {
    entry.timer.cancel()
    entry.share.waiting = undefined
    this.waiting.delete(entry)
    if (entry.share.payer) entry.share.payer.waiting--
  }
}

/** Share of the budget that one request holds; to be released when the request has ended. */
export class BodyShare {
  /** Bytes of memory. */
  held = 0
  waiting: Waiting | undefined
  payer: Payer | undefined
  /** The body is still on its way, or has not begun. */
  arriving = true
  /** It has had the reserve for as long as a body may. */
  late = false
  private readonly memory: BodyMemory
  private released = false
  /** The last reservation that had to wait. */
  private reserving: Promise<void> | undefined

  constructor(memory: BodyMemory) {
    this.memory = memory
  }

  /** @param payer identity of the key that the request counts towards; called once, before anything is taken. */
  for(payer: string): void {
    if (!this.released) this.payer = this.memory.enter(payer)
  }

  /**
   * @param bytes of memory, which count until the release.
   * @returns false where there is no room now: `done` is called later, with false if the request is to be refused.
   */
  take(bytes: number, done: (granted: boolean) => void): boolean {
    return this.released || this.memory.take(this, bytes, done)
  }

  /** For what is held beside an arriving body. @returns a promise where there is no room now. @throws Fault 503 where there is none in time. */
  reserve(bytes: number): Promise<void> | undefined {
    this.arrived()
    // A share waits once at a time: several files of one request are fetched side by side.
    if (this.waiting && this.reserving) {
      this.reserving = this.reserving.then(() => this.reserve(bytes))
      return this.reserving
    }
    let settle: ((granted: boolean) => void) | undefined
    if (this.take(bytes, (granted) => settle?.(granted))) return undefined
    this.reserving = new Promise((resolve, reject) => {
      settle = (granted) => (granted ? resolve() : reject(noBodyMemory()))
    })
    return this.reserving
  }

  /** Gives back bytes that `reserve` took, before the release. */
  giveBack(bytes: number): void {
    if (!this.released) this.memory.giveBack(this, Math.min(bytes, this.held))
  }

  /** The same as `take` where there is room now. @returns false, with nothing taken, where there is none. */
  takeNow(bytes: number): boolean {
    return this.released || this.memory.takeNow(this, bytes)
  }

  /**
   * For a body that has come whole: `for` and `takeNow` in one, and it has arrived where there was room.
   * @param payer as for `for`; undefined where the request counts towards no key.
   */
  takeWhole(bytes: number, payer: string | undefined): boolean {
    if (this.released) return true
    if (payer !== undefined) this.payer = this.memory.enter(payer)
    return this.memory.takeWhole(this, bytes)
  }

  /** The body has arrived. */
  arrived(): void {
    this.memory.arrived(this)
  }

  /** Gives back what is held; more can be taken later. */
  clear(): void {
    this.memory.free(this)
  }

  /**
   * The body is held no longer, but a reply that its caller has not taken yet. Its provider has given it already, so it counts
   * at once and whatever room there is: bodies that come wait instead.
   */
  keep(bytes: number): void {
    if (!this.released) this.memory.keep(this, bytes)
  }

  /** The request has ended: what it still takes is not counted. */
  release(): void {
    if (this.released) return
    this.released = true
    this.memory.free(this)
    if (this.payer) this.memory.leave(this.payer)
  }
}

/** The refusal of a request for whose body there is no memory. */
export function noBodyMemory(): Fault {
  return new Fault('unavailable', {
    message: 'Service temporarily unavailable: the gateway holds as many request bodies as its memory allows',
    retryAfter: 2,
  })
}
