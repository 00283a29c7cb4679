/** The levels of organisations as this process holds them: all of them, of which only those that have changed are read again. */
import type { Origin } from '../core/audit-entries.ts'
import { type Level, LevelTree } from '../core/levels.ts'
import type { LevelChanges, LevelRemoved, LevelRow, LevelStore, LevelWritten } from '../store/levels.ts'
import { HeldPart, type HeldPartOptions } from './held-part.ts'

/** Levels of one reading. */
const PAGE = 1_000

export class HeldLevels extends HeldPart implements LevelStore {
  /** In force. Empty before `load`. */
  readonly tree = new LevelTree()
  private readonly store: LevelStore
  /** Number of the last change that is in force. */
  private last = 0

  constructor({ store, ...options }: HeldPartOptions & { readonly store: LevelStore }) {
    super('levels', options)
    this.store = store
  }

  since(change: number, most: number): LevelChanges | Promise<LevelChanges> {
    return this.store.since(change, most)
  }

  put(level: Level, seen: number, by?: Origin): Promise<LevelWritten> {
    return this.through(() => this.store.put(level, seen, by))
  }

  remove(id: string, at: number, by?: Origin): Promise<LevelRemoved> {
    return this.through(() => this.store.remove(id, at, by))
  }

  protected async look(): Promise<() => boolean> {
    let from = this.last
    let page = await this.store.since(from, PAGE)
    // Another store stands in the place of the one that was read, such as one from a backup.
    const isAnother = page.last < from
    if (isAnother) {
      from = 0
      page = await this.store.since(from, PAGE)
    }
    const rows: LevelRow[] = []
    for (;;) {
      rows.push(...page.rows)
      const end = page.rows.at(-1)
      if (!end || page.rows.length < PAGE) break
      page = await this.store.since(end.change, PAGE)
    }
    return () => {
      if (isAnother) this.tree.clear()
      for (const row of rows) this.take(row)
      this.last = rows.at(-1)?.change ?? from
      return isAnother || rows.length > 0
    }
  }

  private take({ change: _, removedAt, ...level }: LevelRow): void {
    if (removedAt === null) this.tree.put(level)
    else this.tree.remove(level.id)
  }
}
