import {
  type JsonObject,
  type McpConnection,
  type McpEntry,
  McpError,
  type Opaque,
  objectWithin,
  type Recalled,
  type RemoteTool,
  type ResumedCall,
  type ShownItem,
  type ToolFunction,
  type ToolHost,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'
import { approvalItem, callItem, type DoneCall, type History, itemId } from './items.ts'

/** Characters of a function's name that the server's label and the tool's name make up together. */
const LONGEST = 44

/** The tools of one server in one request. */
export class McpSession implements ToolSession {
  readonly bound = 0
  readonly functions: readonly ToolFunction[]
  readonly opening: readonly ShownItem[]
  readonly resumes: readonly ResumedCall[]
  private readonly entry: McpEntry
  private readonly connection: McpConnection
  private readonly history: History
  /** The server's names by the names that the model calls. */
  private readonly names: ReadonlyMap<string, string>

  constructor(
    entry: McpEntry,
    tools: readonly RemoteTool[],
    around: { connection: McpConnection; history: History; opening: ShownItem[] },
  ) {
    this.entry = entry
    this.connection = around.connection
    this.history = around.history
    this.opening = around.opening
    const named = namedTools(entry.label, tools)
    this.names = new Map(named.map(([name, tool]) => [name, tool.name]))
    this.functions = named.map(([name, tool]) => ({ name, description: toolDescription(tool, entry), parameters: tool.schema }))
    this.resumes = this.history.approved.flatMap(({ id, name, args }) => {
      const parsed = objectWithin(args)
      return parsed ? [{ callId: id, function: this.functionName(name), args: parsed }] : []
    })
  }

  recalls(item: Opaque): readonly Recalled[] | undefined {
    return this.history.recalls(item, (name) => this.functionName(name))
  }

  async run(args: JsonObject, host: ToolHost, signal: AbortSignal): Promise<ToolOutcome> {
    const name = this.names.get(host.function)
    if (name === undefined) return failure(host.function, this.entry, 'the server has no such tool')
    const approved = this.history.isApproved(host.callId)
    if (!approved && this.entry.needsApproval(name)) return this.requestApproval(name, args, host)
    const call = { id: itemId('mcp', host.callId), label: this.entry.label, name, args: JSON.stringify(args) }
    const approval = approved ? host.callId : undefined
    try {
      const { text, failed } = await this.connection.call(name, args, signal)
      return outcome({ ...call, approval, output: failed ? null : text, error: failed ? text : null }, host)
    } catch (thrown) {
      if (!(thrown instanceof McpError)) throw thrown
      return { ...outcome({ ...call, approval, output: null, error: thrown.message }, host), cause: thrown.cause ?? thrown }
    }
  }

  close(): void {
    this.connection.close()
  }

  private requestApproval(name: string, args: JsonObject, { callId }: ToolHost): ToolOutcome {
    const { label } = this.entry
    return {
      output: JSON.stringify({ status: 'the user is asked' }),
      item: { serverLabel: label, toolName: name },
      status: 'completed',
      shown: [approvalItem(itemId('mcpr', callId), label, name, JSON.stringify(args))],
      handOver: true,
    }
  }

  private functionName(tool: string): string {
    for (const [name, own] of this.names) if (own === tool) return name
    return functionName(this.entry.label, tool)
  }
}

function outcome(call: DoneCall, { client }: ToolHost): ToolOutcome {
  const { label, name, output, error } = call
  return {
    output: output ?? JSON.stringify({ error }),
    item: { serverLabel: label, toolName: name, ...(error === null ? {} : { status: 'incomplete', error }) },
    status: error === null ? 'completed' : 'failed',
    ...(client === 'responses' ? { shown: [callItem(call)] } : {}),
  }
}

function failure(name: string, { label }: McpEntry, error: string): ToolOutcome {
  return { output: JSON.stringify({ error }), item: { status: 'incomplete', serverLabel: label, toolName: name, error }, status: 'failed' }
}

function toolDescription({ description }: RemoteTool, { description: server }: McpEntry): string {
  return server === '' ? description : `${description}\n\n(${server})`.trim()
}

function namedTools(label: string, tools: readonly RemoteTool[]): [name: string, tool: RemoteTool][] {
  const taken = new Set<string>()
  return tools.map((tool) => {
    const plain = functionName(label, tool.name)
    let name = plain
    for (let i = 2; taken.has(name); i++) name = `${plain}_${i}`
    taken.add(name)
    return [name, tool]
  })
}

function functionName(label: string, tool: string): string {
  return `${label}_${tool}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, LONGEST)
}
