/** POST /v1/configuration/rehearse: plans recorded requests under a submitted configuration, and compares that with plans of today. */
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { parseFacts } from '../ledger/facts.ts'
import type { GenerationRecord, GenerationSearch } from '../ledger/types.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { type ConfigurationSource, type Outcome, type RehearsalAsk, type RehearsalResult, textIn } from './configuration.ts'
import { happenedIn } from './generation-plan.ts'
import { type SearchSource, searchedUntil, wantedBy } from './generations.ts'
import { allKeys } from './key-entry.ts'
import { type ApiReply, ok } from './reply.ts'

type RehearsalSource = SearchSource & ConfigurationSource

/** Facts that neither plan has, so that both are approximate. */
const APPROXIMATE = [
  'the words of the requests: a text of the same length stands for them',
  'the client format: the plan is that of chat',
  'values of parameters, definitions of tools, entries of plugins and presets',
  'what is measured while a gateway runs: health, speed, uptime, and what keys have spent',
  'plugins of your own, and what providers are called for',
]

/** Pages of the ledger that are read; each takes some 60 milliseconds at most. */
const MAX_PAGES = 10
/** Kinds of change in the summary. */
const MAX_CHANGES = 50

/** @throws Fault 400; 408, 422 or 503 where the text cannot be checked. */
export async function rehearseConfiguration(body: JsonObject, source: RehearsalSource): Promise<ApiReply> {
  const text = textIn(body, 'text')
  const keys = await allKeys(source)
  const wanted = wantedBy(filtersIn(body), (hash) => keys.find((key) => key.hash === hash)?.identity ?? hash)
  const { records, searched } = await findRecords(wanted, source)
  const written = new Set<ApiKey>(source.configured)
  const byIdentity = new Map(keys.map((key) => [key.identity, key]))
  const plannedRequests: RehearsalAsk[] = []
  const leftOut = { no_inputs: 0, key_gone: 0, no_time: 0 }
  for (const record of records) {
    const key = byIdentity.get(record.hold.key)
    if (typeof parseFacts(record.settled).inputs !== 'string') leftOut.no_inputs++
    else if (key)
      plannedRequests.push({ record, key, written: written.has(key), issuerWritten: key.issuer !== undefined && written.has(key.issuer) })
    else leftOut.key_gone++
  }
  const { problems, notChecked, outcomes } = await source.configuration.rehearse(text, plannedRequests)
  const requests = outcomes.flatMap((outcome, at) => (plannedRequests[at] ? [rehearsalRow(plannedRequests[at], outcome)] : []))
  const isOk = problems.length === 0
  if (isOk) leftOut.no_time = plannedRequests.length - outcomes.length
  return ok({
    data: {
      ok: isOk,
      problems,
      not_checked: notChecked,
      approximate: APPROXIMATE,
      requests: requests.map(({ shown }) => shown),
      summary: isOk ? summarize(requests) : null,
      left_out: leftOut,
      scanned_until: new Date(searched).toISOString(),
    },
  })
}

const FILTERS = ['since', 'until', 'api_key_hash', 'model'] as const

/** The filters are those of the search. @throws Fault 400. */
function filtersIn(body: JsonObject): URLSearchParams {
  const filters = new URLSearchParams()
  for (const name of FILTERS) {
    const value = body[name]
    if (value === undefined || value === null) continue
    if (typeof value !== 'string') throw badField(name, 'expected a text')
    filters.set(name, value)
  }
  const { limit } = body
  if (limit !== undefined && limit !== null) {
    if (typeof limit !== 'number') throw badField('limit', 'expected an integer')
    filters.set('limit', String(limit))
  }
  return filters
}

async function findRecords(wanted: GenerationSearch, { scans }: SearchSource): Promise<{ records: GenerationRecord[]; searched: number }> {
  const records: GenerationRecord[] = []
  let before = ''
  for (let page = 0; page < MAX_PAGES; page++) {
    const { rows, next } = await scans.search({ ...wanted, limit: wanted.limit - records.length }, before)
    records.push(...rows)
    if (next === undefined) return { records, searched: wanted.from }
    before = next
    if (records.length >= wanted.limit) break
  }
  return { records, searched: searchedUntil(before) }
}

interface Row {
  readonly shown: JsonObject
  readonly differences: readonly Difference[]
  readonly happened: number
  readonly today: number | null
  readonly planned: number | null
}

type Difference = { what: 'model' | 'endpoint' | 'price' | 'refused' | 'served'; was: string | null; would_be: string | null }

function rehearsalRow({ record, key }: RehearsalAsk, { today, planned }: RehearsalResult['outcomes'][number]): Row {
  const differences = today ? listDifferences(today, planned) : []
  const shown = {
    id: record.id,
    created_at: new Date(record.at).toISOString(),
    api_key_name: key.name,
    happened: happenedIn(record),
    today: today && shownOutcome(today),
    planned: shownOutcome(planned),
    differences: differences.map((each) => ({ ...each })),
  }
  return { shown, differences, happened: record.settled?.cost ?? 0, today: today && outcomeCost(today), planned: outcomeCost(planned) }
}

const outcomeCost = (outcome: Outcome): number | null => ('status' in outcome ? 0 : outcome.cost)

function shownOutcome(outcome: Outcome): JsonObject {
  if ('status' in outcome) return { model: null, provider_name: null, endpoint: null, price: null, cost: null, refused: { ...outcome } }
  return { ...outcome, cost: outcome.cost === null ? null : usd(outcome.cost), refused: null }
}

function listDifferences(today: Outcome, planned: Outcome): Difference[] {
  if ('status' in planned) {
    if ('status' in today && today.status === planned.status && today.type === planned.type) return []
    return [{ what: 'refused', was: outcomeName(today), would_be: outcomeName(planned) }]
  }
  if ('status' in today) return [{ what: 'served', was: outcomeName(today), would_be: outcomeName(planned) }]
  const was = { model: today.model, endpoint: today.endpoint, price: shownPrice(today.price) }
  const now = { model: planned.model, endpoint: planned.endpoint, price: shownPrice(planned.price) }
  return (['model', 'endpoint', 'price'] as const).flatMap((what) =>
    was[what] === now[what] ? [] : [{ what, was: was[what], would_be: now[what] }],
  )
}

const outcomeName = (outcome: Outcome): string => ('status' in outcome ? `refused with ${outcome.status}` : outcome.endpoint)

const shownPrice = (price: JsonObject | null): string | null =>
  price &&
  Object.entries(price)
    .map(([kind, rate]) => `${kind} ${String(rate)}`)
    .join(', ')

function summarize(rows: readonly Row[]): JsonObject {
  const by = { model: 0, endpoint: 0, price: 0, refused: 0, served: 0 }
  const changes = new Map<string, { difference: Difference; count: number }>()
  let differ = 0
  const cost = { happened: 0, today: 0, planned: 0, compared: 0 }
  for (const { differences, happened, today, planned } of rows) {
    if (differences.length > 0) differ++
    for (const difference of differences) {
      by[difference.what]++
      const name = JSON.stringify(difference)
      const known = changes.get(name)
      if (known) known.count++
      else changes.set(name, { difference, count: 1 })
    }
    if (today === null || planned === null) continue
    cost.compared++
    cost.happened += happened
    cost.today += today
    cost.planned += planned
  }
  const most = [...changes.values()].sort((a, b) => b.count - a.count).slice(0, MAX_CHANGES)
  return {
    requests: rows.length,
    differ,
    by,
    changes: most.map(({ difference, count }) => ({ ...difference, count })),
    cost: { happened: usd(cost.happened), today: usd(cost.today), planned: usd(cost.planned), requests: cost.compared },
  }
}
