/** The part of the contract of a store of record that is about keys, and about hearing of their changes. */
import type { Test } from 'tap'
import { asFault } from '../../src/core/faults.ts'
import type { StoreOfRecord } from '../../src/store/record.ts'
import { FakeClock } from '../support/clock.ts'
import { generation, nodePulse, type OpenRecord } from './record-contract.ts'
import { apiKey } from './samples.ts'

const hash = (letter: string) => letter.repeat(64)

/** Code of the fault that a call throws; `none` where it throws none. */
async function codeThrown(work: () => unknown): Promise<string> {
  try {
    await work()
    return 'none'
  } catch (thrown) {
    return asFault(thrown).code
  }
}

/** One process that hears of changes: remembers the cursor of its last pulse. */
class Listener {
  private readonly record: StoreOfRecord
  private readonly node: string
  cursor: string | undefined
  constructor(record: StoreOfRecord, node: string) {
    this.record = record
    this.node = node
  }
  async changed(): Promise<string[] | undefined> {
    const reply = await this.record.pulse(nodePulse(this.node, this.cursor))
    this.cursor = reply.cursor
    return reply.changed ? [...reply.changed].sort() : undefined
  }
}

export function recordKeysContract(t: Test, name: string, open: OpenRecord): void {
  const fresh = async (t: Test) => {
    const clock = new FakeClock()
    const opened = await open(clock)
    t.teardown(() => opened.close())
    return { clock, opened, record: opened.record }
  }

  t.test(`${name}: keys are put, found, listed and removed`, async (t) => {
    const { clock, record } = await fresh(t)
    const { keys } = record
    t.equal(await keys.find(hash('a')), undefined)
    t.same(await keys.list(), [])
    const made = clock.now()
    const policy = {
      allowedModels: ['acme/*'],
      provider: { only: ['here'], zdr: true },
      limits: { requests: 60, streams: 4 },
      passThrough: true,
      limit: Number.MAX_SAFE_INTEGER,
      expiresAt: made + 1000,
      role: 'owner' as const,
      limitReset: 'weekly' as const,
      includeByokInLimit: true,
      creator: "o'someone",
      consent: { by: 'dev', code: { until: made + 1, hash: 'c'.repeat(64), method: 'S256' as const, challenge: 'x' } },
    }
    const put = await keys.put(apiKey('b', policy))
    t.same(put, { ...apiKey('b', policy), createdAt: made, updatedAt: made })
    await clock.advance(5000)
    await keys.put(apiKey('a', { identity: 'something else' }))
    t.same(await keys.find(hash('b')), put, 'comes back as it went in')
    t.match(await keys.find(hash('a')), { identity: hash('a'), limit: null, limitReset: null, expiresAt: null, creator: null })
    t.same(
      (await keys.list()).map((key) => key.name),
      ['key b', 'key a'],
      'in the order of their making',
    )
    await keys.put(apiKey('b', { ...policy, disabled: true, limit: 5 }))
    t.match(await keys.find(hash('b')), { disabled: true, limit: 5, createdAt: made, updatedAt: made + 5000 })
    t.equal((await keys.list()).length, 2, 'replaced, not added')
    t.equal(await keys.remove(hash('b')), true)
    t.equal(await keys.remove(hash('b')), false)
    t.equal(await keys.find(hash('b')), undefined)
    t.equal((await keys.list()).length, 1)
  })

  t.test(`${name}: a secret that was replaced finds its key with an earlier end, and names nothing`, async (t) => {
    const { clock, record } = await fresh(t)
    const { keys } = record
    const now = clock.now()
    const previous = { hash: hash('b'), rotatedAt: now, until: now + 1000 }
    await keys.put(apiKey('b', { expiresAt: now + 5000 }))
    const listener = new Listener(record, 'n1')
    await listener.changed()
    t.match(await keys.change(hash('b'), (key) => ({ ...key, hash: hash('c'), previous })), {
      hash: hash('c'),
      identity: hash('b'),
      previous,
    })
    t.same(await listener.changed(), [hash('b'), hash('c')])
    const old = await keys.find(hash('b'))
    t.match(old, { hash: hash('c'), shown: hash('b'), identity: hash('b'), expiresAt: now + 1000 })
    const own = await keys.find(hash('c'))
    t.match(own, { hash: hash('c'), expiresAt: now + 5000, previous })
    t.notOk(own && 'shown' in own)
    const many = await keys.findMany?.([hash('b'), hash('c'), hash('d')])
    if (many) t.same(many.map((key) => key.shown ?? key.hash).sort(), [hash('b'), hash('c')], 'both at once')
    t.equal(await keys.remove(hash('b')), false, 'the old hash names no key')
    t.same(
      (await keys.list()).map((key) => key.hash),
      [hash('c')],
      'one key in the list',
    )
    t.notOk((await keys.list()).some((key) => 'shown' in key))
    await keys.change(hash('c'), (key) => ({ ...key, hash: hash('d'), previous: { hash: hash('c'), rotatedAt: now + 1, until: now + 2 } }))
    t.same(await listener.changed(), [hash('b'), hash('c'), hash('d')], 'a process that has the first secret at hand hears of its end')
    t.equal(await keys.find(hash('b')), undefined, 'one old secret at most')
    t.match(await keys.find(hash('c')), { shown: hash('c'), expiresAt: now + 2 })
    t.equal(await keys.remove(hash('d')), true)
    t.same(await listener.changed(), [hash('c'), hash('d')])
    for (const letter of ['b', 'c', 'd']) t.equal(await keys.find(hash(letter)), undefined)
  })

  t.test(`${name}: a key is added where its hash opens none`, async (t) => {
    const { clock, record } = await fresh(t)
    const { keys } = record
    const tags = { team: 'growth' }
    const more = { defaultMaxOutput: 77, errorCode: 'name' as const, captureContent: true, tags }
    const added = await keys.add(apiKey('a', more))
    t.match(added, { identity: hash('a'), ...more })
    t.same(await keys.find(hash('a')), added, 'comes back as it went in')
    t.equal(await codeThrown(() => keys.add(apiKey('a'))), 'conflict')
    const previous = { hash: hash('a'), rotatedAt: clock.now(), until: clock.now() + 1 }
    await keys.change(hash('a'), (key) => ({ ...key, hash: hash('b'), previous }))
    await clock.advance(1000)
    t.equal(await codeThrown(() => keys.add(apiKey('a'))), 'conflict', 'nor that of a secret that was replaced, though it has ended')
    t.match(await keys.find(hash('b')), { identity: hash('a'), ...more })
    const together = await Promise.all(Array.from({ length: 8 }, () => codeThrown(() => keys.add(apiKey('c')))))
    t.same(together.sort(), [...Array.from({ length: 7 }, () => 'conflict'), 'none'], 'one of those that come at once')
  })

  t.test(`${name}: the last use of keys is known to the minute`, async (t) => {
    const { clock, record } = await fresh(t)
    const now = Math.floor(clock.now())
    const at = (ms: number, key: string, nth: number) => generation((now + ms) * 4096 + nth, key, 10, now + ms)
    await record.pulse(nodePulse('n1', undefined))
    await record.take('n1', [at(0, 'one', 1), at(61_000, 'one', 2), at(10_000, 'two', 3)])
    const found = await record.ledger.lastUses(['two', 'one', 'three', "o'ne"])
    const minute = (ms: number): number => Math.floor(ms / 60_000) * 60_000
    t.same(
      [...found].sort((a, b) => (a.key < b.key ? -1 : 1)),
      [
        { key: 'one', at: minute(now + 61_000) },
        { key: 'two', at: minute(now + 10_000) },
      ],
    )
    t.same(await record.ledger.lastUses([]), [])
  })

  t.test(`${name}: keys have their role and its end`, async (t) => {
    const { clock, record } = await fresh(t)
    const { keys } = record
    const end = clock.now() + 60_000
    for (const [letter, role] of [
      ['a', 'member'],
      ['b', 'viewer'],
      ['c', 'billing'],
      ['d', 'admin'],
      ['e', 'owner'],
    ] as const) {
      await keys.put(apiKey(letter, { role, expiresAt: end }))
      t.match(await keys.find(hash(letter)), { role, expiresAt: end, disabled: false })
    }
    t.match(await keys.change(hash('b'), (key) => ({ ...key, role: 'owner' })), { role: 'owner', expiresAt: end })
    t.match(await keys.change(hash('b'), (key) => ({ ...key, role: 'admin', expiresAt: null })), { role: 'admin', expiresAt: null })
    t.match(await keys.change(hash('b'), (key) => ({ ...key, disabled: true })), { role: 'admin', expiresAt: null, disabled: true })
    t.match(await keys.find(hash('b')), { role: 'admin', expiresAt: null })
    t.match(
      (await keys.list()).map(({ role }) => role),
      ['member', 'admin', 'billing', 'admin', 'owner'],
    )
  })

  t.test(`${name}: keys that one key issued, and keys behind a hash`, async (t) => {
    const { clock, record } = await fresh(t)
    const { keys } = record
    const now = clock.now()
    const later = now + 60_000
    const consent = { by: 'dev', hash: 'd'.repeat(64) }
    await keys.put(apiKey('a', { consent }))
    await keys.put(apiKey('b', { consent, expiresAt: later }))
    await keys.put(apiKey('c', { consent: { ...consent, by: 'other' } }))
    await keys.put(apiKey('e'))
    const named = async (by: string, at: number) => (await keys.issuedBy(by, at)).map((key) => key.name).sort()
    t.same(await named('dev', now), ['key a', 'key b'])
    t.same(await named('dev', later), ['key a'], 'one has expired')
    t.same(await named('other', now), ['key c'])
    t.same(await named('nobody', now), [])
    await keys.change('a'.repeat(64), ({ consent: _, ...key }) => key)
    t.same(await named('dev', now), ['key b'], 'what was changed counts')
    const after = async (hash: string, most: number) => (await keys.listAfter(hash, most)).map((key) => key.name)
    t.same(await after('a'.repeat(64), 2), ['key b', 'key c'])
    t.same(await after('', 9), ['key a', 'key b', 'key c', 'key e'])
    t.same(await after('f', 9), [])
  })

  t.test(`${name}: a key is changed in one step, and keeps its identity through a new secret`, async (t) => {
    const { clock, record } = await fresh(t)
    const { keys } = record
    const made = clock.now()
    const first = await keys.put(apiKey('a', { limit: 5, providerIds: ['file_a', 'vs_*'] }))
    await clock.advance(1000)
    const forged = { identity: 'forged', createdAt: 1, limitReset: 'daily' as const }
    const changed = await keys.change(hash('a'), (key) => ({ ...key, ...forged, limit: (key.limit ?? 0) + 2 }))
    t.same(changed, { ...first, limit: 7, limitReset: 'daily', updatedAt: made + 1000 }, 'identity and times are not for the caller to say')
    t.same(await keys.find(hash('a')), changed)
    t.same((await keys.find(hash('a')))?.providerIds, ['file_a', 'vs_*'])
    const rotated = await keys.change(hash('a'), (key) => ({ ...key, hash: hash('b'), label: 'new' }))
    t.same(rotated, { ...changed, hash: hash('b'), label: 'new', identity: hash('a') })
    t.equal(await keys.find(hash('a')), undefined, 'the old secret is nobody')
    t.same(await keys.list(), [rotated])
    await keys.put(apiKey('b', { name: 'replaced' }))
    t.match(await keys.find(hash('b')), { name: 'replaced', identity: hash('a'), createdAt: made, limitReset: null })
    t.equal(await keys.change(hash('a'), (key) => key), undefined)
    const broken = async () =>
      keys.change(hash('b'), () => {
        throw new Error('no')
      })
    await t.rejects(broken(), { message: 'no' })
    t.match(await keys.find(hash('b')), { name: 'replaced' }, 'nothing was written')
  })

  t.test(`${name}: changes of one key that come at once all count`, async (t) => {
    const { record } = await fresh(t)
    await record.keys.put(apiKey('a', { limit: 0 }))
    const more = () => record.keys.change(hash('a'), (key) => ({ ...key, limit: (key.limit ?? 0) + 1 }))
    await Promise.all(Array.from({ length: 12 }, more))
    t.match(await record.keys.find(hash('a')), { limit: 12 })
  })

  t.test(`${name}: each process hears of each change exactly once`, async (t) => {
    const { record } = await fresh(t)
    const [one, two] = [new Listener(record, 'n1'), new Listener(record, 'n2')]
    t.equal(await one.changed(), undefined, 'at first nothing that was cached holds')
    t.same(await one.changed(), [])
    await record.keys.put(apiKey('a'))
    await record.keys.put(apiKey('b'))
    t.same(await one.changed(), [hash('a'), hash('b')])
    t.same(await one.changed(), [])
    t.equal(await two.changed(), undefined)
    await record.keys.change(hash('a'), (key) => ({ ...key, disabled: true }))
    await record.keys.change(hash('b'), (key) => ({ ...key, hash: hash('c') }))
    t.same(await one.changed(), [hash('a'), hash('b'), hash('c')], 'of a new secret, the old one as well')
    await record.keys.remove(hash('a'))
    await record.keys.remove(hash('d'))
    t.same(await one.changed(), [hash('a')], 'what was not there did not change')
    t.same(await two.changed(), [hash('a'), hash('b'), hash('c')], 'the other one in its own time')
    t.same(await one.changed(), [])
    t.same(await two.changed(), [])
  })

  t.test(`${name}: no change is missed by who listens while many happen at once`, async (t) => {
    const { record } = await fresh(t)
    const listeners = ['n1', 'n2'].map((node) => new Listener(record, node))
    for (const listener of listeners) await listener.changed()
    const letters = [...'0123456789abcdef']
    const heard = listeners.map(() => new Map<string, number>())
    const listen = async () => {
      for (const [index, listener] of listeners.entries())
        for (const item of (await listener.changed()) ?? []) heard[index].set(item, (heard[index].get(item) ?? 0) + 1)
    }
    const writing = letters.map((letter) => record.keys.put(apiKey(letter)))
    for (let round = 0; round < 8; round++) await listen()
    await Promise.all(writing)
    await listen()
    for (const counts of heard) t.same([...counts].sort(), letters.map((letter) => [hash(letter), 1]).sort())
  })

  t.test(`${name}: a cursor of an earlier life misses nothing`, async (t) => {
    const { opened, record } = await fresh(t)
    if (!opened.reopen) return t.pass('it forgets')
    const before = new Listener(record, 'n1')
    await record.keys.put(apiKey('a'))
    await before.changed()
    const again = await opened.reopen()
    const after = new Listener(again, 'n1')
    after.cursor = before.cursor
    await again.keys.remove(hash('a'))
    const changed = await after.changed()
    t.ok(changed === undefined || changed.includes(hash('a')))
    t.same(await after.changed(), [])
    const strange = new Listener(again, 'n2')
    strange.cursor = 'no cursor of ours'
    t.equal(await strange.changed(), undefined)
  })
}
