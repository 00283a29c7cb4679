/** Calls of a worker to its owner over the channel: the store of record, rate counters, messages. */
import t, { type Test } from 'tap'
import { OwnerServer } from '../../src/cluster/owner-server.ts'
import { FallbackCounters, MemoryCounters } from '../../src/cluster/shared/index.ts'
import type { Clock } from '../../src/core/clock.ts'
import { Fault } from '../../src/core/faults.ts'
import type { Json } from '../../src/core/json.ts'
import { Credit } from '../../src/ledger/credit.ts'
import { LedgerScans } from '../../src/ledger/scans.ts'
import { LocalRecord } from '../../src/store/local-record.ts'
import { ask, generation, recordContract } from '../store/record-contract.ts'
import { apiKey } from '../store/samples.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { memoryStoresWithKeys } from '../support/memory/stores.ts'
import { type Employee, employ } from './employ.ts'

interface Office {
  ownerServer: OwnerServer
  record: LocalRecord
  errors: unknown[]
}

function office(clock: Clock): Office {
  const errors: unknown[] = []
  const journal = new MemoryJournal()
  const credit = new Credit(clock)
  credit.follow(journal.entries)
  const record = new LocalRecord({
    journal,
    ledger: journal.ledger,
    ...memoryStoresWithKeys(clock),
    credit,
    clock,
  })
  return {
    ownerServer: new OwnerServer({
      record,
      scans: new LedgerScans(record.ledger, clock),
      counters: new MemoryCounters(clock),
      reportUnexpected: (error) => errors.push(error),
    }),
    record,
    errors,
  }
}

recordContract(t, 'asked over the channel', async (clock) => {
  const { ownerServer } = office(clock)
  const { record } = employ(ownerServer)
  return { record, close: () => record.close() }
})

async function catchFault(t: Test, asked: Promise<unknown>): Promise<Fault> {
  const thrown = await asked.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(thrown instanceof Fault)) throw new Error(`expected a fault, found ${thrown}`)
  t.ok(thrown)
  return thrown
}

t.test('the channel carries a fault with its fields, and any other error as `internal` without its text', async (t) => {
  const { ownerServer, record, errors } = office(new FakeClock())
  const worker = employ(ownerServer)
  record.take = () =>
    Promise.reject(new Fault('unavailable', { message: 'The ledger cannot be written', retryAfter: 7, cause: new Error('secret cause') }))
  record.lease = () => Promise.reject(new TypeError('secret place'))
  const taken = await catchFault(t, worker.record.take('a', []))
  t.match(taken, { code: 'unavailable', status: 503, message: 'The ledger cannot be written', retryAfter: 7 })
  const leased = await catchFault(t, worker.record.lease('a', ask('k', 1)))
  t.match(leased, { code: 'internal', message: 'Internal Server Error' })
  t.notMatch(worker.cable.crossed.join(), /secret|stack|\.ts/)
  t.match(errors, [{ message: 'secret place' }], 'the owner hears of the error alone')
})

t.test('what is asked within a turn crosses together, and so do the answers', async (t) => {
  const { ownerServer } = office(new FakeClock())
  const worker = employ(ownerServer)
  await Promise.all([worker.record.spentByAll(), worker.record.balances(['k']), worker.record.lease('a', ask('k', 3))])
  t.equal(worker.cable.crossed.length, 2)
})

t.test('a worker whose owner is gone is told so at once', async (t) => {
  const { ownerServer, record } = office(new FakeClock())
  const worker = employ(ownerServer)
  record.spentByAll = () => new Promise(() => {})
  const open = catchFault(t, worker.record.spentByAll())
  await turn()
  worker.cable.cut()
  t.match(await open, { code: 'unavailable' })
  t.match(await catchFault(t, worker.record.spentByAll()), { code: 'unavailable' })
})

t.test('the owner wakes all workers when a lease is recalled or a key changes', async (t) => {
  const { ownerServer } = office(new FakeClock())
  const [one, two] = [employ(ownerServer), employ(ownerServer)]
  const isWakePending: string[] = []
  for (const [name, worker] of Object.entries({ one, two })) worker.record.onWake(() => isWakePending.push(name))
  await one.record.lease('one', ask('k', 600))
  t.same(isWakePending, [], 'nobody is asked while there is enough')
  t.match(await two.record.lease('two', ask('k', 600)), { granted: 0, waitingFor: 1 })
  await one.record.spentByAll()
  t.same(isWakePending, ['one', 'two'], 'the asker as well: it may hold other leases on the same account')
  await two.record.keys.put(apiKey('a'))
  await one.record.spentByAll()
  t.same(isWakePending, ['one', 'two', 'one', 'two'], 'a changed key is for all')
  await ownerServer.watchedKeys().remove(apiKey('a').hash)
  await one.record.spentByAll()
  await two.record.spentByAll()
  t.equal(isWakePending.length, 6, "the owner's own changes as well")
})

t.test('two workers change one key at once: both changes stand', async (t) => {
  const { ownerServer } = office(new FakeClock())
  const [one, two] = [employ(ownerServer), employ(ownerServer)]
  const { hash } = await one.record.keys.put({ ...apiKey('b'), limit: 0 })
  const add = async (worker: Employee) => worker.record.keys.change(hash, (key) => ({ ...key, limit: (key.limit ?? 0) + 1 }))
  await Promise.all(Array.from({ length: 20 }, (_, at) => add(at % 2 === 0 ? one : two)))
  t.match(await two.record.keys.find(hash), { limit: 20 })
  await t.rejects(
    async () =>
      one.record.keys.change(hash, () => {
        throw new Fault('bad_request', { message: 'no' })
      }),
    { code: 'bad_request' },
  )
  t.match(await one.record.keys.find(hash), { limit: 20 })
})

t.test('a ledger longer than a page is read whole, and may be left in the middle', async (t) => {
  const { ownerServer } = office(new FakeClock())
  const worker = employ(ownerServer)
  const rows = Array.from({ length: 450 }, (_, at) => generation((at + 1) * 64, 'k', 1, 1000))
  await worker.record.take('a', rows)
  const seqs: number[] = []
  for await (const { hold } of worker.record.ledger.export()) seqs.push(hold.seq)
  t.same(
    seqs,
    rows.map(({ hold }) => hold.seq),
  )
  // More than may be open at once, were any left open.
  for (let times = 0; times < 100; times++) for await (const record of worker.record.ledger.export()) if (record) break
  t.same([...(await worker.record.ledger.spent())], [['k', 450n]])
})

t.test('messages reach the other workers, counters count for all', async (t) => {
  const { ownerServer } = office(new FakeClock())
  const workers = [employ(ownerServer), employ(ownerServer), employ(ownerServer)]
  const heard: [number, Json][] = []
  for (const [at, { pubSub }] of workers.entries()) pubSub.subscribe('outage', (message) => heard.push([at, message]))
  workers[0].pubSub.subscribe('session', () => heard.push([0, 'another topic']))
  workers[0].pubSub.publish('outage', { provider: 'first' })
  await workers[1].record.spentByAll()
  await Promise.all(workers.map(({ record }) => record.spentByAll()))
  t.same(heard.sort(), [
    [1, { provider: 'first' }],
    [2, { provider: 'first' }],
  ])
  const take = (at: number) => workers[at].counters.take({ name: 'requests app', perMinute: 2, take: 1 })
  const answers = [await take(0), await take(1), await take(2)]
  t.same(
    answers.map(({ taken }) => taken),
    [true, true, false],
  )
})

t.test('an owner that says nothing is not waited for: each worker holds its share of the limits', async (t) => {
  const clock = new FakeClock()
  const { counters: shared, line } = employ(office(clock).ownerServer, clock)
  // Its answers never arrive.
  Object.assign(line, { answered: () => {} })
  const reports: string[] = []
  const counters = new FallbackCounters({
    clock,
    shared,
    local: new MemoryCounters(clock),
    processes: () => 2,
    report: ({ kind }) => reports.push(kind),
  })
  const take = () => counters.take({ name: 'requests app', perMinute: 4, take: 1 })
  const first = take()
  await clock.advance(500)
  t.match(await first, { taken: true, left: 1 })
  await clock.advance(500)
  t.same(reports, ['shared-lost'])
  t.match([take(), take()], [{ taken: true, left: 0 }, { taken: false }])
  await counters.close()
})

t.test('the owner knows what a worker that is gone still has under way', async (t) => {
  const { ownerServer, record } = office(new FakeClock())
  const worker = employ(ownerServer)
  const gate = Promise.withResolvers<void>()
  record.take = () => gate.promise
  const asked = catchFault(t, worker.record.take('node', []))
  await worker.record.lease('other', ask('k', 1))
  t.same([...worker.nodes], ['node', 'other'])
  worker.cable.cut()
  await asked
  let idle = false
  const waits = worker.idle().then(() => {
    idle = true
  })
  await turn()
  t.notOk(idle)
  gate.resolve()
  await waits
  t.ok(idle)
})

t.test('an answer that cannot be written is an error of its call alone', async (t) => {
  const { ownerServer, record, errors } = office(new FakeClock())
  const worker = employ(ownerServer)
  record.lease = () => Promise.resolve({ granted: 5n } as never)
  const found = worker.record.keys.find('0'.repeat(64))
  const fault = await catchFault(t, worker.record.lease('n', ask('k', 1)))
  t.equal(fault.code, 'internal')
  t.match(errors, [/BigInt/])
  t.notOk(await found, 'what crossed with it arrives')
})
