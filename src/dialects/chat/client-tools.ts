/**
 * Tools of the type `custom`, which take free text, as functions for providers that know no others
 * (types of openai 7.57.0: `ChatCompletionCustomTool`, `ChatCompletionMessageCustomToolCall`, `ChatCompletionNamedToolChoiceCustom`).
 */
import { asObjects, asString, isObject, type JsonObject } from '../../core/json.ts'
import { ALLOWED_TOOLS } from '../canon/allowed-tools.ts'
import { type ClientTools, type Flattened, freeTextArguments, freeTextFunction, type NameClash } from '../canon/client-tools.ts'
import type { Called } from '../canon/events.ts'
import type { CanonicalRequest, Item, Opaque, ToolChoice, ToolSpec } from '../canon/request.ts'
import { OPAQUE, WIRE } from './wire.ts'

export const CUSTOM = 'custom'

/** Member `custom` of a tool, a call or a choice of that type. */
function customTool(of: Opaque | undefined): JsonObject | undefined {
  return of?.dialect === WIRE && of.data.type === CUSTOM && isObject(of.data.custom) ? of.data.custom : undefined
}

/** True where the caller's format writes the call as one of a custom tool. */
export const isCustomCall = (call: Called | undefined): boolean => call?.own?.dialect === WIRE && call.own.type === CUSTOM

const isCustomTool = (of: Opaque): boolean => of.type === CUSTOM && customTool(of) !== undefined

function flatTool(tool: ToolSpec, own: Map<string, Opaque>, lost: Set<string>): ToolSpec {
  const custom = tool.kind === 'opaque' && isCustomTool(tool.of) ? customTool(tool.of) : undefined
  if (!custom) return tool
  const name = String(custom.name)
  const { format, description } = custom
  const written = isObject(format) && format.type === 'grammar' && isObject(format.grammar) ? format.grammar : undefined
  if (written) lost.add('tools.custom.format')
  const grammar = written && { syntax: asString(written.syntax) ?? '', definition: asString(written.definition) ?? '' }
  own.set(name, { dialect: WIRE, type: CUSTOM, data: {} })
  return freeTextFunction({ name, description: asString(description) ?? '', grammar })
}

function flatItem(item: Item): Item {
  const of = item.kind === 'opaque' && item.of.type === OPAQUE.call ? item.of : undefined
  const custom = customTool(of)
  if (!of || !custom) return item
  return { kind: 'call', callId: String(of.data.id), name: String(custom.name), args: freeTextArguments(asString(custom.input) ?? '') }
}

function allowed(tool: JsonObject): JsonObject {
  return tool.type === CUSTOM && isObject(tool.custom) ? { type: 'function', function: { name: tool.custom.name ?? '' } } : tool
}

function flatChoice(choice: ToolChoice): ToolChoice {
  if (choice.mode !== 'opaque' || choice.of.dialect !== WIRE) return choice
  const custom = customTool(choice.of)
  if (custom) return { mode: 'named', name: String(custom.name) }
  const { data } = choice.of
  if (choice.of.type !== ALLOWED_TOOLS || !isObject(data.allowed_tools)) return choice
  const list = { ...data.allowed_tools, tools: asObjects(data.allowed_tools.tools).map(allowed) }
  return { mode: 'opaque', of: { ...choice.of, data: { ...data, allowed_tools: list } } }
}

function flatten(request: CanonicalRequest): Flattened | undefined {
  const hasTools = request.tools.some((tool) => tool.kind === 'opaque' && isCustomTool(tool.of))
  if (!hasTools && !request.items.some((item) => item.kind === 'opaque' && customTool(item.of))) return undefined
  const own = new Map<string, Opaque>()
  const lost = new Set<string>()
  const tools = request.tools.map((tool) => flatTool(tool, own, lost))
  const flat: CanonicalRequest = { ...request, tools, items: request.items.map(flatItem) }
  if (request.toolChoice) flat.toolChoice = flatChoice(request.toolChoice)
  return { request: flat, own, dropped: [...lost] }
}

/** A custom tool and another one of its name. */
function clash({ tools }: CanonicalRequest): NameClash | undefined {
  const seen = new Map<string, boolean>()
  for (const [index, tool] of tools.entries()) {
    const custom = tool.kind === 'opaque' ? customTool(tool.of) : undefined
    const name = custom ? String(custom.name) : tool.kind === 'function' ? tool.name : undefined
    if (name === undefined) continue
    const before = seen.get(name)
    if (before !== undefined && (before || custom)) return { at: `tools[${index}]`, name }
    seen.set(name, custom !== undefined)
  }
  return undefined
}

export const chatClientTools: ClientTools = { areKnown: (quirks) => quirks.custom_tools === true, has: isCustomTool, flatten, clash }
