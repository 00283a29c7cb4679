/** GET /v1/keys: keys by filters, in an order, page by page. */
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import type { Allowance } from '../ledger/allowance.ts'
import { keyAccounts, keyPayer, payerAllowances } from '../ledger/payer.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { StoredKey } from '../store/keys.ts'
import type { ActivitySource } from './activity.ts'
import type { DescribedParameter } from './described-operation.ts'
import { allKeys, type KeySource, keyEntries, keyWorkspace } from './key-entry.ts'
import { forecasts } from './key-forecast.ts'
import { choice, flag, integer, position, shortText } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

/** Keys of one page at most, and without `limit`: most installations have fewer, and clients that read one page see all of theirs. */
export const MAX_KEYS = 1000
const MAX_TEXT_LENGTH = 256
/** Characters; a name takes at most some hundreds of them. */
const MAX_CURSOR_LENGTH = 4000
/** A limit of which so much is spent or held is worth a look. */
const NEAR = 0.8

const STATES = ['in_use', 'disabled', 'expired', 'limit_reached'] as const
const SORTS = ['created_at', 'name', 'usage', 'usage_monthly', 'limit_used', 'expires_at'] as const
type Sort = (typeof SORTS)[number]

const search = shortText(
  'search',
  'Only keys whose name or masked secret contains this, in either case of letters, or whose hash begins with it.',
  MAX_TEXT_LENGTH,
  'reports',
)
const parent = shortText('parent', 'Only keys that draw on this shared budget.', MAX_TEXT_LENGTH)
const workspace = shortText('workspace_id', 'Only keys of this workspace, by its id or slug; without it those of all.', 64)
const member = shortText('member_id', 'Only keys of this member, by its id.', 64)
const user = shortText('creator_user_id', 'Only keys made for this user.', MAX_TEXT_LENGTH)
const state = choice(
  'state',
  '`in_use`: neither disabled nor expired. `limit_reached`: in use, with nothing left. Disabled ones need no `include_disabled` here.',
  STATES,
  'in_use',
)
const withDisabled = flag('include_disabled', 'Also disabled keys.')
const sortBy = choice(
  'sort',
  'By time of creation without it, those of the configuration first. `limit_used`: by the share of the limit that is spent or held. Keys without a value come last.',
  SORTS,
  'usage',
)
const order = choice('order', '`desc` for the highest first.', ['asc', 'desc'], 'desc')
const skipped = integer('offset', 'Keys to skip.', { example: 0 })
const rows = integer('limit', 'Keys per page at most; 1000 without it.', { least: 1, most: MAX_KEYS, example: 50 })
const withForecast = flag('include_forecast', 'Adds to each key with a limit how long that lasts; of CSV it changes nothing.')
const withTotals = flag('include_totals', 'Adds `totals`: figures of all keys together, whatever the filters are.')
export const KEYS_QUERY: readonly DescribedParameter[] = [
  ...[search, parent, workspace, member, user, state, withDisabled, sortBy, order, skipped, position, rows, withForecast, withTotals],
]

type Key = ApiKey | StoredKey

/** @param query with `KEYS_QUERY`. @throws Fault 400 naming the query parameter. */
export async function listKeys(query: URLSearchParams, source: ActivitySource): Promise<ApiReply> {
  const isForecast = withForecast.read(query) ?? false
  const { body, page, keys } = await findKeys(query, source)
  if (!isForecast) return ok({ ...body })
  const found = await forecasts(page, keys, source)
  return ok({ ...body, data: page.map((key, at) => ({ ...body.data[at], forecast: found.get(key) ?? null })) })
}

interface FoundKeys {
  readonly body: JsonObject & { readonly data: readonly JsonObject[] }
  readonly page: readonly Key[]
  /** All that there are. */
  readonly keys: readonly Key[]
}

/** The same without forecasts. @throws Fault 400 naming the query parameter. */
export async function findKeys(query: URLSearchParams, source: KeySource): Promise<FoundKeys> {
  const wanted = parseKeysQuery(query)
  if (query.has('workspace_id') || query.has('member_id')) await source.levels?.renew()
  const keys = inWorkspace(await allKeys(source), query, source)
  const needsSpending = wanted.totals || wanted.state === 'limit_reached' || SPENDING.has(wanted.sort)
  if (needsSpending) await source.credit.refresh?.([...new Set(keys.flatMap(keyAccounts))])
  const found = keys.filter((key) => isWanted(key, wanted, source))
  const { page, next } = pageKeys(found, wanted, source)
  const data = await keyEntries(page, source)
  return { body: { data, total_count: found.length, next, ...(wanted.totals ? { totals: keyTotals(keys, source) } : {}) }, page, keys }
}

/** Those of one workspace, where the query names one by its id or slug: without it all, whatever workspace they are in. */
function inWorkspace(keys: Key[], query: URLSearchParams, { levels }: KeySource): Key[] {
  const named = workspace.read(query)
  if (named === undefined) return keys
  const id = levels?.tree.named('workspace', named)?.id ?? named
  return keys.filter((key) => keyWorkspace(key) === id)
}

interface KeysQuery {
  readonly search: string | undefined
  readonly parent: string | undefined
  readonly member: string | undefined
  readonly user: string | undefined
  readonly state: (typeof STATES)[number] | undefined
  readonly disabled: boolean
  readonly sort: Sort
  readonly descending: boolean
  readonly offset: number
  readonly limit: number
  readonly after: Position | undefined
  readonly totals: boolean
}

/** @throws Fault 400 naming the query parameter. */
function parseKeysQuery(query: URLSearchParams): KeysQuery {
  const sort = sortBy.read(query) ?? 'created_at'
  const descending = order.read(query) === 'desc'
  return {
    search: search.read(query)?.toLowerCase(),
    parent: parent.read(query),
    member: member.read(query),
    user: user.read(query),
    state: state.read(query),
    disabled: withDisabled.read(query) ?? false,
    sort,
    descending,
    offset: skipped.read(query) ?? 0,
    limit: rows.read(query) ?? MAX_KEYS,
    after: positionIn(query, `${sort} ${descending}`),
    totals: withTotals.read(query) ?? false,
  }
}

function isWanted(key: Key, wanted: KeysQuery, source: KeySource): boolean {
  if (wanted.parent !== undefined && key.parent !== wanted.parent) return false
  if (wanted.member !== undefined && !key.levels?.members.includes(wanted.member)) return false
  if (wanted.user !== undefined && key.creator !== wanted.user) return false
  if (wanted.state !== undefined ? !isInState(key, wanted.state, source) : key.disabled && !wanted.disabled) return false
  const { search: text } = wanted
  return text === undefined || key.name.toLowerCase().includes(text) || key.label.toLowerCase().includes(text) || key.hash.startsWith(text)
}

function isInState(key: Key, wanted: (typeof STATES)[number], { clock, credit }: KeySource): boolean {
  const isExpired = key.expiresAt !== null && key.expiresAt <= clock.now()
  switch (wanted) {
    case 'disabled':
      return key.disabled
    case 'expired':
      return !key.disabled && isExpired
    case 'in_use':
      return !key.disabled && !isExpired
    case 'limit_reached':
      return !key.disabled && !isExpired && (remaining(key, credit) ?? 1) <= 0
  }
}

/** Nano-dollars that are left of the tightest of its limits; undefined where it has none. */
function remaining(key: Key, credit: KeySource['credit']): number | undefined {
  return credit.account(key.identity, keyPayer(key)).tightest<Allowance>([key, ...payerAllowances(key)])?.left
}

/** Of its own limit the share that is spent or held; undefined without one. */
function limitUsed(key: Key, credit: KeySource['credit']): number | undefined {
  if (key.limit === null) return undefined
  return key.limit === 0 ? 1 : (key.limit - (remaining(key, credit) ?? key.limit)) / key.limit
}

type Value = number | string | null

/** Orders that need what keys have spent. */
const SPENDING: ReadonlySet<Sort> = new Set(['usage', 'usage_monthly', 'limit_used'])

/** Place of a key in each order; null comes last either way. */
function sortValue(key: Key, sort: Sort, { credit }: KeySource, places: ReadonlyMap<string, number>): Value {
  const account = () => credit.account(key.identity, keyPayer(key))
  switch (sort) {
    case 'created_at':
      return 'createdAt' in key ? key.createdAt : (places.get(key.hash) ?? 0)
    case 'name':
      return key.name.toLowerCase()
    case 'usage':
      return Number(account().settled)
    case 'usage_monthly':
      return Number(account().usage().monthly)
    case 'limit_used':
      return limitUsed(key, credit) ?? null
    case 'expires_at':
      return key.expiresAt
  }
}

interface Position {
  readonly value: Value
  readonly hash: string
}

/** Below 0 where `a` comes first. Keys of one value are ordered by their hashes. */
function comparePositions(a: Position, b: Position, descending: boolean): number {
  if (a.value !== b.value) {
    if (a.value === null || b.value === null) return a.value === null ? 1 : -1
    return a.value < b.value === descending ? 1 : -1
  }
  return a.hash === b.hash ? 0 : a.hash < b.hash ? -1 : 1
}

/** A page in its order. A position goes on where the page before ended, whatever was added or removed since. */
function pageKeys(keys: readonly Key[], wanted: KeysQuery, source: KeySource): { page: readonly Key[]; next: string | null } {
  const { sort, descending, after, offset, limit } = wanted
  // Before all that were ever made, in the order of the file.
  const places = new Map(source.configured.map((key, at) => [key.hash, at - source.configured.length]))
  const placed = keys.map((key) => ({ key, value: sortValue(key, sort, source, places), hash: key.hash }))
  placed.sort((a, b) => comparePositions(a, b, descending))
  const behind = after ? placed.filter((place) => comparePositions(after, place, descending) < 0) : placed
  const page = behind.slice(offset, offset + limit)
  const last = offset + limit < behind.length ? page.at(-1) : undefined
  const next = last ? encodePosition(last, `${sort} ${descending}`) : null
  return { page: page.map(({ key }) => key), next }
}

const encodePosition = ({ value, hash }: Position, of: string): string =>
  Buffer.from(JSON.stringify([of, value, hash])).toString('base64url')

/** @param of the order that it is a place in. @throws Fault 400: a position that the caller has changed may be anywhere, but must be one. */
function positionIn(query: URLSearchParams, of: string): Position | undefined {
  const text = position.read(query)
  if (text === undefined) return undefined
  const found = text.length > MAX_CURSOR_LENGTH ? undefined : positionFrom(Buffer.from(text, 'base64url').toString(), of)
  if (found === undefined) throw badField('cursor', 'expected the `next` of an earlier reply with the same `sort` and `order`')
  return found
}

function positionFrom(text: string, of: string): Position | undefined {
  try {
    const [named, value, hash] = JSON.parse(text) as unknown[]
    if (named !== of || typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash)) return undefined
    return value === null || typeof value === 'number' || typeof value === 'string' ? { value, hash } : undefined
  } catch {
    return undefined
  }
}

/** Sums are USD, those of keys that were issued through sign-in in the figures of the key that issued them. */
function keyTotals(keys: readonly Key[], source: KeySource): JsonObject {
  const { credit } = source
  const identities = new Set(keys.map(({ identity }) => identity))
  const sums = { daily: 0n, weekly: 0n, monthly: 0n }
  const counts = { in_use: 0, limit_reached: 0, limit_near: 0 }
  for (const key of keys) {
    if (!(key.consent && identities.has(key.consent.by))) {
      const { daily, weekly, monthly } = credit.account(key.identity, keyPayer(key)).usage()
      sums.daily += daily
      sums.weekly += weekly
      sums.monthly += monthly
    }
    if (!isInState(key, 'in_use', source)) continue
    counts.in_use++
    if (isInState(key, 'limit_reached', source)) counts.limit_reached++
    else if ((limitUsed(key, credit) ?? 0) >= NEAR) counts.limit_near++
  }
  const { daily, weekly, monthly } = sums
  return { keys: keys.length, ...counts, usage_daily: usd(daily), usage_weekly: usd(weekly), usage_monthly: usd(monthly) }
}
