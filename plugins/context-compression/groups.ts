/** Items that may only stay or leave together. */
import type { Item } from '../../src/plugin-api/index.ts'

export interface Group {
  /** Positions in the request's items, rising. */
  members: number[]
  /** Never left out. */
  fixed: boolean
  /** A system or developer message, which has no place in the order of the talk. */
  instruction: boolean
}

/**
 * An assistant's turn (reasoning, text, calls) and the results of its calls are one group;
 * every other item is a group of its own. System, developer and the last user message are fixed.
 */
export function groupItems(items: readonly Item[]): Group[] {
  const lastUser = items.findLastIndex((item) => item.kind === 'message' && item.role === 'user')
  const groups: Group[] = []
  const byCall = new Map<string, Group>()
  let turn: Group | undefined
  for (const [at, item] of items.entries()) {
    let group = item.kind === 'result' ? byCall.get(item.callId) : undefined
    const ofTurn = item.kind === 'reasoning' || item.kind === 'call' || (item.kind === 'message' && item.role === 'assistant')
    const before = items[at - 1]
    if (ofTurn && turn && before && continues(before, item)) group = turn
    if (group) group.members.push(at)
    else {
      const instruction = item.kind === 'message' && (item.role === 'system' || item.role === 'developer')
      group = { members: [at], fixed: at === lastUser || instruction, instruction }
      groups.push(group)
    }
    if (item.kind === 'call') byCall.set(item.callId, group)
    turn = ofTurn ? group : undefined
  }
  return groups
}

/** Two assistant texts in a row are two messages; anything else of a turn belongs together. */
function continues(before: Item, item: Item): boolean {
  return before.kind !== 'message' || item.kind === 'call'
}

/** Groups that may leave, the middle one first, then outwards, the older of two equally far ones first. */
export function fromTheMiddle(groups: readonly Group[]): Group[] {
  const talk = groups.filter((group) => !group.instruction)
  const middle = (talk.length - 1) / 2
  return talk
    .map((group, at) => ({ group, far: Math.abs(at - middle) }))
    .filter(({ group }) => !group.fixed)
    .sort((a, b) => a.far - b.far)
    .map(({ group }) => group)
}
