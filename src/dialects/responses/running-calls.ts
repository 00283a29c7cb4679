/**
 * Calls that run beside the conversation (`async`: npm openai 7.59.0, ResponseFunctionToolCall, ResponseCustomToolCall). Other formats
 * refuse a call whose result does not follow it, so each that is still running there gets a result that says so, and what it puts out later
 * is a message of the user's: earlier turns stay as they were sent.
 */
import { asString, type JsonObject } from '../../core/json.ts'
import { nativeObject } from '../canon/native.ts'
import type { Item, Part } from '../canon/request.ts'
import { CALL, flatName, type Lost } from './client-tools.ts'
import { decodeParts } from './decode-parts.ts'
import { WIRE } from './wire.ts'

const RUNNING = 'The call is still running. Its output follows in a later message.'

/** Types of results beside that of a function. */
const RESULTS: ReadonlySet<string> = new Set(['custom_tool_call_output', 'local_shell_call_output', 'tool_search_output'])
const CALLS: ReadonlySet<string> = new Set([CALL.custom, CALL.shell, CALL.search])

/** `runs` is true where the conversation goes on without the result. */
interface Call {
  readonly id: string
  readonly name: string
  readonly runs: boolean
}

function itemCall(item: Item): Call | undefined {
  if (item.kind === 'call') {
    const native = nativeObject(item, WIRE)
    return { id: item.callId, name: flatName(item.name, native?.namespace), runs: native?.async === true }
  }
  const data = ownData(item, CALLS)
  if (typeof data?.call_id !== 'string') return undefined
  return { id: data.call_id, name: flatName(String(data.name), data.namespace), runs: data.async === true }
}

function ownData(item: Item, types: ReadonlySet<string>): JsonObject | undefined {
  return item.kind === 'opaque' && item.of.dialect === WIRE && types.has(item.of.type) ? item.of.data : undefined
}

/** Id of the call that an item is the output of. @param shellCalls ids of calls of the shell by the ids of their items. */
function outputId(item: Item, shellCalls: ReadonlyMap<string, string>): string | undefined {
  if (item.kind === 'result') return item.callId
  const data = ownData(item, RESULTS)
  const id = asString(data?.call_id) ?? asString(data?.id)
  return id && (shellCalls.get(id) ?? id)
}

function outputParts(item: Item, lost: Lost): Part[] {
  if (item.kind === 'result') return item.parts
  return item.kind === 'opaque' ? decodeParts(item.of.data.output, lost) : []
}

/** Output of a tool with no call in front of it, as the user's: no other wire has a place for it. */
export function outputMessage(tool: string, parts: readonly Part[]): Item {
  return { kind: 'message', role: 'user', parts: [{ kind: 'text', text: `Output of ${tool}:` }, ...parts] }
}

/** The history as other formats take it, item by item. */
class History {
  readonly items: Item[] = []
  /** Calls of the turn that is being read, while they have no result. */
  private readonly open = new Map<string, Call>()
  /** Names of calls that run and have their result: providers take one for each, so what else these put out is a message. */
  private readonly settled = new Map<string, string>()
  /** Such messages, until the calls of the turn have their results: nothing may stand between. */
  private readonly waiting: Item[] = []
  /** True once the turn has a result: a call behind it may be the next turn's. */
  private answered = false

  /** The model is not called before these have their results, so what it says until then is of the same turn. */
  private get awaits(): boolean {
    return [...this.open.values()].some(({ runs }) => !runs)
  }

  call(call: Call, item: Item): void {
    if (this.answered && !this.awaits) this.endTurn()
    this.settled.delete(call.id)
    this.open.set(call.id, call)
    this.items.push(item)
  }

  output(id: string, item: Item, lost: Lost): void {
    const late = this.settled.get(id)
    if (late === undefined) {
      const call = this.open.get(id)
      this.open.delete(id)
      if (call?.runs) this.settled.set(id, call.name)
      this.items.push(item)
    } else this.waiting.push(outputMessage(`the tool ${late}`, outputParts(item, lost)))
    this.answered = true
    if (this.open.size === 0) this.say()
  }

  other(item: Item): void {
    const isModels = item.kind === 'reasoning' || (item.kind === 'message' && item.role === 'assistant')
    if (!isModels || !this.awaits) this.endTurn()
    this.items.push(item)
  }

  endTurn(): void {
    for (const { id, name, runs } of this.open.values()) {
      if (!runs) continue
      this.items.push({ kind: 'result', callId: id, parts: [{ kind: 'text', text: RUNNING }] })
      this.settled.set(id, name)
    }
    this.open.clear()
    this.say()
    this.answered = false
  }

  private say(): void {
    this.items.push(...this.waiting.splice(0))
  }
}

/**
 * @param shellCalls ids of calls of the shell by the ids of their items.
 * @returns undefined where every call that runs so has its one result behind it.
 */
export function withRunningCalls(items: readonly Item[], shellCalls: ReadonlyMap<string, string>, lost: Lost): Item[] | undefined {
  if (!items.some((item) => itemCall(item)?.runs)) return undefined
  const history = new History()
  for (const item of items) {
    const call = itemCall(item)
    const id = outputId(item, shellCalls)
    if (call) history.call(call, item)
    else if (id !== undefined) history.output(id, item, lost)
    else history.other(item)
  }
  history.endTurn()
  const { items: out } = history
  return out.length === items.length && out.every((item, at) => item === items[at]) ? undefined : out
}
