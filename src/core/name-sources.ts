/**
 * The two ways in which this program finds the addresses of a name. All look-ups of it go through here: for providers and other services
 * (`name-lookups.ts`), and for what requests name (`src/services/outbound/guarded-names.ts`). A test that answers both sees each of them.
 */
import { ADDRCONFIG, lookup } from 'node:dns'
import { Resolver } from 'node:dns/promises'

export interface Address {
  readonly address: string
  readonly family: number
}

/** Called once, with addresses or with the reason why there are none. */
export type AddressReceiver = (error: NodeJS.ErrnoException | undefined, addresses: readonly Address[]) => void

export interface QueryLimits {
  /** Milliseconds for one query, and how often it is sent. */
  readonly timeout: number
  readonly tries: number
}

interface NameSources {
  /** As the system does it: hosts file, search domains, nsswitch. A look-up that hangs keeps a thread of libuv. */
  system(host: string, receive: AddressReceiver): void
  /**
   * By name servers alone, without a thread: the sockets of c-ares belong to the event loop.
   * @returns none where the name has none. Rejects where they do not answer.
   */
  query(host: string, limits: QueryLimits): Promise<readonly Address[]>
}

export const nameSources: NameSources = {
  // With addresses of families that this machine has, as Node's own connections use it (`lookupAndConnect` in lib/net.js).
  system: (host, receive) =>
    lookup(host, { all: true, verbatim: true, hints: process.platform === 'win32' ? 0 : ADDRCONFIG }, (error, addresses) =>
      receive(error ?? undefined, addresses ?? []),
    ),
  query: (host, limits) => queryBy(new Resolver(limits), host),
}

/** What name servers say where a name does not exist, or has no address of the kind; any other code is a failure to say so (c-ares, `ares_strerror`). */
const NO_ADDRESS: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA'])

/** @throws the failure of a query, where no other has found an address. */
export async function queryBy(resolver: Resolver, host: string): Promise<readonly Address[]> {
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const found = answers.flatMap((answer, i) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: i === 0 ? 4 : 6 })) : [],
  )
  const failure = answers.find((answer) => answer.status === 'rejected' && !NO_ADDRESS.has((answer.reason as { code?: unknown }).code))
  if (found.length === 0 && failure?.status === 'rejected') throw failure.reason
  return found
}
