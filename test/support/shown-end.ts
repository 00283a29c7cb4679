/** End of a reply as a client of each format sees it, if it looks at nothing but what its format says. */
import { isObject, type JsonObject } from '../../src/core/json.ts'
import { list, object, parseFrames } from './fold.ts'
import type { Client } from './providers.ts'

export interface ShownEnd {
  /** finished: the client goes on as after a success. shown: the reply says that it is not whole, or was refused. raised: it is an error. */
  kind: 'finished' | 'shown' | 'raised'
  /** The word of the format, or of the error. */
  word: string
  /** The provider's own, where the format shows it. */
  native: string | undefined
  text: string
  /** Arguments of the calls, as text. */
  calls: string[]
}

const SUCCESS: ReadonlySet<unknown> = new Set(['stop', 'tool_calls', 'completed', 'end_turn', 'tool_use', 'stop_sequence'])

const endKind = (word: unknown): 'finished' | 'shown' => (SUCCESS.has(word) ? 'finished' : 'shown')
const string = (value: unknown): string => (typeof value === 'string' ? value : '')

function shownChat({ choices }: JsonObject): ShownEnd {
  const [choice] = list(choices)
  const message = object(choice.message)
  return {
    kind: endKind(choice.finish_reason),
    word: string(choice.finish_reason),
    native: string(choice.native_finish_reason),
    text: string(message.content),
    calls: list(message.tool_calls).map((call) => String(object(call.function).arguments)),
  }
}

function shownResponse({ status, incomplete_details: details, output }: JsonObject): ShownEnd {
  const items = list(output)
  return {
    kind: status === 'failed' ? 'raised' : endKind(status),
    word: status === 'incomplete' ? string(object(details).reason) : string(status),
    native: undefined,
    text: items
      .flatMap((item) => list(item.content))
      .map((part) => string(part.text))
      .join(''),
    calls: items.filter(({ type, status: own }) => type === 'function_call' && own === 'completed').map((item) => String(item.arguments)),
  }
}

function shownMessage({ stop_reason: word, content }: JsonObject): ShownEnd {
  const blocks = list(content)
  return {
    kind: endKind(word),
    word: string(word),
    native: undefined,
    text: blocks.map((block) => string(block.text)).join(''),
    calls: blocks.filter(({ type }) => type === 'tool_use').map((block) => JSON.stringify(block.input)),
  }
}

function streamedChat(events: readonly JsonObject[]): ShownEnd {
  const message: JsonObject = { content: '' }
  const calls: { function: { arguments: string } }[] = []
  let end: JsonObject = {}
  for (const chunk of events) {
    const [choice = {}] = list(chunk.choices)
    const delta = object(choice.delta)
    message.content = string(message.content) + string(delta.content)
    for (const call of list(delta.tool_calls)) {
      const index = Number(call.index)
      calls[index] ??= { function: { arguments: '' } }
      calls[index].function.arguments += string(object(call.function).arguments)
    }
    if (choice.finish_reason) end = choice
  }
  const last = events.at(-1) ?? {}
  const shown = shownChat({ choices: [{ ...end, message: { ...message, tool_calls: calls } }] })
  return isObject(last.error) ? { ...shown, kind: 'raised' } : shown
}

function streamedMessage(events: readonly JsonObject[]): ShownEnd {
  const blocks: JsonObject[] = []
  const inputs: string[] = []
  let end: JsonObject = {}
  for (const event of events) {
    const index = Number(event.index)
    const delta = object(event.delta)
    if (event.type === 'content_block_start') blocks[index] = { ...object(event.content_block) }
    if (event.type === 'content_block_delta') {
      if (delta.type === 'text_delta') blocks[index].text = string(blocks[index].text) + string(delta.text)
      if (delta.type === 'input_json_delta') inputs[index] = (inputs[index] ?? '') + string(delta.partial_json)
    }
    if (event.type === 'message_delta') end = delta
  }
  const last = events.at(-1) ?? {}
  const calls = blocks.flatMap((block, index) => (block.type === 'tool_use' ? [inputs[index] || JSON.stringify(block.input)] : []))
  const shown = { ...shownMessage({ ...end, content: blocks.filter(({ type }) => type !== 'tool_use') }), calls }
  if (last.type === 'error') return { ...shown, kind: 'raised', word: string(object(last.error).type) }
  return last.type === 'message_stop' ? shown : { ...shown, kind: 'raised', word: 'cut' }
}

function streamedResponse(events: readonly JsonObject[]): ShownEnd {
  const shown = shownResponse(object(events.at(-1)?.response))
  const error = events.at(-2)
  if (shown.kind !== 'raised') return shown
  // OpenAI's SDKs pass over `response.failed`.
  const raises =
    error?.type === 'error' && isObject(error.error) && typeof error.message === 'string' && 'code' in error && 'param' in error
  return { ...shown, kind: raises ? 'raised' : 'finished' }
}

/** @param text of a stream, or of a whole reply. */
export function shownEnd(
  client: Client,
  { stream, status, text, isCut }: { stream: boolean; status: number; text: string; isCut: boolean },
): ShownEnd {
  if (status !== 200) return { kind: 'raised', word: String(status), native: undefined, text: '', calls: [] }
  if (!stream) {
    const body = JSON.parse(text) as JsonObject
    return client === 'chat' ? shownChat(body) : client === 'responses' ? shownResponse(body) : shownMessage(body)
  }
  const frames = parseFrames(text)
  const events = frames.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data) as JsonObject)
  if (client === 'messages') return streamedMessage(events)
  if (client === 'responses') return streamedResponse(events)
  const shown = streamedChat(events)
  // What clients need that do not know the member: it comes first, and neither the mark nor the end of a good stream follows.
  const isPlain = frames.at(-1)?.data === '[DONE]' && !isCut
  const isFailure = frames.at(-1)?.data.startsWith('{"error":{') === true && isCut && !text.includes('[DONE]')
  if (shown.kind === 'raised' ? !isFailure : !isPlain) throw new Error(`the end of the body does not fit what it says: ${text.slice(-400)}`)
  return shown
}
