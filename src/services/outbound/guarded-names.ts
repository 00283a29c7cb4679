/**
 * Look-ups of names that requests bring: one for each name at a time, and its answer is kept for a while, as for names of providers
 * (docs/decisions/0032-names-of-providers.md), but by name servers alone: what a stranger writes down must not hold a thread of the process,
 * nor find what the hosts file or a search list knows. Each connection checks the addresses anew.
 */
import { Resolver } from 'node:dns/promises'
import { performance } from 'node:perf_hooks'

export interface Resolved {
  address: string
  family: number
}

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly Resolved[]>

/** Milliseconds for which an answer is used, and one without an address. */
const KEPT = 30_000
const NOTHING_KEPT = 1_000
/** Names that are kept. */
const MOST_NAMES = 1_000
/** Look-ups at a time: each may take 4 s and holds two sockets. */
const MOST_LOOKUPS = 256

interface Name {
  /** Under way, or what it has found. */
  readonly addresses: Promise<readonly Resolved[]>
  /** Monotonic milliseconds; undefined while it is under way. */
  until: number | undefined
}

export class GuardedNames {
  private readonly names = new Map<string, Name>()
  private readonly query: Resolve
  private readonly now: () => number
  private running = 0

  /** @param now monotonic milliseconds. */
  constructor(query: Resolve = byServers, now: () => number = () => performance.now()) {
    this.query = query
    this.now = now
  }

  /** Rejects where too many look-ups are under way. */
  readonly resolve: Resolve = (host) => {
    const known = this.names.get(host)
    if (known && (known.until === undefined || this.now() < known.until)) return known.addresses
    if (this.running >= MOST_LOOKUPS) return Promise.reject(new Error('too many names are looked up'))
    this.forget(host)
    return this.begin(host)
  }

  /** Its addresses could not be connected to: the name may have moved, so the next connection looks it up again. */
  doubt(host: string): void {
    const name = this.names.get(host)
    if (name?.until !== undefined) name.until = 0
  }

  private begin(host: string): Promise<readonly Resolved[]> {
    this.running++
    const ended = (found: readonly Resolved[]): readonly Resolved[] => {
      this.running--
      name.until = this.now() + (found.length > 0 ? KEPT : NOTHING_KEPT)
      return found
    }
    const name: Name = {
      addresses: this.query(host).then(ended, (error: unknown) => {
        ended([])
        throw error
      }),
      until: undefined,
    }
    this.names.set(host, name)
    return name.addresses
  }

  /** Makes room; those under way stay. */
  private forget(host: string): void {
    this.names.delete(host)
    if (this.names.size < MOST_NAMES) return
    for (const [other, { until }] of this.names)
      if (until !== undefined) {
        this.names.delete(other)
        return
      }
  }
}

/** No hosts file, no search list, and no thread: the sockets of c-ares belong to the event loop. */
async function byServers(host: string): Promise<readonly Resolved[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return answers.flatMap((answer, i) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: i === 0 ? 4 : 6 })) : [],
  )
}

/** Of the process. */
export const guardedNames = new GuardedNames()
