/**
 * Payers of a charge beside its key: a text with their identities, the nearest first and the root last. The rows of the ledger, leases and
 * moves have it as `payer`; a single payer is its own identity, as rows of programs that knew one payer have it.
 */

/** Between two payers: neither names nor hashes have it. */
export const PAYER_SEPARATOR = '>'

const NONE: readonly string[] = []

/** @param above the payers above it. */
export function joinPayers(identity: string, above: string | undefined): string {
  return above === undefined ? identity : `${identity}${PAYER_SEPARATOR}${above}`
}

/** Identities of the payers, the nearest first. */
export function splitPayers(payer: string | undefined): readonly string[] {
  if (payer === undefined || payer === '') return NONE
  return payer.includes(PAYER_SEPARATOR) ? payer.split(PAYER_SEPARATOR) : [payer]
}

/** Identities of all accounts that a charge counts in: that of the key, then its payers. The place in it is the level of an account. */
export function chargedAccounts({ key, payer }: { readonly key: string; readonly payer?: string | undefined }): readonly string[] {
  return [key, ...splitPayers(payer)]
}

/** The nearest payer in a column, '' where it has none: the key that issued another is its nearest payer. */
export const NEAREST_PAYER = {
  sqlite: `substr(payer, 1, instr(payer || '${PAYER_SEPARATOR}', '${PAYER_SEPARATOR}') - 1)`,
  postgres: `split_part(payer, '${PAYER_SEPARATOR}', 1)`,
} as const

/** True for a row with a payer among those of its column. @param column null or '' where it has none. */
export const HAS_PAYER = {
  /** The identity is the value of the condition. */
  sqlite: (column: string): string =>
    `instr('${PAYER_SEPARATOR}' || ifnull(${column}, '') || '${PAYER_SEPARATOR}', '${PAYER_SEPARATOR}' || ? || '${PAYER_SEPARATOR}') > 0`,
} as const

/** The payers in a column of PostgreSQL, as an array that is empty for an empty text. */
export const payersColumn = (column: string): string => `string_to_array(${column}, '${PAYER_SEPARATOR}')`
