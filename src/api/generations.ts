/** GET /v1/generations: the search for recorded requests, the newest first. */
import { badField } from '../core/faults.ts'
import { TICKS } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { generationView } from '../ledger/generation.ts'
import type { LedgerScans } from '../ledger/scans.ts'
import type { GenerationRecord, GenerationSearch } from '../ledger/types.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { amount, flag, integer, keyHash, position, type QueryParameter, shortText, time } from './parameters.ts'
import { queryList } from './query.ts'
import { type ApiReply, ok } from './reply.ts'

export interface SearchSource extends Pick<KeySource, 'configured' | 'store' | 'clock'> {
  readonly scans: Pick<LedgerScans, 'search'>
}

export const MAX_FOUND = 200
const USUAL = 50
const MAX_TEXT_LENGTH = 512
const MAX_COST_USD = 1_000_000
/** `open` until it is settled. */
export const STATUSES = ['completed', 'incomplete', 'failed', 'aborted', 'unknown', 'open'] as const

const text = (name: string, description: string) => shortText(name, description, MAX_TEXT_LENGTH)
const since = time('since', 'Admitted at this time (UTC) or later.')
const until = time('until', 'Admitted before this time (UTC).')
const ofKey = keyHash('Hash of the key.')
const model = text('model', 'Slug of the model that served.')
const provider = text('provider', 'Name of the provider.')
const endpoint = text('endpoint', 'Id of the endpoint.')
const session = text('session_id', 'The session.')
const status: QueryParameter<(typeof STATUSES)[number][]> = {
  ...{ name: 'status', in: 'query', description: `Some of ${STATUSES.join(', ')}; separated by commas.`, schema: { type: 'string' } },
  example: 'completed',
  read: (query) =>
    queryList(query, 'status')?.map((name) => {
      const found = STATUSES.find((one) => one === name)
      if (!found) throw badField('status', `expected some of: ${STATUSES.join(', ')}`)
      return found
    }),
}
const error = text('error', 'Code of the error that ended it.')
const least = amount('min_cost', 'USD, at least.', 0)
const most = amount('max_cost', 'USD, at most.', 1000)
const isStreamed = flag('streamed', 'Whether the reply was a stream.')
const rows = integer('limit', 'Generations per page at most; 50 without it.', { least: 1, most: MAX_FOUND, example: USUAL })
export const GENERATION_FILTERS = [since, until, ofKey, model, provider, endpoint, session, status, error, least, most, isStreamed, rows]

/**
 * One call looks at generations for some 60 milliseconds: `data` may be empty where `next` is not null, and the search goes on
 * with it. @throws Fault 400 naming the query parameter; 503 where too many searches run.
 */
export async function searchGenerations(query: URLSearchParams, source: SearchSource): Promise<ApiReply> {
  const before = positionIn(query)
  const keys = await allKeys(source)
  const wanted = wantedBy(query, (hash) => keys.find((key) => key.hash === hash)?.identity ?? hash)
  const { rows, next } = await source.scans.search(wanted, before)
  const byIdentity = new Map(keys.map((key) => [key.identity, key]))
  const searched = next === undefined ? wanted.from : searchedUntil(next)
  return ok({
    data: rows.map((record) => generationEntry(record, byIdentity)),
    next: next === undefined ? null : Buffer.from(next).toString('base64url'),
    scanned_until: new Date(searched).toISOString(),
  })
}

/** @throws Fault 400 naming the parameter. */
export function wantedBy(query: URLSearchParams, findIdentity: (hash: string) => string): GenerationSearch {
  const from = since.read(query) ?? 0
  // Generations that a clock which was ahead has dated are found too.
  const before = until.read(query) ?? LAST_MOMENT
  if (from >= before) throw badField('since', 'expected a time before `until`')
  const hash = ofKey.read(query)
  const minCost = wantedNano(query, least)
  const maxCost = wantedNano(query, most)
  if (minCost !== undefined && maxCost !== undefined && minCost > maxCost) throw badField('min_cost', 'expected at most `max_cost`')
  const streamed = isStreamed.read(query)
  return {
    from,
    until: before,
    // A key that is gone is known by the hash that it was made with.
    key: hash === undefined ? undefined : findIdentity(hash),
    model: model.read(query),
    provider: provider.read(query),
    endpoint: endpoint.read(query),
    session: session.read(query),
    statuses: status.read(query),
    error: error.read(query),
    minCost,
    maxCost,
    streamed,
    limit: rows.read(query) ?? USUAL,
  }
}

/** The last that a sequence can name: in the year 2039. */
const LAST_MOMENT = Math.floor(Number.MAX_SAFE_INTEGER / TICKS)

/** Milliseconds since the epoch. @param position the `next` of a page. */

export const searchedUntil = (position: string): number => Math.floor(Number(position.split(' ')[0]) / TICKS)

/** @throws Fault 400: a position that the caller has changed may be anywhere, but must be one. */
function positionIn(query: URLSearchParams): string {
  const text = position.read(query)
  if (text === undefined) return ''
  const found = text.length > 100 ? '' : Buffer.from(text, 'base64url').toString('latin1')
  const [seq = '', ...rest] = found.split(' ')
  const fits = /^\d{1,16} [A-Za-z0-9_-]{0,32}$/.test(found) && Number.isSafeInteger(Number(seq)) && rest.length === 1
  if (!fits) throw badField('cursor', 'expected the `next` of an earlier reply')
  return found
}

function wantedNano(query: URLSearchParams, cost: QueryParameter<number>): number | undefined {
  const dollars = cost.read(query)
  if (dollars !== undefined && dollars > MAX_COST_USD) throw badField(cost.name, `expected USD, at most ${MAX_COST_USD}`)
  return dollars === undefined ? undefined : Math.round(dollars * 1e9)
}

const SHOWN = [
  'id',
  'created_at',
  'model',
  'provider_name',
  'endpoint',
  'status',
  'tokens_prompt',
  'tokens_completion',
  'latency',
  'generation_time',
  'streamed',
  'session_id',
  'error',
] as const

/** A generation as lists show it. @param byIdentity keys that are there. */
export function generationEntry(record: GenerationRecord, byIdentity: ReadonlyMap<string, Pick<ApiKey, 'hash' | 'name'>>): JsonObject {
  const view = generationView(record)
  const entry: JsonObject = {}
  for (const name of SHOWN) entry[name] = view[name] ?? null
  const { provider_responses: calls } = view
  const key = byIdentity.get(record.hold.key)
  return {
    ...entry,
    usage: usd(record.settled?.cost ?? 0),
    attempts: Array.isArray(calls) ? calls.length : 0,
    api_key_hash: key?.hash ?? record.hold.key,
    api_key_name: key?.name ?? null,
  }
}
