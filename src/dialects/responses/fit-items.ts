/** Input items as one account of a provider takes them, in the pass lane and behind the translation alike. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { isMarked, ownReasoning } from '../canon/reasoning-owner.ts'

/** Items of the gateway's own tools (`router:web_search`) mean nothing to a provider. */
function isGatewayItem(item: JsonObject): boolean {
  return typeof item.type === 'string' && item.type.includes(':')
}

/** True for what the model said or called. */
function isSpoken({ type, role }: JsonObject): boolean {
  return typeof type === 'string' && type !== 'message' ? /_call$/.test(type) : role === 'assistant'
}

/** @returns the name of what is left out, undefined where the item is sent. */
function lossOf(item: JsonObject, account: string | undefined): string | undefined {
  if (isGatewayItem(item)) return String(item.type)
  const { encrypted_content: encrypted } = item
  return isMarked(encrypted) && ownReasoning(encrypted, account) === undefined ? String(item.type) : undefined
}

function withoutMark(item: JsonObject, account: string | undefined): JsonObject {
  const { encrypted_content: encrypted } = item
  return isMarked(encrypted) ? { ...item, encrypted_content: ownReasoning(encrypted, account) } : item
}

/**
 * @param account whose encrypted content goes back; that of others is left out.
 * @param dropped receives the types of items that are left out.
 * @returns the same array where nothing changes.
 */
export function fitItems(input: Json[], account: string | undefined, dropped: string[]): Json[] {
  let changed: Json[] | undefined
  let isAfterLoss = false
  for (const [index, item] of input.entries()) {
    let fitted: Json | undefined = item
    if (isObject(item)) {
      const loss = lossOf(item, account)
      if (loss !== undefined) {
        fitted = undefined
        if (!dropped.includes(loss)) dropped.push(loss)
      } else fitted = withoutMark(item, account)
      if (item.type === 'reasoning') isAfterLoss = loss !== undefined
      else if (!isSpoken(item)) isAfterLoss = false
      else if (isAfterLoss && isObject(fitted) && fitted.id !== undefined) {
        // OpenAI refuses a call that it knows "without its required 'reasoning' item".
        const { id: _id, ...rest } = fitted
        fitted = rest
      }
    }
    if (fitted !== item) changed ??= input.slice(0, index)
    if (fitted !== undefined) changed?.push(fitted)
  }
  return changed ?? input
}
