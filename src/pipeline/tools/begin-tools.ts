/** Begins the server tools of a request: their parameters are checked, and errors name the path that the caller wrote. */

import { badField, Fault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { ToolSpec, WrittenAt } from '../../dialects/canon/request.ts'
import type { ServerTool, SessionTool, ToolContext, ToolSession } from '../../plugin-api/index.ts'
import type { Received } from '../exchange.ts'
import type { RequestContext } from './tool-host.ts'

type ServerSpec = Extract<ToolSpec, { kind: 'server' }>

export interface OfferDependencies {
  tools: readonly (ServerTool | SessionTool)[]
  /** The operator's settings by the id of a plugin. */
  settings: (plugin: string) => JsonObject
  /** Facts of the request that every tool is shown. */
  context: RequestContext
}

export class ToolStarter {
  private readonly dependencies: OfferDependencies
  private readonly byName: ReadonlyMap<string, ServerTool | SessionTool>

  constructor(dependencies: OfferDependencies) {
    this.dependencies = dependencies
    this.byName = new Map(dependencies.tools.map((tool) => [tool.name, tool]))
  }

  /**
   * @param at path of the tool; undefined: its place in the list. @param plan true where it is only checked.
   * @throws Fault 400 naming the tool that is unknown or the parameter that does not fit.
   */
  begin(
    tools: readonly ToolSpec[],
    place: number,
    at = `tools[${place}]`,
    context = this.dependencies.context,
  ): { tool: ServerTool | SessionTool; session: ToolSession | Promise<ToolSession> } | undefined {
    const spec = tools[place]
    if (spec?.kind !== 'server') return undefined
    const tool = this.byName.get(spec.name)
    if (!tool) throw this.unknown(spec, at)
    const own: ToolContext = {
      ...context,
      tools,
      place,
      runs: (name) => this.runs(name),
      checkTools: (list, path) => this.check(list, path),
    }
    try {
      const session = this.session(tool, spec.parameters, at, own)
      if (!(session instanceof Promise)) return { tool, session }
      return {
        tool,
        session: session.catch((thrown: unknown) => {
          throw asWritten(thrown, at, spec.written)
        }),
      }
    } catch (thrown) {
      throw asWritten(thrown, at, spec.written)
    }
  }

  private session(
    tool: ServerTool | SessionTool,
    parameters: JsonObject,
    at: string,
    context: ToolContext,
  ): ToolSession | Promise<ToolSession> {
    if ('begin' in tool) return tool.begin(parameters, at, this.dependencies.settings(tool.plugin), context)
    const own = tool.parse(parameters, `${at}.parameters`)
    return { bound: 0, run: (args, host, signal) => tool.run(args, own, host, signal) }
  }

  private runs(name: string): boolean {
    const tool = this.byName.get(name)
    return tool !== undefined && !('begin' in tool && tool.ready?.(this.dependencies.settings(tool.plugin)) === false)
  }

  private unknown({ name }: ServerSpec, at: string): Fault {
    const known = this.dependencies.tools.map((one) => `${this.dependencies.context.brand}:${one.name}`).join(', ')
    return badField(`${at}.type`, `no server tool ${name}; expected one of: ${known}`)
  }

  /** Tools of a model that a tool calls: that call is a request of the Responses format, one deeper. */
  private check(list: readonly JsonObject[], path: string): void {
    const { context } = this.dependencies
    const specs = list.map((tool, i) => nestedSpec(tool, `${path}[${i}]`))
    const nested = { ...context, plan: true, depth: context.depth + 1, client: 'responses' }
    for (const place of specs.keys()) {
      const session = this.begin(specs, place, `${path}[${place}]`, nested)?.session
      if (session instanceof Promise)
        session.then(
          (begun) => begun.close?.(),
          () => {},
        )
      else session?.close?.()
    }
  }
}

/** @throws Fault 400 naming the path. */
function nestedSpec({ type, parameters }: JsonObject, path: string): ServerSpec {
  const colon = String(type).indexOf(':')
  if (colon < 0) throw badField(`${path}.type`, 'expected one of the server tools')
  return { kind: 'server', name: String(type).slice(colon + 1), parameters: objectOr(parameters, `${path}.parameters`) }
}

function objectOr(value: Json | undefined, path: string): JsonObject {
  if (value === undefined || value === null) return {}
  if (!isObject(value)) throw badField(path, 'expected an object')
  return value
}

/** A fault about a parameter that the caller wrote elsewhere names that place. @param at path of the tool. */
export function asWritten(thrown: unknown, at: string, written: WrittenAt | undefined): unknown {
  if (!written || !(thrown instanceof Fault)) return thrown
  const field = thrown.metadata?.field
  const path = typeof field === 'string' ? writtenPath(field, at, written) : undefined
  if (typeof field !== 'string' || path === undefined) return thrown
  const message = thrown.message.startsWith(field) ? path + thrown.message.slice(field.length) : thrown.message
  return new Fault(thrown.code, { message, metadata: { ...thrown.metadata, field: path }, cause: thrown })
}

function writtenPath(field: string, at: string, { object, type, fields }: WrittenAt): string | undefined {
  if (field === `${at}.type`) return type
  const prefix = `${at}.parameters`
  if (field === prefix) return object
  if (!field.startsWith(`${prefix}.`)) return undefined
  const [, name = '', rest = ''] = /^([^.[]*)(.*)$/s.exec(field.slice(prefix.length + 1)) ?? []
  return `${object}.${fields?.[name] ?? name}${rest}`
}

const TYPE = 'server_tools'
const NAME = 'server-tools'

/**
 * Adds server tools that the request offers to the stage of their mode.
 * @param mode `sdk`: the gateway runs them. `native`: a provider runs its own in their place.
 * @param tools names without the brand word.
 */
export function noteServerTools(exchange: Received, mode: 'sdk' | 'native', tools: readonly string[]): void {
  const types = tools.map((name) => `${exchange.head.brand}:${name}`)
  const stage = exchange.history.stages.find(({ type, data }) => type === TYPE && data?.mode === mode)
  const before = Array.isArray(stage?.data?.tools) ? stage.data.tools : []
  const data = { mode, tools: [...new Set([...before, ...types])] }
  if (stage) stage.data = data
  else exchange.history.stages.push({ type: TYPE, name: NAME, data })
}
