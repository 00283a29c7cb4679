/** Wires that take only so many messages. */
import type { Item, Resolved } from '../../src/plugin-api/index.ts'
import { fromTheMiddle, type Group, groupItems } from './groups.ts'

/** By upstream dialect. */
const MAX_MESSAGES: Readonly<Record<string, number>> = { anthropic: 1000 }

/** Messages that the most generous endpoint takes; undefined where one of them takes any number. */
export function mostMessages(endpoints: Resolved['endpoints']): number | undefined {
  let most = 0
  for (const { provider } of endpoints) {
    const limit = MAX_MESSAGES[provider.dialect]
    if (limit === undefined) return undefined
    most = Math.max(most, limit)
  }
  return most === 0 ? undefined : most
}

/** The items that stay where the wire takes `most` messages: half of them from each end. */
export function withinCount(items: readonly Item[], most: number): Item[] {
  const groups = groupItems(items)
  let count = groups.reduce((sum, group) => sum + countMessages(group, items), 0)
  if (count <= most) return [...items]
  const kept: (Item | undefined)[] = [...items]
  for (const group of fromTheMiddle(groups)) {
    if (count <= most) break
    for (const at of group.members) kept[at] = undefined
    count -= countMessages(group, items)
  }
  return kept.filter((item) => item !== undefined)
}

/** A turn of the model is one message, the results of its calls together are another; instructions are none. */
function countMessages({ members }: Group, items: readonly Item[]): number {
  const results = members.some((at) => items[at]?.kind === 'result')
  const others = members.some((at) => {
    const item = items[at]
    return (
      item !== undefined && item.kind !== 'result' && !(item.kind === 'message' && (item.role === 'system' || item.role === 'developer'))
    )
  })
  return Number(results) + Number(others)
}
