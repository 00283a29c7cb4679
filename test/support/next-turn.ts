/** The next turn of a caller: what it keeps of a reply comes back as the SDKs send it, with a result for each tool call. */
import type { JsonObject } from '../../src/core/json.ts'
import { list, object, parseStream } from './fold.ts'
import { foldToMessage, messageEvents } from './fold-messages.ts'
import type { Client } from './matrix/clients.ts'

/** Message that an SDK keeps of a chat stream: texts and arguments joined, calls by their index. */
function messageOfChat(stream: string): JsonObject {
  const message: JsonObject = { role: 'assistant', content: null }
  const calls: JsonObject[] = []
  const details: JsonObject[] = []
  for (const chunk of parseStream(stream)) {
    const [choice = {}] = list(chunk.choices)
    const { content, tool_calls, reasoning_details } = object(choice.delta)
    if (typeof content === 'string') message.content = `${typeof message.content === 'string' ? message.content : ''}${content}`
    details.push(...list(reasoning_details))
    for (const { index, function: piece, ...rest } of list(tool_calls)) {
      const at = Number(index)
      const { name, arguments: args } = object(piece)
      calls[at] ??= { ...rest, function: { name: '', arguments: '' } }
      const call = calls[at]
      const held = object(call.function)
      held.name ||= name ?? ''
      held.arguments = `${String(held.arguments)}${String(args ?? '')}`
    }
  }
  if (calls.length > 0) message.tool_calls = calls.filter((call) => call !== undefined)
  if (details.length > 0) message.reasoning_details = details
  return message
}

const RESULT = 'It is done.'

/** The conversation that follows a reply; undefined where it holds nothing that comes back. */
export function nextTurn({ id }: Client, body: string, stream: boolean): JsonObject | undefined {
  const user = { role: 'user', content: 'Hello' }
  if (id === 'responses') {
    const whole = stream
      ? object(parseStream(body).findLast(({ type }) => String(type).startsWith('response.'))?.response)
      : (JSON.parse(body) as JsonObject)
    const output = list(whole.output)
    const results = output.flatMap(({ type, call_id }) =>
      type === 'function_call' || type === 'custom_tool_call' ? [{ type: `${type}_output`, call_id, output: RESULT }] : [],
    )
    return output.length === 0 ? undefined : { input: [user, ...output, ...results, user] as unknown as JsonObject[] }
  }
  if (id === 'messages') {
    const content = list((stream ? foldToMessage(messageEvents(body)) : (JSON.parse(body) as JsonObject)).content)
    const results = content.flatMap((block) =>
      block.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: block.id, content: RESULT }] : [],
    )
    const messages = [user, { role: 'assistant', content }, { role: 'user', content: [...results, { type: 'text', text: 'Go on.' }] }]
    return content.length === 0 ? undefined : { messages: messages as unknown as JsonObject[] }
  }
  const message = stream ? messageOfChat(body) : object(list((JSON.parse(body) as JsonObject).choices)[0]?.message)
  const results = list(message.tool_calls).map((call) => ({ role: 'tool', tool_call_id: call.id, content: RESULT }))
  if ((message.content ?? '') === '' && results.length === 0) return undefined
  return { messages: [user, message, ...results, user] as unknown as JsonObject[] }
}
