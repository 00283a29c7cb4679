/** The ledger as a caller with a place reads it: generations, sums and entries of its part. */
import { Fault } from '../../core/faults.ts'
import { splitPayers } from '../../core/payers.ts'
import type { CreditBook } from '../../ledger/allowance.ts'
import type { LedgerEntries } from '../../ledger/entries.ts'
import type { LedgerLists, LedgerReader } from '../../ledger/reader.ts'
import type { FoundPage, LedgerPart } from '../../ledger/types.ts'
import type { Within } from './within.ts'

interface Charged {
  readonly key: string
  readonly payer?: string | undefined
}

const isIn = ({ keys, account }: LedgerPart, { key, payer }: Charged): boolean => keys.includes(key) || splitPayers(payer).includes(account)

/** Of the keys that a query names, those of the part; without names all of them. */
async function named(keys: readonly string[] | undefined, within: Within): Promise<string[]> {
  const identities = await within.identities()
  return keys ? keys.filter((key) => identities.has(key)) : [...identities]
}

export function boundedLists(scans: LedgerLists, within: Within): LedgerLists {
  return {
    use: async (query) => scans.use({ ...query, keys: await named(query.keys, within) }),
    sessions: async (query, slice) => scans.sessions({ ...query, keys: await named(query.keys, within) }, slice),
    search: async (query, before) => ownPlaces(await scans.search({ ...query, within: await within.ledgerPart() }, before), query.limit),
    slices: async (query) => scans.slices({ ...query, filter: { ...query.filter, key: await named(query.filter.key, within) } }),
    extremes: async (query) => scans.extremes({ ...query, filter: { ...query.filter, key: await named(query.filter.key, within) } }),
    charges: async (query) => {
      const part = await within.ledgerPart()
      const { sums, entries } = await scans.charges({ ...query, keys: part.keys })
      return { sums, entries: entries.filter((entry) => isIn(part, entry)) }
    },
  }
}

/** Behind all tags of one sequence. */
const LAST_TAG = 'z'.repeat(32)

/** The place where a search goes on may be that of a generation of others: its tag, which is a part of its id, is left out. */
function ownPlaces(page: FoundPage, limit: number): FoundPage {
  const { rows, next } = page
  return next === undefined || rows.length >= limit ? page : { rows, next: `${next.split(' ')[0]} ${LAST_TAG}` }
}

type ReadParts = Pick<LedgerReader, 'find' | 'byokUse' | 'lastUses' | 'entries'>

export function boundedLedger(ledger: ReadParts, within: Within): ReadParts {
  return {
    find: async (id) => {
      // First, so that one of others takes as long as none.
      const part = await within.ledgerPart()
      const record = await ledger.find(id)
      return record && isIn(part, record.hold) ? record : undefined
    },
    byokUse: async (query) => {
      const keys = await named(query.keys, within)
      const rows = await ledger.byokUse({ ...query, keys })
      const part = await within.ledgerPart()
      return rows.filter((row) => isIn(part, row))
    },
    lastUses: async (keys) => ledger.lastUses(await named(keys, within)),
    entries: boundedEntries(ledger.entries, within),
  }
}

function boundedEntries(entries: LedgerEntries, within: Within): LedgerEntries {
  return {
    add: async (entry, by) => {
      if (!isIn(await within.ledgerPart(), entry)) throw new Fault('not_found', { message: 'No such key' })
      return entries.add(entry, by)
    },
    page: async (query) => entries.page({ ...query, within: await within.ledgerPart() }),
    sums: async (keys) => entries.sums(await named(keys, within)),
    moves: async (from, until) => {
      const part = await within.ledgerPart()
      return (await entries.moves(from, until)).filter((move) => isIn(part, move))
    },
  }
}

/** The same accounts; all that was charged is what the keys of the part were. */
export function boundedCredit(credit: CreditBook, within: Within): CreditBook {
  let settled = 0n
  return {
    account: (identity, payer) => credit.account(identity, payer),
    get settled() {
      return settled
    },
    refresh: async (identities) => credit.refresh?.(identities),
    refreshSettled: async () => {
      const identities = [...(await within.identities())]
      await credit.refresh?.(identities)
      const issued = new Set((await within.keys()).flatMap((key) => (key.consent ? [key.identity] : [])))
      settled = 0n
      // What an issued key has spent is in the sum of the key that issued it.
      for (const identity of identities) if (!issued.has(identity)) settled += credit.account(identity).settled
    },
  }
}
