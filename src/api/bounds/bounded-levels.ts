/** Organizations, workspaces and members at and below the place of a caller: the others are not there. */
import { Fault } from '../../core/faults.ts'
import type { Level, LevelKind, LevelTree } from '../../core/levels.ts'
import type { LevelSource } from '../key-entry.ts'
import type { Within } from './within.ts'

export function boundedLevels(levels: LevelSource, within: Within): LevelSource {
  const { tree } = levels
  const isThere = (id: string): boolean => {
    const { groups, members } = within.levels()
    return groups.includes(id) || members.some((member) => member.id === id)
  }
  const seen = <L extends Level | undefined>(level: L): L | undefined => (level && isThere(level.id) ? level : undefined)
  const bounded: Omit<LevelTree, 'put' | 'remove' | 'clear'> = {
    get: (kind: LevelKind, id: string) => seen(tree.get(kind, id)),
    named: (kind, name) => seen(tree.named(kind, name)),
    member: (parent, userId) => seen(tree.member(parent, userId)),
    list: (kind, parent) => tree.list(kind, parent).filter(({ id }) => isThere(id)),
    count: (kind) => tree.list(kind).filter(({ id }) => isThere(id)).length,
    isEmpty: tree.isEmpty,
    version: tree.version,
  }
  return {
    renew: () => levels.renew(),
    since: (change, most) => levels.since(change, most),
    tree: bounded as LevelTree,
    placing: levels.placing ?? tree,
    put: async (level, version, by) => {
      if (!isBelow(level, within)) throw notBelow(within)
      return levels.put(level, version, by)
    },
    remove: async (id, at, by) => {
      if (!isThere(id)) return 'missing'
      // Who governs a level does not remove it: what is below it goes with it.
      if (id === within.reach.id) throw notBelow(within)
      return levels.remove(id, at, by)
    },
  }
}

/** A new level lies below the place; one that is changed is of the place and stays there. The place itself is changed from above alone. */
function isBelow({ id, kind, parent }: Level, within: Within): boolean {
  const { groups } = within.levels()
  return kind !== 'organization' && id !== within.reach.id && parent !== null && groups.includes(parent)
}

const notBelow = ({ reach }: Within): Fault =>
  new Fault('forbidden', { message: `A management key of one ${reach.kind} makes, changes and removes what lies below it alone` })
