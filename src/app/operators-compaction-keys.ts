/** The keys of compaction items in the process that has the store: from the start on they stand there as the configuration wants. */
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import { asFault } from '../core/faults.ts'
import { CompactionKeys, type StoredCompactionKeys } from '../services/compaction/compaction-keys.ts'

interface Source {
  readonly store: StoredCompactionKeys
  readonly config: Pick<Config, 'compaction'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: { warn(facts: object, text: string): void }
}

/** Keys in plain text are encrypted with the operator's key, if there is one; a failure is logged, and the next use tries it again. */
export function operatorsCompactionKeys({ store, config, clock, log }: Source): CompactionKeys {
  const keys = new CompactionKeys(store, config.compaction)
  if (config.compaction.key !== undefined)
    keys.all(clock.now()).catch((thrown: unknown) => {
      log.warn({ problem: asFault(thrown).message }, 'keys of compaction items cannot be read with compaction.key')
    })
  return keys
}
