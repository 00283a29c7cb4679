/** Readers of the ledger (`ledger/types.ts`) that are the program's own; exports have the names of the configuration. */

/** That of `ledger verify`: retention keeps the sums of what it removes before this one has read it. */
export const VERIFY_READER = 'ledger-verify'
/** That of windows which are computed anew after a clock was ahead. */
export const WINDOW_READER = 'limit-windows'
