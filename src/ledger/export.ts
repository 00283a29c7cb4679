/**
 * Rows of the ledger export: one flat object per generation, for NDJSON files and reconciliation; and the same as double entry: what
 * leaves the key arrives at the provider and, for tools, at the gateway.
 */

import type { JsonObject } from '../core/json.ts'
import { LEDGER_COUNTS } from '../core/ledger-counts.ts'
import { chargeReason, parseFacts } from './facts.ts'
import type { GenerationRecord, SettleRow } from './types.ts'

/** Columns of every row; the other facts follow under their own names and never replace one of these. */
interface ExportRow extends JsonObject {
  id: string
  /** Identity of the key. */
  key: string
  /** Identity of the key that issued it through sign-in, and was charged as well. */
  payer: string | null
  model: string
  provider: string | null
  user: string | null
  session_id: string | null
  /** `open` while there is no settlement. */
  status: string
  usage: Record<`${(typeof LEDGER_COUNTS)[number]['column']}_tokens`, number>
  /** Nano-dollars. */
  cost_nano: number
  /** Usage that no allowance could pay; not part of `cost_nano`. */
  unrecovered_nano: number
  disputed_nano: number
  /** True where the endpoint that served has no known price: `cost_nano` then is not what it has cost. */
  price_unknown: boolean
  hold_nano: number
  estimated: boolean
  /** `<ended by>/<progress>/<basis>`: why it cost what it did; null while it is open. */
  charge_reason: string | null
  /** Both sides of the charge: they sum to zero. Empty while it is open. */
  entries: Entry[]
  /** ISO 8601. */
  created_at: string
}

/** One record as its export row. */
export function exportRow(record: GenerationRecord): ExportRow {
  const { hold, settled } = record
  const facts = parseFacts(settled)
  return {
    ...facts,
    id: record.id,
    key: hold.key,
    payer: hold.payer ?? null,
    model: textOr(facts.model, hold.model),
    provider: textOr(facts.provider, null),
    endpoint: textOr(facts.endpoint, hold.endpoint),
    user: textOr(facts.user, null),
    session_id: textOr(facts.session_id, null),
    status: settled?.status ?? 'open',
    usage: settledUsage(settled),
    cost_nano: settled?.cost ?? 0,
    unrecovered_nano: typeof facts.unrecovered_nano === 'number' ? facts.unrecovered_nano : 0,
    disputed_nano: typeof facts.disputed_nano === 'number' ? facts.disputed_nano : 0,
    price_unknown: facts.price_unknown === true,
    hold_nano: hold.hold,
    estimated: settled?.estimated ?? false,
    charge_reason: chargeReason(settled, facts),
    entries: exportEntries(record),
    created_at: new Date(record.at).toISOString(),
  }
}

function settledUsage(settled: SettleRow | undefined): ExportRow['usage'] {
  return Object.fromEntries(LEDGER_COUNTS.map(({ column, count }) => [`${column}_tokens`, settled?.[count] ?? 0])) as ExportRow['usage']
}

function textOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' && value !== '' ? value : otherwise
}

/** One side of a settlement. The entries of a generation sum to zero; they are never changed. */
export interface Entry extends JsonObject {
  account: 'key' | 'provider' | 'fee'
  /** Identity of the key; the provider's name, or the endpoint that was held for where none is recorded; `tools`. */
  of: string
  /** Nano-dollars: negative where they leave the account. */
  nano: number
}

/** None while the generation is open; the fee only where tools ran. @throws SyntaxError where the facts are broken. */
export function exportEntries({ hold, settled }: GenerationRecord): Entry[] {
  if (!settled) return []
  const { provider, tools_cost } = parseFacts(settled)
  const tools = typeof tools_cost === 'number' ? tools_cost : 0
  const name = typeof provider === 'string' && provider !== '' ? provider : hold.endpoint
  const entries: Entry[] = [
    { account: 'key', of: hold.key, nano: 0 - settled.cost },
    { account: 'provider', of: name, nano: settled.cost - tools },
  ]
  if (tools !== 0) entries.push({ account: 'fee', of: 'tools', nano: tools })
  return entries
}
