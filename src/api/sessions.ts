/** GET /v1/sessions and `headgate sessions`: what each conversation of an agent has used, from the ledger. */

import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import type { Clock } from '../core/clock.ts'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { LISTED_COUNTS } from '../core/ledger-counts.ts'
import { usd } from '../core/money.ts'
import type { LedgerScans } from '../ledger/scans.ts'
import type { SessionUse } from '../ledger/types.ts'
import { shownCounts } from './count-fields.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { hashNamed } from './named-key.ts'
import { integer, keyHash, shortText, time } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

export interface SessionSource extends Pick<KeySource, 'configured' | 'store'> {
  readonly scans: Pick<LedgerScans, 'sessions'>
  readonly clock: Pick<Clock, 'now'>
}

/** Milliseconds: the period without `since`, and the longest one. */
const USUAL_MS = 86_400_000
const MAX_MS = 31 * 86_400_000
/** Edges of a period are whole minutes where the caller names none, so that callers share a scan. */
const STEP_MS = 60_000
export const MAX_SESSIONS = 1_000
const USUAL = 100
/** As `session_id` of a request. */
const MAX_ID_LENGTH = 256

const DATE = { format: 'date-time' }
const begin = time('since', 'Begin of the period; 24 hours before its end without it, at most 31 days.', DATE)
const end = time('until', 'End of the period; now without it.', DATE)
const ofKey = keyHash('Only this key.')
const named = shortText('session_id', 'Only this session.', MAX_ID_LENGTH)
const skipped = integer('offset', 'Sessions to skip.', { example: 0 })
const shown = integer('limit', 'Sessions per page at most; 100 without it.', { least: 1, most: MAX_SESSIONS, example: USUAL })
export const SESSIONS_QUERY = [begin, end, ofKey, named, skipped, shown]

/**
 * The sessions of a period, the one that was used last first: sums of their requests that were admitted in it and are settled.
 * @param query with `SESSIONS_QUERY`. @throws Fault 400 naming the query parameter.
 */
export async function readSessions(query: URLSearchParams, source: SessionSource): Promise<ApiReply> {
  const now = Math.floor(source.clock.now() / STEP_MS) * STEP_MS
  const until = end.read(query) ?? now + STEP_MS
  const since = begin.read(query) ?? until - USUAL_MS
  // An end that the caller has not named may be a minute later than now.
  if (since >= until || until - since > MAX_MS + STEP_MS)
    throw badField('since', 'expected a time before `until`, and at most 31 days before it')
  const offset = skipped.read(query) ?? 0
  const limit = shown.read(query) ?? USUAL
  const session = named.read(query)
  const keys = await allKeys(source)
  const hash = ofKey.read(query)
  // A key that is gone is known by the hash that it was made with.
  const identity = hash ? (keys.find((key) => key.hash === hash)?.identity ?? hash) : undefined
  const wanted = { from: since, until, ...(identity ? { keys: [identity] } : {}), ...(session ? { session } : {}) }
  const { total, rows } = await source.scans.sessions(wanted, { offset, limit })
  const byIdentity = new Map(keys.map((key) => [key.identity, key]))
  const data = rows.map((row) => {
    const key = byIdentity.get(row.key)
    return { ...sessionEntry(row), api_key_hash: key?.hash ?? row.key, api_key_name: key?.name ?? null }
  })
  return ok({ data, total_count: total, since: new Date(since).toISOString(), until: new Date(until).toISOString() })
}

function sessionEntry(row: SessionUse): JsonObject {
  return {
    session_id: row.session,
    models: [...row.models],
    requests: row.requests,
    failed_requests: row.failed,
    ...shownCounts(LISTED_COUNTS, row),
    usage: usd(row.cost),
    cache_discount: usd(row.cacheSaved),
    first_request_at: new Date(row.first).toISOString(),
    last_request_at: new Date(row.last).toISOString(),
  }
}

export interface SessionCommand {
  since?: string
  /** A key's name, its hash, or the beginning of the hash. */
  key?: string
  session?: string
  offset?: number
  limit?: number
}

const checkCommand = checker(
  Type.Object(
    {
      since: Type.Optional(Type.String()),
      key: Type.Optional(Type.String({ minLength: 1 })),
      session: Type.Optional(Type.String({ minLength: 1 })),
      offset: Type.Optional(Type.Integer({ minimum: 0 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_SESSIONS })),
    },
    { additionalProperties: false },
  ),
)

/** @param command as it was sent, not checked yet. @throws Fault 400 naming the field, 404 for a key that is not there. */
export async function runSessionCommand(command: unknown, source: SessionSource): Promise<JsonObject> {
  checkCommand(command)
  const { since, key, session, offset, limit } = command as SessionCommand
  const query = new URLSearchParams()
  if (since !== undefined) query.set('since', since)
  if (key !== undefined) query.set('api_key_hash', await hashNamed(key, source))
  if (session !== undefined) query.set('session_id', session)
  if (offset !== undefined) query.set('offset', String(offset))
  if (limit !== undefined) query.set('limit', String(limit))
  return (await readSessions(query, source)).body
}
