/** Slices of random ledgers against plain sums of their generations: read in pieces, settled late, and with more rows than are kept. */
import t from 'tap'
import { TICKS } from '../../src/core/ids.ts'
import { BUCKETS, Durations, durationBucket } from '../../src/ledger/slices/durations.ts'
import { SLICE_GROUPS, SLICE_MEASURES, type SliceGroup, type SliceQuery } from '../../src/ledger/slices/slice-types.ts'
import { Slices } from '../../src/ledger/slices/slices.ts'
import type { FoundPage, GenerationRecord, GenerationSearch, SettleStatus } from '../../src/ledger/types.ts'
import { FakeClock } from '../support/clock.ts'
import { runs, seed } from '../support/seed.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const NOW = Date.UTC(2026, 0, 5, 12)
const STATUSES: readonly SettleStatus[] = ['completed', 'incomplete', 'failed', 'aborted', 'unknown']

type Random = () => number
/** The same numbers for the same seed. */
function randomNumbers(): Random {
  const chance = new FakeClock(seed())
  return () => chance.random()
}

const pick = <T>(random: Random, all: readonly T[]): T => all[Math.floor(random() * all.length)] as T

function makeRecord(random: Random, at: number, seq: number): GenerationRecord {
  const status = pick(random, STATUSES)
  const facts = {
    ...(random() < 0.9 ? { model: pick(random, ['m/one', 'm/two', 'm/three']) } : {}),
    ...(random() < 0.9 ? { provider: pick(random, ['First', 'Second']) } : {}),
    ...(status === 'failed' ? { fault: pick(random, ['upstream_timeout', 'upstream_error']) } : {}),
    ...(random() < 0.5 ? { user: `user ${Math.floor(random() * 20)}` } : {}),
    ...(random() < 0.5 ? { app_title: pick(random, ['An app', 'Another']) } : {}),
    ...(random() < 0.9 ? { latency: Math.floor(random() * 900), generation_time: 900 + Math.floor(random() * 9_000) } : {}),
  }
  const input = Math.floor(random() * 1_000)
  return {
    id: `gen-${seq}`,
    at,
    hold: { seq, tag: 'abcdefghijkl', key: `k${Math.floor(random() * 12)}`, model: 'm/held', endpoint: 'e', hold: 1, floor: 1 },
    settled: {
      ...{ seq, status, cost: Math.floor(random() * 3e9), at, estimated: false },
      ...{ input, output: Math.floor(random() * 100), cached: Math.floor(input / 2), cacheWrite: 0, reasoning: 0 },
      facts: random() < 0.01 ? 'no JSON' : JSON.stringify(facts),
    },
  }
}

/** A ledger that gives its newest generations first, a few at a time. */
class Generations {
  readonly records: GenerationRecord[] = []
  calls = 0

  async search({ from, until, limit }: GenerationSearch, before: string): Promise<FoundPage> {
    this.calls++
    const end = before === '' ? until * TICKS : Math.min(until * TICKS, Number(before.split(' ')[0]))
    const all = this.records.filter(({ hold: { seq } }) => seq >= from * TICKS && seq < end).sort((a, b) => b.hold.seq - a.hold.seq)
    const rows = all.slice(0, Math.min(limit, 97))
    return rows.length < all.length ? { rows, next: `${rows.at(-1)?.hold.seq} ` } : { rows }
  }
}

function fill(random: Random, count: number, span: number): Generations {
  const ledger = new Generations()
  const seqs = new Set<number>()
  while (seqs.size < count) seqs.add((NOW - Math.floor(random() * span)) * TICKS + Math.floor(random() * 50))
  for (const seq of seqs) ledger.records.push(makeRecord(random, Math.floor(seq / TICKS), seq))
  return ledger
}

const factsIn = ({ settled }: GenerationRecord): Record<string, unknown> => {
  try {
    return JSON.parse(settled?.facts ?? '{}') as Record<string, unknown>
  } catch {
    return {}
  }
}

const VALUES: Readonly<Record<SliceGroup, (record: GenerationRecord) => string>> = {
  key: ({ hold }) => hold.key,
  model: (record) => String(factsIn(record).model ?? 'm/held'),
  provider: (record) => String(factsIn(record).provider ?? ''),
  status: ({ settled }) => settled?.status ?? '',
  error: (record) => String(factsIn(record).fault ?? ''),
  user: (record) => String(factsIn(record).user ?? ''),
  app: (record) => String(factsIn(record).app_title ?? ''),
}

const query = (more: Partial<SliceQuery>): SliceQuery => ({
  ...{ from: NOW - DAY, until: NOW + 1, filter: {}, by: ['key'], order: 'usage', ascending: false, limit: 1_000, points: 0 },
  ...more,
})

function soughtIn({ records }: Generations, { from, until, filter }: SliceQuery): GenerationRecord[] {
  return records.filter(
    (record) =>
      record.settled &&
      record.hold.seq >= from * TICKS &&
      record.hold.seq < until * TICKS &&
      SLICE_GROUPS.every((group) => filter[group]?.includes(VALUES[group](record)) ?? true),
  )
}

const addUp = (records: readonly GenerationRecord[]) => ({
  requests: records.length,
  failed: records.filter(({ settled }) => settled?.status === 'failed' || settled?.status === 'unknown').length,
  cost: records.reduce((sum, { settled }) => sum + BigInt(settled?.cost ?? 0), 0n),
  input: records.reduce((sum, { settled }) => sum + (settled?.input ?? 0), 0),
  output: records.reduce((sum, { settled }) => sum + (settled?.output ?? 0), 0),
  cached: records.reduce((sum, { settled }) => sum + (settled?.cached ?? 0), 0),
  firstAt: records.reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY),
  lastAt: records.reduce((most, { at }) => Math.max(most, at), 0),
})

/** The whole times of answered requests, ascending. */
const wholeTimes = (records: readonly GenerationRecord[]): number[] =>
  records
    .filter(({ settled }) => settled?.status === 'completed' || settled?.status === 'incomplete')
    .flatMap((record) => (typeof factsIn(record).generation_time === 'number' ? [Number(factsIn(record).generation_time)] : []))
    .sort((a, b) => a - b)

t.test('sums of random ledgers, by every group and under filters', async (t) => {
  const random = randomNumbers()
  const ledger = fill(random, 3_000, 3 * DAY)
  const slices = new Slices(ledger, new FakeClock(1, NOW))
  for (let round = 0; round < runs(60, 2_000); round++) {
    const by = [pick(random, SLICE_GROUPS), pick(random, SLICE_GROUPS)].slice(0, 1 + Math.floor(random() * 2))
    const from = NOW - Math.floor(random() * 3 * DAY)
    const group = pick(random, SLICE_GROUPS)
    const filter = random() < 0.5 ? { [group]: [VALUES[group](pick(random, ledger.records))] } : {}
    const wanted = query({
      by: [...new Set(by)],
      from,
      until: from + 1 + Math.floor(random() * DAY),
      filter,
      order: pick(random, SLICE_MEASURES),
    })
    const found = await slices.slices(wanted)
    t.equal(found.readFrom, wanted.from, 'all of the range is read')
    const sought = soughtIn(ledger, wanted)
    const groups = Map.groupBy(sought, (record) => wanted.by.map((each) => VALUES[each](record)).join('\n'))
    t.equal(found.groups, groups.size)
    t.same(found.sums.map(({ names }) => names.join('\n')).sort(), [...groups.keys()].sort())
    for (const { names, whole, first: _, ...sum } of found.sums) {
      const records = groups.get(names.join('\n')) ?? []
      t.same(sum, addUp(records), names.join(', '))
      const times = wholeTimes(records)
      t.equal(whole === null, times.length === 0)
      const median = times[Math.ceil(times.length / 2) - 1] ?? 0
      if (whole) t.ok(Math.abs(whole.p50 - median) <= 0.03 * median + 1, `${whole.p50} is the median ${median}`)
    }
    if (sought.length > 0) t.match(found.total, addUp(sought))
    else t.match(found.total, { requests: 0, cost: 0n, whole: null })
  }
})

t.test('the order, its other way, and groups without an answer last', async (t) => {
  const random = randomNumbers()
  const slices = new Slices(fill(random, 800, DAY), new FakeClock(1, NOW))
  const values = async (order: SliceQuery['order'], ascending: boolean): Promise<number[]> => {
    const { sums } = await slices.slices(query({ by: ['user'], order, ascending }))
    const read = { usage: (at: number) => Number(sums[at]?.cost), whole_p95: (at: number) => sums[at]?.whole?.p95 ?? -1 }
    return sums.map((_, at) => read[order as 'usage'](at))
  }
  for (const order of ['usage', 'whole_p95'] as const) {
    const [down, up] = [await values(order, false), await values(order, true)]
    const known = down.filter((value) => value >= 0)
    t.same(
      known,
      known.toSorted((a, b) => b - a),
    )
    t.same(
      up.slice(0, known.length),
      known.toSorted((a, b) => a - b),
    )
  }
})

t.test('points are parts of the range, and their sums the total', async (t) => {
  const random = randomNumbers()
  const ledger = fill(random, 1_000, DAY)
  const wanted = query({ points: 7, from: NOW - 20 * HOUR })
  const { points, total } = await new Slices(ledger, new FakeClock(1, NOW)).slices(wanted)
  t.equal(points.length, 7)
  t.equal(
    points.reduce((sum, { cost }) => sum + cost, 0n),
    total.cost,
  )
  t.equal(
    points.reduce((sum, { requests }) => sum + requests, 0),
    total.requests,
  )
  const width = (wanted.until - wanted.from) / 7
  for (const [at, point] of points.entries()) {
    const [from, until] = [wanted.from + at * width, wanted.from + (at + 1) * width]
    t.ok(point.requests === 0 || (point.firstAt >= Math.floor(from) && point.lastAt <= until), `the part ${at}`)
  }
})

t.test('what is settled later is in the next answer, and what is over is not read again', async (t) => {
  const random = randomNumbers()
  const ledger = fill(random, 300, DAY)
  const late = makeRecord(random, NOW - 3 * 60_000, (NOW - 3 * 60_000) * TICKS + 4_000)
  ledger.records.push({ ...late, settled: undefined })
  const clock = new FakeClock(1, NOW)
  const slices = new Slices(ledger, clock)
  const wanted = query({ until: NOW + HOUR })
  const before = (await slices.slices(wanted)).total
  t.equal(before.requests, soughtIn(ledger, wanted).length, 'an open one is in no sum')
  const calls = ledger.calls
  t.equal((await slices.slices(wanted)).total.requests, before.requests)
  t.equal(ledger.calls, calls, 'nothing is read twice within a second')
  ledger.records[ledger.records.length - 1] = late
  ledger.records.push(makeRecord(random, NOW, NOW * TICKS))
  await clock.advance(2_000)
  const after = (await slices.slices(wanted)).total
  t.equal(after.requests, before.requests + 2)
  t.ok(ledger.calls - calls < 5, `${ledger.calls - calls} pages are read anew`)
})

t.test('with more rows than are kept, the newest are there, and the reply says from when on', async (t) => {
  const random = randomNumbers()
  const ledger = fill(random, 2_000, 2 * DAY)
  const clock = new FakeClock(1, NOW)
  const slices = new Slices(ledger, clock, 500)
  const wanted = query({ from: NOW - 2 * DAY })
  for (let i = 0; i < 3; i++) {
    const found = await slices.slices(wanted)
    t.ok(found.isFull && found.readFrom > wanted.from, `${found.total.requests} requests are read`)
    t.equal(found.total.requests, soughtIn(ledger, { ...wanted, from: found.readFrom }).length, 'all since then are in it')
    t.ok(found.total.requests <= 500)
    await clock.advance(2_000)
  }
  const older = query({ from: NOW - 40 * HOUR, until: NOW - 36 * HOUR })
  const found = await slices.slices(older)
  t.equal(found.readFrom, older.from, 'another range takes the place of the first one')
  t.equal(found.total.requests, soughtIn(ledger, older).length)
  ledger.records.push(makeRecord(random, NOW, NOW * TICKS))
  await clock.advance(2_000)
  const newest = await slices.slices(wanted)
  t.equal(newest.total.lastAt, NOW, 'the newest is read where there is no room')
})

t.test('extremes are those with the most, in order', async (t) => {
  const random = randomNumbers()
  const ledger = fill(random, 1_500, DAY)
  const slices = new Slices(ledger, new FakeClock(1, NOW))
  const { filter, from, until } = query({ filter: { provider: ['First'] } })
  const found = await slices.extremes({ from, until, filter, order: 'usage', limit: 20 })
  const most = soughtIn(ledger, query({ filter }))
    .toSorted((a, b) => Number(b.settled?.cost) - Number(a.settled?.cost))
    .slice(0, 20)
  t.same(
    found.rows.map(({ settled }) => settled?.cost),
    most.map(({ settled }) => settled?.cost),
  )
  const slow = await slices.extremes({ from, until, filter: {}, order: 'whole', limit: 5 })
  t.same(
    slow.rows.map((record) => factsIn(record).generation_time),
    wholeTimes(soughtIn(ledger, query({})))
      .slice(-5)
      .reverse(),
  )
  t.same((await slices.extremes({ from, until, filter: { user: ['none such'] }, order: 'whole', limit: 5 })).rows, [])
})

t.test('rows are given back half an hour after the last look', async (t) => {
  const random = randomNumbers()
  const ledger = fill(random, 200, DAY)
  const clock = new FakeClock(1, NOW)
  const slices = new Slices(ledger, clock)
  await slices.slices(query({}))
  const calls = ledger.calls
  await clock.advance(29 * 60_000)
  await slices.slices(query({ until: NOW - HOUR }))
  t.equal(ledger.calls, calls, 'they are kept while somebody looks')
  await clock.advance(61 * 60_000)
  await slices.slices(query({ until: NOW - HOUR }))
  t.ok(ledger.calls > calls, 'they are read again')
})

t.test('a ledger that cannot be read is an error, and is read at the next look', async (t) => {
  const ledger = new Generations()
  let fails = true
  const slices = new Slices(
    {
      search: (wanted, before) => (fails ? Promise.reject(new Error('no ledger')) : ledger.search(wanted, before)),
    },
    new FakeClock(1, NOW),
  )
  await t.rejects(slices.slices(query({})), { message: 'no ledger' })
  fails = false
  t.equal((await slices.slices(query({}))).total.requests, 0)
})

t.test('percentiles are within 3 %', (t) => {
  const durations = new Durations(2)
  for (let ms = 1; ms <= 10_000; ms++) durations.add(1, durationBucket(ms))
  const { p50 = 0, p95 = 0, p99 = 0 } = durations.percentiles(1) ?? {}
  for (const [found, exact] of [
    [p50, 5_000],
    [p95, 9_500],
    [p99, 9_900],
  ] as const)
    t.ok(Math.abs(found - exact) <= 0.03 * exact, `${found} is about ${exact}`)
  t.equal(durations.percentiles(0), null, 'nothing was added')
  t.equal(durationBucket(1e12), BUCKETS - 1, 'the longest has the last bucket')
  t.end()
})
