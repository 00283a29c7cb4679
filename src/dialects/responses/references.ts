/** Items of type `item_reference`: an item of an earlier response by its id alone. Responses are not stored here. */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** The name under which a generation's record lists a reference that was left out. */
export const LOST_REFERENCE = 'input.item_reference'

/** Ids of the items that are in this input themselves. */
export function idsOfWholeItems(items: readonly Json[]): Set<string> {
  return new Set(
    items.flatMap((each) => (isObject(each) && each.type !== 'item_reference' && typeof each.id === 'string' ? [each.id] : [])),
  )
}

/**
 * True for a reference to a reasoning item. Without it the conversation still has all texts and calls. The kind of the item
 * shows in the beginning of the id alone: reasoning items of OpenAI, of providers of its format and of this gateway begin with `rs_`.
 */
export const isReasoningReference = (item: JsonObject): boolean => item.type === 'item_reference' && String(item.id).startsWith('rs_')

/** True where a reference names an item that is not in the same input, so that leaving it out loses the item. */
export function losesReference(items: readonly Json[]): boolean {
  if (!items.some((item) => isObject(item) && item.type === 'item_reference')) return false
  const ids = idsOfWholeItems(items)
  return items.some((item) => isObject(item) && item.type === 'item_reference' && !ids.has(String(item.id)))
}
