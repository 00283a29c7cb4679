/** The rules of a Messages request: its schema, then what a schema says badly (contract sections 3 and 9). */

import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { checkGatewayRules } from '../canon/gateway-schema.ts'
import { checkBlocks, checkCacheMark } from './check-blocks.ts'
import { checkShape } from './schema.ts'

/** True for a tool that the caller runs, described by a schema of its own. */
export function isCustomTool(tool: JsonObject): boolean {
  return (tool.type ?? 'custom') === 'custom'
}

/** The name behind `word:`, of a tool that the gateway runs; undefined for any other word. */
export function serverToolName(word: string): string | undefined {
  const colon = word.indexOf(':')
  return colon > 0 && colon < word.length - 1 ? word.slice(colon + 1) : undefined
}

/** @throws Fault 400 naming the field, such as `tools[0].input_schema`. */
function checkTools(tools: JsonObject[]): void {
  for (const [index, tool] of tools.entries()) {
    const at = `tools[${index}]`
    checkCacheMark(tool.cache_control, at)
    if (isCustomTool(tool)) {
      if (tool.name === undefined) throw badField(`${at}.name`, 'is required')
      if (tool.input_schema === undefined) throw badField(`${at}.input_schema`, 'is required')
      continue
    }
    const type = String(tool.type)
    if (type === 'function') throw badField(`${at}.type`, 'expected custom, a tool of the provider or one of the gateway')
    if (tool.defer_loading === true && /:tool_search$|^tool_search_tool_regex/.test(type))
      throw badField(`${at}.defer_loading`, 'the search for tools cannot be deferred itself')
    if (type.startsWith('tool_search_tool_bm25')) throw badField(`${at}.type`, `${type} is not offered; tool_search_tool_regex is`)
  }
}

function checkChoice(choice: JsonObject): void {
  if (choice.type === 'tool' && choice.name === undefined) throw badField('tool_choice.name', 'is required')
}

function checkThinking(thinking: JsonObject, cap: number): void {
  if (thinking.type !== 'enabled') return
  const budget = thinking.budget_tokens
  if (typeof budget !== 'number') throw badField('thinking.budget_tokens', 'is required')
  if (budget >= cap) throw badField('thinking.budget_tokens', `must be less than max_tokens (${cap})`)
}

function checkMessages(messages: JsonObject[]): void {
  for (const [index, { role, content }] of messages.entries()) {
    if (content === undefined && role !== 'system') throw badField(`messages[${index}].content`, 'is required')
    checkBlocks(content, `messages[${index}].content`)
  }
}

const filled = (value: Json | undefined): boolean => Array.isArray(value) && value.length > 0

/** @throws Fault 400 naming the field and what was expected. */
export function check(body: JsonObject): void {
  checkShape(body)
  checkGatewayRules(body)
  if (filled(body.fallbacks) && filled(body.models)) throw badField('fallbacks', 'expected either models or fallbacks')
  checkBlocks(body.system, 'system')
  checkMessages(body.messages as JsonObject[])
  if (Array.isArray(body.tools)) checkTools(body.tools as JsonObject[])
  if (isObject(body.tool_choice)) checkChoice(body.tool_choice)
  if (isObject(body.thinking)) checkThinking(body.thinking, body.max_tokens as number)
}
