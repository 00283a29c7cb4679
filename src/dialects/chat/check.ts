/** The rules of a chat request: its schema, then what a schema says badly (contract sections 2.1 and 9). */

import { badField } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { checkGatewayRules } from '../canon/gateway-schema.ts'
import { checkMessages } from './check-messages.ts'
import { checkShape } from './schema.ts'

/** Server tools that this operation does not offer, whatever the brand word before the colon. */
const RESPONSES_ONLY = new Set(['shell', 'tool_search', 'apply_patch'])

/** Web search by the provider itself, as other operations spell it. */
const NATIVE_SEARCH: ReadonlySet<string> = new Set([
  'web_search',
  'web_search_preview',
  'web_search_2025_08_26',
  'web_search_preview_2025_03_11',
])

/** The name behind `word:`, of a tool that the gateway runs; undefined for any other type. */
export function serverToolName(type: string): string | undefined {
  const colon = type.indexOf(':')
  return colon > 0 && colon < type.length - 1 ? type.slice(colon + 1) : undefined
}

function checkTools(tools: JsonObject[]): void {
  for (const [index, tool] of tools.entries()) {
    const type = String(tool.type)
    if (type === 'function') {
      if (tool.function === undefined) throw badField(`tools[${index}].function`, 'is required')
      continue
    }
    const name = serverToolName(type)
    if (name === undefined && !NATIVE_SEARCH.has(type) && !isObject(tool[type]))
      throw badField(`tools[${index}].type`, 'expected function or a server tool')
    if (name !== undefined && RESPONSES_ONLY.has(name))
      throw badField(`tools[${index}].type`, `${type} is not available on chat completions`)
  }
}

function checkReasoning(body: JsonObject): void {
  const effort = body.reasoning_effort
  const reasoning = isObject(body.reasoning) ? body.reasoning : {}
  if (effort && reasoning.effort && effort !== reasoning.effort)
    throw badField('reasoning_effort', `contradicts reasoning.effort (${String(reasoning.effort)})`)
  if (reasoning.enabled === false && (effort || reasoning.effort) && (effort || reasoning.effort) !== 'none')
    throw badField('reasoning.enabled', 'contradicts the requested effort')
}

/** @throws Fault 400 naming the field and what was expected. */
export function check(body: JsonObject): void {
  checkShape(body)
  checkGatewayRules(body)
  if (body.messages === undefined && body.prompt === undefined) throw badField('messages', 'is required')
  if (body.messages !== undefined && body.prompt !== undefined) throw badField('prompt', 'expected either messages or prompt')
  if (Array.isArray(body.messages)) checkMessages(body.messages as JsonObject[])
  if (Array.isArray(body.tools)) checkTools(body.tools as JsonObject[])
  checkReasoning(body)
  const wantsTop = typeof body.top_logprobs === 'number' && body.top_logprobs > 0
  if (wantsTop && body.logprobs !== true) throw badField('top_logprobs', 'needs logprobs: true')
  if (body.store === true) throw badField('store', 'only false is supported: answers are not stored')
  if (typeof body.n === 'number' && body.n !== 1) throw badField('n', 'expected 1: one choice per request')
  if (isObject(body.tool_choice)) checkToolChoice(body.tool_choice)
}

function checkToolChoice(choice: JsonObject): void {
  if (choice.type === 'function' && choice.function === undefined) throw badField('tool_choice.function', 'is required')
}
