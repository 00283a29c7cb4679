/** Items of the caller's own kinds of tools as calls and results of the functions in their place. */
import { asObjects, asString, isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import { type FunctionSpec, foundText } from '../canon/deferred-tools.ts'
import { nativeObject, withNative } from '../canon/native.ts'
import type { Item, Opaque, Part } from '../canon/request.ts'
import { AGENT, CALL, flatName, type Lost, ownCall, SEARCH, SHELL } from './client-tools.ts'
import { decodeParts } from './decode-parts.ts'
import { outputMessage } from './running-calls.ts'
import { WIRE } from './wire.ts'

type CallItem = Extract<Item, { kind: 'call' }>
type ResultItem = Extract<Item, { kind: 'result' }>

export interface FlatItem {
  item: Item
  own?: Opaque | undefined
}

/** A function call whose namespace stands beside it; undefined for one without. */
export function namespacedCall(item: CallItem): FlatItem | undefined {
  const { namespace, ...others } = nativeObject(item, WIRE) ?? {}
  if (typeof namespace !== 'string') return undefined
  const { native: _, ...call } = item as CallItem & { native?: Opaque }
  const flat: CallItem = { ...call, name: flatName(item.name, namespace) }
  if (Object.keys(others).length > 0) withNative(flat, { dialect: WIRE, type: CALL.function, data: others })
  return { item: flat, own: ownCall(CALL.function, item.name, namespace) }
}

function call(callId: Json | undefined, name: string, args: Json): CallItem {
  return { kind: 'call', callId: String(callId), name, args: JSON.stringify(args) }
}

function result(callId: Json | undefined, parts: Part[]): ResultItem {
  return { kind: 'result', callId: String(callId), parts }
}

function customCall({ call_id: callId, name, namespace, input }: JsonObject): FlatItem {
  const flat = flatName(String(name), namespace)
  return { item: call(callId, flat, { input: String(input) }), own: ownCall(CALL.custom, String(name), namespace) }
}

function shellCall({ call_id: callId, action }: JsonObject): FlatItem {
  const { type: _, ...args } = isObject(action) ? action : {}
  return { item: call(callId, SHELL, present(args)) }
}

/**
 * Message from one agent to another: Codex runs several beside each other. Encrypted content is for the provider that made it
 * (github.com/openai/codex, codex-rs/protocol/src/models.rs, `AgentMessage`).
 */
function agentMessage({ content, author, recipient }: JsonObject, lost: Lost): FlatItem | undefined {
  const texts = asObjects(content).filter(({ type }) => type === 'input_text')
  if (texts.length === 0) return undefined
  if (author !== undefined) lost.add('agent_message.author')
  if (recipient !== undefined) lost.add('agent_message.recipient')
  return { item: { kind: 'message', role: 'user', parts: decodeParts(texts, lost) } }
}

/** Output of a tool without a call (openai 7.57.0, `ResponseInputItem.FunctionCallOutput`). */
function toolMessage({ name, namespace, output }: JsonObject, lost: Lost): FlatItem {
  const tool = typeof name === 'string' ? `the tool ${flatName(name, namespace)}` : 'a tool'
  return { item: outputMessage(tool, decodeParts(output, lost)) }
}

function searchResult({ call_id: callId }: JsonObject, found: readonly FunctionSpec[]): FlatItem {
  return { item: result(callId, [{ kind: 'text', text: foundText(found) }]) }
}

export interface History {
  /** Ids of shell calls by the ids of their items: results name either. */
  shellCalls: ReadonlyMap<string, string>
  /** Offers the tools that a search has found. @returns the functions in their place. */
  offer(tools: readonly JsonObject[]): FunctionSpec[]
  lost: Lost
}

/** Ids of calls of the shell by the ids of their items: an output has the one or the other (OpenAI SDK 7.57.0, LocalShellCallOutput). */
export function shellCallIds(items: readonly Item[]): Map<string, string> {
  const ids = new Map<string, string>()
  for (const item of items)
    if (item.kind === 'opaque' && item.of.type === CALL.shell) ids.set(String(item.of.data.id), String(item.of.data.call_id))
  return ids
}

/** @returns undefined for an item that other wires have no words for either. */
export function flatItem({ dialect, type, data }: Opaque, { shellCalls, offer, lost }: History): FlatItem | undefined {
  if (dialect !== WIRE) return undefined
  switch (type) {
    case CALL.custom:
      return customCall(data)
    case 'custom_tool_call_output':
      return { item: result(data.call_id, decodeParts(data.output, lost)) }
    case CALL.shell:
      return shellCall(data)
    case 'local_shell_call_output': {
      const id = asString(data.call_id) ?? String(data.id)
      return { item: result(shellCalls.get(id) ?? id, decodeParts(data.output, lost)) }
    }
    case CALL.search:
      return typeof data.call_id === 'string' ? { item: call(data.call_id, SEARCH, data.arguments ?? {}) } : undefined
    case AGENT:
      return agentMessage(data, lost)
    case 'function_call_output':
      return typeof data.call_id === 'string' ? undefined : toolMessage(data, lost)
    case 'tool_search_output':
      return typeof data.call_id === 'string' ? searchResult(data, offer(asObjects(data.tools))) : undefined
  }
  return undefined
}
