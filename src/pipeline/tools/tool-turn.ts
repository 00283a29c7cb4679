/** Between two turns of a tool loop: run what the model called, show it to the caller, give the results to the model. */

import { asFault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { ALLOWED_TOOLS } from '../../dialects/canon/allowed-tools.ts'
import type { StreamEvent } from '../../dialects/canon/events.ts'
import type { Item, ToolChoice } from '../../dialects/canon/request.ts'
import type { ShownItem, ToolOutcome } from '../../plugin-api/index.ts'
import type { Guarded, Step } from '../exchange.ts'
import type { Costs } from '../money/hold.ts'
import type { FoundCall } from '../records.ts'
import { shownEvents } from '../reply/event-path.ts'
import type { Offer } from './server-tools.ts'
import type { CallHost, HostFinder } from './tool-host.ts'

export interface CallOutput {
  call: FoundCall
  /** Name without the brand word. */
  tool: string
  outcome: ToolOutcome
}

/** Calls of one turn that are run at once; without a step budget nothing else bounds how many models they call. */
const MAX_AT_ONCE = 64

interface RunPlan {
  offer: Offer
  findHost: HostFinder
  /** Steps that the budget still has. */
  left: number
  /** Reports it to the operator. */
  failed: (tool: string, cause: unknown) => void
}

/**
 * Runs the calls of one turn at once, and shows each as an output item of its own. All have ended when this returns or
 * throws: what a tool did afterwards would not be recorded.
 * @throws Fault where guardrails refuse to show an item.
 */
export async function runCalls(exchange: Guarded, calls: readonly FoundCall[], plan: RunPlan): Promise<CallOutput[]> {
  exchange.head.costs.toolsRequested += calls.length
  const running = calls.map((call, i) => {
    const offered = plan.offer.get(call.name)
    const tool = offered?.name ?? call.name
    const item = new ToolItem(exchange, `${exchange.head.brand}:${tool}`)
    const step = exchange.history.begin({ kind: 'tool', name: tool, started: exchange.head.clock.monotonic(), callId: call.id })
    const host = plan.findHost(call, { name: offered?.function ?? call.name, step }, (type, data) => item.progress(type, data))
    return {
      call,
      tool,
      item,
      host,
      outcome: runCall(exchange, call, { ...plan, host, step, left: Math.min(plan.left, MAX_AT_ONCE) - i }),
    }
  })
  const outputs: CallOutput[] = []
  let refusal: { thrown: unknown } | undefined
  for (const { call, tool, item, outcome: waiting } of running) {
    const outcome = await waiting
    enter(exchange.head.costs, tool, outcome)
    outputs.push({ call, tool, outcome })
    if (refusal) continue
    try {
      item.end(call, outcome)
    } catch (thrown) {
      refusal = { thrown }
      for (const { host } of running) void host.end()
    }
  }
  if (refusal) throw refusal.thrown
  return outputs
}

function enter(costs: Costs, tool: string, outcome: ToolOutcome): void {
  costs.chargeTool(outcome.cost ?? 0, tool)
  costs.toolSearches += outcome.searches ?? 0
  costs.toolFetches += outcome.fetches ?? 0
  if (outcome.found) costs.addFound(outcome.found)
}

type CallPlan = Omit<RunPlan, 'findHost'> & { host: CallHost; step: Step }

async function runCall(exchange: Guarded, call: FoundCall, plan: CallPlan): Promise<ToolOutcome> {
  const { step } = plan
  const outcome = await callOutcome(exchange, call, plan)
  step.ended = exchange.head.clock.monotonic()
  if (outcome.cost) step.cost = outcome.cost
  if (outcome.status === 'failed') step.failure = 'tool_failed'
  return outcome
}

async function callOutcome(exchange: Guarded, call: FoundCall, { offer, host, left, failed }: CallPlan): Promise<ToolOutcome> {
  const offered = offer.get(call.name)
  if (!offered || left <= 0) return failure('no tool steps are left in this request')
  const args = parseArguments(call.args)
  if (!args) return failure('the arguments are not a JSON object')
  const refused = exchange.decision?.refuseTool({ name: offered.name, function: offered.function, args })
  if (refused !== undefined) return failure(refused)
  exchange.head.costs.toolsExecuted++
  try {
    const outcome = await offered.run(args, host, exchange.head.cancel.signal)
    if (outcome.cause !== undefined && !exchange.head.cancel.aborted) failed(offered.name, outcome.cause)
    return outcome
  } catch (thrown) {
    const fault = asFault(thrown)
    if (fault.origin !== 'client' && !exchange.head.cancel.aborted) failed(offered.name, thrown)
    return failure(fault.origin === 'client' ? fault.message : 'the tool failed')
  } finally {
    await host.end()
  }
}

function failure(error: string): ToolOutcome {
  return { output: JSON.stringify({ error }), item: { error }, status: 'failed' }
}

function parseArguments(text: string): JsonObject | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The output item of a call: shown at its end, or from the first progress that its tool reports. */
class ToolItem {
  private readonly exchange: Guarded
  private readonly type: string
  private block: number | undefined
  private ended = false

  constructor(exchange: Guarded, type: string) {
    this.exchange = exchange
    this.type = type
  }

  progress(type: string, data: JsonObject): void {
    const { exchange, block } = this
    // Only the Responses API has items that grow before they are done.
    if (!exchange.request.stream || exchange.request.client.id !== 'responses' || this.ended || exchange.head.cancel.aborted) return
    if (block === undefined) {
      this.write((fresh) => {
        this.block = fresh
        return [{ type: 'block-start', block: fresh, kind: 'server', of: this.of({ status: 'in_progress' }) }, note(fresh, type, data)]
      })
    } else this.write(() => [note(block, type, data)])
  }

  end(call: FoundCall, outcome: ToolOutcome): void {
    this.ended = true
    const data: JsonObject = {
      status: outcome.status,
      ...outcome.item,
      call: { tool_call_id: call.id, tool_name: this.type, arguments: call.args, result: outcome.output },
    }
    const { block } = this
    if (block !== undefined)
      this.write(() => [
        { type: 'block-note', block, note: 'outcome', data },
        { type: 'block-end', block },
      ])
    else if (!outcome.shown) this.show({ kind: 'server', of: this.of(data) })
    for (const shown of outcome.shown ?? []) this.show(shown)
  }

  private show(shown: ShownItem): void {
    this.write((block) => shownEvents(shown, block))
  }

  private of(data: JsonObject): { dialect: string; type: string; data: JsonObject } {
    return { dialect: 'gateway', type: this.type, data }
  }

  private write(events: (block: number) => readonly StreamEvent[]): void {
    const text = this.exchange.run.path?.add(events)
    if (text) this.exchange.run.reply?.write(text, false)
  }
}

function note(block: number, type: string, data: JsonObject): StreamEvent {
  return { type: 'block-note', block, note: 'progress', data: { ...data, type } }
}

/** Adds the model's turn and the tools' answers to the request of the next turn. */
export function appendTurn(exchange: Guarded, outputs: readonly CallOutput[]): void {
  const turn = exchange.run.path?.turn?.result
  if (!turn) return
  const items: Item[] = []
  for (const [i, block] of turn.blocks.entries()) {
    const before = turn.blocks[i - 1]
    const last = items.at(-1)
    if (block.kind === 'text' && block.text !== '') {
      items.push({ kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: block.text }] })
    } else if (block.kind === 'call' && block.call) {
      items.push({ kind: 'call', callId: block.call.id, name: block.call.name, args: block.text === '' ? '{}' : block.text })
    } else if (block.kind === 'opaque' && block.of) items.push({ kind: 'opaque', of: block.of })
    else if (block.kind === 'reasoning')
      items.push({ kind: 'reasoning', ...(block.text === '' ? {} : { text: block.text }), ...reasoningState(block.notes) })
    else if (block.kind === 'summary') {
      // Several summaries of one item go back as one.
      const joins = block.item !== undefined && before?.item === block.item && last?.kind === 'reasoning'
      if (joins) Object.assign(last, reasoningState(block.notes), { summary: [...(last.summary ?? []), block.text] })
      else items.push({ kind: 'reasoning', summary: [block.text], ...reasoningState(block.notes) })
    }
  }
  for (const { call, outcome } of outputs) {
    items.push({ kind: 'result', callId: call.id, parts: [{ kind: 'text', text: outcome.output }], error: outcome.status === 'failed' })
  }
  exchange.request.edit('server-tools', (draft) => {
    for (const item of items) draft.items.push(item)
    // A choice that forced the call has been obeyed.
    if (draft.toolChoice?.mode !== 'auto' && draft.toolChoice?.mode !== 'none') draft.toolChoice = released(draft.toolChoice)
  })
}

/** The choice of the next turn: whatever forced a call no longer does. */
function released(choice: ToolChoice | undefined): ToolChoice | undefined {
  if (choice?.mode === 'required' || choice?.mode === 'named') return { mode: 'auto' }
  if (choice?.mode !== 'opaque' || choice.of.type !== ALLOWED_TOOLS) return choice
  const { data } = choice.of
  const nested = isObject(data.allowed_tools) ? { allowed_tools: { ...data.allowed_tools, mode: 'auto' } } : { mode: 'auto' }
  return { mode: 'opaque', of: { ...choice.of, data: { ...data, ...nested } } }
}

function reasoningState(notes: readonly { note: string; data: JsonObject }[]): {
  signature?: string
  encrypted?: string
  format?: string
  id?: string
} {
  const found: { signature?: string; encrypted?: string; format?: string; id?: string } = {}
  for (const { note, data } of notes) {
    if (note === 'signature' && typeof data.signature === 'string') found.signature = data.signature
    if (note === 'encrypted') {
      const encrypted = data.encrypted_content ?? data.data
      if (typeof encrypted === 'string') found.encrypted = encrypted
    }
    if (typeof data.format === 'string') found.format = data.format
    if (typeof data.id === 'string') found.id = data.id
  }
  return found
}
