/** What was used per day, model, endpoint and provider: the figures behind `/v1/activity` and the order `top-weekly`. */

import { Fault } from '../core/faults.ts'
import type { Move } from '../core/ledger-entries.ts'
import { addDayCounts, dayCountsOf, noDayCounts } from '../core/row-counts.ts'
import { factsOf } from './facts.ts'
import { Pace } from './pace.ts'
import type { GenerationRecord, LedgerReader, UseGroup, UseQuery, UseRow } from './types.ts'

export const DAY_MS = 86_400_000
/** Sums that are added up at once: another process may send thousands in one page. */
const SLICE = 500
/** Nano-dollars of a dollar. */
const NANO = 1e9
/** Sums of one scan by key: keys times models have no other bound. About 50 MB. */
const MOST_SUMS_BY_KEY = 200_000

/**
 * The sums of a query: those of its generations, and what entries have moved in its days.
 * @throws as `scanGenerations`.
 */
export async function scanUse(ledger: LedgerReader, query: UseQuery): Promise<readonly UseRow[]> {
  return withMoves(ledger, query, await scanGenerations(ledger, query))
}

/**
 * Reads every generation of the query, in slices.
 * @throws Fault 400 where there are too many sums by key; `unavailable` where the ledger cannot be read.
 */
export async function scanGenerations(ledger: LedgerReader, query: UseQuery): Promise<UseRow[]> {
  const sums = new Sums(query.byKey ? MOST_SUMS_BY_KEY : Number.POSITIVE_INFINITY)
  const { usePage } = ledger
  const { apart, byKey } = query
  const add = (row: UseRow): void => {
    if (isSought(row, query)) sums.add(apart ? joined(row, apart) : row)
  }
  if (usePage) await eachPage((after) => usePage.call(ledger, query, after), add)
  else await eachSettled(ledger, query, (record, settled) => add(rowOf(record, settled, byKey)))
  return sums.rows()
}

/**
 * Adds what entries have moved: read at each call, since an entry of today may count on a day whose generations are summed for good.
 * @param rows sums of the generations of the same query; they stay as they are. @throws Fault `unavailable`.
 */
export async function withMoves(ledger: LedgerReader, query: UseQuery, rows: readonly UseRow[]): Promise<readonly UseRow[]> {
  const { apart, byKey, keys } = query
  const wanted = keys && new Set(keys)
  const moved = new Map<string, Map<string, UseRow>>()
  for (const move of (await ledger.entries?.moves(query.from, query.until)) ?? []) {
    const found = movedRow(move, byKey)
    if ((wanted && !wanted.has(move.key)) || !isSought(found, query)) continue
    const row = apart ? joined(found, apart) : found
    let ofKey = moved.get(row.key ?? '')
    if (!ofKey) {
      ofKey = new Map()
      moved.set(row.key ?? '', ofKey)
    }
    const before = ofKey.get(nameOf(row))
    ofKey.set(nameOf(row), before ? addUse(before, row) : row)
  }
  if (moved.size === 0) return rows
  const pace = Pace.ofList()
  const sums: UseRow[] = []
  for (let at = 0; at < rows.length; at += SLICE) {
    for (const row of rows.slice(at, at + SLICE)) {
      const ofKey = moved.get(row.key ?? '')
      const name = ofKey && nameOf(row)
      const move = name === undefined ? undefined : ofKey?.get(name)
      sums.push(move ? addUse(row, move) : row)
      if (move && name !== undefined) ofKey?.delete(name)
    }
    if (pace.over) await pace.rest()
  }
  for (const ofKey of moved.values()) sums.push(...ofKey.values())
  return sums
}

const nameOf = ({ day, model, endpoint, provider, answered }: UseRow): string => `${day}\n${model}\n${endpoint}\n${provider}\n${answered}`

/** A store that joins rows has left out the others already. */
function isSought(row: UseRow, { model, provider }: UseQuery): boolean {
  return row.failed !== undefined || ((model === undefined || row.model === model) && (provider === undefined || row.provider === provider))
}

/** @returns the row without what does not stand apart. */
function joined(row: UseRow, apart: readonly UseGroup[]): UseRow {
  // A store may have joined its rows already.
  if (row.failed !== undefined) return row
  return {
    ...row,
    day: apart.includes('day') ? row.day : 0,
    model: apart.includes('model') ? row.model : '',
    provider: apart.includes('provider') ? row.provider : '',
    endpoint: '',
    answered: true,
    failed: row.answered ? 0 : row.requests,
  }
}

interface Page<Row> {
  readonly rows: readonly Row[]
  readonly next?: string
}

/**
 * Reads one page after the other, and rests in between. Where another process reads them, it is at the next one while a page is added up.
 * @param read the page behind `after`; '' begins.
 */
export async function eachPage<Row>(read: (after: string) => Page<Row> | Promise<Page<Row>>, add: (row: Row) => void): Promise<void> {
  const pace = Pace.ofList()
  for (let reading: Page<Row> | Promise<Page<Row>> | undefined = read(''); reading; ) {
    // To wait for another process is rest enough.
    const elsewhere: boolean = reading instanceof Promise
    const page: Page<Row> = reading instanceof Promise ? await reading : reading
    const { next } = page
    const ahead: Page<Row> | Promise<Page<Row>> | undefined = elsewhere && next !== undefined ? read(next) : undefined
    // Where a row is one too many, nothing waits for it.
    if (ahead instanceof Promise) ahead.catch(() => {})
    for (let at = 0; at < page.rows.length; at += SLICE) {
      for (const row of page.rows.slice(at, at + SLICE)) add(row)
      if (pace.over) await pace.rest(elsewhere)
    }
    reading = ahead ?? (next === undefined ? undefined : read(next))
  }
}

/** Reads the settled generations of the query one by one, and rests in between. */
export async function eachSettled(
  ledger: LedgerReader,
  { from, until, keys }: Pick<UseQuery, 'from' | 'until' | 'keys'>,
  add: (record: GenerationRecord, settled: NonNullable<GenerationRecord['settled']>) => void,
): Promise<void> {
  const pace = new Pace()
  const wanted = keys && new Set(keys)
  for await (const record of ledger.export(from)) {
    if (record.at >= until) break
    if (record.settled && (!wanted || wanted.has(record.hold.key))) add(record, record.settled)
    if (pace.over) await pace.rest()
  }
}

/** What an entry has moved counts on its day, as money of the model of its generation, and is no request. */
function movedRow({ key, model, provider, countedAt, nano }: Move, byKey = false): UseRow {
  return {
    ...noDayCounts(),
    ...(byKey ? { key } : {}),
    day: Math.floor(countedAt / DAY_MS) * DAY_MS,
    model,
    endpoint: '',
    provider,
    answered: true,
    requests: 0,
    cost: BigInt(nano),
    cacheSaved: 0,
  }
}

function rowOf({ at, hold }: GenerationRecord, settled: NonNullable<GenerationRecord['settled']>, byKey = false): UseRow {
  const { cost, status } = settled
  const { model, endpoint, provider, cache_discount: saved } = factsOf(settled)
  return {
    ...dayCountsOf(settled),
    ...(byKey ? { key: hold.key } : {}),
    day: Math.floor(at / DAY_MS) * DAY_MS,
    model: textOr(model, hold.model),
    endpoint: textOr(endpoint, hold.endpoint),
    provider: textOr(provider, ''),
    answered: status !== 'failed' && status !== 'unknown',
    requests: 1,
    cost: BigInt(cost),
    cacheSaved: savedNano(saved),
  }
}

/** @param saved the fact `cache_discount`: USD. @returns whole nano-dollars. */
export function savedNano(saved: unknown): number {
  return typeof saved === 'number' ? Math.round(saved * NANO) : 0
}

export function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}

/** Both of the same day, model, endpoint and provider. */
export function addUse(a: UseRow, b: UseRow): UseRow {
  return {
    ...a,
    answered: a.answered || b.answered,
    requests: a.requests + b.requests,
    ...(a.failed === undefined ? {} : { failed: a.failed + (b.failed ?? 0) }),
    cost: a.cost + b.cost,
    ...addDayCounts(a, b),
    cacheSaved: a.cacheSaved + b.cacheSaved,
  }
}

/** Sums of one scan. Thousands live as long as it, so that each is little more than its row: what lives costs the event loop time. */
class Sums {
  private readonly all: UseRow[] = []
  /** By key, and by the number of what else stands apart: where it stands in `all`. */
  private readonly places = new Map<string, Map<number, number>>()
  private readonly numbers = new Map<string, number>()
  private readonly most: number

  constructor(most: number) {
    this.most = most
  }

  add(row: UseRow): void {
    const number = this.numberOf(nameOf(row))
    const key = row.key ?? ''
    let places = this.places.get(key)
    if (!places) {
      places = new Map()
      this.places.set(key, places)
    }
    const place = places.get(number)
    const sum = place === undefined ? undefined : this.all[place]
    if (place !== undefined && sum) {
      this.all[place] = addUse(sum, row)
      return
    }
    if (this.all.length >= this.most)
      throw new Fault('bad_request', { message: `since: the period has more than ${this.most} sums: name a shorter one, or a key` })
    places.set(number, this.all.push(row) - 1)
  }

  private numberOf(name: string): number {
    let number = this.numbers.get(name)
    if (number === undefined) {
      number = this.numbers.size
      this.numbers.set(name, number)
    }
    return number
  }

  rows(): UseRow[] {
    return this.all
  }
}
