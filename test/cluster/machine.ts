/** An owner and its workers on a store of record, within one process: each with a journal that outlives it. */
import { type Joined, joinRecord } from '../../src/cluster/index.ts'
import type { OwnerRecord } from '../../src/cluster/owner-record.ts'
import { OwnerServer } from '../../src/cluster/owner-server.ts'
import { MemoryCounters } from '../../src/cluster/shared/index.ts'
import type { Clock } from '../../src/core/clock.ts'
import { fixedAsk } from '../../src/ledger/credit.ts'
import { LedgerScans } from '../../src/ledger/scans.ts'
import type { SettledRows, StoreOfRecord } from '../../src/store/record.ts'
import { holdRow, settleRow } from '../store/samples.ts'
import type { FakeClock } from '../support/clock.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { type Employee, employ } from './employ.ts'

/** A request of a worker: nano-dollars held, until it is settled or the worker dies. */
interface Open {
  readonly seq: number
  readonly key: string
  readonly held: number
}

export class Machine {
  readonly workers: Worker[] = []
  readonly owner: Joined
  readonly ownerServer: OwnerServer
  private readonly name: string
  private readonly clock: FakeClock
  private readonly lostGrace: number | undefined

  /** @param ownersClock the owner's own, where it is another. */
  constructor(
    name: string,
    record: StoreOfRecord,
    clock: FakeClock,
    { lostGrace, ownersClock = clock }: { lostGrace?: number; ownersClock?: Clock } = {},
  ) {
    this.name = name
    this.clock = clock
    this.lostGrace = lostGrace
    this.owner = joinRecord({
      record,
      journal: new MemoryJournal(),
      clock: ownersClock,
      node: name,
      label: name,
      lostGrace,
      isOwner: true,
      report: () => {},
    })
    const scans = new LedgerScans(this.owner.ledger, clock)
    this.ownerServer = new OwnerServer({
      record: this.record,
      scans,
      counters: new MemoryCounters(clock),
      reportUnexpected: (error) => console.error(error),
    })
  }

  /** As workers have it. */
  get record(): OwnerRecord {
    const { workersRecord } = this.owner
    if (!workersRecord) throw new Error('an owner has a record for its workers')
    return workersRecord
  }

  /** Starts a worker. @param before whose name and journal it takes over. */
  hire(before?: Worker): Worker {
    const { node, journal } = before ?? { node: `${this.name}-${this.workers.length}`, journal: new MemoryJournal() }
    const worker = new Worker(node, employ(this.ownerServer, this.clock), {
      journal,
      clock: this.clock,
      lostGrace: this.lostGrace,
    })
    this.workers.push(worker)
    return worker
  }

  /** SIGKILL of a worker; what it left is taken over, and another takes its place. */
  async kill(worker: Worker): Promise<Worker> {
    const { journal, employee } = worker
    worker.die()
    await employee.idle()
    journal.reconcile()
    const left = settledIn(journal)
    if (left.length > 0) await this.record.inherit(worker.node, left)
    journal.forget(left.map(({ hold }) => hold.seq))
    for (const node of employee.nodes) this.record.nodeGone(node)
    this.workers.splice(this.workers.indexOf(worker), 1)
    return this.hire(worker)
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.joined.close()))
    await this.owner.close()
  }
}

function settledIn(journal: MemoryJournal): SettledRows[] {
  return [...journal.export()].flatMap(({ hold, settled }) => (settled ? [{ hold, settled }] : []))
}

export class Worker {
  readonly node: string
  readonly journal: MemoryJournal
  readonly employee: Employee
  readonly joined: Joined
  readonly open: Open[] = []
  private readonly clock: FakeClock
  private static seq = 0

  constructor(
    node: string,
    employee: Employee,
    { journal, clock, lostGrace }: { journal: MemoryJournal; clock: FakeClock; lostGrace: number | undefined },
  ) {
    this.node = node
    this.employee = employee
    this.journal = journal
    this.clock = clock
    const { record } = employee
    this.joined = joinRecord({ record, journal, clock, node, label: node, lostGrace, report: () => {} })
  }

  /** Begins a request that holds this much. @returns 200, 402, or 503 where the record does not answer. */
  async begin(key: string, amount: number, limit: number | null): Promise<number> {
    const account = this.joined.credit.account(key)
    const allowances = [{ limit }]
    try {
      const held = account.tryHold(fixedAsk(amount), allowances) ?? (await account.seek?.(fixedAsk(amount), allowances))
      if (held === undefined) return 402
      const seq = ++Worker.seq
      this.joined.journal.hold(holdRow(seq, { key, hold: held, floor: held }))
      this.open.push({ seq, key, held })
      return 200
    } catch {
      return 503
    }
  }

  /** Ends its oldest request. @param part of its hold that it costs. @returns nano-dollars. */
  end(part = 1): number {
    const request = this.open.shift()
    if (!request) return 0
    const cost = Math.floor(request.held * part)
    this.joined.credit.account(request.key).settle(request.held, cost)
    this.joined.journal.settle(settleRow(request.seq, cost, { at: this.clock.now() }))
    return cost
  }

  die(): void {
    this.employee.cable.cut()
    this.joined.close().catch(() => {})
  }
}
