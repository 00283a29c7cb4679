/** Calls of functions that stand for tools of this wire's own kinds, as the items that their caller knows. */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Called } from '../canon/events.ts'
import { CALL } from './client-tools.ts'
import { WIRE } from './wire.ts'

export type CallType = (typeof CALL)[keyof typeof CALL]

const TYPES: ReadonlySet<string> = new Set(Object.values(CALL))

/** Type of the item of a call. */
export function callType(call: Called | undefined): CallType {
  const own = call?.own
  return own?.dialect === WIRE && TYPES.has(own.type) ? (own.type as CallType) : CALL.function
}

/** Events of a call's text and the member of `.done` that holds it; undefined for items that come without. */
export const CALL_EVENTS: Readonly<Record<CallType, { delta: string; done: string; field: string } | undefined>> = {
  function_call: { delta: 'response.function_call_arguments.delta', done: 'response.function_call_arguments.done', field: 'arguments' },
  custom_tool_call: { delta: 'response.custom_tool_call_input.delta', done: 'response.custom_tool_call_input.done', field: 'input' },
  tool_search_call: undefined,
  local_shell_call: undefined,
}

/** The caller's own name of what is called. */
export function calledName(call: Called | undefined): string {
  const name = call?.own?.data.name
  return typeof name === 'string' ? name : (call?.name ?? '')
}

/** Arguments as far as they can be read: none before their end. */
function parsed(args: string): JsonObject {
  try {
    const value: unknown = JSON.parse(args)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** Every member that the client demands of the action (OpenAI SDK 7.57.0, LocalShellCall.Action). */
function shellAction(args: string): JsonObject {
  const { command, env, ...others } = parsed(args)
  const words = Array.isArray(command) ? command.map(String) : typeof command === 'string' ? ['bash', '-lc', command] : []
  return { ...others, type: 'exec', command: words, env: isObject(env) ? env : {} }
}

/**
 * The item of a call.
 * @param text its arguments, or the free text of a custom tool.
 */
export function callItem(call: Called | undefined, text: string, head: { id: string; status: string }): JsonObject {
  const type = callType(call)
  const begin: JsonObject = { id: head.id, type, status: head.status, call_id: call?.id ?? '' }
  // `name` and `namespace` of the caller's own tool.
  const named = { name: call?.name ?? '', ...call?.own?.data }
  switch (type) {
    case 'function_call':
      return { ...begin, ...named, arguments: text }
    case 'custom_tool_call':
      return { ...begin, ...named, input: text }
    case 'tool_search_call':
      return { ...begin, execution: 'client', arguments: parsed(text) }
    case 'local_shell_call':
      return { ...begin, action: shellAction(text) }
  }
}
