/** Stores in files, which several workers share by way of their owner. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import { keepLocally } from '../../../src/cluster/bookkeeping.ts'
import { OwnerServer } from '../../../src/cluster/owner-server.ts'
import { MemoryCounters } from '../../../src/cluster/shared/index.ts'
import { LedgerScans } from '../../../src/ledger/scans.ts'
import { LocalRecord } from '../../../src/store/local-record.ts'
import { openStore } from '../../../src/store/open.ts'
import { employ } from '../../cluster/employ.ts'
import type { OpenMarket } from './many.ts'
import { Market, WallClock, type Way } from './market.ts'

/** @param folder of the files; each goes when its store is closed. */
export function opener(folder: string): () => Promise<OpenMarket> {
  let files = 0
  return async () => {
    const clock = new WallClock()
    const file = join(folder, `${threadId}-${++files}.db`)
    const bookkeeping = keepLocally(openStore(`sqlite:${file}`, { clock }), clock)
    const { journal, keys, guardrails, compactionKeys, byokKeys, levels, givenIds, events, auditLog, refusals } = bookkeeping
    const { credit, ledger } = bookkeeping
    const record = new LocalRecord({
      journal,
      ledger,
      keys,
      guardrails,
      compactionKeys,
      byokKeys,
      levels,
      givenIds,
      events,
      auditLog,
      refusals: refusals.store,
      credit,
      clock,
    })
    const scans = new LedgerScans(record.ledger, clock)
    let problem: unknown
    const reportUnexpected = (error: unknown): void => {
      problem ??= error
    }
    const ownerServer = new OwnerServer({ record, scans, counters: new MemoryCounters(clock), reportUnexpected })
    const way = (): Way => {
      const { record, cable } = employ(ownerServer, clock)
      return { record, gone: cable.cut }
    }
    const close = async (): Promise<void> => {
      bookkeeping.close()
      if (problem) throw problem
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
    }
    return { market: new Market(record, clock, way), ledger, close }
  }
}
