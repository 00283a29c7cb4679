/** The conversation in a request to a provider, the same for all four wires: what a scripted model chooses its answer by. */
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { list, object } from '../support/fold.ts'
import type { WireName } from '../support/wire.ts'

export interface OfferedTool {
  readonly name: string
  /** Set only for the Responses API. */
  readonly namespace?: string | undefined
  /** `custom` takes free text. */
  readonly kind: 'function' | 'custom' | 'other'
}

export interface ViewedCall {
  readonly id: string
  readonly name: string
  /** JSON text, or free text. */
  readonly args: string
  /** Undefined until it is there. */
  result: string | undefined
}

export interface View {
  readonly body: JsonObject
  readonly tools: readonly OfferedTool[]
  /** System prompt and what developers say. */
  readonly system: string
  /** Words of users; results of tools are in `calls`. */
  readonly heard: readonly string[]
  readonly utterance: string
  readonly calls: readonly ViewedCall[]
  readonly images: number
  /** Bytes of the conversation, in the order in which providers cache it. */
  readonly cacheable: string
}

interface Draft {
  tools: OfferedTool[]
  system: string[]
  heard: string[]
  utterance: string[]
  calls: ViewedCall[]
  /** The conversation without its settings. */
  turns: Json[]
}

const IMAGE_TYPES = ['image', 'image_url', 'input_image']

/** Texts of a value, without data of images. */
function readText(value: Json | undefined): string {
  if (typeof value === 'string') return value.startsWith('data:') ? '' : value
  if (Array.isArray(value)) return value.map(readText).join('\n')
  if (!isObject(value) || imagesIn(value) > 0) return ''
  return Object.entries(value)
    .map(([name, each]) => (['type', 'id', 'cache_control'].includes(name) ? '' : readText(each)))
    .join('\n')
}

function imagesIn(value: Json | undefined): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + imagesIn(each), 0)
  if (!isObject(value)) return 0
  if (value.inlineData || value.inline_data || IMAGE_TYPES.includes(String(value.type))) return 1
  return Object.values(value).reduce<number>((sum, each) => sum + imagesIn(each), 0)
}

/** Result that Google gets as an object, as the text that the other wires have. */
function resultText(response: JsonObject): string {
  return Object.keys(response).length === 1 ? readText(response) : JSON.stringify(response)
}

function answer(draft: Draft, id: Json | undefined, result: Json | undefined): void {
  const call = draft.calls.find((each) => each.id === id)
  if (call) call.result = readText(result)
}

function readChat(body: JsonObject, draft: Draft): void {
  for (const { function: fn, type } of list(body.tools))
    draft.tools.push({ name: String(object(fn).name), kind: type === 'function' ? 'function' : 'other' })
  draft.turns = list(body.messages)
  for (const { role, content, tool_calls: calls, tool_call_id: id } of list(body.messages)) {
    if (role === 'tool') answer(draft, id, content)
    else if (role === 'assistant') {
      draft.utterance.push(readText(content))
      for (const { id, function: fn } of list(calls))
        draft.calls.push({ id: String(id), name: String(object(fn).name), args: String(object(fn).arguments), result: undefined })
    } else (role === 'user' ? draft.heard : draft.system).push(readText(content))
  }
}

function responsesTools(tools: readonly JsonObject[], namespace?: string): OfferedTool[] {
  return tools.flatMap((tool) => {
    if (tool.type === 'namespace') return responsesTools(list(tool.tools), String(tool.name))
    const kind = tool.type === 'function' || tool.type === 'custom' ? tool.type : 'other'
    return [{ name: String(tool.name ?? tool.type), namespace, kind }]
  })
}

function readResponses(body: JsonObject, draft: Draft): void {
  const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : list(body.input)
  draft.turns = items
  draft.tools.push(...responsesTools(list(body.tools)))
  draft.system.push(readText(body.instructions))
  for (const item of items) {
    const type = String(item.type ?? 'message')
    if (type === 'additional_tools' || type === 'tool_search_output') draft.tools.push(...responsesTools(list(item.tools)))
    else if (type.endsWith('_output')) answer(draft, item.call_id, item.output)
    else if (type.endsWith('_call')) {
      const args = item.arguments ?? item.input ?? item.action ?? ''
      const text = typeof args === 'string' ? args : JSON.stringify(args)
      draft.calls.push({ id: String(item.call_id), name: String(item.name ?? type), args: text, result: undefined })
    } else if (type === 'message') {
      if (item.role === 'assistant') draft.utterance.push(readText(item.content))
      else (item.role === 'user' ? draft.heard : draft.system).push(readText(item.content))
    }
  }
}

function readMessages(body: JsonObject, draft: Draft): void {
  for (const { name, type } of list(body.tools))
    draft.tools.push({ name: String(name), kind: type === undefined || type === 'custom' ? 'function' : 'other' })
  draft.system.push(readText(body.system))
  draft.turns = list(body.messages)
  for (const { role, content } of list(body.messages)) {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : list(content)
    for (const block of blocks) {
      if (block.type === 'tool_result') answer(draft, block.tool_use_id, block.content)
      else if (block.type === 'tool_use')
        draft.calls.push({ id: String(block.id), name: String(block.name), args: JSON.stringify(block.input), result: undefined })
      else if (block.type === 'text')
        (role === 'assistant' ? draft.utterance : role === 'user' ? draft.heard : draft.system).push(readText(block.text))
    }
  }
}

function readGemini(body: JsonObject, draft: Draft): void {
  for (const { functionDeclarations: declared } of list(body.tools))
    for (const { name } of list(declared)) draft.tools.push({ name: String(name), kind: 'function' })
  draft.system.push(readText(body.systemInstruction))
  draft.turns = list(body.contents)
  for (const { role, parts } of list(body.contents))
    for (const part of list(parts)) {
      const { id, name, args, response } = object(part.functionCall ?? part.functionResponse)
      if (part.functionCall)
        draft.calls.push({ id: String(id ?? ''), name: String(name), args: JSON.stringify(args ?? {}), result: undefined })
      else if (part.functionResponse) {
        // Google pairs by order where there are no ids.
        const fits = (each: ViewedCall): boolean => (id === undefined ? each.name === name && each.result === undefined : each.id === id)
        const call = draft.calls.find(fits)
        if (call) call.result = resultText(object(response))
      } else if (typeof part.text === 'string' && part.thought !== true) (role === 'model' ? draft.utterance : draft.heard).push(part.text)
    }
}

const READERS: Readonly<Record<WireName, (body: JsonObject, draft: Draft) => void>> = {
  'openai-chat': readChat,
  'openai-responses': readResponses,
  anthropic: readMessages,
  gemini: readGemini,
}

/** @param body of a request to a provider of this wire. */
export function readView(wire: WireName, body: JsonObject): View {
  const draft: Draft = { tools: [], system: [], heard: [], utterance: [], calls: [], turns: [] }
  READERS[wire](body, draft)
  return {
    body,
    tools: draft.tools,
    system: draft.system.join('\n'),
    heard: draft.heard,
    utterance: draft.utterance.join('\n'),
    calls: draft.calls,
    images: imagesIn(draft.turns),
    cacheable: JSON.stringify([body.tools, body.system ?? body.instructions ?? body.systemInstruction, ...draft.turns]),
  }
}
