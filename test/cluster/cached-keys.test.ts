/** Keys at hand, and the pulse that says when they have changed. */
import t from 'tap'
import { CachedKeys, KeyLookUps } from '../../src/cluster/cached-keys.ts'
import { type ClusterReport, joinRecord } from '../../src/cluster/index.ts'
import { Pulses } from '../../src/cluster/pulse.ts'
import type { StoredKey } from '../../src/store/keys.ts'
import type { StoreOfRecord } from '../../src/store/record.ts'
import { ask as leaseAsk } from '../store/record-contract.ts'
import { apiKey } from '../store/samples.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { seeks } from '../support/holding.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { ScriptedRecord } from './scripted-record.ts'

const hash = (letter: string) => letter.repeat(64)

function rig() {
  const clock = new FakeClock()
  const record = new ScriptedRecord(clock)
  return { clock, record, keys: new CachedKeys(record.keys, clock) }
}

t.test('a key is asked for once, and then at hand', async (t) => {
  const { clock, record, keys } = rig()
  await record.keys.put(apiKey('a'))
  const asked = [keys.find(hash('a')), keys.find(hash('a')), keys.find(hash('a'))]
  t.ok(asked.every((each) => each instanceof Promise))
  const [first] = await Promise.all(asked)
  t.equal(record.count('find'), 1, 'one look-up for all who ask at the same time')
  t.match(first, { name: 'key a' })
  t.equal(keys.find(hash('a')), first, 'a plain value, the same one')
  await clock.advance(59_999)
  keys.confirm()
  t.equal(keys.find(hash('a')), first)
  t.equal(record.count('find'), 1)
})

t.test('while no changes of keys are reported, known keys are looked up again after two seconds', async (t) => {
  const { clock, record, keys } = rig()
  await record.keys.put(apiKey('a', { disabled: false }))
  await keys.find(hash('a'))
  await record.keys.put(apiKey('a', { disabled: true }))
  await clock.advance(1999)
  t.match(keys.find(hash('a')), { disabled: false })
  t.equal(record.count('find'), 1)
  await clock.advance(1)
  t.match(keys.find(hash('a')), { disabled: false }, 'the request that starts the look-up does not wait for it')
  await turn()
  t.match(keys.find(hash('a')), { disabled: true })
  t.equal(record.count('find'), 2)
  record.mode('refuse', 'find')
  await clock.advance(2000)
  keys.find(hash('a'))
  await clock.advance(4999)
  keys.find(hash('a'))
  t.equal(record.count('find'), 3, 'a look-up that failed is tried again after five seconds')
})

t.test('a key that nobody knows is asked for again after a second', async (t) => {
  const { clock, record, keys } = rig()
  t.equal(await keys.find(hash('a')), undefined)
  t.equal(keys.find(hash('a')), undefined, 'at once')
  await record.keys.put(apiKey('a'))
  await clock.advance(999)
  t.equal(keys.find(hash('a')), undefined)
  await clock.advance(1)
  t.match(await keys.find(hash('a')), { name: 'key a' })
  t.equal(record.count('find'), 2)
  keys.confirm()
  for (let index = 0; index < 5000; index++) await keys.find(String(index))
  t.ok(keys.find('0') instanceof Promise, 'few of them are remembered')
  t.equal(keys.find('4999'), undefined)
})

t.test('while changes of keys are reported, an unknown key is remembered for ten seconds, and a change ends that at once', async (t) => {
  const { clock, record, keys } = rig()
  t.equal(await keys.find(hash('a')), undefined)
  await every(t, 'every round', async (t) => {
    for (let second = 0; second < 9; second++) {
      await clock.advance(1000)
      keys.confirm()
      t.equal(keys.find(hash('a')), undefined)
    }
  })
  t.equal(record.count('find'), 1)
  await record.keys.put(apiKey('a'))
  keys.drop([hash('a')])
  t.match(await keys.find(hash('a')), { name: 'key a' })
  t.equal(await keys.find(hash('b')), undefined)
  await clock.advance(999)
  t.equal(keys.find(hash('b')), undefined)
  await clock.advance(1)
  t.ok(keys.find(hash('b')) instanceof Promise, 'without a report for a second no unknown key is remembered')
})

/** A store whose look-ups wait until they are let through. */
function gated() {
  const batches: { hashes: readonly string[]; pass: () => void }[] = []
  const { keys } = rig().record
  const findMany = (hashes: readonly string[]): Promise<StoredKey[]> =>
    new Promise((resolve) => batches.push({ hashes, pass: () => resolve([]) }))
  return { batches, lookUps: new KeyLookUps({ ...keys, findMany }) }
}

t.test('look-ups go in batches, those of suspects last, and both kinds are bounded', async (t) => {
  const { batches, lookUps } = gated()
  const names = (kind: string, count: number): string[] => Array.from({ length: count }, (_, index) => `${kind}${index}`)
  const find = (name: string, isSuspect = false): Promise<unknown> => lookUps.find(name, isSuspect)
  const first = [find('one'), find('two')]
  t.same(
    batches.map(({ hashes }) => hashes),
    [['one'], ['two']],
    'two round trips at once',
  )
  const suspects = names('suspect', 1024).map((name) => find(name, true))
  const good = names('good', 100).map((name) => find(name))
  t.equal(batches.length, 2)
  await t.rejects(find('one more', true), { code: 'rate_limited', retryAfter: 1 })
  batches[0].pass()
  await first[0]
  await turn()
  t.same(batches[2].hashes, [...names('good', 100), ...names('suspect', 156)], 'good ones first, however late they came')
  const others = names('other', 4096).map((name) => find(name))
  await t.rejects(find('too many'), { code: 'unavailable', retryAfter: 1 })
  for (let index = 1; index < batches.length; index++) {
    batches[index].pass()
    await turn()
  }
  await Promise.all([...first, ...suspects, ...good, ...others])
  t.ok(batches.length < 30, `${batches.length} round trips for 5,222 look-ups`)
})

t.test('a batch that fails fails for all that are in it, and the next one goes on', async (t) => {
  const { keys } = rig().record
  let isBroken = true
  const lookUps = new KeyLookUps({
    ...keys,
    findMany: async () => {
      if (isBroken) throw new Error('lost')
      return []
    },
  })
  await t.rejects(lookUps.find('a', false), { message: 'lost' })
  isBroken = false
  t.equal(await lookUps.find('a', false), undefined)
})

t.test('what has changed is asked for again, also where an old answer was on its way', async (t) => {
  const { record, keys } = rig()
  await record.keys.put(apiKey('a', { limit: 1 }))
  await record.keys.put(apiKey('b'))
  await keys.find(hash('a'))
  await keys.find(hash('b'))
  await record.keys.put(apiKey('a', { limit: 2 }))
  keys.drop([hash('a')])
  t.match(await keys.find(hash('a')), { limit: 2 })
  t.notOk(keys.find(hash('b')) instanceof Promise, 'the others stay')
  keys.drop(undefined)
  t.ok(keys.find(hash('b')) instanceof Promise)

  keys.drop([hash('a')])
  const stale = Promise.resolve(keys.find(hash('a')))
  await record.keys.put(apiKey('a', { limit: 3 }))
  keys.drop([hash('a')])
  const fresh = keys.find(hash('a'))
  await stale
  t.match(await fresh, { limit: 3 })
  t.match(keys.find(hash('a')), { limit: 3 }, 'what was on its way is not kept')
  record.mode('hang', 'find')
  keys.drop([hash('b')])
  const old = Promise.resolve(keys.find(hash('b')))
  await turn()
  keys.drop(undefined)
  record.mode('pass', 'find')
  t.match(await old, { name: 'key b' }, 'who had asked gets it')
  t.ok(keys.find(hash('b')) instanceof Promise)
})

t.test('while the record is gone: known keys go on, unknown ones are a 503 and not a 401', async (t) => {
  const { clock, record, keys } = rig()
  await record.keys.put(apiKey('a', { limit: 1 }))
  await keys.find(hash('a'))
  record.mode('refuse', 'find')
  await t.rejects(Promise.resolve(keys.find(hash('b'))), { code: 'unavailable', status: 503, retryAfter: 1 })
  await t.rejects(Promise.resolve(keys.find(hash('b'))), { code: 'unavailable' }, 'and that is not remembered')
  record.mode('hang', 'find')
  const hangs = t.rejects(Promise.resolve(keys.find(hash('c'))), { code: 'unavailable' })
  await clock.advance(2000)
  await hangs
  await clock.advance(3_600_000)
  record.mode('refuse', 'find')
  const before = record.count('find')
  await every(t, 'every round', async (t) => {
    for (let index = 0; index < 10; index++) t.match(keys.find(hash('a')), { limit: 1 })
  })
  await turn()
  t.equal(record.count('find'), before + 1, 'it is looked up beside, now and then')
  await record.keys.put(apiKey('a', { limit: 2 }))
  record.mode('pass', 'find')
  await clock.advance(5000)
  t.match(keys.find(hash('a')), { limit: 1 })
  await turn()
  t.match(keys.find(hash('a')), { limit: 2 }, 'old entries are renewed')
  await record.keys.remove(hash('a'))
  await clock.advance(60_000)
  keys.confirm()
  keys.find(hash('a'))
  await turn()
  t.equal(keys.find(hash('a')), undefined)
})

t.test('changes go through, and what is cached of them is dropped', async (t) => {
  const { record, keys } = rig()
  t.equal(await keys.find(hash('a')), undefined)
  await keys.put(apiKey('a', { limit: 1 }))
  t.match(await keys.find(hash('a')), { limit: 1 })
  t.match(await keys.change(hash('a'), (key) => ({ ...key, limit: 2 })), { limit: 2 })
  t.match(await keys.find(hash('a')), { limit: 2 })
  t.equal(await keys.find(hash('b')), undefined)
  await keys.change(hash('a'), (key) => ({ ...key, hash: hash('b') }))
  t.equal(await keys.find(hash('a')), undefined, 'the old secret')
  t.match(await keys.find(hash('b')), { limit: 2 }, 'the new one')
  t.equal((await keys.list()).length, 1)
  t.equal(await keys.remove(hash('b')), true)
  t.equal(await keys.find(hash('b')), undefined)
  t.equal(await keys.remove(hash('b')), false)
  // A store that answers at once may be behind it just as well.
  const plain = new CachedKeys(record.inner.keys, new FakeClock())
  t.match(plain.put(apiKey('c')), { name: 'key c' })
  t.match(await plain.find(hash('c')), { name: 'key c' })
  t.throws(() =>
    plain.change(hash('c'), () => {
      throw new Error('no')
    }),
  )
  t.ok(plain.find(hash('c')) instanceof Promise)
})

t.test('a pulse every 250 ms; its answers are told, an outage once', async (t) => {
  const { clock, record } = rig()
  const told: unknown[] = []
  const reports: ClusterReport[] = []
  const pulses = new Pulses({
    node: 'n1',
    label: 'here 1',
    record,
    clock,
    changed: (hashes) => told.push(['changed', hashes]),
    wanted: (keys) => told.push(['wanted', keys]),
    silence: () => {},
    forgotten: () => {},
    answered: () => told.push('answered'),
    report: (item) => reports.push(item),
  })
  await pulses.now()
  t.same(told.splice(0), [['changed', undefined], 'answered'])
  t.equal(pulses.nodes, 1)
  await record.inner.pulse({ node: 'n2', label: 'there', expiry: 10_000, cursor: undefined })
  await record.inner.lease('n1', leaseAsk('k', 10, { limit: 10 }))
  await record.inner.lease('n2', leaseAsk('k', 10, { limit: 10 }))
  await record.keys.put(apiKey('a'))
  await clock.advance(250)
  t.same(told.splice(0), [['changed', [hash('a')]], ['wanted', [{ key: 'k', payer: undefined }]], 'answered'])
  t.equal(pulses.nodes, 2)
  record.mode('refuse', 'pulse')
  await record.keys.put(apiKey('b'))
  await clock.advance(10_000)
  t.same(told, [])
  t.ok(record.count('pulse') > 30, 'tried on')
  t.match(reports, [{ kind: 'record-lost', during: 'pulse' }])
  record.mode('pass', 'pulse')
  await clock.advance(500)
  t.match(told.splice(0)[0], ['changed', [hash('b')]], 'nothing was missed')
  t.match(reports.slice(1), [{ kind: 'record-back', during: 'pulse' }])

  const before = record.count('pulse')
  record.mode('hang', 'pulse')
  void pulses.now()
  for (let index = 0; index < 5; index++) void pulses.now()
  await turn()
  t.equal(record.count('pulse'), before + 1, 'one at a time')
  record.mode('pass', 'pulse')
  await turn()
  await clock.advance(0)
  t.equal(record.count('pulse'), before + 2, 'and one more for all that isWakePending meanwhile')
  record.mode('hang', 'pulse')
  await clock.advance(250)
  await clock.advance(2250)
  t.equal(record.count('pulse'), before + 4, 'one that is never answered is given up')
  t.equal(reports.length, 3)
  pulses.close()
  await clock.advance(5000)
  t.equal(record.count('pulse'), before + 4)
})

t.test('a changed key is known to every process within a second; the owner can wake it at once', async (t) => {
  const clock = new FakeClock()
  const record = new ScriptedRecord(clock)
  let wake = (): void => {}
  const waking: StoreOfRecord & { onWake(wake: () => void): void } = Object.assign(Object.create(record) as ScriptedRecord, {
    onWake: (hear: () => void) => {
      wake = hear
    },
  })
  const join = (record: StoreOfRecord, node: string) =>
    joinRecord({ record, journal: new MemoryJournal(), clock, node, label: node, report: () => {} })
  const [one, two] = [join(record, 'n1'), join(waking, 'n2')]
  await Promise.all([one.ready, two.ready])
  await one.keys.put(apiKey('a'))
  for (const each of [one, two]) t.match(await each.keys.find(hash('a')), { disabled: false })
  await one.keys.change(hash('a'), (key: StoredKey) => ({ ...key, disabled: true }))
  t.match(await one.keys.find(hash('a')), { disabled: true }, 'at once where it was changed')
  t.match(two.keys.find(hash('a')), { disabled: false })
  await clock.advance(300)
  t.match(await two.keys.find(hash('a')), { disabled: true })
  t.equal(two.nodes(), 2)

  await one.keys.remove(hash('a'))
  wake()
  await turn()
  t.equal(await two.keys.find(hash('a')), undefined)
  t.equal(await seeks(one.credit.account('k'), 100, { limit: 100 }), true)
  one.credit.account('k').release(100)
  const wants = seeks(two.credit.account('k'), 60, { limit: 100 })
  await clock.advance(400)
  t.equal(await wants, true, 'the first gave back what lay idle when its pulse told it')
  await Promise.all([one.close(), two.close()])
})
