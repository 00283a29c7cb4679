/** The table of actions in docs/audit.md, made from their declarations. */
import { AUDIT_ACTIONS } from '../src/core/audit-entries.ts'
import { markdownTable } from './markdown-table.ts'

export function auditMarkdown(): string {
  const rows = Object.entries(AUDIT_ACTIONS).map(([action, [text, subject]]) => [`\`${action}\``, text, subject])
  return markdownTable(['`action`', 'When', '`subject`'], rows)
}
