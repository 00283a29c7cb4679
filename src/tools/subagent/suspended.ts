/** Work that waits for the caller: what the worker has done so far, as the caller sends it back with what it called for. */
import { badField, type Item, isObject, type Json, type JsonObject, type Opaque } from '../../plugin-api/index.ts'

export interface SuspendedWork {
  callId: string
  taskName: string
  task: string
  /** The worker's items so far, and the outputs of what it called: what follows the task in its request. */
  items: readonly JsonObject[]
}

/** Facts of the conversation about the subagents that a request offers under one name. */
export interface Replayed {
  /** By the id of the call that began the work. */
  waiting: ReadonlyMap<string, SuspendedWork>
  /** Ids of all work that was ever suspended. */
  ids: ReadonlySet<string>
  /** Of all calls that its workers made of the caller's functions. */
  calls: ReadonlySet<string>
}

/** Name of the subagent whose items are looked for. */
interface Wanted {
  /** Of the tool's items. */
  type: string
  /** Name of the subagent in its items, and the one that an item without a name has. */
  name: string
  unnamed: string
}

/** @throws Fault 400 for work that was never begun, and for a call without an output. */
export function replayedWork(items: readonly Item[], { type, name, unnamed }: Wanted): Replayed {
  const { begun, ended, works } = itemIndex(items, type, unnamed)
  const waiting = new Map<string, SuspendedWork>()
  const ids = new Set<string>()
  const calls = new Set<string>()
  for (const data of begun.get(name) ?? []) {
    if (data.status !== 'in_progress') continue
    const callId = String(data.call_id)
    const work = works.get(callId)
    if (work && !ids.has(callId)) for (const call of work.calls) calls.add(call)
    ids.add(callId)
    if (ended.has(callId)) continue
    const [missing] = work?.open ?? []
    if (missing !== undefined) throw badField('input', `expected a function_call_output for the call ${missing} of a subagent`)
    waiting.set(callId, { callId, taskName: word(data.task_name), task: word(data.task_description), items: work?.items ?? [] })
  }
  return { waiting, ids, calls }
}

/** Steps of one worker before the caller was to go on. */
interface Work {
  /** Ids of what it called for, and of these the ones without an output. */
  readonly calls: Set<string>
  readonly open: Set<string>
  /** In the order of the conversation: the worker's output, then the results of its calls. */
  readonly items: JsonObject[]
}

interface Index {
  /** Items of the tool by the name of their subagent. */
  readonly begun: ReadonlyMap<Json | undefined, readonly JsonObject[]>
  /** Ids of the work that is over. */
  readonly ended: ReadonlySet<Json | undefined>
  readonly works: ReadonlyMap<string, Work>
}

/** A request may offer many subagents and have many items: they are read once for all. */
const indexes = new WeakMap<readonly Item[], Index>()

function itemIndex(items: readonly Item[], type: string, unnamed: string): Index {
  const known = indexes.get(items)
  if (known) return known
  const opaque = items.flatMap((item) => (item.kind === 'opaque' ? [item.of] : []))
  const begun = new Map<Json | undefined, JsonObject[]>()
  const ended = new Set<Json | undefined>()
  const ids = new Set<Json | undefined>()
  for (const { data } of opaque) {
    if (data.type !== type) continue
    ids.add(data.call_id)
    if (data.status !== 'in_progress') ended.add(data.call_id)
    const name = data.instance_name ?? unnamed
    const named = begun.get(name)
    if (named) named.push(data)
    else begun.set(name, [data])
  }
  const index = { begun, ended, works: worksIn(opaque, ids) }
  indexes.set(items, index)
  return index
}

/** @throws Fault 400 for a call of a subagent that is not among these. */
function worksIn(opaque: readonly Opaque[], ids: ReadonlySet<Json | undefined>): Map<string, Work> {
  const works = new Map<string, Work>()
  /** By the id of a call without an output. */
  const callers = new Map<string, Set<Work>>()
  for (const { type, data } of opaque) {
    const { subagent_id: by } = data
    const id = String(data.call_id)
    if (typeof by === 'string') {
      if (!ids.has(by)) throw badField('input', `the subagent_id of the call ${word(data.call_id)} is that of no subagent in the input`)
      const work = works.get(by) ?? { calls: new Set(), open: new Set(), items: [] }
      works.set(by, work)
      work.calls.add(id)
      if (type === 'function_call') {
        work.open.add(id)
        callers.set(id, (callers.get(id) ?? new Set()).add(work))
        if (Array.isArray(data.subagent_items)) for (const item of data.subagent_items) if (isObject(item)) work.items.push(item)
      }
    }
    if (type === 'function_call_output') {
      for (const work of callers.get(id) ?? []) {
        work.open.delete(id)
        work.items.push({ type, call_id: id, output: data.output ?? '' })
      }
      callers.delete(id)
    }
  }
  return works
}

function word(value: JsonObject[string] | undefined): string {
  return typeof value === 'string' ? value : ''
}
