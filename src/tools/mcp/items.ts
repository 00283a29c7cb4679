/** Items of the API about a server's tools, and how those that a caller sends back are read. */
import { isObject, type JsonObject, type Opaque, type Recalled, type RemoteTool, type ShownItem } from '../../plugin-api/index.ts'

const WIRE = 'responses'

const shown = (type: string, data: JsonObject): ShownItem => ({ kind: 'opaque', of: { dialect: WIRE, type, data } })

/** Identifiers of a request's items differ from those of other requests: callers send them back. */
export const itemId = (prefix: string, callId: string): string => `${prefix}_${callId.replace(/[^A-Za-z0-9]/g, '')}`

export function listItem(id: string, label: string, tools: readonly RemoteTool[], error?: string): ShownItem {
  return shown('mcp_list_tools', {
    id,
    server_label: label,
    tools: tools.map(({ name, description, schema, annotations }) => ({
      name,
      description,
      input_schema: schema,
      annotations: annotations ?? null,
    })),
    ...(error === undefined ? {} : { error }),
  })
}

export interface DoneCall {
  readonly id: string
  readonly label: string
  readonly name: string
  readonly args: string
  readonly output: string | null
  readonly error: string | null
  /** Of the request that the caller has approved. */
  readonly approval: string | undefined
}

export function callItem({ id, label, name, args, output, error, approval }: DoneCall): ShownItem {
  return shown('mcp_call', {
    id,
    server_label: label,
    name,
    arguments: args,
    output,
    error,
    approval_request_id: approval ?? null,
    status: error === null ? 'completed' : 'failed',
  })
}

export function approvalItem(id: string, label: string, name: string, args: string): ShownItem {
  return shown('mcp_approval_request', { id, server_label: label, name, arguments: args })
}

export interface ApprovalRequest {
  readonly id: string
  readonly name: string
  readonly args: string
}

/** Facts about one server in earlier items of the conversation. */
export class History {
  /** The list that the caller sends back, as the server gave it. */
  readonly list: readonly JsonObject[] | undefined
  private readonly label: string
  private readonly requests = new Map<string, ApprovalRequest>()
  private readonly answers = new Map<string, JsonObject>()
  private readonly done = new Map<string, JsonObject>()

  constructor(label: string, items: readonly Opaque[]) {
    this.label = label
    let list: readonly JsonObject[] | undefined
    for (const { dialect, type, data } of items) {
      if (dialect !== WIRE) continue
      if (type === 'mcp_approval_response') this.answers.set(String(data.approval_request_id), data)
      else if (data.server_label !== label) continue
      else if (type === 'mcp_list_tools' && Array.isArray(data.tools) && (data.error ?? null) === null) list = data.tools.filter(isObject)
      else if (type === 'mcp_approval_request')
        this.requests.set(String(data.id), { id: String(data.id), name: String(data.name), args: String(data.arguments) })
      else if (type === 'mcp_call' && typeof data.approval_request_id === 'string') this.done.set(data.approval_request_id, data)
    }
    this.list = list
  }

  /** Calls that the caller has approved and that have not been run. */
  get approved(): ApprovalRequest[] {
    return [...this.requests.values()].filter(({ id }) => this.isApproved(id))
  }

  /** True for a call that the caller has approved and that has not been run. */
  isApproved(id: string): boolean {
    return this.requests.has(id) && this.answers.get(id)?.approve === true && !this.done.has(id)
  }

  /** @param functionName name under which the model knows a tool of the server. */
  recalls({ dialect, type, data }: Opaque, functionName: (name: string) => string): readonly Recalled[] | undefined {
    if (dialect !== WIRE) return undefined
    if (type === 'mcp_approval_response') return this.requests.has(String(data.approval_request_id)) ? [] : undefined
    if (data.server_label !== this.label) return undefined
    if (type === 'mcp_list_tools') return []
    if (type === 'mcp_approval_request') return this.recalledRequest(String(data.id), functionName)
    if (type !== 'mcp_call') return undefined
    if (typeof data.approval_request_id === 'string' && this.requests.has(data.approval_request_id)) return []
    const callId = String(data.id)
    return [{ kind: 'call', callId, function: functionName(String(data.name)), args: String(data.arguments) }, callResult(callId, data)]
  }

  private recalledRequest(id: string, functionName: (name: string) => string): readonly Recalled[] {
    const { name, args } = this.requests.get(id) as ApprovalRequest
    const answer = this.answers.get(id)
    // The model is not shown a request for approval that has no answer.
    if (!answer) return []
    const call: Recalled = { kind: 'call', callId: id, function: functionName(name), args }
    const done = this.done.get(id)
    if (done) return [call, callResult(id, done)]
    if (answer.approve === true) return [call]
    const reason = typeof answer.reason === 'string' && answer.reason !== '' ? `: ${answer.reason}` : ''
    return [
      call,
      { kind: 'result', callId: id, text: JSON.stringify({ error: `the user did not approve the call${reason}` }), error: true },
    ]
  }
}

function callResult(callId: string, { output, error }: JsonObject): Recalled {
  if ((error ?? null) === null) return { kind: 'result', callId, text: typeof output === 'string' ? output : '' }
  return { kind: 'result', callId, text: JSON.stringify({ error }), error: true }
}
