/** GET /v1/slices and /v1/slices/generations: a range of the ledger by key, user, app, model, provider, status, error; and its most extreme requests. */
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import type { LedgerLists } from '../ledger/reader.ts'
import { EXTREME_MEASURES, SLICE_MEASURES, type SliceCover, type SliceRange, type SliceSum } from '../ledger/slices/slice-types.ts'
import { generationEntry } from './generations.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { choice, integer, list, time } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'
import { amount, count, maybe } from './schemas.ts'
import { groupFields, keyNamesFor, SLICE_FILTERS, SLICE_WORDS, sliceColumn, sliceFilter } from './slice-groups.ts'

export interface SliceSource extends Pick<KeySource, 'configured' | 'store' | 'budgets'> {
  readonly scans: Pick<LedgerLists, 'slices' | 'extremes'>
  readonly clock: Pick<Clock, 'now'>
}

const DAY_MS = 86_400_000
/** As long as sums are kept. */
const MAX_DAYS = 400
const USUAL_SUMS = 50
export const MAX_SLICES = 1_000
const MAX_POINTS = 200
const MAX_EXTREMES = 100
const USUAL_EXTREMES = 20

const since = time('since', 'Admitted at this time (UTC) or later; a day before `until` without it.')
const until = time('until', `Admitted before this time (UTC); now without it. ${MAX_DAYS} days at most.`)
const groupBy = list('group_by', `One or two of ${SLICE_WORDS.join(', ')}, separated by a comma; key without it.`, 'provider,error')
const sort = choice('sort', 'The sums with the most of this come first; `usage` without it.', SLICE_MEASURES, 'whole_p95')
const order = choice('order', '`asc` for the least first.', ['asc', 'desc'], 'desc')
const rows = integer('limit', 'Sums at most; 50 without it.', { least: 1, most: MAX_SLICES, example: USUAL_SUMS })
const points = integer('points', 'Equal parts of the range that are summed as well; none without it.', { most: MAX_POINTS, example: 24 })
export const SLICES_QUERY = [since, until, groupBy, ...SLICE_FILTERS, sort, order, rows, points]

const by = choice('sort', 'Those with the most of this come first; `usage` without it.', EXTREME_MEASURES, 'whole')
const shown = integer('limit', 'Generations at most; 20 without it.', { least: 1, most: MAX_EXTREMES, example: USUAL_EXTREMES })
export const EXTREMES_QUERY = [since, until, ...SLICE_FILTERS, by, shown]

const percentiles = (description: string) =>
  maybe(Type.Object({ p50: Type.Number(), p95: Type.Number(), p99: Type.Number() }, { description }))

const moment = maybe(Type.String({ description: 'Null where there is none.' }))

const sums = {
  usage: amount('USD that requests were charged, without corrections and refunds.'),
  requests: count('Settled requests.'),
  failed_requests: count('Of them: those that failed, or whose outcome is unknown.'),
  prompt_tokens: count(),
  completion_tokens: count(),
  cached_tokens: count('Input tokens read from a cache.'),
  latency_ms: percentiles('From the admission to the end, of answered requests, within 3 %.'),
  time_to_first_token_ms: percentiles('From the admission to the first content.'),
  first_at: moment,
  last_at: moment,
}

const words = (description: string) => Type.Optional(maybe(Type.String({ description })))

export const sliceCover = {
  since: Type.String(),
  until: Type.String(),
  read_since: Type.String({
    description: 'Generations from here on are in it: `since` once all are. Call again for the rest, which is being read.',
  }),
  is_complete: Type.Boolean({ description: 'True where all of the range is in it.' }),
  is_full: Type.Boolean({ description: 'True where the rest is not read, since as many generations as are kept at once have been.' }),
}

export const slicesReply = Type.Object({
  data: Type.Array(
    Type.Object({
      api_key_hash: Type.Optional(Type.String({ description: 'This and the next ones where they stand apart.' })),
      api_key_name: words('Null for a key that is gone.'),
      model: words('The slug that served.'),
      provider_name: words('Null where none was reached.'),
      status: words('Outcome.'),
      error: words('Null where it ended well.'),
      external_user: words('As the request named it; null for none.'),
      app_title: words('As the application named itself; null for none.'),
      parent: words('Shared budget that the key draws on now; null for none.'),
      creator_user_id: words('User for whom the key was made; null for none.'),
      ...sums,
    }),
  ),
  total: Type.Object(sums, { description: 'Of all that is sought, whether or not its sum is listed.' }),
  groups: count('Sums, whether or not they are listed.'),
  points: Type.Array(Type.Object({ at: Type.String({ description: 'Its beginning.' }), ...sums }), {
    description: 'Equal parts of the range, the oldest first.',
  }),
  ...sliceCover,
})

/** @param query with `SLICES_QUERY`. @throws Fault 400 naming the query parameter. */
export async function listSlices(query: URLSearchParams, source: SliceSource): Promise<ApiReply> {
  const named = wantedWords(query)
  const keys = await allKeys(source)
  const range = wantedRange(query, source)
  const parts = points.read(query) ?? 0
  const found = await source.scans.slices({
    ...range,
    filter: sliceFilter(query, keys),
    by: named.map(sliceColumn),
    keyNames: keyNamesFor(named, keys),
    order: sort.read(query) ?? 'usage',
    ascending: order.read(query) === 'asc',
    limit: rows.read(query) ?? USUAL_SUMS,
    points: parts,
  })
  const byIdentity = new Map(keys.map((key) => [key.identity, key]))
  const width = (range.until - range.from) / Math.max(1, parts)
  return ok({
    data: found.sums.map((sum) => ({ ...groupFields(named, sum.names, byIdentity), ...sumFields(sum) })),
    total: sumFields(found.total),
    groups: found.groups,
    points: found.points.map((sum, at) => ({ at: isoTime(Math.round(range.from + at * width)), ...sumFields(sum) })),
    ...coverFields(range, found),
  })
}

/** @param query with `EXTREMES_QUERY`. @throws Fault 400 naming the query parameter. */
export async function listExtremes(query: URLSearchParams, source: SliceSource): Promise<ApiReply> {
  const keys = await allKeys(source)
  const range = wantedRange(query, source)
  const found = await source.scans.extremes({
    ...range,
    filter: sliceFilter(query, keys),
    order: by.read(query) ?? 'usage',
    limit: shown.read(query) ?? USUAL_EXTREMES,
  })
  const byIdentity = new Map(keys.map((key) => [key.identity, key]))
  return ok({ data: found.rows.map((record) => generationEntry(record, byIdentity)), ...coverFields(range, found) })
}

function wantedRange(query: URLSearchParams, { clock }: SliceSource): Omit<SliceRange, 'filter'> {
  const end = until.read(query) ?? clock.now() + 1
  const from = since.read(query) ?? Math.max(0, end - DAY_MS)
  if (from >= end || end - from > MAX_DAYS * DAY_MS) throw badField('since', `expected a time before \`until\`, ${MAX_DAYS} days at most`)
  return { from, until: end }
}

function wantedWords(query: URLSearchParams): readonly string[] {
  const named = [...new Set(groupBy.read(query) ?? ['key'])]
  const isKnown = named.every((word) => SLICE_WORDS.includes(word))
  // Of the keys of rows one name alone stands apart.
  const ofKeys = named.filter((word) => sliceColumn(word) === 'key')
  if (!isKnown || named.length > 2 || ofKeys.length > 1)
    throw badField('group_by', `expected one or two of: ${SLICE_WORDS.join(', ')}; of key, parent and member one`)
  return named
}

function sumFields(sum: SliceSum): JsonObject {
  return {
    usage: usd(sum.cost),
    requests: sum.requests,
    failed_requests: sum.failed,
    prompt_tokens: sum.input,
    completion_tokens: sum.output,
    cached_tokens: sum.cached,
    latency_ms: sum.whole && { ...sum.whole },
    time_to_first_token_ms: sum.first && { ...sum.first },
    first_at: sum.firstAt === 0 ? null : isoTime(sum.firstAt),
    last_at: sum.lastAt === 0 ? null : isoTime(sum.lastAt),
  }
}

function coverFields({ from, until: end }: Pick<SliceRange, 'from' | 'until'>, { readFrom, isFull }: SliceCover): JsonObject {
  return { since: isoTime(from), until: isoTime(end), read_since: isoTime(readFrom), is_complete: readFrom <= from, is_full: isFull }
}

const isoTime = (at: number): string => new Date(at).toISOString()
