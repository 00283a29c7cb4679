/** The store of compaction keys in a worker, and the owner's answers to its calls. */
import type { CompactionKey, CompactionKeyStore } from '../store/compaction-keys.ts'
import type { Answers, Line } from './ipc-line.ts'
import type { OwnerOffer, WorkerOffer } from './messages.ts'

export class RemoteCompactionKeys implements CompactionKeyStore {
  private readonly line: Line<OwnerOffer, WorkerOffer>

  constructor(line: Line<OwnerOffer, WorkerOffer>) {
    this.line = line
  }

  all(now: number, first: string): Promise<readonly CompactionKey[]> {
    return this.line.ask('compactionKeys', now, first)
  }

  add(now: number, value: string): Promise<CompactionKey> {
    return this.line.ask('compactionKeyAdd', now, value)
  }

  rewrite(number: number, from: string, to: string): Promise<boolean> {
    return this.line.ask('compactionKeyRewrite', number, from, to)
  }

  remove(number: number): Promise<boolean> {
    return this.line.ask('compactionKeyRemove', number)
  }
}

/** @param store of the record; called for each request of a worker. */
export function compactionKeyAnswers(store: () => CompactionKeyStore) {
  return {
    compactionKeys: async (now, first) => store().all(now, first),
    compactionKeyAdd: async (now, value) => store().add(now, value),
    compactionKeyRewrite: async (number, from, to) => store().rewrite(number, from, to),
    compactionKeyRemove: async (number) => store().remove(number),
  } satisfies Partial<Answers<OwnerOffer>>
}
