/** The four providers: how each reads a body of its wire. Whatever it does not know is an error. */
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../fold.ts'
import type { Seen } from '../upstream.ts'
import type { WireName } from '../wire.ts'
import { type AskedChoice, mergedTurns, type SeenPart, type SeenRequest, type SeenTurn } from './asked.ts'
import { readGemini } from './read-gemini.ts'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const number = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined)
const strings = (value: Json | undefined): string[] => (Array.isArray(value) ? value.map(String) : [])
const parsed = (args: Json | undefined): JsonObject => JSON.parse(text(args)) as JsonObject

function unknown(what: string, value: Json | undefined): never {
  throw new Error(`the provider does not know this ${what}: ${JSON.stringify(value)}`)
}

/** Numbers calls in the order in which they were made. */
class Calls {
  private readonly ids: string[] = []

  add(id: Json | undefined): void {
    this.ids.push(text(id))
  }

  of(id: Json | undefined): number {
    const at = this.ids.indexOf(text(id))
    return at < 0 ? unknown('call', id) : at
  }
}

function chatParts(content: Json | undefined): SeenPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }]
  return list(content).map((part) => {
    if (part.type === 'text') return { text: text(part.text) }
    if (part.type === 'image_url') return { image: text(object(part.image_url).url) }
    if (part.type === 'file') return { file: text(object(part.file).file_data) }
    return unknown('part', part)
  })
}

function chatReasoning(message: JsonObject): SeenPart[] {
  const details = list(message.reasoning_details)
  const signed = details.map((detail) => text(detail.signature) + text(detail.data)).join('')
  const reasoning = text(message.reasoning) || text(message.reasoning_content)
  return reasoning === '' && signed === '' ? [] : [{ reasoning, signed }]
}

function chatTurn(message: JsonObject, calls: Calls): SeenTurn {
  if (message.role === 'tool')
    return { role: 'user', parts: [{ result: calls.of(message.tool_call_id), parts: chatParts(message.content) }] }
  if (message.role === 'user') return { role: 'user', parts: chatParts(message.content) }
  if (message.role !== 'assistant') return unknown('role', message.role)
  const parts = [...chatReasoning(message), ...chatParts(message.content)]
  for (const call of list(message.tool_calls)) {
    calls.add(call.id)
    parts.push({ call: { name: text(object(call.function).name), args: parsed(object(call.function).arguments) } })
  }
  return { role: 'assistant', parts }
}

function chatChoice(choice: Json | undefined): AskedChoice | undefined {
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required') return choice
  return { name: text(object(object(choice).function).name) }
}

function readChat({ json: body }: Seen): SeenRequest {
  const calls = new Calls()
  const messages = list(body.messages)
  const first = messages[0]?.role === 'system' || messages[0]?.role === 'developer' ? messages[0] : undefined
  return {
    system: first
      ? chatParts(first.content)
          .map((part) => ('text' in part ? part.text : ''))
          .join('')
      : '',
    turns: mergedTurns(messages.slice(first ? 1 : 0).map((message) => chatTurn(message, calls))),
    tools: list(body.tools).map((tool) => {
      const { name, description, parameters } = object(tool.function)
      return { name: text(name), description: text(description), schema: object(parameters) }
    }),
    choice: chatChoice(body.tool_choice),
    serial: body.parallel_tool_calls === false,
    schema: body.response_format === undefined ? undefined : object(object(object(body.response_format).json_schema).schema),
    cap: number(body.max_tokens),
    stop: strings(body.stop),
    temperature: number(body.temperature),
    reasoning: body.reasoning_effort === undefined ? {} : { effort: body.reasoning_effort },
  }
}

function responsesParts(content: Json | undefined): SeenPart[] {
  if (typeof content === 'string') return [{ text: content }]
  return list(content).map((part) => {
    if (part.type === 'input_text' || part.type === 'output_text') return { text: text(part.text) }
    if (part.type === 'input_image') return { image: text(part.image_url) }
    if (part.type === 'input_file') return { file: text(part.file_data) || text(part.file_url) }
    return unknown('part', part)
  })
}

function responsesTurn(item: JsonObject, calls: Calls): SeenTurn {
  if (item.type === 'message') {
    if (item.role !== 'user' && item.role !== 'assistant') return unknown('role', item.role)
    return { role: item.role, parts: responsesParts(item.content) }
  }
  if (item.type === 'reasoning') {
    const reasoning = [...list(item.summary), ...list(item.content)].map((part) => text(part.text)).join('')
    return { role: 'assistant', parts: [{ reasoning, signed: text(item.encrypted_content) }] }
  }
  if (item.type === 'function_call') {
    calls.add(item.call_id)
    return { role: 'assistant', parts: [{ call: { name: text(item.name), args: parsed(item.arguments) } }] }
  }
  if (item.type !== 'function_call_output') return unknown('item', item)
  return { role: 'user', parts: [{ result: calls.of(item.call_id), parts: responsesParts(item.output) }] }
}

function responsesChoice(choice: Json | undefined): AskedChoice | undefined {
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required') return choice
  return { name: text(object(choice).name) }
}

function readResponses({ json: body }: Seen): SeenRequest {
  const calls = new Calls()
  const items = typeof body.input === 'string' ? [{ type: 'message', role: 'user', content: body.input }] : list(body.input)
  const first = items[0]?.role === 'system' || items[0]?.role === 'developer' ? items[0] : undefined
  const system = first
    ? responsesParts(first.content)
        .map((part) => ('text' in part ? part.text : ''))
        .join('')
    : ''
  return {
    system: text(body.instructions) + system,
    turns: mergedTurns(items.slice(first ? 1 : 0).map((item) => responsesTurn(item, calls))),
    tools: list(body.tools).map(({ name, description, parameters }) => {
      return { name: text(name), description: text(description), schema: object(parameters) }
    }),
    choice: responsesChoice(body.tool_choice),
    serial: body.parallel_tool_calls === false,
    schema: object(body.text).format === undefined ? undefined : object(object(object(body.text).format).schema),
    cap: number(body.max_output_tokens),
    stop: strings(body.stop),
    temperature: number(body.temperature),
    reasoning: body.reasoning === undefined ? {} : { effort: object(body.reasoning).effort },
  }
}

function sourceUrl(source: JsonObject): string {
  if (source.type === 'base64') return `data:${source.media_type};base64,${source.data}`
  return source.type === 'url' ? text(source.url) : unknown('source', source)
}

function anthropicParts(content: Json | undefined, calls: Calls): SeenPart[] {
  if (typeof content === 'string') return [{ text: content }]
  return list(content).map((block): SeenPart => {
    if (block.type === 'text') return { text: text(block.text) }
    if (block.type === 'image') return { image: sourceUrl(object(block.source)) }
    if (block.type === 'document') return { file: sourceUrl(object(block.source)) }
    if (block.type === 'thinking') return { reasoning: text(block.thinking), signed: text(block.signature) }
    if (block.type === 'redacted_thinking') return { reasoning: '', signed: text(block.data) }
    if (block.type === 'tool_use') {
      calls.add(block.id)
      return { call: { name: text(block.name), args: object(block.input) } }
    }
    if (block.type === 'tool_result') return { result: calls.of(block.tool_use_id), parts: anthropicParts(block.content, calls) }
    return unknown('block', block)
  })
}

const ANTHROPIC_CHOICE: Readonly<Record<string, AskedChoice>> = { auto: 'auto', none: 'none', any: 'required' }

function anthropicSystem(system: Json | undefined): string {
  return typeof system === 'string'
    ? system
    : list(system)
        .map((block) => text(block.text))
        .join('')
}

function readAnthropic({ json: body }: Seen): SeenRequest {
  const calls = new Calls()
  const choice = object(body.tool_choice)
  const config = object(body.output_config)
  const turns = list(body.messages).map((message): SeenTurn => {
    if (message.role !== 'user' && message.role !== 'assistant') return unknown('role', message.role)
    return { role: message.role, parts: anthropicParts(message.content, calls) }
  })
  return {
    system: anthropicSystem(body.system),
    turns: mergedTurns(turns),
    tools: list(body.tools).map(({ name, description, input_schema: schema }) => {
      return { name: text(name), description: text(description), schema: object(schema) }
    }),
    choice:
      body.tool_choice === undefined
        ? undefined
        : choice.type === 'tool'
          ? { name: text(choice.name) }
          : ANTHROPIC_CHOICE[text(choice.type)],
    serial: choice.disable_parallel_tool_use === true,
    schema: config.format === undefined ? undefined : object(object(config.format).schema),
    cap: number(body.max_tokens),
    stop: strings(body.stop_sequences),
    temperature: number(body.temperature),
    reasoning: { ...object(body.thinking), ...(config.effort === undefined ? {} : { effort: config.effort }) },
  }
}

/** Provider's reading of a request. @throws Error for whatever its wire does not have. */
export const READERS: Readonly<Record<WireName, (seen: Seen) => SeenRequest>> = {
  'openai-chat': readChat,
  'openai-responses': readResponses,
  anthropic: readAnthropic,
  gemini: readGemini,
}
