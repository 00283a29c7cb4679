/** The store of compaction keys in a worker, and the owner's answers to its calls. */
import type { CompactionKey, CompactionKeyStore } from '../store/compaction-keys.ts'
import type { Answers, Line } from './ipc-line.ts'
import type { OwnerOffer, WorkerOffer } from './messages.ts'

export class RemoteCompactionKeys implements CompactionKeyStore {
  private readonly line: Line<OwnerOffer, WorkerOffer>

  constructor(line: Line<OwnerOffer, WorkerOffer>) {
    this.line = line
  }

  all(now: number): Promise<readonly CompactionKey[]> {
    return this.line.ask('compactionKeys', now)
  }

  add(now: number): Promise<CompactionKey> {
    return this.line.ask('compactionKeyAdd', now)
  }

  remove(number: number): Promise<boolean> {
    return this.line.ask('compactionKeyRemove', number)
  }
}

/** @param store of the record; called for each request of a worker. */
export function compactionKeyAnswers(store: () => CompactionKeyStore) {
  return {
    compactionKeys: async (now) => store().all(now),
    compactionKeyAdd: async (now) => store().add(now),
    compactionKeyRemove: async (number) => store().remove(number),
  } satisfies Partial<Answers<OwnerOffer>>
}
