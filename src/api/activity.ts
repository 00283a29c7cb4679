/** GET /v1/activity: the last 30 full UTC days by model, endpoint and provider, from the ledger. */
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { factsOf } from '../ledger/facts.ts'
import type { GenerationRecord, LedgerReader, SettleRow } from '../ledger/types.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { choiceOf } from './query.ts'
import { type ApiReply, ok } from './reply.ts'
import { WORKSPACE } from './workspace.ts'

export interface ActivitySource extends KeySource {
  readonly ledger: Pick<LedgerReader, 'export'>
}

const DAY_MS = 86_400_000
const DAYS = 30
/** Records after which requests get their turn: the walk may be long. */
const BREATH = 500

/**
 * One row for each day (of the admission, UTC), model, endpoint and provider; the latest day first.
 * Requests that are still open are left out.
 * @param query with `date`, `api_key_hash`, `user_id` (who made the key), `group_by=workspace`, `workspace_id`.
 * @throws Fault 400 naming the query parameter.
 */
export async function readActivity(query: URLSearchParams, source: ActivitySource): Promise<ApiReply> {
  const { from, until } = daysOf(query, source.clock.now())
  const byWorkspace = choiceOf(query, 'group_by', ['workspace']) !== undefined
  const counts = await keyFilter(query, source)
  const rows = new Map<string, Row>()
  let walked = 0
  if ((query.get('workspace_id') || WORKSPACE) === WORKSPACE)
    for await (const record of source.ledger.export(from)) {
      if (record.at >= until) break
      if (record.settled && counts(record.hold.key)) count(rows, record, record.settled)
      if (++walked % BREATH === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  const sorted = [...rows.entries()].sort(([a, one], [b, two]) => two.day - one.day || (a < b ? -1 : 1))
  return ok({ data: sorted.map(([, row]) => ({ ...entryOf(row), ...(byWorkspace ? { workspace_id: WORKSPACE } : {}) })) })
}

interface Row {
  day: number
  model: string
  endpoint: string
  provider: string
  /** Nano-dollars. */
  cost: number
  requests: number
  input: number
  output: number
  reasoning: number
}

function count(rows: Map<string, Row>, { at, hold }: GenerationRecord, settled: SettleRow): void {
  const facts = factsOf(settled)
  const day = Math.floor(at / DAY_MS) * DAY_MS
  const model = textOr(facts.model, hold.model)
  const endpoint = textOr(facts.endpoint, hold.endpoint)
  const provider = textOr(facts.provider, '')
  const name = [day, model, endpoint, provider].join('\n')
  let row = rows.get(name)
  if (!row) {
    row = { day, model, endpoint, provider, cost: 0, requests: 0, input: 0, output: 0, reasoning: 0 }
    rows.set(name, row)
  }
  row.requests++
  row.cost = Math.min(row.cost + settled.cost, Number.MAX_SAFE_INTEGER)
  row.input += settled.input
  row.output += settled.output
  row.reasoning += settled.reasoning
}

function entryOf(row: Row): JsonObject {
  return {
    date: new Date(row.day).toISOString().slice(0, 10),
    model: row.model,
    model_permaslug: row.model,
    endpoint_id: row.endpoint,
    provider_name: row.provider,
    usage: usd(row.cost),
    byok_usage_inference: 0,
    requests: row.requests,
    prompt_tokens: row.input,
    completion_tokens: row.output,
    reasoning_tokens: row.reasoning,
  }
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}

/** Today is not over, so it is left out. */
function daysOf(query: URLSearchParams, now: number): { from: number; until: number } {
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const oldest = today - DAYS * DAY_MS
  const date = query.get('date')
  if (date === null || date === '') return { from: oldest, until: today }
  const from = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(date) : Number.NaN
  if (!(from >= oldest && from < today) || new Date(from).toISOString().slice(0, 10) !== date)
    throw badField('date', `expected a day such as 2027-01-31, one of the last ${DAYS} that are over (UTC)`)
  return { from, until: from + DAY_MS }
}

async function keyFilter(query: URLSearchParams, source: ActivitySource): Promise<(identity: string) => boolean> {
  const hash = query.get('api_key_hash')
  const user = query.get('user_id')
  if (hash && !/^[0-9a-f]{64}$/.test(hash)) throw badField('api_key_hash', 'expected 64 hexadecimal digits in lower case')
  if (!hash && !user) return () => true
  const keys = await allKeys(source)
  // A key that is gone is known by the hash that it was made with.
  const asked = hash ? (keys.find((key) => key.hash === hash)?.identity ?? hash) : undefined
  const made = user ? new Set(keys.filter((key) => 'creator' in key && key.creator === user).map((key) => key.identity)) : undefined
  return (identity) => (asked === undefined || identity === asked) && (made === undefined || made.has(identity))
}
