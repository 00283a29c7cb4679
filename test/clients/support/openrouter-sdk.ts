/** The official SDK of a service with another brand word, which validates what it reads: its two interfaces. */
import type { OpenRouter } from '@openrouter/sdk'
import { type Ask, CAPITAL, type Client, type Told, WEATHER, weatherSentence } from './client.ts'
import { unknowns } from './unknowns.ts'

export const SDK_CLASSES: Client['classes'] = {
  400: 'BadRequestResponseError',
  401: 'UnauthorizedResponseError',
  404: 'NotFoundResponseError',
  429: 'TooManyRequestsResponseError',
}

export const statusOfSdk = (error: unknown): number | undefined => (error as { statusCode?: number }).statusCode

/** The parts of the SDK's parsed replies that are read here. */
interface Item {
  type: string
  summary?: { text: string }[]
  content?: { text: string }[] | null
  callId?: string
  arguments?: string
}

interface ResponseReply {
  output: Item[]
  usage: {
    inputTokens: number
    outputTokens: number
    inputTokensDetails: { cachedTokens: number }
    outputTokensDetails: { reasoningTokens: number }
  }
}

interface ResponseEvent {
  type: string
  delta?: string
  response?: ResponseReply
}

interface ToolCall {
  index?: number
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

interface ChatMessage {
  role: 'assistant'
  content: string | null
  reasoning?: string | null
  reasoningDetails?: unknown[]
  toolCalls?: ToolCall[]
}

interface ChatUsage {
  promptTokens: number
  completionTokens: number
  promptTokensDetails?: { cachedTokens?: number }
  completionTokensDetails?: { reasoningTokens?: number }
}

interface ChatReply {
  choices: { message: ChatMessage }[]
  usage?: ChatUsage
}

interface ChatChunk {
  error?: { message: string }
  choices: { delta: Partial<ChatMessage> }[]
  usage?: ChatUsage
}

/** @throws where the client did not know a part of what it read. */
function known<Value>(value: Value): Value {
  const found = unknowns(value)
  if (found.length > 0) throw new Error(`unknown to the client: ${found.join(', ')}`)
  return value
}

async function responded(sdk: OpenRouter, ask: Ask, input: unknown[]): Promise<ResponseReply> {
  const responsesRequest = {
    model: ask.model,
    input,
    stream: ask.stream,
    ...(ask.topP === undefined ? {} : { topP: ask.topP }),
    ...(ask.tool
      ? { tools: [{ type: 'function', name: WEATHER.name, description: WEATHER.description, parameters: WEATHER.schema, strict: true }] }
      : {}),
    ...(ask.schema ? { text: { format: { type: 'json_schema', ...CAPITAL, strict: true } } } : {}),
    ...(ask.reasoning ? { reasoning: { effort: 'medium' }, include: ['reasoning.encrypted_content'] } : {}),
  }
  const reply: unknown = await sdk.responses.send({ responsesRequest } as never, { signal: ask.signal } as never)
  if (!ask.stream) return known(reply as ResponseReply)
  let last: ResponseEvent | undefined
  for await (const event of reply as AsyncIterable<ResponseEvent>) {
    last = known(event)
    if (event.type === 'response.output_text.delta') ask.onText?.(event.delta ?? '')
  }
  if (last?.type !== 'response.completed' || !last.response) throw new Error(`the stream ended with ${last?.type}`)
  return last.response
}

const joinTexts = (parts: readonly { text: string }[] | null | undefined): string => (parts ?? []).map(({ text }) => text).join('')

export async function askResponses(sdk: OpenRouter, ask: Ask): Promise<Told> {
  const picture = ask.image ? [{ type: 'input_image', imageUrl: `data:image/png;base64,${ask.image}`, detail: 'auto' }] : []
  const input: unknown[] = [{ role: 'user', content: [{ type: 'input_text', text: ask.prompt }, ...picture] }]
  let reasoning = ''
  for (;;) {
    const { output, usage } = await responded(sdk, ask, input)
    input.push(...output)
    for (const { type, summary, content } of output) if (type === 'reasoning') reasoning += joinTexts(summary) + joinTexts(content)
    const calls = output.filter(({ type }) => type === 'function_call')
    for (const { callId, arguments: args = '' } of calls)
      input.push({ type: 'function_call_output', callId, output: weatherSentence(JSON.parse(args)) })
    if (calls.length > 0) continue
    const text = output.map(({ type, content }) => (type === 'message' ? joinTexts(content) : '')).join('')
    return {
      text,
      reasoning,
      ...(ask.schema ? { value: JSON.parse(text) } : {}),
      usage: {
        input: usage.inputTokens,
        output: usage.outputTokens,
        cached: usage.inputTokensDetails.cachedTokens,
        reasoning: usage.outputTokensDetails.reasoningTokens,
      },
    }
  }
}

/** Joins the fragments of the tool calls of one streamed answer. */
function addFragment(calls: ToolCall[], { index = 0, id, function: { name, arguments: args = '' } }: ToolCall): void {
  calls[index] ??= { id, type: 'function', function: { name, arguments: '' } }
  calls[index].function.arguments += args
}

async function streamedChat(chunks: AsyncIterable<ChatChunk>, ask: Ask): Promise<ChatReply> {
  const calls: ToolCall[] = []
  const details: unknown[] = []
  let [content, reasoning] = ['', '']
  let usage: ChatUsage | undefined
  for await (const chunk of chunks) {
    known(chunk)
    if (chunk.error) throw new Error(chunk.error.message)
    usage = chunk.usage ?? usage
    const delta = chunk.choices[0]?.delta ?? {}
    if (delta.content) ask.onText?.(delta.content)
    content += delta.content ?? ''
    reasoning += delta.reasoning ?? ''
    details.push(...(delta.reasoningDetails ?? []))
    for (const fragment of delta.toolCalls ?? []) addFragment(calls, fragment)
  }
  const toolCalls = calls.length > 0 ? { toolCalls: calls } : {}
  return { choices: [{ message: { role: 'assistant', content, reasoning, reasoningDetails: details, ...toolCalls } }], usage }
}

async function completed(sdk: OpenRouter, ask: Ask, messages: unknown[]): Promise<ChatReply> {
  const chatRequest = {
    model: ask.model,
    messages,
    stream: ask.stream,
    ...(ask.topP === undefined ? {} : { topP: ask.topP }),
    ...(ask.tool
      ? { tools: [{ type: 'function', function: { name: WEATHER.name, description: WEATHER.description, parameters: WEATHER.schema } }] }
      : {}),
    ...(ask.schema ? { responseFormat: { type: 'json_schema', jsonSchema: { ...CAPITAL, strict: true } } } : {}),
    ...(ask.reasoning ? { reasoning: { effort: 'medium' } } : {}),
  }
  const reply: unknown = await sdk.chat.send({ chatRequest } as never, { signal: ask.signal } as never)
  return ask.stream ? streamedChat(reply as AsyncIterable<ChatChunk>, ask) : known(reply as ChatReply)
}

export async function askChat(sdk: OpenRouter, ask: Ask): Promise<Told> {
  const picture = ask.image ? [{ type: 'image_url', imageUrl: { url: `data:image/png;base64,${ask.image}` } }] : []
  const messages: unknown[] = [{ role: 'user', content: [{ type: 'text', text: ask.prompt }, ...picture] }]
  let reasoning = ''
  for (;;) {
    const { choices, usage } = await completed(sdk, ask, messages)
    const { message } = choices[0]
    reasoning += message.reasoning ?? ''
    messages.push(message)
    const calls = message.toolCalls ?? []
    for (const { id, function: called } of calls)
      messages.push({ role: 'tool', toolCallId: id, content: weatherSentence(JSON.parse(called.arguments)) })
    if (calls.length > 0) continue
    return {
      text: message.content ?? '',
      reasoning,
      ...(ask.schema ? { value: JSON.parse(message.content ?? '') } : {}),
      usage: {
        input: usage?.promptTokens,
        output: usage?.completionTokens,
        cached: usage?.promptTokensDetails?.cachedTokens,
        reasoning: usage?.completionTokensDetails?.reasoningTokens,
      },
    }
  }
}
