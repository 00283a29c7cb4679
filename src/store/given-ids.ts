/** Which key a provider gave an id to, in a reply of the pass-through (docs/decisions/0061-ids-of-the-pass-through.md). */
import type { DatabaseSync } from 'node:sqlite'
import { Fault } from '../core/faults.ts'
import { integer, text } from './sqlite.ts'

export interface GivenId {
  /** Hash of the account at the provider and the id. */
  readonly id: string
  /** Identity of the key. */
  readonly owner: string
  /** Milliseconds since the epoch: until then the provider keeps what it names. */
  readonly until: number
}

type Maybe<T> = T | Promise<T>

/** Every change is durable when it returns. All of it may throw Fault `unavailable`. */
export interface GivenIdStore {
  /** Writes rows; an id that has an owner keeps it. */
  give(rows: readonly GivenId[]): Maybe<void>
  /** @returns those that have an owner. */
  find(ids: readonly string[]): Maybe<GivenId[]>
  /**
   * Removes rows that ended before a moment, at most `most`.
   * @param age milliseconds: a store with a clock of its own also keeps everything that is younger by that clock. Default: 0.
   * @returns how many.
   */
  prune(before: number, most: number, age?: number): Maybe<number>
}

const GIVE = 'INSERT INTO given_id (id, owner, until) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
/** One statement for all. */
const FIND = 'SELECT * FROM given_id WHERE id IN (SELECT value FROM json_each(?))'
const PRUNE = 'DELETE FROM given_id WHERE id IN (SELECT id FROM given_id WHERE until < ? ORDER BY until LIMIT ?)'
const KEEP = 'DELETE FROM given_id WHERE id IN (SELECT id FROM given_id ORDER BY until DESC LIMIT -1 OFFSET ?)'

export class SqliteGivenIds implements GivenIdStore {
  private readonly db: DatabaseSync
  private readonly most: number

  /** @param most rows that are kept; those that end first go first. Default: all. */
  constructor(db: DatabaseSync, most = Number.POSITIVE_INFINITY) {
    this.db = db
    this.most = most
  }

  give(rows: readonly GivenId[]): void {
    this.run(() => {
      const statement = this.db.prepare(GIVE)
      for (const { id, owner, until } of rows) statement.run(id, owner, Math.floor(until))
      if (this.most !== Number.POSITIVE_INFINITY) this.db.prepare(KEEP).run(this.most)
    })
  }

  find(ids: readonly string[]): GivenId[] {
    return this.run(() => {
      const found = this.db.prepare(FIND).all(JSON.stringify(ids))
      return found.map((row) => ({ id: text(row.id), owner: text(row.owner), until: integer(row.until) }))
    })
  }

  prune(before: number, most: number): number {
    return this.run(() => Number(this.db.prepare(PRUNE).run(Math.floor(before), most).changes))
  }

  /** Each statement commits by itself, so that rows that could be written stay. @throws Fault `unavailable`. */
  private run<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      throw new Fault('unavailable', { message: 'The store of given ids cannot be used', cause })
    }
  }
}
