/**
 * Look-ups of names that requests bring: one for each name at a time, and its answer is kept for a while, as for names of providers
 * (docs/decisions/0032-names-of-providers.md), but by name servers alone: what a stranger writes down must not hold a thread of the process,
 * nor find what the hosts file or a search list knows. Each connection checks the addresses anew.
 */
import { performance } from 'node:perf_hooks'
import { type Address, nameSources } from '../../core/name-sources.ts'

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly Address[]>

/** Milliseconds for which an answer is used, and one without an address. */
const KEPT = 30_000
const NOTHING_KEPT = 1_000
/** Milliseconds until which an answer is used where no newer one comes, and that a connection waits for the newer one. */
export const MAX_STALE_MS = 600_000
const MAX_WAIT_MS = 250
/** Names that are kept. */
const MAX_NAMES = 1_000
/** Look-ups at a time: each may take 4 s and holds two sockets. */
const MAX_LOOKUPS = 256
const QUERY = { timeout: 2_000, tries: 2 }

interface Name {
  readonly host: string
  addresses: readonly Address[]
  error: Error | undefined
  /** Monotonic milliseconds at which the addresses came, and until which they, or the error, are the answer. */
  came: number
  until: number
  look: Look | undefined
}

/** One that has no answer yet. */
interface Look {
  readonly since: number
  readonly addresses: Promise<readonly Address[]>
}

export class GuardedNames {
  private readonly names = new Map<string, Name>()
  private readonly query: Resolve
  private readonly now: () => number
  private running = 0

  /** @param query rejects where the servers do not answer. @param now monotonic milliseconds. */
  constructor(query: Resolve = (host) => nameSources.query(host, QUERY), now: () => number = () => performance.now()) {
    this.query = query
    this.now = now
  }

  /** Rejects where the name servers do not answer, or too many look-ups are under way, and nothing older is known. */
  readonly resolve: Resolve = async (host) => {
    const name = this.names.get(host)
    if (name && !name.look && this.now() < name.until) {
      if (name.error) throw name.error
      return name.addresses
    }
    const older = name && name.addresses.length > 0 && this.now() - name.came < MAX_STALE_MS ? name.addresses : undefined
    const look = name?.look ?? this.begin(host)
    if (!look) {
      if (older) return older
      throw new Error('too many names are looked up')
    }
    return older ? this.newer(look, older) : look.addresses
  }

  /** Its addresses could not be connected to: the name may have moved, so the next connection looks it up again. */
  doubt(host: string): void {
    const name = this.names.get(host)
    if (name && !name.error) name.until = 0
  }

  /** A look-up that hangs or fails must not hold up what the last one still serves; of a name that has no address any more none are used. */
  private async newer({ since, addresses }: Look, older: readonly Address[]): Promise<readonly Address[]> {
    let timer: NodeJS.Timeout | undefined
    const expiry = new Promise<readonly Address[]>((resolve) => {
      timer = setTimeout(resolve, Math.max(0, since + MAX_WAIT_MS - this.now()), older)
    })
    try {
      return await Promise.race([addresses.catch(() => older), expiry])
    } finally {
      clearTimeout(timer)
    }
  }

  private begin(host: string): Look | undefined {
    if (this.running >= MAX_LOOKUPS) return undefined
    const name = this.names.get(host) ?? this.open(host)
    this.running++
    const since = this.now()
    const ended = (kept: number): void => {
      this.running--
      name.look = undefined
      name.until = this.now() + kept
    }
    const addresses = this.query(host).then(
      (found) => {
        ended(found.length > 0 ? KEPT : NOTHING_KEPT)
        Object.assign(name, { addresses: found, came: this.now(), error: undefined })
        return found
      },
      (error: Error) => {
        ended(NOTHING_KEPT)
        const isOld = this.now() - name.came >= MAX_STALE_MS
        if (isOld) name.addresses = []
        name.error = name.addresses.length > 0 ? undefined : error
        throw error
      },
    )
    // Those that wait hear of it; one that went on with older addresses does not.
    addresses.catch(() => {})
    name.look = { since, addresses }
    return name.look
  }

  /** Makes room; those under way stay. */
  private open(host: string): Name {
    if (this.names.size >= MAX_NAMES)
      for (const [other, { look }] of this.names)
        if (!look) {
          this.names.delete(other)
          break
        }
    const name: Name = { host, addresses: [], error: undefined, came: Number.NEGATIVE_INFINITY, until: 0, look: undefined }
    this.names.set(host, name)
    return name
  }
}

/** Of the process. */
export const guardedNames = new GuardedNames()
