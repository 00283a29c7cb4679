/** A record in memory, or the way of one process to it, whose calls a test counts, delays, refuses, or leaves unanswered. */
import { Fault } from '../../src/core/faults.ts'
import { Credit } from '../../src/ledger/credit.ts'
import type { LedgerReader } from '../../src/ledger/reader.ts'
import type { AuditLogStore } from '../../src/store/audit-log.ts'
import type { ByokKeyStore } from '../../src/store/byok-keys.ts'
import type { CompactionKeyStore } from '../../src/store/compaction-keys.ts'
import type { EventStore } from '../../src/store/events.ts'
import type { GivenIdStore } from '../../src/store/given-ids.ts'
import type { GuardrailStore } from '../../src/store/guardrails.ts'
import type { KeyStore } from '../../src/store/keys.ts'
import type { LevelStore } from '../../src/store/levels.ts'
import { LocalRecord } from '../../src/store/local-record.ts'
import type { Balance, LeaseAnswer, LeaseAsk, LeaseName, Pulse, PulseReply, SettledRows, StoreOfRecord } from '../../src/store/record.ts'
import type { RefusalStore } from '../../src/store/refusals.ts'
import type { FakeClock } from '../support/clock.ts'
import { MemoryGuardrails } from '../support/memory/guardrails.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { MemoryKeys } from '../support/memory/keys.ts'
import { memoryStores } from '../support/memory/stores.ts'

export type Call = 'take' | 'lease' | 'giveBack' | 'pulse' | 'balances' | 'spentByAll' | 'endLeases' | 'find' | 'close'
/**
 * `refuse`: nothing happens. `lose`: it happens, and the answer is lost. `hang`: nothing until the mode changes.
 * `delay`: the asker hears that it failed, and it happens when `deliver` is called.
 */
export type Mode = 'pass' | 'refuse' | 'lose' | 'hang' | 'delay'

/** An empty record of a process that owns its store. */
export function memoryRecord(clock: FakeClock): LocalRecord {
  const journal = new MemoryJournal()
  return new LocalRecord({
    journal,
    ledger: journal.ledger,
    keys: new MemoryKeys(clock),
    guardrails: new MemoryGuardrails(),
    ...memoryStores(),
    credit: new Credit(clock),
    clock,
  })
}

export class ScriptedRecord implements StoreOfRecord {
  readonly calls: [Call, ...unknown[]][] = []
  readonly inner: StoreOfRecord
  readonly keys: KeyStore
  readonly ledger: LedgerReader
  readonly guardrails: GuardrailStore
  readonly compactionKeys: CompactionKeyStore
  readonly byokKeys: ByokKeyStore
  readonly levels: LevelStore
  readonly events: EventStore
  readonly auditLog: AuditLogStore
  readonly refusals: RefusalStore
  readonly givenIds: GivenIdStore
  private readonly modes = new Map<Call, Mode>()
  private watchers: (() => void)[] = []
  private delayed: (() => Promise<unknown>)[] = []
  private isCut = false

  constructor(clock: FakeClock, inner: StoreOfRecord = memoryRecord(clock)) {
    this.inner = inner
    this.ledger = this.inner.ledger
    this.guardrails = this.inner.guardrails
    this.compactionKeys = this.inner.compactionKeys
    this.byokKeys = this.inner.byokKeys
    this.levels = this.inner.levels
    this.events = this.inner.events
    this.auditLog = this.inner.auditLog
    this.refusals = this.inner.refusals
    this.givenIds = this.inner.givenIds
    const { keys } = this.inner
    this.keys = {
      find: (hash) => this.run('find', [hash], async () => keys.find(hash)),
      put: async (key) => keys.put(key),
      add: async (key) => keys.add(key),
      change: async (hash, how) => keys.change(hash, how),
      remove: async (hash) => keys.remove(hash),
      list: async () => keys.list(),
      issuedBy: async (by, now) => keys.issuedBy(by, now),
      listAfter: async (after, most) => keys.listAfter(after, most),
    }
  }

  mode(mode: Mode, ...calls: Call[]): void {
    for (const call of calls) this.modes.set(call, mode)
    for (const watcher of this.watchers.splice(0)) watcher()
  }

  /** The process is no more: nothing gets through, and no answer comes back. */
  cut(): void {
    this.isCut = true
  }

  /** Delivers the messages that the network has held back. */
  async deliver(): Promise<void> {
    for (const work of this.delayed.splice(0)) await work()
  }

  /** Arguments of the calls of one kind, without the process's name. */
  of(call: Call): unknown[][] {
    return this.calls.filter(([name]) => name === call).map(([, ...rest]) => rest)
  }

  count(call: Call): number {
    return this.of(call).length
  }

  async take(node: string, rows: readonly SettledRows[]): Promise<void> {
    return this.run('take', [rows.map(({ hold }) => hold.seq)], () => this.inner.take(node, rows))
  }

  async lease(node: string, ask: LeaseAsk): Promise<LeaseAnswer> {
    return this.run('lease', [ask], () => this.inner.lease(node, ask))
  }

  async giveBack(node: string, lease: LeaseName, amount: number | 'all', turn: number): Promise<void> {
    return this.run('giveBack', [lease.key, amount], () => this.inner.giveBack(node, lease, amount, turn))
  }

  async endLeases(node: string): Promise<void> {
    return this.run('endLeases', [], () => this.inner.endLeases(node))
  }

  async pulse(pulse: Pulse): Promise<PulseReply> {
    return this.run('pulse', [pulse.cursor], () => this.inner.pulse(pulse))
  }

  async balances(keys: readonly string[]): Promise<Balance[]> {
    return this.run('balances', [keys], () => this.inner.balances(keys))
  }

  async spentByAll(): Promise<bigint> {
    return this.run('spentByAll', [], () => this.inner.spentByAll())
  }

  async forgetLost(grace: number): Promise<ReadonlyMap<string, number>> {
    return this.inner.forgetLost(grace)
  }

  async close(): Promise<void> {
    return this.run('close', [], () => this.inner.close())
  }

  private async run<T>(call: Call, rest: unknown[], work: () => Promise<T>): Promise<T> {
    const never = new Promise<never>(() => {})
    if (this.isCut) return never
    this.calls.push([call, ...rest])
    while (this.modes.get(call) === 'hang') await new Promise<void>((resolve) => this.watchers.push(resolve))
    const mode = this.modes.get(call)
    if (this.isCut) return never
    if (mode === 'refuse') throw new Fault('unavailable', { message: 'refused by the test' })
    if (mode === 'delay') {
      this.delayed.push(work)
      throw new Fault('unavailable', { message: 'held back by the test' })
    }
    const result = await work()
    if (mode === 'lose') throw new Fault('unavailable', { message: 'lost by the test' })
    return this.isCut ? never : result
  }
}
