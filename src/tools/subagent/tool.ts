/** Lets the model hand a task over to another model, which sees the task alone and may have tools of its own. */
import {
  type Block,
  isObject,
  type Json,
  type JsonObject,
  type ModelAnswer,
  type Opaque,
  type Recalled,
  type ResumedCall,
  type SessionTool,
  type ShownItem,
  type ToolContext,
  type ToolFunction,
  type ToolHost,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'
import { answerText, failedCall, fitting } from '../model-calls.ts'
import { replayedCall } from '../replayed-calls.ts'
import { parseConfig, type SubagentConfig, TOOL } from './config.ts'
import { type Replayed, replayedWork, type SuspendedWork } from './suspended.ts'

export const subagent: SessionTool = {
  name: TOOL,
  description: 'Hands a task over to another model.',
  parameters: { type: 'object', properties: { task_name: { type: 'string' }, task_description: { type: 'string' } } },
  plugin: TOOL,

  begin(parameters: JsonObject, at: string, _settings: JsonObject, context: ToolContext): SubagentSession {
    return new SubagentSession(parseConfig(parameters, at, context), context)
  },
}

/** One subagent of one request: it gets a task and nothing else of the conversation. */
class SubagentSession implements ToolSession {
  readonly bound = 0
  readonly functions: readonly ToolFunction[]
  readonly resumes: readonly ResumedCall[]
  private readonly config: SubagentConfig
  private readonly brand: string
  /** In its items, and in those that name none. */
  private readonly name: string
  private readonly unnamed: string
  private readonly replayed: Replayed

  constructor(config: SubagentConfig, { brand, request }: Pick<ToolContext, 'brand' | 'request'>) {
    this.config = config
    this.brand = brand
    this.functions = [subagentFunction(config)]
    this.name = this.brandedName(config.instance.function)
    this.unnamed = this.brandedName(TOOL)
    this.replayed = replayedWork(request().items, { type: `${brand}:${TOOL}`, name: this.name, unnamed: this.unnamed })
    this.resumes = [...this.replayed.waiting.values()].map(({ callId, taskName, task }) => ({
      callId,
      function: config.instance.function,
      args: { task_name: taskName, task_description: task },
    }))
  }

  recalls(of: Opaque): readonly Recalled[] | undefined {
    const { calls, ids } = this.replayed
    // Calls of a worker are left out of what the model reads that gave the task.
    if (of.data.type !== `${this.brand}:${TOOL}` && calls.has(String(of.data.call_id))) return []
    const replay = replayedCall(of, this.brand, TOOL)
    if (!replay || replay.callId === '' || !this.owns(replay.fields)) return undefined
    const { callId, fields, args, result } = replay
    const suspended = fields.status === 'in_progress' && ids.has(callId)
    if (suspended && !this.replayed.waiting.has(callId)) return []
    const { task_name: task = '', task_description: description = '', model = '', outcome, error } = fields
    const sent = args ?? JSON.stringify({ task_name: task, task_description: description })
    const call: Recalled = { kind: 'call', callId, function: this.config.instance.function, args: sent }
    if (suspended) return [call]
    const failed = typeof outcome !== 'string'
    const reported = failed ? { status: 'error', error: error ?? 'no outcome' } : okay(model, task, outcome)
    return [call, { kind: 'result', callId, text: result ?? JSON.stringify(reported), error: failed }]
  }

  async run({ task_name: name, task_description: description }: JsonObject, host: ToolHost, signal: AbortSignal): Promise<ToolOutcome> {
    const { config } = this
    const taskName = typeof name === 'string' ? name.trim() : ''
    const task = typeof description === 'string' ? description.trim() : ''
    const model = config.model ?? host.model
    const item = this.taskItem({ model, taskName, task }, host)
    const before = this.replayed.waiting.get(host.callId)
    if (task === '') return failedCall('the argument task_description is missing, expected what is to be done', item)
    try {
      const answer = await host.generate({ body: { ...config.manner, model, input: taskInput(task, before) } })
      const outcome = this.suspends(answer)
        ? suspended(answer, { ...item, model: answer.model }, { host, resumed: before !== undefined })
        : ended(answer, { taskName, item, host })
      return before && !outcome.shown ? shownWhole(outcome, host) : outcome
    } catch (thrown) {
      if (signal.aborted) throw thrown
      const outcome = failedCall(thrown, item)
      return before ? shownWhole(outcome, host) : outcome
    }
  }

  /** True where the worker has called functions of the caller, and nothing that is not there. */
  private suspends({ blocks }: ModelAnswer): boolean {
    const calls = blocks.flatMap(({ kind, call }) => (kind === 'call' && call ? [call] : []))
    return calls.length > 0 && calls.every(({ name }) => this.config.inherited.has(name))
  }

  private taskItem({ model, taskName, task }: { model: string; taskName: string; task: string }, host: ToolHost): JsonObject {
    const { instance } = this.config
    return {
      call_id: host.callId,
      model,
      ...(instance.name === undefined ? {} : { name: instance.name }),
      ...(instance.function === TOOL ? {} : { instance_name: this.brandedName(instance.function) }),
      task_name: taskName,
      task_description: task,
    }
  }

  private owns({ instance_name: name }: JsonObject): boolean {
    return (name ?? this.unnamed) === this.name
  }

  private brandedName(plain: string): string {
    return `${this.brand}_${plain}`
  }
}

function taskInput(task: string, before: SuspendedWork | undefined): JsonObject[] {
  return [{ role: 'user', content: task }, ...(before?.items ?? [])]
}

function ended(answer: ModelAnswer, { taskName, item, host }: { taskName: string; item: JsonObject; host: ToolHost }): ToolOutcome {
  const outcome = answerText(answer)
  return {
    output: JSON.stringify(okay(answer.model, taskName, fitting([outcome], host)[0])),
    item: { ...item, model: answer.model, outcome },
    status: 'completed',
  }
}

/**
 * The worker waits for the caller: its calls go out as calls of the caller's functions, the first of them with what the
 * worker has done, which comes back with their outputs. The item of the work itself is shown once.
 */
function suspended(answer: ModelAnswer, item: JsonObject, { host, resumed }: { host: ToolHost; resumed: boolean }): ToolOutcome {
  const calls = answer.blocks.flatMap(({ kind, call, text }) => (kind === 'call' && call ? [{ ...call, args: text }] : []))
  const projected = calls.map(
    ({ id, name, args }, i): ShownItem => ({
      kind: 'opaque',
      of: {
        dialect: 'responses',
        type: 'function_call',
        data: {
          status: 'completed',
          call_id: id,
          name,
          arguments: args === '' ? '{}' : args,
          subagent_id: host.callId,
          ...(i === 0 ? { subagent_items: workerItems(answer.blocks) } : {}),
        },
      },
    }),
  )
  const work = serverItem({ ...item, status: 'in_progress' }, host)
  return { output: '', item, status: 'completed', handOver: true, shown: resumed ? projected : [work, ...projected] }
}

/** Before the first turn nothing but what is named is shown. */
function shownWhole(outcome: ToolOutcome, host: ToolHost): ToolOutcome {
  return { ...outcome, shown: [serverItem({ status: outcome.status, ...outcome.item }, host)] }
}

function serverItem(data: JsonObject, { brand }: ToolHost): ShownItem {
  return { kind: 'server', of: { dialect: 'gateway', type: `${brand}:${TOOL}`, data } }
}

function okay(model: JsonObject[string], task: JsonObject[string], outcome: JsonObject[string]): JsonObject {
  return { status: 'ok', model, task_name: task, outcome }
}

function subagentFunction({ instance }: SubagentConfig): ToolFunction {
  const who = instance.name === undefined ? 'a subagent' : `the subagent ${instance.name}`
  return {
    name: instance.function,
    description: `Hands a task over to ${who}, another model that works by itself and returns what came of it. Use it for work that is well defined and stands on its own. It sees nothing but the description: put into it all that is needed.`,
    parameters: {
      type: 'object',
      properties: {
        task_name: { type: 'string', description: 'A few words by which you know the task.' },
        task_description: { type: 'string', description: 'What is to be done, with all that one has to know for it.' },
      },
      required: ['task_name', 'task_description'],
      additionalProperties: false,
    },
  }
}

/** Texts and calls of a worker, as input items that its next request can begin with. */
function workerItems(blocks: readonly Block[]): JsonObject[] {
  const items: JsonObject[] = []
  for (const [i, block] of blocks.entries()) {
    const { kind, text, call, of } = block
    if (kind === 'text' && text !== '') items.push({ type: 'message', role: 'assistant', content: text })
    else if (kind === 'call' && call) items.push(callItem(call.id, call.name, text))
    else if (kind === 'server' && of && isObject(of.data.call)) items.push(...serverCall(of.type, of.data.call))
    else if (kind === 'reasoning' || kind === 'summary') addReasoning(items, block, i)
  }
  return items
}

function callItem(callId: string, name: string, args: string): JsonObject {
  return { type: 'function_call', call_id: callId, name, arguments: args === '' ? '{}' : args }
}

/** A tool of the gateway was a function to the worker. @param type `<brand>:<name>`. */
function serverCall(type: string, { tool_call_id: id, arguments: args, result }: JsonObject): JsonObject[] {
  const callId = String(id)
  return [
    callItem(callId, type.replace(':', '_'), word(args) ?? '{}'),
    { type: 'function_call_output', call_id: callId, output: word(result) ?? '' },
  ]
}

/** Several summaries of one item stay one. */
function addReasoning(items: JsonObject[], { kind, text, item, notes }: Block, i: number): void {
  const state: JsonObject = {}
  for (const { note, data } of notes) {
    if (note === 'signature') state.signature = data.signature
    if (note === 'encrypted') state.encrypted_content = data.encrypted_content ?? data.data
    if (typeof data.format === 'string') state.format = data.format
    if (note === 'encrypted' && typeof data.id === 'string') state.id = data.id
  }
  const before = items.at(-1)
  if (kind === 'summary' && item !== undefined && before?.type === 'reasoning' && before.id === item && Array.isArray(before.summary)) {
    before.summary.push({ type: 'summary_text', text })
    Object.assign(before, state)
    return
  }
  const spoken: JsonObject =
    kind === 'summary'
      ? { summary: [{ type: 'summary_text', text }] }
      : { summary: [], ...(text === '' ? {} : { content: [{ type: 'reasoning_text', text }] }) }
  items.push({ type: 'reasoning', id: item ?? `rs_${i}`, ...spoken, ...state })
}

function word(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
