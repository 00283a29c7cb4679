/** Commands of `headgate audit`: the list, the check of the chain, and the report. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import type { JsonObject } from '../core/json.ts'
import { verifyAuditLog } from '../store/audit-verify.ts'
import { listAuditEntries, parseReceipt, receiptText } from './audit.ts'
import { type AuditReportSource, auditReport } from './audit-report.ts'

export type AuditCommand =
  | { readonly verb: 'report'; readonly query?: Readonly<Record<string, string>> }
  | { readonly verb: 'list'; readonly query?: Readonly<Record<string, string>> }
  | { readonly verb: 'verify'; readonly expect?: string }

const checkCommand = checker(
  Type.Object(
    {
      verb: Type.Enum(['list', 'verify', 'report']),
      query: Type.Optional(Type.Record(Type.String(), Type.String())),
      expect: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    },
    { additionalProperties: false },
  ),
)

/** @param command as it was sent, not checked yet. @throws Fault 400 naming the field. */
export async function runAuditCommand(command: unknown, source: AuditReportSource): Promise<JsonObject> {
  checkCommand(command)
  const { verb, query = {}, expect } = command as { verb: string; query?: Record<string, string>; expect?: string }
  if (verb === 'list') return (await listAuditEntries(new URLSearchParams(query), source)).body
  if (verb === 'report') return auditReport(new URLSearchParams(query), source)
  const expected = { receipt: expect === undefined ? undefined : parseReceipt(expect), keys: source.auditKeys }
  const { count, receipt, keyedFrom, problem } = await verifyAuditLog(source.auditLog, expected)
  return {
    verdict: problem ? 'broken' : 'whole',
    entries: count,
    receipt: receiptText(receipt),
    keyed_from: keyedFrom ?? null,
    ...(problem ? { first_bad: { sequence: problem.sequence, problem: problem.text } } : {}),
  }
}
