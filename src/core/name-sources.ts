/**
 * Look-ups of host names, by the system and by name servers. All look-ups of the program go through here: for providers and other services
 * (`name-lookups.ts`), and for addresses in requests (`src/services/outbound/guarded-names.ts`). A test that replaces both sees each of them.
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
  /** Milliseconds for one query, and the number of attempts. */
  readonly timeout: number
  readonly tries: number
}

interface NameSources {
  /** Looks up as the system does: hosts file, search domains, nsswitch. A look-up that hangs keeps a thread of libuv. */
  system(host: string, receive: AddressReceiver): void
  /**
   * Queries name servers alone, without a thread: the sockets of c-ares belong to the event loop.
   * @returns an empty list where the name has no address. Rejects where they do not answer.
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

/**
 * Codes of name servers for a name that does not exist, or has no address of the kind; any other code is a failed query (c-ares,
 * `ares_strerror`).
 */
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
