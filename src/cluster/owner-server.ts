/** The owner's side of the channel: answers the workers' calls of the store of record, and passes their messages on. */
import type { Origin } from '../core/audit-entries.ts'
import { Fault } from '../core/faults.ts'
import type { Json } from '../core/json.ts'
import type { LedgerLists } from '../ledger/reader.ts'
import type { GenerationRecord } from '../ledger/types.ts'
import { WatchedByokKeys } from '../store/byok-keys.ts'
import { WatchedGuardrails } from '../store/guardrails.ts'
import { WatchedKeys } from '../store/key-changes.ts'
import type { KeyRecord, KeyStore, StoredKey } from '../store/keys.ts'
import { WatchedLevels } from '../store/levels.ts'
import type { LeaseAnswer, StoreOfRecord } from '../store/record.ts'
import { type Answers, Line, type Port } from './ipc-line.ts'
import type { OwnerOffer, Replaced, WorkerOffer } from './messages.ts'
import { type Answering, type AnyForm, METHODS, pack, type StoreName } from './record-methods.ts'
import type { CounterAnswer, CounterAsk, Counters, Topic } from './shared/types.ts'
import type { WakeSource } from './wake-source.ts'

export type WorkerLine = Line<WorkerOffer, OwnerOffer>

/** Operations that only the process that started the worker can answer. */
export type Reception = Pick<Answers<OwnerOffer>, 'welcome' | 'serving' | 'failed' | 'status'>

export interface OwnerServerOptions {
  record: StoreOfRecord & Partial<WakeSource>
  /** Scans for all workers, one at a time. */
  scans: LedgerLists
  counters: Counters
  /** Called with errors that are no faults. */
  reportUnexpected: (error: unknown) => void
}

/** One worker of the owner. */
export interface WorkerHandle {
  readonly line: WorkerLine
  /** Names under which it has leased credit or forwarded generations. */
  readonly nodes: ReadonlySet<string>
  /** Resolves when none of its calls is still running. */
  idle(): Promise<void>
}

interface Account {
  readonly nodes: Set<string>
  readonly doing: Set<Promise<unknown>>
}

interface Call {
  readonly store: StoreName
  readonly method: string
  readonly args: readonly unknown[]
}

/** Generations that cross at once. */
const PAGE = 200
/** Ledgers that one worker reads at the same time. */
const MAX_READINGS = 64

export class OwnerServer {
  private readonly options: OwnerServerOptions
  private readonly workerHandles = new Set<WorkerHandle>()
  /** Stores of the record as workers call them, looked up for each call. */
  private readonly stores: { readonly [Name in StoreName]: () => Answering<Name> } = {
    record: () => this.record,
    keys: () => this.watchedKeys(),
    ledger: () => this.record.ledger,
    lists: () => this.options.scans,
    entries: () => this.record.ledger.entries,
    guardrails: () => new WatchedGuardrails(this.record.guardrails, () => this.wake()),
    compactionKeys: () => this.record.compactionKeys,
    byokKeys: () => this.watchedByokKeys(),
    levels: () => this.watchedLevels(),
    events: () => this.record.events,
    auditLog: () => this.record.auditLog,
    refusals: () => this.record.refusals,
    givenIds: () => this.record.givenIds,
  }

  constructor(options: OwnerServerOptions) {
    this.options = options
    options.record.onWake?.(() => this.wake())
  }

  /** Answers a worker from now on, until its channel closes. */
  open(port: Port, reception: Reception): WorkerHandle {
    const account: Account = { nodes: new Set(), doing: new Set() }
    const readings = new Readings(() => this.record.ledger.export.bind(this.record.ledger))
    const answers: Answers<OwnerOffer> = {
      ...reception,
      call: (store, method, args) => this.call(account, { store, method, args }),
      keyReplace: (seen, key, by) => replace(this.watchedKeys(), seen, { key, by }),
      ledgerOpen: (since) => readings.begin(since),
      ledgerNext: (reading) => readings.next(reading),
      ledgerEnd: (reading) => readings.end(reading),
      counter: (ask: CounterAsk): CounterAnswer | Promise<CounterAnswer> => this.options.counters.take(ask),
      publish: (topic: Topic, message: Json) => {
        for (const other of this.workerHandles) if (other !== workerHandle) other.line.notify('publish', topic, message)
        return null
      },
    }
    const line = new Line<WorkerOffer, OwnerOffer>(port, answers, this.options.reportUnexpected)
    const idle = async (): Promise<void> => {
      await Promise.allSettled(account.doing)
    }
    const workerHandle: WorkerHandle = { line, nodes: account.nodes, idle }
    this.workerHandles.add(workerHandle)
    workerHandle.line.whenGone(() => {
      this.workerHandles.delete(workerHandle)
      readings.close()
    })
    return workerHandle
  }

  /** The keys of the record; a change here reaches every worker at once. */
  watchedKeys(): WatchedKeys {
    return new WatchedKeys(this.record.keys, () => this.wake())
  }

  /** Keys of providers in the record; a change here reaches every worker at once. */
  watchedByokKeys(): WatchedByokKeys {
    return new WatchedByokKeys(this.record.byokKeys, () => this.wake())
  }

  /** Levels of the record; a change here reaches every worker at once. */
  watchedLevels(): WatchedLevels {
    return new WatchedLevels(this.record.levels, () => this.wake())
  }

  private get record(): StoreOfRecord {
    return this.options.record
  }

  private wake(): void {
    for (const workerHandle of this.workerHandles) workerHandle.line.notify('wake')
  }

  private async call(account: Account, call: Call): Promise<unknown> {
    const forms: Readonly<Record<string, AnyForm>> = METHODS[call.store]
    const form = Object.hasOwn(forms, call.method) ? forms[call.method] : undefined
    if (form === undefined) throw new TypeError(`no method ${call.method} of ${call.store}`)
    const result = await this.run(account, call)
    // Leases are called back, perhaps others of the same worker: all workers are notified now, before their next pulse.
    if (call.store === 'record' && call.method === 'lease' && (result as LeaseAnswer).waitingFor > 0) this.wake()
    return form === 'packed' ? pack(result) : result
  }

  private async run({ nodes, doing }: Account, { store, method, args }: Call): Promise<unknown> {
    const methods = this.stores[store]() as unknown as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>
    const node = store === 'record' ? nodeIn(args) : undefined
    if (node === undefined) return methods[method]?.(...args)
    nodes.add(node)
    const done = (async () => methods[method]?.(...args))()
    doing.add(done)
    return done.finally(() => doing.delete(done))
  }
}

/** The process for which the record is called: named first, or in a pulse. */
function nodeIn([first]: readonly unknown[]): string | undefined {
  if (typeof first === 'string') return first
  return typeof first === 'object' && first !== null && 'node' in first ? String(first.node) : undefined
}

/** Thrown out of a change that finds another key than its worker had seen. */
class Changed extends Error {
  readonly current: StoredKey

  constructor(current: StoredKey) {
    super('the key has been changed')
    this.current = current
  }
}

async function replace(keys: KeyStore, seen: StoredKey, { key, by }: { key: KeyRecord; by: Origin }): Promise<Replaced> {
  const before = JSON.stringify(seen)
  try {
    const done = await keys.change(
      seen.hash,
      (current) => {
        if (JSON.stringify(current) !== before) throw new Changed(current)
        return key
      },
      by,
    )
    return done ? { done } : { missing: true }
  } catch (thrown) {
    if (thrown instanceof Changed) return { current: thrown.current }
    throw thrown
  }
}

type Reader = (since: number) => Iterable<GenerationRecord> | AsyncIterable<GenerationRecord>
type Reading = Iterator<GenerationRecord> | AsyncIterator<GenerationRecord>

/** Ledgers that a worker is reading, page by page. */
class Readings {
  private readonly reader: () => Reader
  private readonly open = new Map<number, Reading>()
  private last = 0

  constructor(reader: () => Reader) {
    this.reader = reader
  }

  begin(since: number): number {
    if (this.open.size >= MAX_READINGS) throw new Fault('unavailable', { message: 'Too many readers of the ledger', retryAfter: 1 })
    const records = this.reader()(since)
    this.open.set(++this.last, Symbol.asyncIterator in records ? records[Symbol.asyncIterator]() : records[Symbol.iterator]())
    return this.last
  }

  async next(reading: number): Promise<GenerationRecord[]> {
    const records = this.open.get(reading)
    const page: GenerationRecord[] = []
    while (records && page.length < PAGE) {
      const next = await records.next()
      if (next.done) break
      page.push(next.value)
    }
    return page
  }

  end(reading: number): null {
    void this.open.get(reading)?.return?.()
    this.open.delete(reading)
    return null
  }

  close(): void {
    for (const reading of [...this.open.keys()]) this.end(reading)
  }
}
