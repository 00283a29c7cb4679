/** The record of a process that owns its store, in memory and in a file. */
import { join } from 'node:path'
import t from 'tap'
import { Credit } from '../../src/ledger/credit.ts'
import { oldestCounted } from '../../src/ledger/spend-windows.ts'
import { LocalRecord } from '../../src/store/local-record.ts'
import { openStore, type Store } from '../../src/store/open.ts'
import type { FakeClock } from '../support/clock.ts'
import { type OpenedRecord, recordContract } from './record-contract.ts'

function recordOf({ journal, keys }: Store, clock: FakeClock): LocalRecord {
  const credit = new Credit(journal.spent(), clock, journal.spentByDay(oldestCounted(clock.now())))
  return new LocalRecord({ journal, keys, credit, clock })
}

recordContract(t, 'memory', async (clock) => {
  const store = openStore('memory:', { clock })
  return { record: recordOf(store, clock), close: async () => store.close() }
})

let files = 0
const folder = t.testdir()

recordContract(t, 'sqlite', async (clock): Promise<OpenedRecord> => {
  const url = `sqlite:${join(folder, `${files++}.db`)}`
  let store = openStore(url, { clock })
  const reopen = async () => {
    store.close()
    store = openStore(url, { clock })
    return recordOf(store, clock)
  }
  return { record: recordOf(store, clock), reopen, close: async () => store.close() }
})
