/** GET /v1/generations: the search for recorded requests, the newest first. */
import { badField } from '../core/faults.ts'
import { TICKS } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { generationView } from '../ledger/generation.ts'
import type { LedgerScans } from '../ledger/scans.ts'
import type { GenerationRecord, GenerationSearch } from '../ledger/types.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { choiceOf, integerOf, listOf, numberOf, timeOf } from './query.ts'
import { type ApiReply, ok } from './reply.ts'

export interface SearchSource extends Pick<KeySource, 'configured' | 'store' | 'clock'> {
  readonly scans: Pick<LedgerScans, 'search'>
}

const MOST = 200
const USUAL = 50
const LONGEST_TEXT = 512
const MOST_USD = 1_000_000
/** `open` until it is settled. */
export const STATUSES = ['completed', 'incomplete', 'failed', 'aborted', 'unknown', 'open'] as const

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
    data: rows.map((record) => {
      const key = byIdentity.get(record.hold.key)
      return { ...entryOf(record), api_key_hash: key?.hash ?? record.hold.key, api_key_name: key?.name ?? null }
    }),
    next: next === undefined ? null : Buffer.from(next).toString('base64url'),
    scanned_until: new Date(searched).toISOString(),
  })
}

/** @throws Fault 400 naming the parameter. */
export function wantedBy(query: URLSearchParams, identityOf: (hash: string) => string): GenerationSearch {
  const from = timeOf(query, 'since') ?? 0
  // Generations that a clock which was ahead has dated are found too.
  const until = timeOf(query, 'until') ?? LAST_MOMENT
  if (from >= until) throw badField('since', 'expected a time before `until`')
  const hash = query.get('api_key_hash') || undefined
  if (hash !== undefined && !/^[0-9a-f]{64}$/.test(hash)) throw badField('api_key_hash', 'expected 64 hexadecimal digits in lower case')
  const minCost = nanoOf(query, 'min_cost')
  const maxCost = nanoOf(query, 'max_cost')
  if (minCost !== undefined && maxCost !== undefined && minCost > maxCost) throw badField('min_cost', 'expected at most `max_cost`')
  const streamed = choiceOf(query, 'streamed', ['true', 'false'])
  return {
    from,
    until,
    // A key that is gone is known by the hash that it was made with.
    key: hash === undefined ? undefined : identityOf(hash),
    model: textOf(query, 'model'),
    provider: textOf(query, 'provider'),
    endpoint: textOf(query, 'endpoint'),
    session: textOf(query, 'session_id'),
    statuses: statusesOf(query),
    error: textOf(query, 'error'),
    minCost,
    maxCost,
    streamed: streamed === undefined ? undefined : streamed === 'true',
    limit: integerOf(query, 'limit', 1, MOST) ?? USUAL,
  }
}

/** The last that a sequence can name: in the year 2039. */
const LAST_MOMENT = Math.floor(Number.MAX_SAFE_INTEGER / TICKS)

/** Milliseconds since the epoch. @param position the `next` of a page. */

export const searchedUntil = (position: string): number => Math.floor(Number(position.split(' ')[0]) / TICKS)

/** @throws Fault 400: a position that the caller has changed may be anywhere, but must be one. */
function positionIn(query: URLSearchParams): string {
  const text = query.get('cursor')
  if (text === null || text === '') return ''
  const position = text.length > 100 ? '' : Buffer.from(text, 'base64url').toString('latin1')
  const [seq = '', ...rest] = position.split(' ')
  const fits = /^\d{1,16} [A-Za-z0-9_-]{0,32}$/.test(position) && Number.isSafeInteger(Number(seq)) && rest.length === 1
  if (!fits) throw badField('cursor', 'expected the `next` of an earlier reply')
  return position
}

function textOf(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name) || undefined
  if (text !== undefined && text.length > LONGEST_TEXT) throw badField(name, `expected at most ${LONGEST_TEXT} characters`)
  return text
}

function nanoOf(query: URLSearchParams, name: string): number | undefined {
  const dollars = numberOf(query, name)
  if (dollars !== undefined && dollars > MOST_USD) throw badField(name, `expected USD, at most ${MOST_USD}`)
  return dollars === undefined ? undefined : Math.round(dollars * 1e9)
}

function statusesOf(query: URLSearchParams): GenerationSearch['statuses'] {
  const named = listOf(query, 'status')
  return named?.map((name) => {
    const status = STATUSES.find((one) => one === name)
    if (!status) throw badField('status', `expected some of: ${STATUSES.join(', ')}`)
    return status
  })
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

function entryOf(record: GenerationRecord): JsonObject {
  const view = generationView(record)
  const entry: JsonObject = {}
  for (const name of SHOWN) entry[name] = view[name] ?? null
  const { provider_responses: calls } = view
  return { ...entry, usage: usd(record.settled?.cost ?? 0), attempts: Array.isArray(calls) ? calls.length : 0 }
}
