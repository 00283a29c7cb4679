/** GET /v1/refusals: requests that the gateway itself has refused, counted by minute, key and reason. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import type { Clock } from '../core/clock.ts'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { RefusalQuery, RefusalRow, RefusalStore } from '../store/refusals.ts'
import { KEY_COLUMNS } from './csv.ts'
import type { CsvList } from './described-operation.ts'
import { timesAround } from './generation-times.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { hashNamed } from './named-key.ts'
import { integer, keyHash, position, type QueryParameter, text as texts, time } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

export interface RefusalSource extends Pick<KeySource, 'configured' | 'store'> {
  readonly refusals: Pick<RefusalStore, 'list'>
  readonly clock: Pick<Clock, 'now'>
}

const MAX_REFUSALS = 500
const USUAL = 50
/** Milliseconds that are looked at where neither a time nor an id is named. */
const USUAL_TIME = 86_400_000

const from = time('since', 'From this time (UTC) on.')
const end = time('until', 'Before this time (UTC).')
const ofKey = keyHash('Hash of the key.')
const one = texts('reason', 'One `reason`.', { pattern: '^[a-z_]{1,64}$' }, 'no_credit')
const LATEST_DESCRIPTION = 'The entry that has this request among its latest; other filters of time do not count then.'
const ofGeneration = texts('generation_id', LATEST_DESCRIPTION, { maxLength: 80 })
const most = integer('limit', 'Entries per page at most; 50 without it.', { least: 1, most: MAX_REFUSALS, example: USUAL })
export const REFUSALS_QUERY: readonly QueryParameter<unknown>[] = [from, end, ofKey, one, ofGeneration, most, position]

export const REFUSALS_CSV: CsvList = {
  name: 'refusals',
  columns: ['minute', ...KEY_COLUMNS, 'reason', 'status', 'error_type', 'count', 'last_at', 'latest', 'limits'],
  paging: { by: 'cursor', most: MAX_REFUSALS },
}

/** The newest first. @throws Fault 400 naming the query parameter. */
export async function listRefusals(query: URLSearchParams, source: RefusalSource): Promise<ApiReply> {
  const hash = ofKey.read(query)
  const reason = one.read(query)
  if (reason !== undefined && !/^[a-z_]{1,64}$/.test(reason)) throw badField('reason', 'expected the `reason` of an entry')
  const limit = most.read(query) ?? USUAL
  const times = timesIn(query, source)
  const keys = await allKeys(source)
  // A key that is gone is known by the hash that it was made with.
  const key = hash === undefined ? undefined : (keys.find((each) => each.hash === hash)?.identity ?? hash)
  const rows = await source.refusals.list({ ...times, key, reason, limit })
  const named = new Map(keys.map((each) => [each.identity, each]))
  const last = rows.at(-1)
  return ok({
    data: rows.map((row) => {
      const known = named.get(row.key)
      return { api_key_hash: row.key === '' ? null : (known?.hash ?? row.key), api_key_name: known?.name ?? null, ...refusalEntry(row) }
    }),
    next: last && rows.length === limit ? encodePosition(last) : null,
  })
}

function timesIn(query: URLSearchParams, { clock }: RefusalSource): Pick<RefusalQuery, 'since' | 'after' | 'generation'> {
  const generation = ofGeneration.read(query)
  if (generation !== undefined) return { ...timesAround(generation, 'generation_id'), generation }
  const until = end.read(query)
  const since = from.read(query) ?? Math.max(0, (until ?? clock.now()) - USUAL_TIME)
  if (until !== undefined && since >= until) throw badField('since', 'expected a time before `until`')
  const after = positionIn(query) ?? (until === undefined ? undefined : { at: until, id: '' })
  return { since, ...(after ? { after } : {}) }
}

const encodePosition = ({ at, id }: RefusalRow): string => Buffer.from(`${at} ${id}`).toString('base64url')

/** @throws Fault 400. */
function positionIn(query: URLSearchParams): { at: number; id: string } | undefined {
  const text = position.read(query)
  if (text === undefined) return undefined
  const [, at, id] = /^(\d{1,15}) ([\w.-]{1,40})$/.exec(text.length > 100 ? '' : Buffer.from(text, 'base64url').toString('latin1')) ?? []
  if (at === undefined || id === undefined) throw badField('cursor', 'expected the `next` of an earlier reply')
  return { at: Number(at), id }
}

function refusalEntry({ at, reason, detail: { status, type, count, last, latest, limits = {} } }: RefusalRow): JsonObject {
  return {
    minute: new Date(at).toISOString(),
    reason,
    status,
    error_type: type,
    count,
    last_at: new Date(last).toISOString(),
    limits: Object.entries(limits).map(([words, requests]) => ({ ...parseLimit(words), count: requests })),
    latest: latest.map((each) => ({
      generation_id: each.id === '' ? null : each.id,
      at: new Date(each.at).toISOString(),
      operation: each.operation,
      model: each.model,
      field: each.field,
      message: each.message,
      limit: each.limit === undefined ? null : parseLimit(each.limit),
    })),
  }
}

/** @param words `<scope> <kind> <per>`, `-` where there is none. */
function parseLimit(words: string): JsonObject {
  const [scope = null, kind = null, per = null] = words.split(' ').map((word) => (word === '-' ? null : word))
  return { scope, kind, per }
}

export interface RefusalCommand {
  since?: string
  until?: string
  /** A key's name, its hash, or the beginning of the hash. */
  key?: string
  reason?: string
  generation?: string
  cursor?: string
  limit?: number
}

const text = Type.Optional(Type.String({ minLength: 1 }))
const checkCommand = checker(
  Type.Object(
    {
      ...{ since: text, until: text, key: text, reason: text, generation: text, cursor: text },
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_REFUSALS })),
    },
    { additionalProperties: false },
  ),
)

/** @param command as it was sent, not checked yet. @throws Fault 400 naming the field, 404 for a key that is not there. */
export async function runRefusalCommand(command: unknown, source: RefusalSource): Promise<JsonObject> {
  checkCommand(command)
  const { key, generation, ...fields } = command as RefusalCommand
  const query = new URLSearchParams(Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]))
  if (key !== undefined) query.set('api_key_hash', await hashNamed(key, source))
  if (generation !== undefined) query.set('generation_id', generation)
  return (await listRefusals(query, source)).body
}
