/** The owner of workers as the one client of a store of record elsewhere: leases, rows, pulses and changes by way of it. */
import t, { type Test } from 'tap'
import { generation } from '../store/record-contract.ts'
import { apiKey } from '../store/samples.ts'
import { FakeClock, turns } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { runs, seed } from '../support/seed.ts'
import { Machine, type Worker } from './machine.ts'
import { type Mode, memoryRecord, ScriptedRecord } from './scripted-record.ts'

const LIMIT = 10_000
/** Of the key of a storm, which soon has no more. */
const SMALL = 4_000

interface Scene {
  clock: FakeClock
  /** The owner's way to the record. */
  record: ScriptedRecord
  machine: Machine
  workers: Worker[]
  /** Moves time on in steps, so that what crosses has time to arrive. */
  pass(ms: number): Promise<void>
}

async function openScene(t: Test | undefined, count: number, options: { lostGrace?: number; seed?: number } = {}): Promise<Scene> {
  const clock = new FakeClock(options.seed)
  const record = new ScriptedRecord(clock)
  const machine = new Machine('m1', record, clock, options)
  await machine.owner.ready
  const workers = Array.from({ length: count }, () => machine.hire())
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      await clock.advance(Math.min(50, ms - passed))
      await turns(6)
    }
  }
  await Promise.all([...workers.map(({ joined }) => joined.ready), pass(500)])
  t?.teardown(() => Promise.all([machine.close(), pass(5_000)]))
  return { clock, record, machine, workers, pass }
}

async function readBalance({ record }: Pick<Scene, 'record'>, key = 'k'): Promise<{ spent: number; leased: number }> {
  const [found] = await record.inner.balances([key])
  return { spent: Number(found?.spent), leased: found?.leased ?? 0 }
}

/** So many requests of one price, one after the other, each ended at once; time goes on meanwhile. */
async function spend(scene: Scene, worker: Worker, times: number, price = 100): Promise<Record<number, number>> {
  const counts: Record<number, number> = {}
  for (let index = 0; index < times; index++) {
    let status: number | undefined
    void worker.begin('k', price, LIMIT).then((found) => (status = found))
    await turns(8)
    while (status === undefined) await scene.pass(50)
    if (status === 200) worker.end()
    counts[status] = (counts[status] ?? 0) + 1
  }
  return counts
}

t.test('the record sees one process: the leases of its workers are holds in one lease, and most need no call', async (t) => {
  const scene = await openScene(t, 4)
  const { record, workers, pass } = scene
  for (const worker of workers) t.same(await spend(scene, worker, 10), { 200: 10 })
  const before = record.count('lease')
  t.ok(before <= 12, `${before} calls for the first 40 requests`)
  await pass(1_000)
  for (const worker of workers) t.same(await spend(scene, worker, 5), { 200: 5 })
  t.ok(record.count('lease') - before <= 4, `${record.count('lease') - before} calls for 20 more`)
  await pass(1_000)
  t.match(await readBalance(scene), { spent: 6_000 })
  t.equal((await record.inner.pulse({ node: 'm1', label: 'm1', expiry: 10_000, cursor: undefined })).nodes, 1)
})

t.test('rows of all workers go in one batch, and a worker is answered when the record has them', async (t) => {
  const scene = await openScene(t, 3)
  const { record, workers, pass } = scene
  for (const worker of workers) await spend(scene, worker, 2)
  const before = record.count('take')
  record.mode('refuse', 'take')
  await pass(1_000)
  t.ok(
    workers.every(({ journal }) => [...journal.export()].length === 2),
    'each worker keeps its rows',
  )
  t.match(await readBalance(scene), { spent: 0 })
  record.mode('lose', 'take')
  await pass(6_000)
  t.match(await readBalance(scene), { spent: 600 }, 'the record has them, but its answer is lost')
  t.ok(workers.every(({ journal }) => [...journal.export()].length === 2))
  record.mode('pass', 'take')
  await pass(6_000)
  t.match(await readBalance(scene), { spent: 600 }, 'once')
  t.ok(workers.every(({ journal }) => [...journal.export()].length === 0))
  t.ok(record.count('take') - before < 20, 'tried more and more slowly')
  await pass(120_000)
  t.same(await readBalance(scene), { spent: 600, leased: 0 }, 'and nothing stays leased')
})

t.test('what one worker has idle serves another, to the last nano-dollar', async (t) => {
  const scene = await openScene(t, 2)
  const [one, two] = scene.workers as [Worker, Worker]
  t.same(await spend(scene, one, 60), { 200: 60 })
  t.same(await spend(scene, two, 45), { 200: 40, 402: 5 })
  t.same(await spend(scene, one, 2), { 402: 2 })
  await scene.pass(1_000)
  t.match(await readBalance(scene), { spent: LIMIT })
})

t.test('another machine gets what lies idle in the workers of this one', async (t) => {
  const scene = await openScene(t, 2)
  const { clock, record, pass } = scene
  const other = new Machine('m2', new ScriptedRecord(clock, record.inner), clock)
  await other.owner.ready
  const worker = other.hire()
  await Promise.all([worker.joined.ready, pass(500)])
  const [one] = scene.workers as [Worker]
  t.same(await spend(scene, one, 60), { 200: 60 })
  t.ok((await readBalance(scene)).leased > 0)
  t.same(await spend(scene, worker, 45), { 200: 40, 402: 5 })
  await pass(1_000)
  t.match(await readBalance(scene), { spent: LIMIT })
  await Promise.all([other.close(), pass(3_000)])
})

t.test('a worker that is killed: its open requests are charged, its lease is free at once', async (t) => {
  const scene = await openScene(t, 2)
  const [one, two] = scene.workers as [Worker, Worker]
  await spend(scene, one, 30)
  for (let index = 0; index < 5; index++) void one.begin('k', 100, LIMIT)
  await scene.pass(100)
  t.equal(one.open.length, 5)
  await Promise.all([scene.machine.kill(one), scene.pass(2_000)])
  t.match(await readBalance(scene), { spent: 3_500 })
  t.same(await spend(scene, two, 70), { 200: 65, 402: 5 })
  await scene.pass(1_000)
  t.match(await readBalance(scene), { spent: LIMIT })
})

t.test('rows of a dead worker that the record has had are charged once, and their lease comes back', async (t) => {
  const scene = await openScene(t, 1)
  const { machine, pass } = scene
  const [one] = scene.workers as [Worker]
  await spend(scene, one, 30)
  await pass(1_000)
  t.ok((await readBalance(scene)).leased > 50)
  // As after 65,536 others: nothing here remembers them.
  const rows = [generation(900_001, 'k', 50, scene.clock.now())]
  await scene.record.inner.take('m1', rows)
  await Promise.all([machine.record.inherit('m1-0', rows), pass(500)])
  t.match(await readBalance(scene), { spent: 3_050 })
  await pass(120_000)
  t.same(await readBalance(scene), { spent: 3_050, leased: 0 })
  t.same(await spend(scene, one, 75), { 200: 69, 402: 6 })
})

t.test('a worker that was not answered hands its rows in again: they are not counted again', async (t) => {
  const scene = await openScene(t, 1)
  const { machine, record, pass } = scene
  const [one] = scene.workers as [Worker]
  await spend(scene, one, 30)
  await pass(1_000)
  const rows = [generation(900_002, 'k', 50, scene.clock.now())]
  await Promise.all([machine.record.take(one.node, rows), pass(500)])
  const before = record.count('take')
  await Promise.all([machine.record.take(one.node, rows), pass(500)])
  t.equal(record.count('take'), before)
  await pass(120_000)
  t.same(await readBalance(scene), { spent: 3_050, leased: 0 })
})

t.test('a worker holds nothing from a lease once the pulses of its owner have failed for too long', async (t) => {
  const scene = await openScene(t, 2, { lostGrace: 60_000 })
  const { record, pass, workers } = scene
  const [one] = workers as [Worker]
  await spend(scene, one, 30)
  const account = one.joined.credit.account('k')
  const held = account.tryHold({ full: 100, floor: 100 }, [{ limit: LIMIT }])
  t.equal(held, 100, 'the lease is in hand')
  account.release(100)
  record.mode('hang', 'pulse')
  await pass(53_000)
  t.equal(account.tryHold({ full: 100, floor: 100 }, [{ limit: LIMIT }]), 100, 'a shorter silence changes nothing')
  account.release(100)
  await pass(1_200)
  t.equal(account.tryHold({ full: 100, floor: 100 }, [{ limit: LIMIT }]), undefined, 'the owner counts it as lost, and so does the worker')
  t.same(await spend(scene, one, 1), { 503: 1 })
  record.mode('pass', 'pulse')
  await pass(2_000)
  t.same(await spend(scene, one, 80), { 200: 70, 402: 10 })
  await pass(1_000)
  t.match(await readBalance(scene), { spent: LIMIT })
})

t.test('a grant that arrives after all leases have ended is void, and its credit is free again', async (t) => {
  const scene = await openScene(t, 1)
  const { record, machine, workers, pass } = scene
  const [one] = workers as [Worker]
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const lease = record.lease.bind(record)
  record.lease = (...call) => answered.then(() => lease(...call))
  let status: number | undefined
  void one.begin('k', 100, LIMIT).then((found) => (status = found))
  await turns(8)
  t.equal(status, undefined, 'the record has not answered yet')
  machine.record.lapse()
  answer()
  await turns(8)
  t.equal(status, 503)
  await pass(2_000)
  t.same(await spend(scene, one, 100), { 200: 100 }, 'all of the limit is there')
})

t.test('leases that the record has ended without the owner knowing are spent by no worker after the next pulse', async (t) => {
  const scene = await openScene(t, 2, { lostGrace: 60_000 })
  const { record, pass, workers } = scene
  const [one, two] = workers as [Worker, Worker]
  await spend(scene, one, 30)
  await pass(1_000)
  t.equal(one.joined.credit.account('k').tryHold({ full: 100, floor: 100 }, [{ limit: LIMIT }]), 100, 'the lease is in hand')
  one.joined.credit.account('k').release(100)
  t.ok((record.inner as ReturnType<typeof memoryRecord>).nodeGone('m1') > 0)
  await pass(1_000)
  t.match(await readBalance(scene), { spent: 3_000, leased: 0 })
  // What was free again is spent elsewhere.
  await record.inner.take('elsewhere', [generation(900_003, 'k', 7_000, scene.clock.now())])
  t.same(await spend(scene, one, 5), { 402: 5 })
  t.same(await spend(scene, two, 5), { 402: 5 })
  await pass(1_000)
  t.match(await readBalance(scene), { spent: LIMIT })
})

t.test('changes of keys reach workers at once, and after an outage they forget all that they have cached', async (t) => {
  const scene = await openScene(t, 2)
  const { record, pass, workers } = scene
  const [one, two] = workers as [Worker, Worker]
  const { hash } = apiKey('a')
  const found = async (worker: Worker): Promise<string | undefined> => {
    const key = worker.joined.keys.find(hash)
    const [value] = await Promise.all([key, pass(100)])
    return value?.name
  }
  await Promise.all([one.joined.keys.put(apiKey('a')), pass(100)])
  t.equal(await found(two), 'key a')
  await Promise.all([one.joined.keys.put(apiKey('a', { name: 'second' })), pass(100)])
  t.equal(await found(two), 'second')
  // By another machine.
  await record.inner.keys.put(apiKey('a', { name: 'third' }))
  await pass(400)
  t.equal(await found(two), 'third')
  t.equal(two.joined.nodes(), 2, 'each worker knows how many share a limit with it')
})

/** Random requests, deaths and outages, against sums of a few lines. */
class Storm {
  private readonly machines: Machine[]
  private readonly records: ScriptedRecord[]
  private readonly clock: FakeClock
  /** Nano-dollars of requests that were settled. */
  private settled = 0
  private readonly inner: ReturnType<typeof memoryRecord>

  private constructor(clock: FakeClock, records: ScriptedRecord[], inner: ReturnType<typeof memoryRecord>) {
    this.clock = clock
    this.records = records
    this.inner = inner
    this.machines = records.map((record, index) => new Machine(`m${index}`, record, clock))
  }

  static async begin(seed: number): Promise<Storm> {
    const clock = new FakeClock(seed)
    const inner = memoryRecord(clock)
    const storm = new Storm(
      clock,
      [0, 1].map(() => new ScriptedRecord(clock, inner)),
      inner,
    )
    for (const machine of storm.machines) {
      await machine.owner.ready
      for (let count = 0; count < 2; count++) machine.hire()
    }
    await storm.pass(500)
    return storm
  }

  private async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      await this.clock.advance(50)
      await turns(6)
    }
  }

  /** Lets time go on until it is done: rows that could not be forwarded are tried again after up to five seconds. */
  private async during(work: Promise<unknown>): Promise<void> {
    let done = false
    const ended = work.finally(() => {
      done = true
    })
    for (let passed = 0; !done && passed < 60_000; passed += 50) await this.pass(50)
    if (!done) throw new Error('no end within a minute')
    await ended
  }

  private pick<T>(list: readonly T[]): T {
    const found = list[Math.floor(this.clock.random() * list.length)]
    if (found === undefined) throw new Error('nothing to pick')
    return found
  }

  private get workers(): Worker[] {
    return this.machines.flatMap(({ workers }) => workers)
  }

  async step(): Promise<void> {
    const chance = this.clock.random()
    const worker = this.pick(this.workers)
    if (chance < 0.45) void worker.begin('k', 50 + Math.floor(this.clock.random() * 300), SMALL)
    else if (chance < 0.8) this.settled += worker.end(this.clock.random())
    else if (chance < 0.83) await this.kill(this.pick(this.machines))
    else if (chance < 0.9) this.disturb()
    else if (chance < 0.93) await Promise.all(this.records.map((record) => record.deliver()))
    await this.pass(this.clock.random() < 0.3 ? 400 : 50)
  }

  /** Of a worker; its open requests cost their holds. */
  private async kill(machine: Machine): Promise<void> {
    for (const record of this.records) record.mode('pass', 'take', 'lease', 'giveBack', 'pulse')
    const worker = this.pick(machine.workers)
    await worker.journal.committed()
    for (const { held } of worker.open) this.settled += held
    await this.during(machine.kill(worker))
  }

  /** A lease that was given up is granted within five seconds or never (a statement has that long), so none is held back for longer. */
  private disturb(): void {
    const record = this.pick(this.records)
    const call = this.pick(['take', 'lease', 'giveBack', 'pulse'] as const)
    const modes: readonly Mode[] = ['pass', 'pass', 'refuse', 'lose', 'hang', ...(call === 'lease' ? [] : ['delay' as const])]
    record.mode(this.pick(modes), call)
  }

  /** Settled sum and possible cost of open requests, in nano-dollars. */
  get used(): number {
    return this.settled + this.workers.reduce((sum, { open }) => sum + open.reduce((held, each) => held + each.held, 0), 0)
  }

  /** Lets all of it end. @returns what the record has then, and what it should have. */
  async end(): Promise<{ spent: number; leased: number; settled: number }> {
    for (const record of this.records) {
      record.mode('pass', 'take', 'lease', 'giveBack', 'pulse')
      await record.deliver()
    }
    await this.pass(3_000)
    for (const worker of this.workers) while (worker.open.length > 0) this.settled += worker.end()
    await this.pass(40_000)
    await this.during(Promise.all(this.machines.map((machine) => machine.close())))
    const [found] = await this.inner.balances(['k'])
    return { spent: Number(found?.spent), leased: found?.leased ?? 0, settled: this.settled }
  }
}

t.test('whatever fails and whoever dies: no limit is passed, nothing is lost or counted twice, nothing stays leased', async (t) => {
  await every(t, 'storms', async (t) => {
    for (let run = 0; run < runs(8, 500); run++) {
      const storm = await Storm.begin(seed() + run)
      for (let step = 0; step < 150; step++) {
        await storm.step()
        if (storm.used > SMALL) t.fail(`seed ${seed() + run}, step ${step}: ${storm.used} of ${SMALL}`)
      }
      const { spent, leased, settled } = await storm.end()
      t.same({ spent, leased }, { spent: settled, leased: 0 }, `seed ${seed() + run}`)
      t.ok(spent <= SMALL && spent > 0, `${spent} of ${SMALL}`)
    }
  })
})
