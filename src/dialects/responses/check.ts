/** Checks a Responses body before any other layer reads it. */

import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { checkFields } from '../canon/request-fields.ts'
import { idsOfWholeItems, isReasoningReference } from './references.ts'
import { checkFunctionTool, checkNamedChoice, checkServerTool, ITEM_CHECKS, PART_CHECKS, responsesShape, TOOL_CHECKS } from './schema.ts'

const NOT_STORED = 'responses are not stored here'
/** Clients whose default is to refer to stored items: AI SDK (@ai-sdk/openai 4), Mastra on top of it, agent-framework 1. */
const CURE =
  'Set store to false in the client, which then sends items whole (AI SDK and Mastra: providerOptions.openai.store, agent-framework: default_options["store"])'

/** `type` of an input item; an item with only a role is an easy message. */
export function itemType(item: JsonObject): string | undefined {
  if (typeof item.type === 'string') return item.type
  return item.type === undefined && item.role !== undefined ? 'message' : undefined
}

function checkParts(parts: Json | undefined, path: string): void {
  if (!Array.isArray(parts)) return
  for (const [index, part] of parts.entries()) {
    if (isObject(part) && typeof part.type === 'string') PART_CHECKS.get(part.type)?.(part, `${path}[${index}]`)
  }
}

function checkItems(items: Json[]): void {
  let ids: Set<string> | undefined
  for (const [index, item] of items.entries()) {
    if (!isObject(item)) continue
    const path = `input[${index}]`
    const type = itemType(item)
    if (type === undefined) throw badField(`${path}.type`, 'expected the type of an input item, or a message with a role')
    ITEM_CHECKS.get(type)?.(item, path)
    if (type === 'message') checkParts(item.content, `${path}.content`)
    else if (type === 'function_call_output') checkParts(item.output, `${path}.output`)
    else if (type === 'item_reference') {
      ids ??= idsOfWholeItems(items)
      if (!ids.has(String(item.id)) && !isReasoningReference(item))
        throw badField(`${path}.id`, `${NOT_STORED}: the item itself must be in the same input. ${CURE}`)
    }
  }
}

function checkTools(body: JsonObject): void {
  if (Array.isArray(body.tools)) {
    for (const [index, tool] of body.tools.entries()) {
      if (!isObject(tool)) continue
      if (tool.defer_loading === true && /^(?:.+:)?tool_search$/.test(String(tool.type)))
        throw badField(`tools[${index}].defer_loading`, 'the search for tools cannot be deferred itself')
      if (tool.type === 'function') checkFunctionTool(tool, `tools[${index}]`)
      else if (String(tool.type).includes(':')) checkServerTool(tool, `tools[${index}]`)
      else TOOL_CHECKS.get(String(tool.type))?.(tool, `tools[${index}]`)
    }
  }
  if (isObject(body.tool_choice) && body.tool_choice.type === 'function') checkNamedChoice(body.tool_choice, 'tool_choice')
}

/** The service keeps nothing between requests, so whatever needs a stored response is refused. */
function checkStateless(body: JsonObject): void {
  if (body.store === true) throw badField('store', 'only false is supported: responses are not stored')
  if (body.background === true) throw badField('background', 'only false is supported')
  if (body.previous_response_id !== undefined && body.previous_response_id !== null)
    throw badField('previous_response_id', `must be null, since ${NOT_STORED}: the whole conversation must be in input. ${CURE}`)
  // A conversation stored at the provider would be open to all keys, and holds could not count its tokens.
  if (body.conversation !== undefined && body.conversation !== null)
    throw badField('conversation', 'must be null: send the whole conversation in input')
}

/** @throws Fault 400 naming the field (docs/contract.md#responses-request, docs/contract.md#input-items). */
export function checkRequest(body: JsonObject): void {
  checkFields(responsesShape, body)
  checkStateless(body)
  if (Array.isArray(body.input)) checkItems(body.input)
  checkTools(body)
}
