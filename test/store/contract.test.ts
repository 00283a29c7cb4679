/** Contract of every store; each one passes the same tests. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JournalReport } from '../../src/store/journal.ts'
import { openStore, type Store } from '../../src/store/open.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { chargedByDay } from '../support/holding.ts'
import { verify } from '../support/verify-records.ts'
import { apiKey, holdRow, seqId, settleRow } from './samples.ts'

const KINDS: Record<string, (t: Test) => string> = {
  memory: () => 'memory:',
  sqlite: (t) => `sqlite:${join(t.testdir(), 'data', 'headgate.db')}`,
}

for (const [kind, urlFor] of Object.entries(KINDS)) {
  const open = (t: Test): { store: Store; clock: FakeClock; news: JournalReport[] } => {
    const clock = new FakeClock()
    const news: JournalReport[] = []
    const store = openStore(urlFor(t), { clock, report: (item) => news.push(item) })
    t.teardown(() => store.close())
    return { store, clock, news }
  }

  t.test(`${kind}: a generation from hold to settlement`, async (t) => {
    const { journal } = open(t).store
    const seq = 4096 * Date.UTC(2026, 0, 5, 12) + 7
    t.equal(journal.lastSeq(), 0)
    t.equal(journal.find(seqId(seq)), undefined)
    journal.hold(holdRow(seq))
    const queued = { id: seqId(seq), at: Date.UTC(2026, 0, 5, 12), hold: holdRow(seq), settled: undefined }
    t.same(journal.find(seqId(seq)), queued, 'a queued hold is found')
    await journal.committed()
    t.same(journal.find(seqId(seq)), queued, 'so is a written one')
    journal.settle(settleRow(seq, 250, { status: 'incomplete', estimated: true, facts: '{"user":"ü"}' }))
    const whole = { ...queued, settled: settleRow(seq, 250, { status: 'incomplete', estimated: true, facts: '{"user":"ü"}' }) }
    t.same(journal.find(seqId(seq)), whole, 'a queued settlement is found')
    await journal.committed()
    t.same(journal.find(seqId(seq)), whole)
    t.equal(journal.lastSeq(), seq)
    t.same(journal.spent(), new Map([['dev', 250n]]))
    t.same([...journal.export()], [whole])
  })

  t.test(`${kind}: without balances beside it no refund is taken, since what a key has spent is not known`, async (t) => {
    const { journal } = open(t).store
    const at = Date.UTC(2026, 0, 5, 12)
    const entry = { at, key: 'dev', model: '', provider: '', countedAt: at, actor: 'operator', reason: 'a test' } as const
    t.equal(await journal.entries.add({ ...entry, id: 'refund', kind: 'refund', amount: 5 }), 'more_than_spent')
    t.match(await journal.entries.add({ ...entry, id: 'correction', kind: 'correction', amount: 5 }), { id: 'correction' })
    t.equal((await journal.entries.page({ after: 0, limit: 9 })).length, 1)
  })

  t.test(`${kind}: an id is found only by its whole name`, async (t) => {
    const { journal } = open(t).store
    journal.hold(holdRow(77))
    await journal.committed()
    await every(t, 'every id', async (t) => {
      for (const id of [seqId(77, 'abcdefghijkX'), seqId(78), 'gen-', '', `${seqId(77)} `, 'gen-zzzzzzzzzzz-abcdefghijkl', "' OR 1=1"])
        t.equal(journal.find(id), undefined, id)
    })
    t.ok(journal.find(seqId(77)))
  })

  t.test(`${kind}: one promise per turn, resolved by the end of it`, async (t) => {
    const { journal } = open(t).store
    journal.hold(holdRow(1))
    const first = journal.committed()
    journal.hold(holdRow(2))
    t.equal(journal.committed(), first, 'shared by all that wait')
    let done = false
    void first.then(() => {
      done = true
    })
    await Promise.resolve()
    t.equal(done, false, 'not before the commit')
    await turn()
    t.equal(done, true)
    await journal.committed()
    journal.settle(settleRow(1, 5))
    t.not(journal.committed(), first, 'the next turn has its own')
    await journal.committed()
  })

  t.test(`${kind}: a second settlement is ignored and reported, and its batch lives`, async (t) => {
    const { store, news } = open(t)
    const { journal } = store
    for (const seq of [1, 2, 3]) journal.hold(holdRow(seq))
    journal.settle(settleRow(1, 10))
    await journal.committed()
    journal.settle(settleRow(1, 99))
    journal.settle(settleRow(2, 20))
    journal.settle(settleRow(2, 98))
    journal.settle(settleRow(3, 30))
    await journal.committed()
    t.same(journal.spent(), new Map([['dev', 60n]]))
    t.same(news, [
      { kind: 'duplicate', seq: 1 },
      { kind: 'duplicate', seq: 2 },
    ])
  })

  t.test(`${kind}: a hold can be raised, but not taken over`, async (t) => {
    const { store, news } = open(t)
    const { journal } = store
    journal.hold(holdRow(1, { hold: 900, floor: 300 }))
    await journal.committed()
    journal.hold(holdRow(1, { hold: 1500, floor: 700 }))
    await journal.committed()
    t.match(journal.find(seqId(1)), { hold: { hold: 1500, floor: 700 } })
    journal.hold(holdRow(1, { tag: 'somebodyelse', hold: 1, floor: 1 }))
    journal.hold(holdRow(2))
    await journal.committed()
    t.match(journal.find(seqId(1)), { hold: { hold: 1500, floor: 700 } })
    t.ok(journal.find(seqId(2)), 'the rest of the batch is there')
    t.same(news, [{ kind: 'duplicate', seq: 1 }])
  })

  t.test(`${kind}: rows may come in any order and leave in theirs`, async (t) => {
    const { journal } = open(t).store
    const seqs = Array.from({ length: 1203 }, (_, index) => ((index * 7919) % 1203) + 1)
    for (const seq of seqs) journal.hold(holdRow(seq, { key: seq % 3 === 0 ? 'a' : 'b' }))
    for (const seq of seqs) if (seq % 2 === 0) journal.settle(settleRow(seq, seq))
    const records = [...journal.export()]
    t.equal(records.length, 1203, 'queued rows and all pages')
    t.same(
      records.map((record) => record.hold.seq),
      seqs.sort((a, b) => a - b),
    )
    t.equal(records.filter((record) => record.settled).length, 601)
    const verdict = verify(records, journal.spent())
    t.match(verdict, { ok: true, generations: 1203, open: 602, problems: [] })
    t.equal(journal.lastSeq(), 1203)
  })

  t.test(`${kind}: reconciliation settles what is open at its floor, once`, async (t) => {
    const { journal } = open(t).store
    journal.hold(holdRow(1, { floor: 11 }))
    journal.hold(holdRow(2, { floor: 22, key: 'other' }))
    journal.hold(holdRow(3, { floor: 33 }))
    journal.settle(settleRow(1, 5))
    await journal.committed()
    t.match(journal.reconcile(), { count: 2, charged: 55 })
    t.match(journal.reconcile(), { count: 0, charged: 0 })
    t.match(journal.find(seqId(3))?.settled, { status: 'unknown', cost: 33, estimated: true, input: 0, output: 0, facts: '{}' })
    t.same(
      journal.spent(),
      new Map([
        ['dev', 38],
        ['other', 22],
      ]),
    )
    t.ok(verify(journal.export(), journal.spent()).ok)
  })

  t.test(`${kind}: a broken row is refused before it can spoil a batch`, async (t) => {
    const { journal } = open(t).store
    await every(t, 'every bad', async (t) => {
      for (const bad of [-1, 0.5, Number.NaN, 2 ** 53]) {
        t.throws(() => journal.hold(holdRow(bad)), RangeError)
        t.throws(() => journal.hold(holdRow(1, { hold: bad })), RangeError)
        t.throws(() => journal.settle(settleRow(1, bad)), RangeError)
        t.throws(() => journal.settle(settleRow(1, 1, { cached: bad })), RangeError)
      }
    })
    const missing: { facts: string } = JSON.parse('{}')
    t.throws(() => journal.settle({ ...settleRow(1, 1), facts: missing.facts }), TypeError)
    t.throws(() => journal.hold({ ...holdRow(1), model: missing.facts }), TypeError)
    await journal.committed()
    t.same([...journal.export()], [])
  })

  t.test(`${kind}: sums far beyond 2^53 are exact`, async (t) => {
    const { journal } = open(t).store
    for (const seq of [1, 2, 3]) {
      journal.hold(holdRow(seq))
      journal.settle(settleRow(seq, Number.MAX_SAFE_INTEGER))
    }
    await journal.committed()
    t.same(journal.spent(), new Map([['dev', 3n * BigInt(Number.MAX_SAFE_INTEGER)]]))
  })

  t.test(`${kind}: closing commits what waits, and may be done twice`, async (t) => {
    const { store } = open(t)
    store.journal.hold(holdRow(1))
    const waiting = store.journal.committed()
    store.close()
    await waiting
    store.close()
  })

  t.test(`${kind}: keys`, async (t) => {
    const { store, clock } = open(t)
    const { keys } = store
    t.equal(await keys.find('a'.repeat(64)), undefined)
    t.same(await keys.list(), [])
    const made = clock.now()
    const policy = {
      allowedModels: ['acme/*'],
      provider: { only: ['here'], zdr: true },
      limits: { requests: 60, streams: 4 },
      passThrough: true,
      limit: 10_000_000_000,
      expiresAt: made + 1000,
      role: 'owner' as const,
      limitReset: 'weekly' as const,
      includeByokInLimit: true,
      creator: 'someone',
      consent: { by: 'dev', code: { until: made + 1, hash: 'c'.repeat(64), method: 'S256' as const, challenge: 'x' } },
    }
    const put = await keys.put(apiKey('b', policy))
    t.same(put, { ...apiKey('b', policy), createdAt: made, updatedAt: made })
    await clock.advance(5000)
    await keys.put(apiKey('a', { identity: 'something else' }))
    t.same(await keys.find('b'.repeat(64)), put, 'comes back as it went in')
    t.match(await keys.find('a'.repeat(64)), { identity: 'a'.repeat(64), limit: null, expiresAt: null, allowedModels: undefined })
    t.same(
      (await keys.list()).map((key) => key.name),
      ['key b', 'key a'],
      'in the order of their making',
    )
    await keys.put(apiKey('b', { ...policy, disabled: true, limit: 5 }))
    t.match(await keys.find('b'.repeat(64)), { disabled: true, limit: 5, createdAt: made, updatedAt: made + 5000 })
    t.equal((await keys.list()).length, 2, 'replaced, not added')
    t.equal(await keys.remove('b'.repeat(64)), true)
    t.equal(await keys.remove('b'.repeat(64)), false)
    t.equal(await keys.find('b'.repeat(64)), undefined)
  })

  t.test(`${kind}: keys that one key issued, and keys behind a hash`, async (t) => {
    const { store, clock } = open(t)
    const { keys } = store
    const now = clock.now()
    const later = now + 60_000
    const consent = { by: 'dev', hash: 'd'.repeat(64) }
    await keys.put(apiKey('a', { consent }))
    await keys.put(apiKey('b', { consent, expiresAt: later }))
    await keys.put(apiKey('c', { consent: { ...consent, by: 'other' } }))
    await keys.put(apiKey('e'))
    const named = async (by: string, at: number) => (await keys.issuedBy(by, at)).map(({ name }) => name).sort()
    t.same(await named('dev', now), ['key a', 'key b'])
    t.same(await named('dev', later), ['key a'], 'one has expired')
    t.same(await named('other', now), ['key c'])
    t.same(await named('nobody', now), [])
    await keys.change('a'.repeat(64), ({ consent: _, ...key }) => key)
    t.same(await named('dev', now), ['key b'], 'what was changed counts')
    const after = async (hash: string, most: number) => (await keys.listAfter(hash, most)).map(({ name }) => name)
    t.same(await after('a'.repeat(64), 2), ['key b', 'key c'])
    t.same(await after('', 9), ['key a', 'key b', 'key c', 'key e'])
    t.same(await after('f', 9), [])
  })

  t.test(`${kind}: a key is changed in one step, and keeps its identity through a new secret`, async (t) => {
    const { store, clock } = open(t)
    const { keys } = store
    const [a, b] = ['a'.repeat(64), 'b'.repeat(64)]
    const made = clock.now()
    const first = await keys.put(apiKey('a', { limit: 5 }))
    t.same(await keys.find(a), first)
    await clock.advance(1000)
    const changed = await keys.change(a, (key) => ({
      ...key,
      limit: (key.limit ?? 0) + 2,
      limitReset: 'daily',
      identity: 'forged',
      createdAt: 1,
    }))
    t.same(changed, { ...first, limit: 7, limitReset: 'daily', updatedAt: made + 1000 }, 'identity and times are not for the caller to say')
    t.same(await keys.find(a), changed, 'what was read before is forgotten')
    const rotated = await keys.change(a, (key) => ({ ...key, hash: b, label: 'new' }))
    t.same(rotated, { ...changed, hash: b, label: 'new', identity: a })
    t.equal(await keys.find(a), undefined, 'the old secret is nobody')
    t.same(await keys.find(b), rotated)
    t.same(await keys.list(), [rotated])
    await keys.put(apiKey('b', { name: 'replaced' }))
    t.match(await keys.find(b), { name: 'replaced', identity: a, createdAt: made, limitReset: null })
    t.equal(await keys.change(a, (key) => key), undefined)
    const broken = async () =>
      keys.change(b, () => {
        throw new Error('no')
      })
    await t.rejects(broken(), { message: 'no' })
    t.match(await keys.find(b), { name: 'replaced' }, 'nothing was written')
    t.equal(await keys.remove(b), true)
    t.equal(await keys.find(b), undefined, 'a removed key is not remembered')
  })

  t.test(`${kind}: charges by the day, and a walk that begins at a moment`, async (t) => {
    const { journal } = open(t).store
    const day = (text: string) => Date.parse(text)
    const seq = (text: string) => day(text) * 4096
    const rows: [admitted: string, at: number, cost: number, key: string][] = [
      ['2026-03-01T23:59:59Z', day('2026-03-02T00:00:00Z'), 1, 'a'],
      ['2026-03-02T00:00:00Z', day('2026-03-02T23:59:59.999Z'), 10, 'a'],
      ['2026-03-02T10:00:00Z', 0, 100, 'a'],
      ['2026-03-02T11:00:00Z', day('2026-03-02T11:00:01Z'), 1000, 'b'],
      ['2026-03-04T00:00:00Z', day('2026-03-04T00:00:01Z'), Number.MAX_SAFE_INTEGER, 'a'],
      ['2026-03-04T00:00:01Z', day('2026-03-04T00:00:01Z'), 5, 'a'],
      ['2026-02-28T12:00:00Z', day('2026-02-28T12:00:00Z'), 7, 'a'],
    ]
    for (const [admitted, at, cost, key] of rows) {
      journal.hold(holdRow(seq(admitted), { key }))
      journal.settle(settleRow(seq(admitted), cost, { at }))
    }
    journal.hold(holdRow(seq('2026-03-04T01:00:00Z'), { key: 'open' }))
    await journal.committed()
    const charges = chargedByDay(journal, day('2026-03-01T15:00:00Z')).sort((a, b) => a.day - b.day || (a.key < b.key ? -1 : 1))
    t.same(charges, [
      { key: 'a', day: day('2026-03-02'), cost: 111n },
      { key: 'b', day: day('2026-03-02'), cost: 1000n },
      { key: 'a', day: day('2026-03-04'), cost: BigInt(Number.MAX_SAFE_INTEGER) + 5n },
    ])
    const since = (text: string) => [...journal.export(day(text))].map((record) => new Date(record.at).toISOString().slice(5, 19))
    t.same(since('2026-03-02T00:00:00Z').length, 6, 'its own moment counts')
    t.same(since('2026-03-04T00:00:01Z'), ['03-04T00:00:01', '03-04T01:00:00'])
    t.same(since('2026-03-05T00:00:00Z'), [])
    t.equal([...journal.export()].length, 8)
    journal.hold(holdRow(0))
    t.equal([...journal.export()].length, 9, 'the first number of all is a generation too')
  })
}

t.test('a URL of no known kind is refused', async (t) => {
  await every(t, 'every url', async (t) => {
    for (const url of ['', 'sqlite:', 'mysql://x', './file.db', 'memory'])
      t.throws(() => openStore(url, { clock: new FakeClock() }), { code: 'bad_request', metadata: { field: 'store.url' } }, url)
  })
})

t.test('findings of guardrails in memory are bounded', async (t) => {
  const store = openStore('memory:', { clock: new FakeClock(), report: () => {} })
  t.teardown(() => store.close())
  const detail = { entities: [], engines: [], count: 1, hashes: [] }
  const row = {
    generation: 'gen-1',
    key: 'a',
    guardrail: 'g',
    name: 'g',
    direction: 'input',
    stage: 'text',
    action: 'flagged',
    detail,
  } as const
  for (let batch = 0; batch < 13; batch++)
    await store.guardrails.note(Array.from({ length: 1000 }, (_, index) => ({ ...row, at: batch, id: `${batch}-${index}` })))
  const kept = await store.guardrails.findings({ limit: 20_000 })
  t.equal(kept.length, 10_000)
  t.equal(kept.at(-1)?.at, 3, 'the oldest went')
})
