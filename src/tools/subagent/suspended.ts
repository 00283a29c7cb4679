/** Work that waits for the caller: what the worker has done so far, as the caller sends it back with what it called for. */
import { badField, type Item, isObject, type JsonObject, type Opaque } from '../../plugin-api/index.ts'

export interface SuspendedWork {
  callId: string
  taskName: string
  task: string
  /** The worker's items so far, and the outputs of what it called: what follows the task in its request. */
  items: readonly JsonObject[]
}

/** What the conversation says of the subagents that a request offers under one name. */
export interface Replayed {
  /** By the id of the call that began the work. */
  waiting: ReadonlyMap<string, SuspendedWork>
  /** Ids of all work that was ever suspended. */
  ids: ReadonlySet<string>
  /** Of all calls that its workers made of the caller's functions. */
  calls: ReadonlySet<string>
}

/**
 * @param type of the tool's items. @param own true for an item of the subagent in question.
 * @throws Fault 400 for work that nobody began, and for a call without an output.
 */
export function replayedWork(items: readonly Item[], type: string, own: (item: JsonObject) => boolean): Replayed {
  const opaque = items.flatMap((item) => (item.kind === 'opaque' ? [item.of] : []))
  const begun = opaque.filter(({ data }) => data.type === type)
  refuseStrangers(opaque, begun)
  const waiting = new Map<string, SuspendedWork>()
  const ids = new Set<string>()
  const calls = new Set<string>()
  for (const { data } of begun.filter((of) => of.data.status === 'in_progress' && own(of.data))) {
    const callId = String(data.call_id)
    ids.add(callId)
    for (const { data: call } of opaque) if (call.subagent_id === callId) calls.add(String(call.call_id))
    const ended = begun.some((other) => other.data.call_id === callId && other.data.status !== 'in_progress')
    if (!ended)
      waiting.set(callId, { callId, taskName: word(data.task_name), task: word(data.task_description), items: itemsOf(callId, opaque) })
  }
  return { waiting, ids, calls }
}

function refuseStrangers(opaque: readonly Opaque[], begun: readonly Opaque[]): void {
  for (const { data } of opaque) {
    const id = data.subagent_id
    if (typeof id === 'string' && !begun.some((of) => of.data.call_id === id))
      throw badField('input', `the subagent_id of the call ${word(data.call_id)} is that of no subagent in the input`)
  }
}

/** In the order of the conversation: what the worker said, then what its calls gave. */
function itemsOf(callId: string, opaque: readonly Opaque[]): JsonObject[] {
  const items: JsonObject[] = []
  const open = new Set<string>()
  for (const { type, data } of opaque) {
    const id = String(data.call_id)
    if (type === 'function_call' && data.subagent_id === callId) {
      open.add(id)
      if (Array.isArray(data.subagent_items)) items.push(...data.subagent_items.filter(isObject))
    } else if (type === 'function_call_output' && open.delete(id)) items.push({ type, call_id: id, output: data.output ?? '' })
  }
  const [missing] = open
  if (missing !== undefined) throw badField('input', `expected a function_call_output for the call ${missing} of a subagent`)
  return items
}

function word(value: JsonObject[string] | undefined): string {
  return typeof value === 'string' ? value : ''
}
