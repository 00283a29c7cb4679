/** The owner's side of the channel: answers the workers' calls of the store of record, and passes news on. */
import { Fault } from '../core/faults.ts'
import type { Json } from '../core/json.ts'
import type { LedgerEntries } from '../ledger/entries.ts'
import type { LedgerScans } from '../ledger/scans.ts'
import type { GenerationRecord } from '../ledger/types.ts'
import { WatchedGuardrails } from '../store/guardrails.ts'
import { WatchedKeys } from '../store/key-news.ts'
import type { KeyRecord, KeyStore, StoredKey } from '../store/keys.ts'
import type { StoreOfRecord } from '../store/record.ts'
import { type Answers, Line, type Port } from './ipc-line.ts'
import { type OwnerOffer, type Replaced, sentBalance, sentCost, sentSums, type WorkerOffer } from './messages.ts'
import { entryAnswers } from './remote-entries.ts'
import { compactionKeyAnswers, eventAnswers, givenIdAnswers, guardrailAnswers, refusalAnswers } from './remote-stores.ts'
import type { CounterAnswer, CounterAsk, Counters, Topic } from './shared/types.ts'
import type { Urging } from './urging.ts'

export type WorkerLine = Line<WorkerOffer, OwnerOffer>

/** Operations that only the process that started the worker can answer. */
export type Reception = Pick<Answers<OwnerOffer>, 'welcome' | 'serving' | 'failed' | 'status'>

export interface DeskOptions {
  record: StoreOfRecord & Partial<Urging>
  /** Scans for all workers, one at a time. */
  scans: Pick<LedgerScans, 'use' | 'sessions' | 'search'>
  counters: Counters
  /** Called with errors that are no faults. */
  oops: (error: unknown) => void
}

/** One worker at the desk. */
export interface Station {
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

/** Generations that cross at once. */
const PAGE = 200
/** Ledgers that one worker reads at the same time. */
const MOST_READINGS = 64

export class OwnerDesk {
  private readonly options: DeskOptions
  private readonly stations = new Set<Station>()

  constructor(options: DeskOptions) {
    this.options = options
    options.record.onUrge?.(() => this.urge())
  }

  /** Answers a worker from now on, until its channel closes. */
  open(port: Port, reception: Reception): Station {
    const account: Account = { nodes: new Set(), doing: new Set() }
    const readings = new Readings(() => this.record.ledger.export.bind(this.record.ledger))
    const answers: Answers<OwnerOffer> = {
      ...reception,
      ...this.moneyAnswers(account),
      ...this.keyAnswers(),
      ...guardrailAnswers(() => new WatchedGuardrails(this.record.guardrails, () => this.urge())),
      ...compactionKeyAnswers(() => this.record.compactionKeys),
      ...eventAnswers(() => this.record.events),
      ...refusalAnswers(() => this.record.refusals),
      ...givenIdAnswers(() => this.record.givenIds),
      ...entryAnswers(() => this.entries),
      ...this.ledgerAnswers(readings),
      counter: (ask: CounterAsk): CounterAnswer | Promise<CounterAnswer> => this.options.counters.take(ask),
      news: (topic: Topic, message: Json) => {
        for (const other of this.stations) if (other !== station) other.line.notify('news', topic, message)
        return null
      },
    }
    const line = new Line<WorkerOffer, OwnerOffer>(port, answers, this.options.oops)
    const idle = async (): Promise<void> => {
      await Promise.allSettled(account.doing)
    }
    const station: Station = { line, nodes: account.nodes, idle }
    this.stations.add(station)
    station.line.whenGone(() => {
      this.stations.delete(station)
      readings.close()
    })
    return station
  }

  /** The keys of the record; a change here reaches every worker at once. */
  watchedKeys(): WatchedKeys {
    return new WatchedKeys(this.record.keys, () => this.urge())
  }

  private get record(): StoreOfRecord {
    return this.options.record
  }

  private get entries(): LedgerEntries {
    const { entries } = this.record.ledger
    if (!entries) throw new Fault('unavailable', { message: 'The owner keeps no entries' })
    return entries
  }

  private urge(): void {
    for (const station of this.stations) station.line.notify('urge')
  }

  private moneyAnswers({ nodes, doing }: Account) {
    const of = <T>(node: string, does: () => Promise<T>): Promise<T> => {
      nodes.add(node)
      const done = does()
      doing.add(done)
      return done.finally(() => doing.delete(done))
    }
    return {
      take: async (node, rows) => {
        await of(node, () => this.record.take(node, rows))
        return null
      },
      lease: async (node, ask) => {
        const answer = await of(node, () => this.record.lease(node, ask))
        // Leases are called back, perhaps others of the same worker: all workers are notified now, before their next pulse.
        if (answer.waitingFor > 0) this.urge()
        return answer
      },
      giveBack: async (node, lease, amount, turn) => {
        await of(node, () => this.record.giveBack(node, lease, amount, turn))
        return null
      },
      endLeases: async (node) => {
        await of(node, async () => this.record.endLeases(node))
        return null
      },
      pulse: (pulse) => of(pulse.node, () => this.record.pulse(pulse)),
      balances: async (keys) => (await this.record.balances(keys)).map(sentBalance),
      spentByAll: async () => String(await this.record.spentByAll()),
      forgetLost: async (grace) => [...(await this.record.forgetLost(grace))],
    } satisfies Partial<Answers<OwnerOffer>>
  }

  private keyAnswers() {
    const keys = () => this.watchedKeys()
    return {
      keyFind: async (hash) => keys().find(hash),
      keysFind: (hashes) => keys().findMany(hashes),
      keyPut: async (key) => keys().put(key),
      keyReplace: (hash, seen, key) => replace(keys(), { hash, seen, key }),
      keyRemove: async (hash) => keys().remove(hash),
      keyList: async () => keys().list(),
      keysIssued: async (by, now) => keys().issuedBy(by, now),
      keysAfter: async (hash, most) => keys().listAfter(hash, most),
    } satisfies Partial<Answers<OwnerOffer>>
  }

  private ledgerAnswers(readings: Readings) {
    return {
      ledgerFind: async (id) => this.record.ledger.find(id),
      ledgerOpen: (since) => readings.begin(since),
      ledgerNext: (reading) => readings.next(reading),
      ledgerEnd: (reading) => readings.end(reading),
      ledgerUse: async (query) => (await this.options.scans.use(query)).map(sentCost),
      ledgerSessions: async (query, slice) => {
        const { total, rows } = await this.options.scans.sessions(query, slice)
        return { total, rows: rows.map(sentCost) }
      },
      ledgerSearch: (query, before) => this.options.scans.search(query, before),
      ledgerSpent: async () => sentSums(await this.record.ledger.spent()),
      ledgerCarried: async () => sentSums((await this.record.ledger.carried?.()) ?? new Map()),
    } satisfies Partial<Answers<OwnerOffer>>
  }
}

/** Thrown out of a change that finds another key than its worker had seen. */
class Changed extends Error {
  readonly current: StoredKey

  constructor(current: StoredKey) {
    super('the key has been changed')
    this.current = current
  }
}

async function replace(keys: KeyStore, { hash, seen, key }: { hash: string; seen: StoredKey; key: KeyRecord }): Promise<Replaced> {
  const before = JSON.stringify(seen)
  try {
    const done = await keys.change(hash, (current) => {
      if (JSON.stringify(current) !== before) throw new Changed(current)
      return key
    })
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
    if (this.open.size >= MOST_READINGS) throw new Fault('unavailable', { message: 'Too many readers of the ledger', retryAfter: 1 })
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
