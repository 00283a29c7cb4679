/**
 * Tools that providers and the gateway have under one name (contract section 1.4): a provider's own is run by the gateway
 * where no provider in question has it, and the gateway's is left to the provider where all of them say that they have it.
 */

import { isObject, type JsonObject } from '../../core/json.ts'
import type { Opaque, ToolChoice, ToolSpec } from '../../dialects/canon/request.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { ChainDependencies } from '../dependencies.ts'
import { type Accepted, narrow, type Routed } from '../exchange.ts'
import { noteServerTools } from '../tools/begin-tools.ts'

type ServerSpec = Extract<ToolSpec, { kind: 'server' }>

/** The gateway's tool in place of a provider's; undefined for a kind of it that only the provider can run. */
type Hoist = (data: JsonObject) => Omit<ServerSpec, 'kind' | 'standsFor'> | undefined

const without =
  (name: string): Hoist =>
  () => ({ name, parameters: {} })

const HOISTS: ReadonlyMap<string, Hoist> = new Map<string, Hoist>([
  ['tool_search', ({ execution }) => (execution === 'client' ? undefined : { name: 'tool_search', parameters: {} })],
  ['tool_search_tool_regex', without('tool_search')],
  ['apply_patch', without('apply_patch')],
  ['shell', ({ environment }) => ({ name: 'shell', parameters: isObject(environment) ? { environment } : {} })],
  ['bash', without('bash')],
  ['mcp', ({ type: _, ...parameters }) => ({ name: 'mcp', parameters })],
])

/** Wires whose tools these are. */
const WIRES: ReadonlySet<string> = new Set(['responses', 'messages'])

/** `bash_20250124`: the word, then a day. */
const VERSION = /_\d{8}$/

function hoisted({ dialect, type, data }: Opaque): ServerSpec | undefined {
  const found = WIRES.has(dialect) ? HOISTS.get(type.replace(VERSION, ''))?.(data) : undefined
  return found && { kind: 'server', ...found, standsFor: type }
}

/** @returns false where the request has no such tool: nothing has changed then. */
export function hoistTools(exchange: Accepted): boolean {
  if (!exchange.request.canonical().tools.some((tool) => tool.kind === 'opaque' && hoisted(tool.of))) return false
  exchange.request.edit('hoisted-tools', (draft) => {
    draft.tools = draft.tools.map((tool) => (tool.kind === 'opaque' ? (hoisted(tool.of) ?? tool) : tool))
    if (draft.toolChoice) draft.toolChoice = choiceOf(draft.toolChoice, draft.tools)
  })
  return true
}

function choiceOf(choice: ToolChoice, tools: readonly ToolSpec[]): ToolChoice {
  if (choice.mode !== 'opaque') return choice
  const chosen = tools.find((tool) => tool.kind === 'server' && tool.standsFor?.replace(VERSION, '') === choice.of.type)
  if (chosen?.kind !== 'server') return choice
  // An MCP server brings several functions; which of them is meant is not known here.
  return chosen.name === 'mcp' ? { mode: 'required' } : { mode: 'named', name: chosen.name }
}

/** The wire of the tools that may be left to a provider. */
const WIRE = 'responses'

/** Words of `engine` that leave a tool to the provider. */
const TO_PROVIDER: Readonly<Record<string, readonly unknown[]>> = {
  apply_patch: [undefined, null, 'auto', 'native'],
  shell: [undefined, null, 'auto'],
}

/** A body that names none of these tools is not decoded for this. */
export function offersShared({ request: { body, client } }: Routed): boolean {
  return (
    client.id === WIRE &&
    Array.isArray(body.tools) &&
    body.tools.some((tool) => isObject(tool) && typeof tool.type === 'string' && /:(?:apply_patch|shell)$/.test(tool.type))
  )
}

/** Hands tools of the gateway over to the providers where all endpoints have them, or the caller wants it and some have. */
export function leaveToProviders(exchange: Routed, upstreams: ChainDependencies['upstreams']): void {
  for (const [place, tool] of exchange.request.canonical().tools.entries()) {
    if (tool.kind !== 'server' || tool.standsFor !== undefined) continue
    const { engine } = tool.parameters
    if (!TO_PROVIDER[tool.name]?.includes(engine)) continue
    const able = exchange.route.endpoints.filter((endpoint) => hasNative(endpoint, tool.name, upstreams))
    if (able.length === 0 || (engine !== 'native' && able.length < exchange.route.endpoints.length)) continue
    narrow(exchange, able)
    noteServerTools(exchange, 'native', [tool.name])
    const data: JsonObject = { type: tool.name, ...(tool.name === 'shell' ? { environment: environmentOf(tool.parameters) } : {}) }
    exchange.request.edit('native-tools', (draft) => {
      draft.tools = draft.tools.with(place, { kind: 'opaque', of: { dialect: WIRE, type: tool.name, data } })
      const { toolChoice } = draft
      if (
        toolChoice?.mode === 'named' &&
        toolChoice.name === tool.name &&
        !draft.tools.some((one) => one.kind === 'function' && one.name === tool.name)
      )
        draft.toolChoice = { mode: 'opaque', of: { dialect: WIRE, type: tool.name, data: { type: tool.name } } }
    })
  }
}

function environmentOf({ environment }: JsonObject): JsonObject {
  return isObject(environment) ? environment : { type: 'container_auto' }
}

/** What the provider's YAML says of it; only one wire has a form for these tools. */
function hasNative({ provider, quirks = provider.quirks }: Endpoint, name: string, upstreams: ChainDependencies['upstreams']): boolean {
  return quirks.native_tools?.some((tool) => tool === name) === true && upstreams.get(provider.dialect)?.wire === WIRE
}
