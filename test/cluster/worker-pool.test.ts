/** Workers as their owner sees them: started, replaced, ended. */
import { EventEmitter } from 'node:events'
import t from 'tap'
import { OwnerServer, type Reception, type WorkerHandle } from '../../src/cluster/owner-server.ts'
import { MemoryCounters } from '../../src/cluster/shared/index.ts'
import { WorkerPool, type WorkerProcess } from '../../src/cluster/worker-pool.ts'
import { Fault } from '../../src/core/faults.ts'
import { LedgerScans } from '../../src/ledger/scans.ts'
import { MetricRegistry } from '../../src/machines/metrics/metrics.ts'
import { FakeClock, turns } from '../support/clock.ts'
import { ledgerOfRows } from '../support/memory/ledger.ts'
import { memoryRecord } from './scripted-record.ts'

class FakeProcess extends EventEmitter implements WorkerProcess {
  readonly pid = 1
  readonly connected = true
  readonly slot: number
  readonly told: string[] = []
  killed = false

  constructor(slot: number) {
    super()
    this.slot = slot
  }

  send(message: object): void {
    const { messages } = message as { messages: { op: string }[] }
    for (const { op } of messages) this.told.push(op)
  }

  kill(): void {
    this.killed = true
    this.end(null, 'SIGKILL')
  }

  end(code: number | null, signal: string | null = null): void {
    this.emit('exit', code, signal)
    this.emit('disconnect')
  }

  says(op: 'serving' | 'failed', word: string): void {
    this.emit('message', { messages: [{ op, args: [word] }] })
  }
}

function scene(count = 2) {
  const clock = new FakeClock()
  const processes: FakeProcess[] = []
  const inherited: number[] = []
  const ownerServer = new OwnerServer({
    record: memoryRecord(clock),
    scans: new LedgerScans(ledgerOfRows({}), clock),
    counters: new MemoryCounters(clock),
    reportUnexpected: () => {},
  })
  const welcome: Reception['welcome'] = () => ({ slot: 1, count, config: '', drawn: { last: 0 }, secret: 's' })
  const logged: string[] = []
  const metrics = new MetricRegistry()
  const note = (_fields: object, text: string): void => void logged.push(text)
  let refuses = 0
  const workerPool = new WorkerPool({
    count,
    clock,
    metrics,
    log: { info: note, warn: note, error: note } as never,
    fork: (slot) => {
      const process = new FakeProcess(slot)
      processes.push(process)
      return process
    },
    attach: (_slot, process, reception) =>
      ownerServer.open(
        {
          open: true,
          send: (message) => void process.send(message, () => {}),
          listen: (hear, gone) => {
            process.on('message', hear)
            process.once('disconnect', gone)
          },
        },
        { ...reception, welcome, status: () => [] },
      ),
    inherit: async (slot: number, _workerHandle: WorkerHandle) => {
      if (refuses-- > 0) throw new Fault('unavailable')
      inherited.push(slot)
    },
  })
  const latest = (slot: number): FakeProcess => {
    const found = processes.findLast((process) => process.slot === slot)
    if (!found) throw new Error(`no worker ${slot}`)
    return found
  }
  const refuse = (times: number): void => {
    refuses = times
  }
  return { clock, workerPool, processes, inherited, latest, refuse, logged, metrics }
}

async function settle(): Promise<void> {
  await turns(3)
}

async function started(count = 2) {
  const made = scene(count)
  const starting = made.workerPool.start()
  for (const process of made.processes) process.says('serving', 'http://127.0.0.1:1')
  t.equal(await starting, 'http://127.0.0.1:1')
  return made
}

t.test('the start waits for all workers', async (t) => {
  const { workerPool, latest } = scene()
  let url: string | undefined
  const starting = workerPool.start().then((found) => {
    url = found
  })
  latest(1).says('serving', 'http://127.0.0.1:1')
  await settle()
  t.equal(url, undefined)
  t.same(workerPool.notListening(), ['worker 2 is starting'])
  latest(2).says('serving', 'http://127.0.0.1:1')
  await starting
  t.equal(url, 'http://127.0.0.1:1')
  t.same(workerPool.notListening(), [])
})

t.test('a worker that cannot start keeps all from starting, and says why', async (t) => {
  const { workerPool, latest, processes } = scene()
  const starting = workerPool.start()
  latest(1).says('serving', 'http://127.0.0.1:1')
  latest(2).says('failed', 'listen EADDRINUSE')
  await settle()
  latest(2).end(1)
  await t.rejects(starting, { message: 'listen EADDRINUSE' })
  t.ok(latest(1).killed, 'none is left')
  t.equal(processes.length, 2, 'none is tried again')
})

t.test('a worker that dies is inherited from and replaced', async (t) => {
  const { clock, workerPool, latest, inherited, processes, metrics } = await started()
  await clock.advance(60_000)
  latest(1).end(null, 'SIGKILL')
  t.same(workerPool.notListening(), ['worker 1 has ended'])
  await settle()
  t.same(inherited, [1])
  await clock.advance(0)
  await settle()
  t.same(workerPool.notListening(), ['worker 1 is starting'])
  latest(1).says('serving', 'http://127.0.0.1:1')
  await settle()
  t.same(workerPool.notListening(), [])
  const restarts = (await metrics.snapshot()).find(({ name }) => name === 'headgate_worker_restarts_total')
  t.same(restarts?.values, [{ labels: {}, value: 1 }])
  t.equal(processes.length, 3)
})

t.test('a worker that dies again and again is waited for longer and longer', async (t) => {
  const { clock, latest, processes } = await started(1)
  const waits: number[] = []
  for (let deaths = 0; deaths < 10; deaths++) {
    const before = processes.length
    latest(1).end(1)
    await settle()
    let waited = 0
    while (processes.length === before) {
      await clock.advance(125)
      waited += 125
      await settle()
    }
    waits.push(waited)
  }
  t.same(waits, [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 15_000])
  latest(1).says('serving', 'http://127.0.0.1:1')
  await clock.advance(20_000)
  const before = processes.length
  latest(1).end(1)
  await settle()
  await clock.advance(0)
  await settle()
  t.equal(processes.length, before + 1, 'one that had run for a while is replaced at once')
})

t.test('nobody follows a worker whose journal cannot be taken over yet', async (t) => {
  const { clock, latest, processes, inherited, refuse, logged } = await started(1)
  await clock.advance(60_000)
  refuse(3)
  latest(1).end(null, 'SIGKILL')
  for (let times = 0; times < 3; times++) {
    await settle()
    t.equal(processes.length, 1)
    t.same(inherited, [])
    await clock.advance(1000)
  }
  await settle()
  t.same(inherited, [1])
  await clock.advance(0)
  await settle()
  t.equal(processes.length, 2)
  t.match(logged.join(), /cannot be taken over yet/)
})

t.test('a drain tells every worker, waits for all, and starts none anew', async (t) => {
  const { clock, workerPool, latest, processes, inherited } = await started()
  let done = false
  const draining = workerPool.drain(1000).then(() => {
    done = true
  })
  await settle()
  t.same([latest(1).told, latest(2).told], [['drain'], ['drain']])
  latest(1).end(0)
  await clock.advance(500)
  await settle()
  t.notOk(done)
  workerPool.hurry()
  await settle()
  t.same(latest(2).told, ['drain', 'hurry'])
  await clock.advance(500)
  await draining
  t.ok(latest(2).killed, 'the grace time is over')
  await clock.advance(60_000)
  await settle()
  t.equal(processes.length, 2)
  t.same(inherited, [], 'what is left is taken in when the owner closes')
})
