/** Routes of the ledger on the admin listener. The command line calls them too, because the running process owns the file of the ledger. */
import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../core/faults.ts'
import type { Visitors } from '../core/roles.ts'
import { exportRow } from '../ledger/export.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import type { DatedVerdict, LedgerScans } from '../ledger/scans.ts'
import type { Reconciliation } from '../ledger/types.ts'
import type { ExportRunsReply, ProgressReply, RebuiltReply, RecoveryReply, VerdictReply } from './admin-replies.ts'
import { type FocusExportSource, focusLines } from './focus-export.ts'
import { type LedgerRange, settledLines, wantedRange } from './ledger-range.ts'
import { choice } from './parameters.ts'

/** One row per generation as JSON lines, in the order of admission. */
export async function* exportLines(ledger: LedgerReader): AsyncGenerator<string> {
  for await (const record of ledger.export()) yield `${JSON.stringify(exportRow(record))}\n`
}

/** A type as its JSON has it: sums beyond 2^53 nano-dollars are decimal texts, since readers of JSON would round them. */
type Written<T> = T extends bigint ? string : T extends object ? { [K in keyof T]: Written<T[K]> } : T

function verdictText(found: DatedVerdict): string {
  const written: Written<DatedVerdict> extends VerdictReply ? DatedVerdict : never = found
  return JSON.stringify(written, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

const jsonReply = <T extends object>(body: T, status = 200): LedgerReply => ({
  status,
  text: { type: 'application/json', content: JSON.stringify(body) },
})

/**
 * Rebuilds the sums of use in the background. Figures stay right meanwhile, but reading them takes longer.
 * @returns the first day that is rebuilt.
 */
export async function rebuild(ledger: LedgerReader): Promise<RebuiltReply> {
  return { from: new Date(await ledger.rebuildUse()).toISOString().slice(0, 10) }
}

const exportFormat = choice('format', '`focus` for rows of FOCUS 1.2 in CSV.', ['jsonl', 'focus'])

/** The latest moment that a `Date` can hold, in milliseconds since the epoch (ECMA-262, Time Values and Time Range). */
const LAST_MOMENT = 8.64e15

interface LedgerReply {
  status: number
  text?: { type: string; content: string }
  chunks?: { type: string; content: AsyncIterable<string> }
}

interface LedgerRoute {
  (request: { readonly headers: IncomingHttpHeaders }, url: URL): LedgerReply | Promise<LedgerReply>
  readonly visitors?: Visitors
}

/** Opens a route to visitors of the control room. */
const open = (visitors: Visitors, route: LedgerRoute): LedgerRoute => Object.assign(route, { visitors })

const READERS = ['viewer', 'billing'] as const

export interface LedgerRouteSource {
  readonly ledger: LedgerReader
  /** Keys and the name of the gateway, called for each export, since a reload changes them. */
  keys(): Omit<FocusExportSource, 'ledger'>
  readonly scans: Pick<LedgerScans, 'verify' | 'verifying'>
  /** Called once for each check that found something wrong. */
  readonly differs?: () => void
  /** Called when generations of a range are read for an export. */
  readonly taken?: (range: LedgerRange) => void
  /** Absent where the configuration has no exports. */
  readonly exports?: OnDemandExports | undefined
}

/** Exports of past ranges that a request starts, to an export of the configuration. */
export interface OnDemandExports {
  status(): ExportRunsReply
  /** @throws Fault 404 for another name, 409 where one runs. */
  start(name: string, range: Pick<LedgerRange, 'since' | 'until'>): ExportRunsReply
}

const NO_EXPORTS: OnDemandExports = {
  status: () => ({ exports: [], run: null }),
  start: () => {
    throw new Fault('not_found', { message: 'No such export' })
  },
}

/**
 * Returns the routes by method and path. The export is as long as the ledger, so it is streamed row by row.
 * @param recovered generations that the start settled because a crash had left them open.
 */
export function ledgerRoutes(
  { ledger, keys, scans, differs, taken, exports = NO_EXPORTS }: LedgerRouteSource,
  recovered: Reconciliation,
): Map<string, LedgerRoute> {
  let reported = ''
  const verdict = async (headers: IncomingHttpHeaders, full: boolean): Promise<LedgerReply> => {
    // RFC 9111 section 5.2.1.4: the caller wants no verdict that is kept.
    const fresh = /(^|[\s,])no-cache($|[\s,])/i.test(headers['cache-control'] ?? '')
    const found = await scans.verify({ fresh, full })
    if (!found.ok && found.checked_at !== reported) {
      reported = found.checked_at
      differs?.()
    }
    return { status: 200, text: { type: 'application/json', content: verdictText(found) } }
  }
  return new Map<string, LedgerRoute>([
    [
      'GET /ledger/export',
      open(READERS, (_request, { searchParams }) => {
        const format = exportFormat.read(searchParams)
        if (format !== 'focus') return { status: 200, chunks: { type: 'application/x-ndjson', content: exportLines(ledger) } }
        const range = wantedRange(searchParams)
        return { status: 200, chunks: { type: 'text/csv; charset=utf-8', content: focusLines({ ...keys(), ledger }, range) } }
      }),
    ],
    [
      'GET /ledger/generations',
      (_request, { searchParams }) => {
        const range = wantedRange(searchParams)
        taken?.(range)
        return { status: 200, chunks: { type: 'text/plain; charset=utf-8', content: settledLines(ledger, range) } }
      },
    ],
    ['GET /ledger/exports', open(READERS, () => jsonReply<ExportRunsReply>(exports.status()))],
    [
      'POST /ledger/exports',
      open(['billing'], (_request, { searchParams }) => {
        const { since, until } = wantedRange(searchParams)
        const begun = exports.start(searchParams.get('export') ?? '', { since, until: Math.min(until, LAST_MOMENT) })
        return jsonReply<ExportRunsReply>(begun, 202)
      }),
    ],
    ['GET /ledger/recovery', open(READERS, () => jsonReply<RecoveryReply>(recovered))],
    ['POST /ledger/rebuild', open(['admin'], async () => jsonReply<RebuiltReply>(await rebuild(ledger)))],
    ['GET /ledger/verify', open(READERS, ({ headers }) => verdict(headers, false))],
    ['GET /ledger/verify/full', open(READERS, ({ headers }) => verdict(headers, true))],
    ['GET /ledger/verify/progress', open(READERS, () => jsonReply<ProgressReply>({ running: scans.verifying ?? null }))],
  ])
}
