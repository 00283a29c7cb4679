/** Joins a process to a store of record: its journal hands on, its credit is leased, its keys are cached. */
import type { Clock } from '../core/clock.ts'
import { asFault } from '../core/faults.ts'
import { forwarded } from '../core/forwarded.ts'
import type { CreditBook } from '../ledger/allowance.ts'
import { LEDGER_ENTRIES, type LedgerEntries } from '../ledger/entries.ts'
import { LEDGER_LISTS, LEDGER_READS, type LedgerLists, type LedgerReader, type LedgerReads } from '../ledger/reader.ts'
import type { GenerationRecord, Journal } from '../ledger/types.ts'
import type { AuditLogStore } from '../store/audit-log.ts'
import { BYOK_KEYS_CHANGED } from '../store/byok-keys.ts'
import type { CompactionKeyStore } from '../store/compaction-keys.ts'
import type { EventStore } from '../store/events.ts'
import type { GivenIdStore } from '../store/given-ids.ts'
import { GUARDRAILS_CHANGED } from '../store/guardrails.ts'
import type { KeyStore } from '../store/keys.ts'
import { LEVELS_CHANGED } from '../store/levels.ts'
import type { Balance, StoreOfRecord } from '../store/record.ts'
import { AuditTrail } from './audit-trail.ts'
import { CachedKeys } from './cached-keys.ts'
import { ForwardedJournal } from './forwarded-journal.ts'
import { Forwarding, type ForwardingOptions } from './forwarding.ts'
import { HeldByokKeys } from './held-byok-keys.ts'
import { HeldGuardrails } from './held-guardrails.ts'
import { HeldLevels } from './held-levels.ts'
import { LeasedCredit } from './leased-credit.ts'
import { OwnerRecord } from './owner-record.ts'
import { Pulses } from './pulse.ts'
import { type ClusterReport, within } from './record-calls.ts'
import { RefusalLog } from './refusal-log.ts'
import type { WakeSource } from './wake-source.ts'

export type { ClusterReport } from './record-calls.ts'

export interface JoinOptions {
  /** The store that all processes share. It is closed when this process leaves. */
  readonly record: StoreOfRecord & Partial<WakeSource>
  /** This process's own, reconciled; its owner closes it afterwards. */
  readonly journal: Journal
  readonly clock: Clock
  /** The same after a restart where the journal is the same. */
  readonly node: string
  /** Name for an operator: host and process. */
  readonly label: string
  /** Milliseconds after which the record may set free what a silent process has leased; absent: it never does. */
  readonly lostGrace?: number | undefined
  /** True for the process that owns workers: their store of record is this one. */
  readonly isOwner?: boolean | undefined
  readonly report: (report: ClusterReport) => void
}

export interface Joined {
  readonly journal: Journal
  readonly credit: CreditBook
  readonly keys: KeyStore
  readonly guardrails: HeldGuardrails
  readonly compactionKeys: CompactionKeyStore
  readonly byokKeys: HeldByokKeys
  readonly levels: HeldLevels
  readonly givenIds: GivenIdStore
  readonly events: EventStore
  /** Balances of keys, which have all that this process has settled so far. @throws Fault `unavailable`. */
  balances(keys: readonly string[]): Promise<Balance[]>
  readonly audit: AuditTrail
  readonly auditLog: AuditLogStore
  readonly refusals: RefusalLog
  /** Generations of this process first, then those of all; what is exported has all that this process settled before. */
  readonly ledger: LedgerReader
  /**
   * Rows that an earlier life left in the journal are forwarded, and its leases are given back; tried until it is done.
   * Before that no credit is leased. Rejects with fault `unavailable` only when closed.
   */
  readonly ready: Promise<void>
  /** Processes that are alive, as the record last reported. */
  nodes(): number
  /** The record as workers of this process have it. */
  readonly workersRecord?: OwnerRecord | undefined
  /** Hands in what waits and gives the leases back, as far as the record answers within a few seconds; then closes it. */
  close(): Promise<void>
}

const ignore = (): void => {}

/** Part of the grace after which this process no longer uses its leases: clocks and pulses are not exact. */
const SURE = 0.9
/** Milliseconds for the leases to be given back at the end, and until a failed step of the start is tried again. */
const MAX_CLOSE_MS = 2_000
const START_RETRY = 1_000

export function joinRecord({ record, journal: inner, clock, node, label, lostGrace, isOwner, report }: JoinOptions): Joined {
  const journal: ForwardedJournal = new ForwardedJournal(inner, clock, {
    noted: (row) => credit.noted(row),
    committed: (row) => forwarding.add(row),
    dropped: (row) => credit.taken([row]),
  })
  const taken: ForwardingOptions['taken'] = (rows) => credit.taken(rows)
  const forwarding = new Forwarding({ node, record, journal: inner, clock, taken, report }, journal.uncommitted)
  /** After such a silence the record may soon set free what is leased here. */
  const tooLong = (silence: number): boolean => lostGrace !== undefined && silence >= lostGrace * SURE
  const isRecordReachable = (): boolean => !tooLong(pulses.silence)
  const between: <T>(read: () => Promise<T>) => Promise<T> = (read) =>
    forwarding.between(() => (workersRecord ? workersRecord.between(read) : read()))
  const credit = new LeasedCredit({ node, record, clock, isRecordReachable, between })
  const keys = new CachedKeys(record.keys, clock)
  const guardrails = new HeldGuardrails({ store: record.guardrails, clock, report })
  const byokKeys = new HeldByokKeys({ store: record.byokKeys, clock, report })
  const levels = new HeldLevels({ store: record.levels, clock, report })
  const audit = new AuditTrail({ store: record.guardrails, clock, report })
  const refusals = new RefusalLog({ store: record.refusals, clock, report })
  const pulses: Pulses = new Pulses({
    node,
    label,
    record,
    clock,
    changed: (hashes) => {
      keys.drop(hashes)
      if (!hashes || hashes.includes(GUARDRAILS_CHANGED)) guardrails.changed()
      if (!hashes || hashes.includes(BYOK_KEYS_CHANGED)) byokKeys.changed()
      if (!hashes || hashes.includes(LEVELS_CHANGED)) levels.changed()
      workersRecord?.changed(hashes)
    },
    wanted: (wanted) => wanted.forEach((lease) => void (workersRecord?.callBack(lease) ?? credit.giveBackIdle(lease)).catch(ignore)),
    answered: (silence) => {
      keys.confirm(silence)
      reopen().catch(ignore)
      credit.tidy()
    },
    silence: (ms) => {
      if (tooLong(ms)) lapse()
    },
    forgotten: () => {
      if (started) lapse()
    },
    report,
  })
  const clusterState = () => ({ silence: pulses.silence, isLost: pulses.lost, nodes: pulses.nodes })
  const workersRecord = isOwner ? new OwnerRecord({ node, record, credit, clock, recordState: clusterState, report }) : undefined
  record.onWake?.(() => void pulses.now())
  let closed = false
  /** True once the start has ended the leases of an earlier life: then no silence before it matters any more. */
  let started = false
  let lapsed = false
  let reopening = false
  const lapse = (): void => {
    lapsed = true
    credit.lapse()
    workersRecord?.lapse()
  }
  const open = (): void => {
    lapsed = false
    credit.open()
  }
  /**
   * After a silence, what the record still knows of is given back before anything is leased again: once at a time, for a
   * second try would end what has been leased after the first.
   */
  const reopen = async (): Promise<void> => {
    if (!lapsed || !started || reopening) return
    reopening = true
    try {
      if (await leasesEnded(record, node)) open()
    } finally {
      reopening = false
    }
  }
  const ready = (async () => {
    // What is leased after the first answer is known to be of the life that it names.
    await pulses.now()
    await forwarding.handInLeftovers()
    while (!closed && !(await leasesEnded(record, node))) await new Promise<void>((resolve) => clock.after(START_RETRY, resolve))
    started = true
    open()
  })()
  ready.catch(ignore)
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await journal.committed().catch(ignore)
    journal.end()
    await forwarding.close()
    await workersRecord?.close()
    await within(clock, MAX_CLOSE_MS, credit.close()).catch(ignore)
    pulses.close()
    guardrails.close()
    byokKeys.close()
    levels.close()
    await audit.close()
    await refusals.close()
    await record.close()
  }
  const flush = async (): Promise<void> => {
    await journal.committed()
    await forwarding.flush()
    await workersRecord?.flush()
  }
  const ledger = flushedLedger(journal, record.ledger, flush)
  const { compactionKeys, givenIds, events } = record
  const balances = async (of: readonly string[]): Promise<Balance[]> => {
    await flush()
    return record.balances(of)
  }
  return {
    journal,
    credit,
    keys,
    guardrails,
    compactionKeys,
    byokKeys,
    levels,
    givenIds,
    events,
    balances,
    audit,
    auditLog: record.auditLog,
    refusals,
    ledger,
    ready,
    nodes: () => pulses.nodes,
    workersRecord,
    close,
  }
}

/** Without a bound: what arrives late must not end leases of this life. @returns false if the record does not answer. */
async function leasesEnded(record: StoreOfRecord, node: string): Promise<boolean> {
  try {
    await record.endLeases(node)
    return true
  } catch (thrown) {
    if (asFault(thrown).code !== 'unavailable') throw thrown
    return false
  }
}

/** Of this process's own journal first; all else once the record has all that this process has settled. */
function flushedLedger(journal: Journal, record: LedgerReader, flush: () => Promise<void>): LedgerReader {
  return {
    ...forwarded<LedgerReads>(record, LEDGER_READS, flush),
    find: async (id) => journal.find(id) ?? record.find(id),
    async *export(since?: number): AsyncGenerator<GenerationRecord> {
      await flush()
      yield* record.export(since)
    },
    entries: forwarded<LedgerEntries>(record.entries, LEDGER_ENTRIES, flush),
    readers: record.readers,
    lists: record.lists && forwarded<LedgerLists>(record.lists, LEDGER_LISTS, flush),
  }
}
