/**
 * GET /v1/audit/report: what this gateway has recorded in a period, in the order of the articles of the EU's AI Act that speak of records
 * (Regulation (EU) 2024/1689). It states facts of the store and what is not recorded; whether that meets an obligation is not its matter.
 */
import { type AuditAction, type AuditRow, NO_ENTRY } from '../core/audit-entries.ts'
import type { Clock } from '../core/clock.ts'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { DAY_MS } from '../core/windows.ts'
import type { LedgerLists } from '../ledger/reader.ts'
import { verifyAuditLog } from '../store/audit-verify.ts'
import { day } from './activity.ts'
import { type AuditSource, receiptText } from './audit.ts'
import type { GuardrailSource } from './guardrail-entry.ts'
import { type ApiReply, ok } from './reply.ts'

/** Retention and destinations of the configuration that is in force. */
export interface RecordSettings {
  readonly audit: { readonly retention?: number | undefined; readonly hold: boolean; readonly sinks: readonly { readonly name: string }[] }
  readonly generations: { readonly retention?: number | undefined }
  readonly exports: readonly { readonly name: string }[]
}

export interface AuditReportSource extends AuditSource, Pick<GuardrailSource, 'guardrails' | 'written'> {
  readonly scans: LedgerLists
  readonly recordSettings: RecordSettings
  readonly clock: Pick<Clock, 'now'>
}

/** Days of a report at most. */
const MAX_DAYS = 400
/** As many as the longest six months have (AI Act, 19(1): "at least six months"). */
const SIX_MONTHS_DAYS = 184
/** Entries of one page. */
const PAGE = 1_000
/** Names of one list. */
const MAX_NAMES = 200

const fromDay = day('from', `First UTC day; without it ${SIX_MONTHS_DAYS} days up to \`to\`.`)
const toDay = day('to', 'Last UTC day; without it today.')
export const REPORT_QUERY = [fromDay, toDay]

/** @param query with `REPORT_QUERY`. @throws Fault 400 naming the query parameter. */
export async function readAuditReport(query: URLSearchParams, source: AuditReportSource): Promise<ApiReply> {
  return ok({ data: await auditReport(query, source) })
}

export async function auditReport(query: URLSearchParams, source: AuditReportSource): Promise<JsonObject> {
  const now = source.clock.now()
  const last = toDay.read(query) ?? Math.floor(now / DAY_MS) * DAY_MS
  const from = fromDay.read(query) ?? last - (SIX_MONTHS_DAYS - 1) * DAY_MS
  const until = last + DAY_MS
  if (from > last) throw badField('from', 'expected a day that is not behind `to`')
  if (until - from > MAX_DAYS * DAY_MS) throw badField('from', `expected at most ${MAX_DAYS} days up to \`to\``)
  const [entries, generations, guardrails] = [
    await auditFacts(source, from, until),
    await generationFacts(source, from, until),
    await guardrailNames(source),
  ]
  const { audit, exports, generations: kept } = source.recordSettings
  return {
    regulation: 'Regulation (EU) 2024/1689',
    from: isoDay(from),
    to: isoDay(last),
    generated_at: new Date(now).toISOString(),
    audit_log: entries,
    generations,
    retention: {
      generations: retentionFacts(kept.retention, false),
      audit_log: retentionFacts(audit.retention, audit.hold),
      audit_sinks: audit.sinks.map(({ name }) => name),
      exports: exports.map(({ name }) => name),
    },
    guardrails,
    outputs_marked: 0,
  }
}

const isoDay = (at: number): string => new Date(at).toISOString().slice(0, 10)
const timeText = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString())

/** @param retention milliseconds; absent: for ever. */
function retentionFacts(retention: number | undefined, hold: boolean): JsonObject {
  const days = retention === undefined || hold ? null : Math.floor(retention / DAY_MS)
  return { days, hold, covers_six_months: days === null || days >= SIX_MONTHS_DAYS }
}

async function auditFacts({ auditLog, auditKeys }: AuditSource, from: number, until: number): Promise<JsonObject> {
  const { count, receipt, keyedFrom, problem } = await verifyAuditLog(auditLog, { keys: auditKeys })
  const [oldest] = await auditLog.page({ after: 0, limit: 1 })
  const [newest] = await auditLog.page({ after: 0, limit: 1, newestFirst: true })
  const actions: Partial<Record<AuditAction, number>> = {}
  let sum = 0
  for (let after = 0; ; ) {
    const rows: AuditRow[] = await auditLog.page({ after, limit: PAGE, since: from, until })
    for (const { action } of rows) actions[action as AuditAction] = (actions[action as AuditAction] ?? 0) + 1
    sum += rows.length
    const end = rows.at(-1)
    if (!end || rows.length < PAGE) break
    after = end.sequence
  }
  return {
    verdict: problem ? 'broken' : 'whole',
    first_bad: problem ? { sequence: problem.sequence, problem: problem.text } : null,
    entries: count,
    receipt: receiptText(count === 0 ? NO_ENTRY : receipt),
    keyed_from: keyedFrom ?? null,
    first: { sequence: oldest?.sequence ?? null, at: timeText(oldest?.at) },
    last: { sequence: newest?.sequence ?? null, at: timeText(newest?.at) },
    removed_by_retention: Math.max(0, (oldest?.sequence ?? 1) - 1),
    in_period: sum,
    in_period_by_action: Object.fromEntries(Object.entries(actions).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  }
}

async function generationFacts({ scans }: Pick<AuditReportSource, 'scans'>, from: number, until: number): Promise<JsonObject> {
  const rows = await scans.use({ from, until, withoutMoves: true })
  const models = new Map<string, { model: string; provider: string; requests: number; failed: number }>()
  const days = new Set<number>()
  let [requests, failed] = [0, 0]
  for (const row of rows) {
    const name = JSON.stringify([row.model, row.provider])
    const sum = models.get(name) ?? { model: row.model, provider: row.provider, requests: 0, failed: 0 }
    const bad = row.answered ? 0 : row.requests
    models.set(name, { ...sum, requests: sum.requests + row.requests, failed: sum.failed + bad })
    days.add(row.day)
    requests += row.requests
    failed += bad
  }
  const used = [...models.values()].sort((a, b) => b.requests - a.requests || (a.model < b.model ? -1 : 1))
  const first = days.size === 0 ? null : Math.min(...days)
  const last = days.size === 0 ? null : Math.max(...days)
  return {
    requests,
    failed,
    first_day: first === null ? null : isoDay(first),
    last_day: last === null ? null : isoDay(last),
    days_with_requests: days.size,
    days_without_requests: (until - from) / DAY_MS - days.size,
    models: used.slice(0, MAX_NAMES),
    more_models: Math.max(0, used.length - MAX_NAMES),
  }
}

async function guardrailNames({ guardrails, written }: Pick<AuditReportSource, 'guardrails' | 'written'>): Promise<JsonObject> {
  const stored = await guardrails.all()
  return {
    configuration: written.map(({ name }) => name).slice(0, MAX_NAMES),
    store: stored.guardrails.map(({ name }) => name).slice(0, MAX_NAMES),
  }
}
