/** Calls of functions in items that an upstream of this wire has finished. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { argumentsText, isBroken, NO_ARGUMENTS } from '../canon/call-arguments.ts'
import { CALL_DONE } from './frame-view.ts'

/** Items of an answer that no caller runs (types of openai 7.57.0, `ResponseOutputItem`). An approval leads to a call, so it is none of them. */
const NOT_RUN: ReadonlySet<Json | undefined> = new Set([
  ...['message', 'reasoning', 'compaction', 'web_search_call', 'file_search_call', 'code_interpreter_call', 'image_generation_call'],
  ...['mcp_call', 'mcp_list_tools', 'tool_search_output', 'shell_call_output', 'apply_patch_call_output', 'computer_call_output'],
  ...['function_call_output', 'custom_tool_call_output', 'local_shell_call_output', 'additional_tools', 'program', 'program_output'],
])

/** True for items that callers run, and for those of unknown types, which they may run. */
export const isRunByCaller = (type: Json | undefined): boolean => !NOT_RUN.has(type)

/**
 * Makes the arguments text, and none at all the empty object, in place. A call whose arguments are no JSON is not complete.
 * @returns `fine` where nothing had to change.
 */
export function finishArguments(holder: JsonObject): 'fine' | 'changed' | 'broken' {
  const args = argumentsText(holder.arguments)
  if (isBroken(args)) {
    holder.arguments = args
    if (holder.type === 'function_call') holder.status = 'incomplete'
    return 'broken'
  }
  const text = args.trim() === '' ? NO_ARGUMENTS : args
  if (text === holder.arguments) return 'fine'
  holder.arguments = text
  return 'changed'
}

/** @returns true where the arguments of any call in the output are no JSON. */
export function finishCalls(output: Json | undefined): boolean {
  let areBroken = false
  for (const item of Array.isArray(output) ? output : [])
    if (isObject(item) && item.type === 'function_call' && finishArguments(item) === 'broken') areBroken = true
  return areBroken
}

/** Member with the arguments in an event that finishes a call of a function; undefined for any other event. */
export function finishedCall(message: JsonObject): JsonObject | undefined {
  if (message.type === CALL_DONE) return message
  const { item } = message
  return message.type === 'response.output_item.done' && isObject(item) && item.type === 'function_call' ? item : undefined
}
