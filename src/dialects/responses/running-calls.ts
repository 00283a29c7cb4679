/**
 * Calls that run beside the conversation (`async`: npm openai 7.59.0, ResponseFunctionToolCall, ResponseCustomToolCall). Other formats
 * refuse a call whose result does not follow it, so each that is still running there gets a result that says so, and what it puts out later
 * is a message of the user's: earlier turns stay as they were sent.
 */
import type { JsonObject } from '../../core/json.ts'
import { nativeOf } from '../canon/native.ts'
import type { Item, Part } from '../canon/request.ts'
import { CALL, flatName, type Lost } from './client-tools.ts'
import { decodeParts } from './decode-parts.ts'
import { WIRE } from './wire.ts'

const RUNNING = 'The call is still running. Its output follows in a later message.'

const CUSTOM_OUTPUT = 'custom_tool_call_output'

interface Call {
  readonly id: string
  readonly name: string
}

function runningCall(item: Item): Call | undefined {
  if (item.kind === 'call') {
    const native = nativeOf(item, WIRE)
    return native?.async === true ? { id: item.callId, name: flatName(item.name, native.namespace) } : undefined
  }
  const data = ownData(item, CALL.custom)
  return data?.async === true ? { id: String(data.call_id), name: flatName(String(data.name), data.namespace) } : undefined
}

function ownData(item: Item, type: string): JsonObject | undefined {
  return item.kind === 'opaque' && item.of.dialect === WIRE && item.of.type === type ? item.of.data : undefined
}

/** Output of a call, in either form of its result. */
function outputOf(item: Item, lost: Lost): { id: string; parts: Part[] } | undefined {
  if (item.kind === 'result') return { id: item.callId, parts: item.parts }
  const data = ownData(item, CUSTOM_OUTPUT)
  return data && { id: String(data.call_id), parts: decodeParts(data.output, lost) }
}

const isCall = (item: Item): boolean => item.kind === 'call' || ownData(item, CALL.custom) !== undefined

/** Output of a tool with no call in front of it, as the user's: no other wire has a place for it. */
export function outputMessage(tool: string, parts: readonly Part[]): Item {
  return { kind: 'message', role: 'user', parts: [{ kind: 'text', text: `Output of ${tool}:` }, ...parts] }
}

/** @returns undefined where every call that runs so has its result behind it. */
export function withRunningCalls(items: readonly Item[], lost: Lost): Item[] | undefined {
  if (!items.some((item) => runningCall(item) !== undefined)) return undefined
  const out: Item[] = []
  /** Those of the turn that is being read, and those that were left running. */
  const open = new Map<string, string>()
  const left = new Map<string, string>()
  const leave = (): void => {
    for (const [callId, name] of open) {
      out.push({ kind: 'result', callId, parts: [{ kind: 'text', text: RUNNING }] })
      left.set(callId, name)
    }
    open.clear()
  }
  for (const item of items) {
    const output = outputOf(item, lost)
    const name = output && left.get(output.id)
    if (!output && !isCall(item)) leave()
    const call = runningCall(item)
    if (call) open.set(call.id, call.name)
    if (output) open.delete(output.id)
    if (output && name !== undefined) {
      leave()
      left.delete(output.id)
      out.push(outputMessage(`the tool ${name}`, output.parts))
    } else out.push(item)
  }
  leave()
  return out.length === items.length ? undefined : out
}
