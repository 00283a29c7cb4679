/** Between two turns of a tool loop: run what the model called for, show it to the caller, tell the model. */
import { ALLOWED_TOOLS } from '../canon/allowed-tools.ts'
import type { Item, ToolChoice } from '../canon/request.ts'
import { asFault } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { Host, ToolOutcome } from '../plugin-api/index.ts'
import type { FoundCall } from './event-path.ts'
import type { Exchange } from './exchange.ts'
import type { Offer } from './server-tools.ts'

export interface CallOutput {
  call: FoundCall
  /** Name without the brand word. */
  tool: string
  outcome: ToolOutcome
}

interface RunPlan {
  offer: Offer
  host: Host
  /** Steps that the budget still has. */
  left: number
  /** Tells the operator. */
  failed: (tool: string, cause: unknown) => void
}

/** Runs the calls of one turn at once, and shows each as an output item of its own. */
export async function runCalls(exchange: Exchange, calls: readonly FoundCall[], plan: RunPlan): Promise<CallOutput[]> {
  const { books } = exchange
  books.toolsRequested += calls.length
  const outputs = await Promise.all(calls.map((call, i) => runCall(exchange, call, { ...plan, left: plan.left - i })))
  for (const { call, tool, outcome } of outputs) {
    books.toolCost += outcome.cost ?? 0
    books.toolSearches += outcome.searches ?? 0
    show(exchange, call, { tool, outcome })
  }
  return outputs
}

async function runCall(exchange: Exchange, call: FoundCall, { offer, host, left, failed }: RunPlan): Promise<CallOutput> {
  const offered = offer.get(call.name)
  const tool = offered?.name ?? call.name
  if (!offered || left <= 0) return { call, tool, outcome: failure('no tool steps are left in this request') }
  const args = parseArguments(call.args)
  if (!args) return { call, tool, outcome: failure('the arguments are not a JSON object') }
  exchange.books.toolsExecuted++
  try {
    const outcome = await offered.run(args, host, exchange.cancel.signal)
    if (outcome.cause !== undefined && !exchange.cancel.aborted) failed(tool, outcome.cause)
    return { call, tool, outcome }
  } catch (thrown) {
    const fault = asFault(thrown)
    if (fault.origin !== 'client' && !exchange.cancel.aborted) failed(tool, thrown)
    return { call, tool, outcome: failure(fault.origin === 'client' ? fault.message : 'the tool failed') }
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

function show(exchange: Exchange, call: FoundCall, { tool, outcome }: Omit<CallOutput, 'call'>): void {
  const type = `${exchange.brand}:${tool}`
  const data: JsonObject = {
    status: outcome.status,
    ...outcome.item,
    call: { tool_call_id: call.id, tool_name: type, arguments: call.args, result: outcome.output },
  }
  const text = exchange.path?.add((block) => [
    { type: 'block-start', block, kind: 'server', of: { dialect: 'gateway', type, data } },
    { type: 'block-end', block },
  ])
  if (text) exchange.reply?.write(text, false)
}

/** Adds the model's turn and the tools' answers to the request of the next turn. */
export function appendTurn(exchange: Exchange, outputs: readonly CallOutput[]): void {
  const turn = exchange.path?.turn?.result
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
      items.push({ kind: 'reasoning', ...(block.text === '' ? {} : { text: block.text }), ...seals(block.notes) })
    else if (block.kind === 'summary') {
      // Several summaries of one item go back as one.
      const joins = block.item !== undefined && before?.item === block.item && last?.kind === 'reasoning'
      if (joins) Object.assign(last, seals(block.notes), { summary: [...(last.summary ?? []), block.text] })
      else items.push({ kind: 'reasoning', summary: [block.text], ...seals(block.notes) })
    }
  }
  for (const { call, outcome } of outputs) {
    items.push({ kind: 'result', callId: call.id, parts: [{ kind: 'text', text: outcome.output }], error: outcome.status === 'failed' })
  }
  exchange.edit('server-tools', (draft) => {
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

function seals(notes: readonly { note: string; data: JsonObject }[]): {
  signature?: string
  sealed?: string
  format?: string
  id?: string
} {
  const found: { signature?: string; sealed?: string; format?: string; id?: string } = {}
  for (const { note, data } of notes) {
    if (note === 'signature' && typeof data.signature === 'string') found.signature = data.signature
    if (note === 'sealed') {
      const sealed = data.encrypted_content ?? data.data
      if (typeof sealed === 'string') found.sealed = sealed
    }
    if (typeof data.format === 'string') found.format = data.format
    if (typeof data.id === 'string') found.id = data.id
  }
  return found
}
