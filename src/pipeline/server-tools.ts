/** The gateway's own tools as the model sees them: functions, under names that no tool of the caller has. */
import type { ToolSpec } from '../canon/request.ts'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { Host, ServerTool, SessionTool, Tap, ToolOutcome } from '../plugin-api/index.ts'
import type { Exchange } from './exchange.ts'

export interface OfferedTool {
  /** Without the brand word. */
  name: string
  run(args: JsonObject, host: Host, signal: AbortSignal): ToolOutcome | Promise<ToolOutcome>
}

export interface Offer {
  /** Nano-dollars that the tools may cost at most, together. */
  readonly bound: number
  /** Views of tools on the reply. */
  readonly taps: readonly Tap[]
  has(name: string): boolean
  get(name: string): OfferedTool | undefined
  /** From the next turn on the model may not call anything. */
  withdraw(): void
}

/** The operator's settings by the id of a plugin. */
export type ToolSettings = (plugin: string) => JsonObject

/**
 * Replaces the server tools of a request by functions.
 * @throws Fault 400 naming the tool that is unknown or the parameter that does not fit.
 */
export function offerTools(exchange: Exchange, tools: readonly (ServerTool | SessionTool)[], settings: ToolSettings): Offer {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const offered = new Map<string, OfferedTool>()
  const taps: Tap[] = []
  let bound = 0
  exchange.edit('server-tools', (draft) => {
    const taken = new Set(draft.tools.map((spec) => (spec.kind === 'function' ? spec.name : '')))
    draft.tools = draft.tools.map((spec, i): ToolSpec => {
      if (spec.kind !== 'server') return spec
      const tool = byName.get(spec.name)
      if (!tool) {
        const known = tools.map((one) => `${exchange.brand}:${one.name}`).join(', ')
        throw badField(`tools[${i}].type`, `no server tool ${spec.name}; expected one of: ${known}`)
      }
      const name = freeName(`${exchange.brand}_${spec.name}`, taken)
      if ('begin' in tool) {
        const session = tool.begin(spec.parameters, `tools[${i}]`, settings(tool.plugin))
        bound += session.bound
        if (session.tap) taps.push(session.tap)
        offered.set(name, { name: tool.name, run: (args, host, signal) => session.run(args, host, signal) })
      } else {
        const parameters = tool.parse(spec.parameters, `tools[${i}].parameters`)
        offered.set(name, { name: tool.name, run: (args, host, signal) => tool.run(args, parameters, host, signal) })
      }
      return { kind: 'function', name, description: tool.description, parameters: tool.parameters }
    })
    if (draft.toolChoice?.mode === 'named') draft.toolChoice.name = renamed(draft.toolChoice.name, offered)
  })
  exchange.toolNames = new Set(offered.keys())
  return {
    bound,
    taps,
    has: (name) => offered.has(name),
    get: (name) => offered.get(name),
    withdraw: () => {
      exchange.toolNames = new Set()
      exchange.edit('server-tools', (draft) => {
        draft.tools = draft.tools.filter((spec) => spec.kind !== 'function' || !offered.has(spec.name))
        draft.toolChoice = draft.tools.length > 0 ? { mode: 'none' } : undefined
      })
    },
  }
}

function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted
  while (taken.has(name)) name += '_'
  taken.add(name)
  return name
}

function renamed(chosen: string, offered: ReadonlyMap<string, OfferedTool>): string {
  for (const [name, tool] of offered) if (tool.name === chosen) return name
  return chosen
}
