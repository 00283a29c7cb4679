/** Levels of organisations at rest. Each change has the next number of one counter, so that processes read what is new to them alone. */
import type { Origin } from '../core/audit-entries.ts'
import type { Level } from '../core/levels.ts'
import type { Attributed } from './audit-log.ts'

/** A level as a process reads it. */
export interface LevelRow extends Level {
  /** Number of its last change. */
  readonly change: number
  /** Milliseconds since the epoch; null while it is there. Of a removed one nothing but its id and kind is kept. */
  readonly removedAt: number | null
}

export interface LevelChanges {
  /** Number of the last change of all; lower than one that was read before where another store has taken the place of this one. */
  readonly last: number
  /** In the order of their changes. */
  readonly rows: readonly LevelRow[]
}

/** `changed`: another change came first. `taken`: another level has the name. `orphan`: the level above is not there. */
export type LevelWritten = 'written' | 'changed' | 'taken' | 'orphan'
/** `occupied`: workspaces are below it. */
export type LevelRemoved = 'removed' | 'missing' | 'occupied'

type Maybe<T> = T | Promise<T>

/**
 * Every change is durable when it returns, and is one step with its entry in the audit log, which names who has made it: by default the
 * gateway itself. All of it may throw Fault `unavailable`.
 */
export interface LevelStore {
  /** The first `most` levels that have changed after this number, removed ones too. 0: since ever. */
  since(change: number, most: number): Maybe<LevelChanges>
  /** Writes a level where the one of its id still has the version `seen`; 0: where there is none. */
  put(level: Level, seen: number, by?: Origin): Maybe<LevelWritten>
  /** With the members below it. An organisation with workspaces stays. @param at milliseconds since the epoch. */
  remove(id: string, at: number, by?: Origin): Maybe<LevelRemoved>
}

/** The same for operations, which state who makes each change. */
export type AttributedLevels = Attributed<LevelStore, 'put' | 'remove'>

/** Entry among the changed keys that processes receive. No hash of a key has this form. */
export const LEVELS_CHANGED = 'levels'

/** A store of levels that reports its changes, failed ones too: a failed write may have changed something. */
export class WatchedLevels implements LevelStore {
  private readonly inner: LevelStore
  private readonly changed: () => void

  constructor(inner: LevelStore, changed: () => void) {
    this.inner = inner
    this.changed = changed
  }

  since(change: number, most: number): Maybe<LevelChanges> {
    return this.inner.since(change, most)
  }

  put(level: Level, seen: number, by?: Origin): Promise<LevelWritten> {
    return this.writeAndReport(() => this.inner.put(level, seen, by))
  }

  remove(id: string, at: number, by?: Origin): Promise<LevelRemoved> {
    return this.writeAndReport(() => this.inner.remove(id, at, by))
  }

  private async writeAndReport<T>(write: () => Maybe<T>): Promise<T> {
    try {
      return await write()
    } finally {
      this.changed()
    }
  }
}
