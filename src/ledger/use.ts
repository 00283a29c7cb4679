/** Use per day, model, endpoint and provider: the figures behind `/v1/activity` and the order `top-weekly`. */

import { Fault } from '../core/faults.ts'
import type { Move } from '../core/ledger-entries.ts'
import { addDayCounts, noDayCounts } from '../core/row-counts.ts'
import { Pace } from './pace.ts'
import type { LedgerReader } from './reader.ts'
import type { UseGroup, UsePage, UseQuery, UseRow } from './types.ts'

export const DAY_MS = 86_400_000
/** Sums that are added up at once: another process may send thousands in one page. */
const SLICE = 500
/** Sums of one scan by key: keys times models have no other bound. About 50 MB. */
const MAX_SUMS_BY_KEY = 200_000

/**
 * The sums of the generations of a query, of all pages of a store.
 * @param read the page behind `after`; '' begins.
 * @throws Fault 400 where there are too many sums by key; `unavailable` where the ledger cannot be read.
 */
export async function usePages(query: UseQuery, read: (after: string) => UsePage | Promise<UsePage>): Promise<UseRow[]> {
  const sums = new UseSums(query)
  await eachPage(read, (row) => sums.add(row))
  return sums.rows()
}

/**
 * Adds what entries have moved: read at each call, since an entry of today may count on a day whose generations are summed for good.
 * @param rows sums of the generations of the same query; they stay as they are. @throws Fault `unavailable`.
 */
export async function withMoves(
  ledger: Pick<LedgerReader, 'entries'>,
  query: UseQuery,
  rows: readonly UseRow[],
): Promise<readonly UseRow[]> {
  const { apart, byKey, keys } = query
  const wanted = keys && new Set(keys)
  const moved = new Map<string, Map<string, UseRow>>()
  for (const move of await ledger.entries.moves(query.from, query.until)) {
    const found = movedRow(move, byKey)
    if ((wanted && !wanted.has(move.key)) || !isSought(found, query)) continue
    const row = apart ? joined(found, apart) : found
    let ofKey = moved.get(row.key ?? '')
    if (!ofKey) {
      ofKey = new Map()
      moved.set(row.key ?? '', ofKey)
    }
    const before = ofKey.get(useRowName(row))
    ofKey.set(useRowName(row), before ? addUse(before, row) : row)
  }
  if (moved.size === 0) return rows
  const pace = Pace.ofList()
  const sums: UseRow[] = []
  for (let at = 0; at < rows.length; at += SLICE) {
    for (const row of rows.slice(at, at + SLICE)) {
      const ofKey = moved.get(row.key ?? '')
      const name = ofKey && useRowName(row)
      const move = name === undefined ? undefined : ofKey?.get(name)
      sums.push(move ? addUse(row, move) : row)
      if (move && name !== undefined) ofKey?.delete(name)
    }
    if (pace.over) await pace.rest()
  }
  for (const ofKey of moved.values()) sums.push(...ofKey.values())
  return sums
}

const useRowName = ({ day, model, endpoint, provider, answered }: UseRow): string =>
  `${day}\n${model}\n${endpoint}\n${provider}\n${answered}`

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

/** Returns the move of an entry as a row of use: cost of the model of its generation, on the day of the move, and no request. */
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
export class UseSums {
  private readonly query: UseQuery
  private readonly all: UseRow[] = []
  /** By key, and by the number of what else stands apart: where it stands in `all`. */
  private readonly places = new Map<string, Map<number, number>>()
  private readonly numbers = new Map<string, number>()
  private readonly most: number

  constructor(query: UseQuery) {
    this.query = query
    this.most = query.byKey ? MAX_SUMS_BY_KEY : Number.POSITIVE_INFINITY
  }

  /** @param found leaves out what the query does not seek. */
  add(found: UseRow): void {
    const { apart } = this.query
    if (!isSought(found, this.query)) return
    const row = apart ? joined(found, apart) : found
    const number = this.nameNumber(useRowName(row))
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

  private nameNumber(name: string): number {
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
