/** Lets the model call tools of remote MCP servers that the caller names, with the caller's approval where that is required. */
import {
  badField,
  type JsonObject,
  McpConnection,
  type McpEntry,
  McpError,
  parseMcpEntry,
  type RemoteTool,
  remoteTools,
  type SessionTool,
  type ShownItem,
  settingsOnce,
  type ToolContext,
  type ToolSession,
  type ToolSpec,
} from '../../plugin-api/index.ts'
import { History, listItem } from './items.ts'
import { McpSession } from './session.ts'

export const mcp: SessionTool = {
  name: 'mcp',
  description: 'Calls tools of a remote MCP server.',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  plugin: 'mcp',

  begin(parameters: JsonObject, at: string, own: JsonObject, context: ToolContext): ToolSession | Promise<ToolSession> {
    const settings = settingsOnce(own)
    if (!settings.enabled) throw badField(`${at}.type`, 'the operator has switched remote MCP servers off')
    const spec = context.tools[context.place]
    if (!spec) throw new RangeError(`no tool at place ${context.place}`)
    const path = isProvided(spec) ? at : `${at}.parameters`
    const entry = parseMcpEntry(parameters, path, settings)
    checkAlone(entry, { at, path }, context)
    checkApproval(parameters, path, context)
    const connection = new McpConnection(entry, settings, context.clock)
    const items = context.request().items.flatMap((item) => (item.kind === 'opaque' ? [item.of] : []))
    const history = new History(entry.label, items)
    if (history.approved.length > MAX_APPROVED) throw badField('input', `expected at most ${MAX_APPROVED} approved calls of a server`)
    const around = { connection, history }
    if (history.list) return new McpSession(entry, remoteTools(history.list, entry), { ...around, opening: [] })
    if (context.plan) return new McpSession(entry, [], { ...around, opening: [] })
    return listed(entry, connection, context).then(({ tools, opening }) => new McpSession(entry, tools, { ...around, opening }))
  },
}

function isProvided(spec: ToolSpec): boolean {
  return spec.kind === 'server' && spec.standsFor !== undefined
}

/** Each is a connection of its own. */
const MAX_SERVERS = 32
/** Most approved calls of a server in one request: all of them run at once. */
const MAX_APPROVED = 64

/** Items name a server by its label alone. */
function checkAlone({ label }: McpEntry, { at, path }: { at: string; path: string }, { tools }: ToolContext): void {
  const servers = tools.filter((tool) => tool.kind === 'server' && tool.name === 'mcp')
  if (servers.length > MAX_SERVERS) throw badField(`${at}.type`, `expected at most ${MAX_SERVERS} servers in a request`)
  const same = servers.filter((tool) => tool.kind === 'server' && tool.parameters.server_label === label)
  if (same.length > 1) throw badField(`${path}.server_label`, 'two servers of the request have it, expected a label of its own for each')
}

/** Only the Responses API has items that request approval. */
function checkApproval({ require_approval: wanted = null }: JsonObject, path: string, { client, depth }: ToolContext): void {
  if ((client !== 'responses' || depth > 0) && wanted !== 'never')
    throw badField(`${path}.require_approval`, 'expected never: only a request to the Responses API can ask for approval')
}

interface Listed {
  tools: RemoteTool[]
  opening: ShownItem[]
}

/** A server that does not answer is reported in its item, and the model gets no tools of it. */
async function listed(entry: McpEntry, connection: McpConnection, context: ToolContext): Promise<Listed> {
  let tools: RemoteTool[] = []
  let error: string | undefined
  try {
    tools = await connection.list(context.signal)
  } catch (thrown) {
    connection.close()
    if (!(thrown instanceof McpError)) throw thrown
    error = thrown.message
  }
  if (context.client !== 'responses') return { tools, opening: [] }
  let id = 'mcpl_'
  while (id.length < ID_LENGTH) id += Math.floor(context.clock.random() * 36).toString(36)
  return { tools, opening: [listItem(id, entry.label, tools, error)] }
}

const ID_LENGTH = 29
