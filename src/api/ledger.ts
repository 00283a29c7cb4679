/** The ledger for its operator, over the admin port: the running process owns its file, so the command line calls it. */
import type { IncomingHttpHeaders } from 'node:http'
import { exportRow } from '../ledger/export.ts'
import type { LedgerScans } from '../ledger/scans.ts'
import type { LedgerReader, Reconciliation } from '../ledger/types.ts'
import type { Verdict } from '../ledger/verify.ts'

/** One row per generation as JSON lines, in the order of admission. */
export async function* exportLines(ledger: LedgerReader): AsyncGenerator<string> {
  for await (const record of ledger.export()) yield `${JSON.stringify(exportRow(record))}\n`
}

/** Sums beyond 2^53 nano-dollars are decimal texts: readers of JSON would round them. */
function verdictText(found: Verdict): string {
  return JSON.stringify(found, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

/**
 * Has the sums of use made anew; figures stay right meanwhile, and reading them takes longer.
 * @returns the first day of those that are made anew; null where the store keeps no sums.
 */
export async function rebuild(ledger: LedgerReader): Promise<{ from: string | null }> {
  const from = await ledger.rebuildUse?.()
  return { from: from === undefined ? null : new Date(from).toISOString().slice(0, 10) }
}

interface LedgerReply {
  status: number
  text?: { type: string; content: string }
  chunks?: { type: string; content: AsyncIterable<string> }
}

type LedgerRoute = (request: { readonly headers: IncomingHttpHeaders }) => LedgerReply | Promise<LedgerReply>

/**
 * Routes of the admin listener. The export is as long as the ledger, so it leaves row by row.
 * @param recovered what the start settled because a crash had left it open.
 */
export function ledgerRoutes(
  { ledger, scans }: { ledger: LedgerReader; scans: Pick<LedgerScans, 'verify'> },
  recovered: Reconciliation,
): Map<string, LedgerRoute> {
  return new Map<string, LedgerRoute>([
    ['GET /ledger/export', () => ({ status: 200, chunks: { type: 'application/x-ndjson', content: exportLines(ledger) } })],
    ['GET /ledger/recovery', () => ({ status: 200, text: { type: 'application/json', content: JSON.stringify(recovered) } })],
    [
      'POST /ledger/rebuild',
      async () => ({ status: 200, text: { type: 'application/json', content: JSON.stringify(await rebuild(ledger)) } }),
    ],
    ['GET /ledger/verify', ({ headers }) => verdictOf(scans, headers, false)],
    ['GET /ledger/verify/full', ({ headers }) => verdictOf(scans, headers, true)],
  ])
}

async function verdictOf(scans: Pick<LedgerScans, 'verify'>, headers: IncomingHttpHeaders, full: boolean): Promise<LedgerReply> {
  // RFC 9111 section 5.2.1.4: the caller wants no verdict that is kept.
  const fresh = /(^|[\s,])no-cache($|[\s,])/i.test(headers['cache-control'] ?? '')
  return { status: 200, text: { type: 'application/json', content: verdictText(await scans.verify({ fresh, full })) } }
}
