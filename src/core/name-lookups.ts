/**
 * Addresses of host names, as the system's resolver gives them (hosts file, search domains, nsswitch), for all connections of the process:
 * one look-up per name at a time, its answer kept for a while, and none that hangs holds up another name
 * (docs/decisions/0032-names-of-providers.md).
 */
import { performance } from 'node:perf_hooks'
import { type Address, type AddressReceiver, nameSources } from './name-sources.ts'
import { addressesByServers } from './resolver-files.ts'

export type { Address, AddressReceiver } from './name-sources.ts'

export interface NameSources {
  /** As the system does it. A look-up that hangs keeps a thread of libuv. */
  system(host: string, receive: AddressReceiver): void
  /** Without a thread; may know fewer names. */
  servers(host: string): Promise<readonly Address[]>
}

/** Milliseconds for which an answer is used as it is, and until which it is used where no newer one comes. */
export const FRESH = 30_000
export const MAX_STALE_MS = 3_600_000
/** Milliseconds that a connection waits for a newer answer while an older one is at hand. */
const MAX_WAIT_MS = 250
/** Milliseconds for which a failure is the answer. */
const FAILURE_KEPT = 1_000
/**
 * Look-ups by the system at a time. libuv gives look-ups half of its threads, two where nothing else is set
 * (`slow_work_thread_threshold` in src/threadpool.c of 1.52).
 */
const AT_ONCE = 2
/** Milliseconds after which a look-up was slow. Of names whose last one was, or that are new, only one is looked up at a time: the other thread stays free. */
const SLOW = 1_000
/** Milliseconds that a name waits for others before the name servers are queried for it. */
const WAIT = 200
/** Names that are kept. */
const MOST = 1_000

interface Name {
  readonly host: string
  addresses: readonly Address[]
  /** Monotonic milliseconds at which the addresses came, and until which they are used without a question. */
  came: number
  freshUntil: number
  /** The last look-up, where it failed; and until when that is the answer. */
  error: NodeJS.ErrnoException | undefined
  failedUntil: number
  slow: boolean
  /** Family of the address that was connected to last. */
  family: number
  look: Look | undefined
}

/** A look-up that has no answer yet. */
interface Look {
  readonly name: Name
  readonly since: number
  readonly receivers: AddressReceiver[]
  timer: NodeJS.Timeout | undefined
}

const bySystem: NameSources = {
  system: (host, receive) => nameSources.system(host, receive),
  servers: addressesByServers,
}

export class NameLookups {
  private readonly sources: NameSources
  private readonly now: () => number
  private readonly names = new Map<string, Name>()
  /** Those that wait for the system's resolver, in order. */
  private readonly queue: Look[] = []
  /** When each look-up by the system began. One stays until it returns, whatever came meanwhile. */
  private readonly running = new Map<Name, number>()

  /** @param now monotonic milliseconds. */
  constructor(sources: NameSources = bySystem, now: () => number = () => performance.now()) {
    this.sources = sources
    this.now = now
  }

  /** @param host a name, no address. */
  addresses(host: string, receive: AddressReceiver): void {
    const name = this.names.get(host) ?? this.open(host)
    const now = this.now()
    const isKnown = name.addresses.length > 0 && now - name.came < MAX_STALE_MS
    if (isKnown && (now < name.freshUntil || now < name.failedUntil)) receive(undefined, name.addresses)
    else if (!isKnown && name.error && now < name.failedUntil) receive(name.error, [])
    else if (!isKnown) this.begin(name).receivers.push(receive)
    else this.newer(name, receive)
  }

  /** The addresses could not be connected to: the name may have moved, so the next connection looks it up again. */
  doubt(host: string): void {
    const name = this.names.get(host)
    if (name && this.now() - name.came > FAILURE_KEPT) name.freshUntil = 0
  }

  /** An address of this family could be connected to: those of the same come first from now on. */
  connected(host: string, family: number): void {
    const name = this.names.get(host)
    if (!name || name.family === family) return
    name.family = family
    name.addresses = sorted(name.addresses, family)
  }

  /** Waits a moment for a newer answer: a look-up that hangs must not hold up what the last one still serves. */
  private newer(name: Name, receive: AddressReceiver): void {
    const look = this.begin(name)
    const left = look.since + MAX_WAIT_MS - this.now()
    let timer: NodeJS.Timeout | undefined
    const once: AddressReceiver = (error, addresses) => {
      clearTimeout(timer)
      const at = look.receivers.indexOf(once)
      if (at !== -1) look.receivers.splice(at, 1)
      receive(error, addresses)
    }
    if (left <= 0) receive(undefined, name.addresses)
    else if (name.look === look) {
      look.receivers.push(once)
      timer = setTimeout(() => once(undefined, name.addresses), left)
    } else this.addresses(name.host, receive)
  }

  /** Begins a look-up, or joins the one that is open. */
  private begin(name: Name): Look {
    if (name.look) return name.look
    const look: Look = { name, since: this.now(), receivers: [], timer: undefined }
    name.look = look
    this.queue.push(look)
    this.next()
    if (this.queue.includes(look)) look.timer = setTimeout(() => this.askServers(look), this.wait())
    return look
  }

  /** Milliseconds until a name that has to wait is looked up past the system: none where those ahead of it hang. */
  private wait(): number {
    const now = this.now()
    const hang = [...this.running.values()].some((began) => now - began >= WAIT)
    return hang ? 0 : WAIT
  }

  private next(): void {
    for (let at = 0; at < this.queue.length && this.running.size < AT_ONCE; ) {
      const look = this.queue[at]
      if (look && this.mayStart(look.name)) {
        this.queue.splice(at, 1)
        this.start(look)
      } else at++
    }
  }

  private mayStart(name: Name): boolean {
    if (this.running.has(name)) return false
    return !name.slow || ![...this.running.keys()].some(({ slow }) => slow)
  }

  private start(look: Look): void {
    const { name } = look
    const began = this.now()
    this.running.set(name, began)
    this.sources.system(name.host, (error, addresses) => {
      this.running.delete(name)
      name.slow = this.now() - began >= SLOW
      this.settle(look, error, addresses)
      this.next()
    })
  }

  private askServers(look: Look): void {
    this.sources.servers(look.name.host).then(
      // What they do not know the system may.
      (addresses) => addresses.length > 0 && this.settle(look, undefined, addresses),
      () => {},
    )
  }

  private settle(look: Look, error: NodeJS.ErrnoException | undefined, found: readonly Address[]): void {
    const { name } = look
    if (name.look !== look) return
    name.look = undefined
    clearTimeout(look.timer)
    const place = this.queue.indexOf(look)
    if (place !== -1) this.queue.splice(place, 1)
    const now = this.now()
    if (found.length > 0) {
      name.addresses = name.family === 0 ? found : sorted(found, name.family)
      name.came = now
      name.freshUntil = now + FRESH
      name.error = undefined
      name.failedUntil = 0
    } else {
      name.error = error ?? Object.assign(new Error('the name has no address'), { code: 'ENOTFOUND' })
      name.failedUntil = now + FAILURE_KEPT
      // The name is gone. Of any other failure the last answer is better than none (RFC 8767 section 4).
      if (name.error.code === 'ENOTFOUND' || now - name.came >= MAX_STALE_MS) name.addresses = []
    }
    const failure = name.addresses.length > 0 ? undefined : name.error
    for (const receive of [...look.receivers]) receive(failure, name.addresses)
  }

  private open(host: string): Name {
    if (this.names.size >= MOST)
      for (const [key, { look }] of this.names)
        if (!look) {
          this.names.delete(key)
          break
        }
    const name: Name = {
      host,
      addresses: [],
      came: 0,
      freshUntil: 0,
      error: undefined,
      failedUntil: 0,
      slow: true,
      family: 0,
      look: undefined,
    }
    this.names.set(host, name)
    return name
  }
}

/** In the same order, those of the family first. */
function sorted(addresses: readonly Address[], family: number): readonly Address[] {
  const first = addresses.filter((one) => one.family === family)
  return first.length === 0 || first.length === addresses.length
    ? addresses
    : [...first, ...addresses.filter((one) => one.family !== family)]
}

/** Of the process: the threads for look-ups are its own, too. */
export const names = new NameLookups()
