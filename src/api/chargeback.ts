/** GET /v1/chargeback: who is to pay what of a period, exact to the nano-dollar. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { TAG_NAME, tagValue } from '../core/key-fields.ts'
import { BY_DAY } from '../core/ledger-counts.ts'
import { entryGeneration, type LedgerEntry, movedBy } from '../core/ledger-entries.ts'
import { ORGANIZATION } from '../core/levels.ts'
import { usdText } from '../core/money-text.ts'
import { type ChargeGroup, type ChargeStatement, type ChargeSum, ChargeSums } from '../ledger/charge-sums.ts'
import { Pace } from '../ledger/pace.ts'
import type { LedgerLists } from '../ledger/reader.ts'
import { DAY_MS } from '../ledger/use.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { StoredKey } from '../store/keys.ts'
import { day, isoDay } from './activity.ts'
import { countColumns, shownCounts } from './count-fields.ts'
import type { CsvList } from './described-operation.ts'
import { allKeys, type KeySource, keyWorkspace } from './key-entry.ts'
import { text } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

export interface ChargebackSource extends Pick<KeySource, 'configured' | 'store' | 'clock' | 'levels'> {
  readonly scans: Pick<LedgerLists, 'charges'>
}

/** Days of one statement: as long as sums are kept. */
const MAX_DAYS = 400
/** Lines that are made in one turn of the event loop. */
const SLICE = 500

interface Group {
  /** Group of the ledger that it is read from. */
  readonly kept: ChargeGroup
  readonly columns: readonly string[]
  /** @param key of the sum, where there is one of its identity still. */
  fields(of: Pick<ChargeSum, ChargeGroup>, key: ApiKey | StoredKey | undefined): JsonObject
}

const named = (text: string): string | null => (text === '' ? null : text)

const GROUPS: Readonly<Record<string, Group>> = {
  day: { kept: 'day', columns: ['date'], fields: (sum) => ({ date: isoDay(sum.day) }) },
  parent: { kept: 'key', columns: ['parent'], fields: (_, key) => ({ parent: key?.parent ?? null }) },
  organization: {
    kept: 'key',
    columns: ['organization_id'],
    fields: (_, key) => ({ organization_id: key ? ((key.issuer ?? key).levels?.organization ?? ORGANIZATION) : null }),
  },
  workspace: { kept: 'key', columns: ['workspace_id'], fields: (_, key) => ({ workspace_id: key ? keyWorkspace(key) : null }) },
  member: { kept: 'key', columns: ['creator_user_id'], fields: (_, key) => ({ creator_user_id: key?.creator ?? null }) },
  key: {
    kept: 'key',
    columns: ['api_key_hash', 'api_key_name'],
    fields: (sum, key) => ({ api_key_hash: key?.hash ?? sum.key, api_key_name: key?.name ?? null }),
  },
  app: { kept: 'app', columns: ['app_title'], fields: (sum) => ({ app_title: named(sum.app) }) },
  session: { kept: 'session', columns: ['session_id'], fields: (sum) => ({ session_id: named(sum.session) }) },
  user: { kept: 'user', columns: ['external_user'], fields: (sum) => ({ external_user: named(sum.user) }) },
  model: { kept: 'model', columns: ['model'], fields: (sum) => ({ model: named(sum.model) }) },
  provider: { kept: 'provider', columns: ['provider_name'], fields: (sum) => ({ provider_name: named(sum.provider) }) },
}

const NAMES = Object.keys(GROUPS)

/** Begins the name of a group by a tag of keys. */
const TAG = 'tag:'

/** Several tags are one group, whose member is an object. */
const tagGroup = (names: readonly string[]): Group => ({
  kept: 'key',
  columns: ['tags'],
  fields: (_, key) => ({ tags: Object.fromEntries(names.map((name) => [name, tagValue(key?.tags, name)])) }),
})

const since = day('since', 'The first UTC day; the first of this month without it.')
const until = day('until', `The last day; today without it. ${MAX_DAYS} days at most.`)
const groupBy = text(
  'group_by',
  `Some of ${NAMES.join(', ')}, and \`${TAG}\` with the name of a tag of keys, separated by commas; key and model without it.`,
  {},
  'parent,model',
)
export const CHARGEBACK_QUERY = [since, until, groupBy]

const AMOUNTS = ['amount', 'amount_nano', 'requests', 'failed_requests', ...countColumns(BY_DAY)]
const ENTRY = ['entry_id', 'entry_amount', 'entry_created_at', 'generation_id', 'actor', 'reason']

/** Columns of all groups: those that do not stand apart are empty. */
export const CHARGEBACK_CSV: CsvList = {
  name: 'chargeback',
  amounts: ['amount', 'amount_nano', 'entry_amount'],
  columns: ['kind', ...Object.values(GROUPS).flatMap(({ columns }) => columns), 'tags', ...AMOUNTS, ...ENTRY],
}

/**
 * A line for each sum of requests, and one for each entry that counts in the period. All of them are of one moment.
 * @param query with `CHARGEBACK_QUERY`. @throws Fault 400 naming the query parameter.
 */
export async function readChargeback(query: URLSearchParams, source: ChargebackSource): Promise<ApiReply> {
  const groups = wantedGroups(query)
  const { from, end } = wantedPeriod(query, source.clock.now())
  const by = [...new Set(groups.map(({ kept }) => kept))]
  const statement = await source.scans.charges({ from, until: end, by })
  const keys = new Map((await allKeys(source)).map((key) => [key.identity, key]))
  const pace = Pace.ofList()
  const data = await orderedLines(await statementLines(statement, { groups, by, keys, pace }), pace)
  return ok({ data, total: statementTotal(statement), since: isoDay(from), until: isoDay(end - DAY_MS) })
}

interface Lines {
  readonly groups: readonly Group[]
  readonly by: readonly ChargeGroup[]
  readonly keys: ReadonlyMap<string, ApiKey | StoredKey>
  readonly pace: Pace
}

interface Line {
  readonly order: string
  readonly line: JsonObject
}

/** Sums of keys are joined where only what the keys have in common stands apart. */
async function statementLines({ sums, entries }: ChargeStatement, { groups, by, keys, pace }: Lines): Promise<Line[]> {
  const fields = (of: Pick<ChargeSum, ChargeGroup>): JsonObject =>
    Object.assign({}, ...groups.map((group) => group.fields(of, keys.get(of.key))))
  const joined = new Map<string, { readonly fields: JsonObject; readonly sums: ChargeSums }>()
  const turn = async (at: number): Promise<void> => {
    if (at % SLICE === 0 && pace.over) await pace.rest()
  }
  for (const [at, sum] of sums.entries()) {
    const own = fields(sum)
    const order = orderText(own)
    const found = joined.get(order) ?? { fields: own, sums: new ChargeSums([]) }
    joined.set(order, found)
    found.sums.add(sum)
    await turn(at)
  }
  const lines: Line[] = []
  for (const [order, { fields: own, sums: total }] of joined) {
    for (const sum of total.rows()) lines.push({ order, line: usageLine(own, sum) })
    await turn(lines.length)
  }
  for (const entry of entries) {
    const own = fields({
      ...NO_FACTS,
      key: by.includes('key') ? entry.key : '',
      model: entry.model,
      provider: entry.provider,
      day: countedDay(entry),
    })
    lines.push({ order: `${orderText(own)}\n~${String(entry.number).padStart(16, '0')}`, line: entryLine(own, entry) })
    await turn(lines.length)
  }
  return lines
}

const orderText = (fields: JsonObject): string =>
  Object.values(fields)
    .map((value) => (isObject(value) ? JSON.stringify(value) : String(value ?? '')))
    .join('\n')

/** An entry has none of these. */
const NO_FACTS = { app: '', session: '', user: '' }

const countedDay = ({ countedAt, at }: LedgerEntry): number => Math.floor((countedAt > 0 ? countedAt : at) / DAY_MS) * DAY_MS

function usageLine(fields: JsonObject, sum: ChargeSum): JsonObject {
  const { cost, requests, failed } = sum
  return {
    kind: 'usage',
    ...fields,
    amount: usdText(cost),
    amount_nano: String(cost),
    requests,
    failed_requests: failed,
    ...shownCounts(BY_DAY, sum),
  }
}

/** A write-off moves nothing: it closes what no key was charged. */
function entryLine(fields: JsonObject, entry: LedgerEntry): JsonObject {
  const nano = movedBy(entry)
  const { kind, id, amount, at, actor, reason } = entry
  return {
    kind,
    ...fields,
    ...{ amount: usdText(nano), amount_nano: String(nano), requests: 0, failed_requests: 0, ...shownCounts(BY_DAY, NO_COUNTS) },
    ...{ entry_id: id, entry_amount: usdText(amount), entry_created_at: new Date(at).toISOString() },
    ...{ generation_id: entryGeneration(entry), actor, reason },
  }
}

const NO_COUNTS = { input: 0, output: 0, reasoning: 0 }

/** In the order of their groups, sorted in parts so that requests go on in between. */
async function orderedLines(lines: readonly Line[], pace: Pace): Promise<JsonObject[]> {
  let runs: Line[][] = []
  for (let at = 0; at < lines.length; at += SLICE) {
    runs.push(lines.slice(at, at + SLICE).sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0)))
    if (pace.over) await pace.rest()
  }
  while (runs.length > 1) {
    const merged: Line[][] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(await mergeRuns(runs[at] ?? [], runs[at + 1] ?? [], pace))
    runs = merged
  }
  return (runs[0] ?? []).map(({ line }) => line)
}

async function mergeRuns(one: readonly Line[], other: readonly Line[], pace: Pace): Promise<Line[]> {
  const merged: Line[] = []
  for (let [left, right] = [0, 0]; left < one.length || right < other.length; ) {
    const [a, b] = [one[left], other[right]]
    if (a && (!b || a.order <= b.order)) {
      merged.push(a)
      left++
    } else if (b) {
      merged.push(b)
      right++
    }
    if (merged.length % SLICE === 0 && pace.over) await pace.rest()
  }
  return merged
}

/** The sum of all lines. */
function statementTotal({ sums, entries }: ChargeStatement): JsonObject {
  let [usage, moved, requests] = [0n, 0n, 0]
  for (const sum of sums) {
    usage += sum.cost
    requests += sum.requests
  }
  for (const entry of entries) moved += BigInt(movedBy(entry))
  const amount = usage + moved
  return { amount: usdText(amount), amount_nano: String(amount), usage_nano: String(usage), entries_nano: String(moved), requests }
}

/** @throws Fault 400. */
function wantedGroups(query: URLSearchParams): readonly Group[] {
  const given = (groupBy.read(query) ?? 'key,model').split(',').flatMap((each) => each.trim() || [])
  // Names of tags differ by the case of their letters.
  const names = given.map((name) => (name.startsWith(TAG) ? name : name.toLowerCase()))
  const tags = names.flatMap((name) => (name.startsWith(TAG) ? [name.slice(TAG.length)] : []))
  const isTag = new RegExp(TAG_NAME)
  if (names.some((name) => !NAMES.includes(name) && !name.startsWith(TAG)) || tags.some((name) => !isTag.test(name)))
    throw badField('group_by', `expected some of: ${NAMES.join(', ')}, or ${TAG} with the name of a tag`)
  const groups = NAMES.flatMap((name) => (names.includes(name) ? (GROUPS[name] ?? []) : []))
  return tags.length === 0 ? groups : [...groups, tagGroup([...new Set(tags)])]
}

/** Days that are named are counted both. @throws Fault 400. */
function wantedPeriod(query: URLSearchParams, now: number): { from: number; end: number } {
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const last = until.read(query) ?? today
  const month = new Date(last)
  const from = since.read(query) ?? Date.UTC(month.getUTCFullYear(), month.getUTCMonth(), 1)
  if (from > last || last - from >= MAX_DAYS * DAY_MS)
    throw badField('since', `expected a day not after \`until\`, ${MAX_DAYS} days at most`)
  return { from, end: last + DAY_MS }
}

export interface ChargebackCommand {
  readonly since?: string
  readonly until?: string
  readonly group_by?: string
}

const checkCommand = checker(
  Type.Object(
    { since: Type.Optional(Type.String()), until: Type.Optional(Type.String()), group_by: Type.Optional(Type.String()) },
    { additionalProperties: false },
  ),
)

/** @param command as it was sent, not checked yet. @throws Fault 400 naming the field. */
export async function runChargebackCommand(command: unknown, source: ChargebackSource): Promise<JsonObject> {
  checkCommand(command)
  return (await readChargeback(new URLSearchParams({ ...(command as Record<string, string>) }), source)).body
}
