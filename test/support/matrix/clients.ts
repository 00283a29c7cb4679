/** The three clients: how each writes what is asked, and how its replies are read. */
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { type FoldedReply, foldChat, foldChatStream, foldResponse, foldResponseStream, list, object } from '../fold.ts'
import { foldMessage, foldMessageStream } from '../fold-messages.ts'
import type { Asked, AskedChoice, AskedPart, AskedTurn } from './asked.ts'

export interface Client {
  id: 'chat' | 'responses' | 'messages'
  path: string
  /** The body without model and stream. */
  write(asked: Asked): JsonObject
  fold(reply: JsonObject): FoldedReply
  foldStream(stream: string): FoldedReply
  /** This client's words for how a turn ended. */
  ends: { stop: string; length: string; tool_calls: string; content_filter: string }
}

const present = (fields: JsonObject): JsonObject => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** `data:image/png;base64,AAAA` as its type and its data. */
function inline(url: string): { type: string; data: string } | undefined {
  const match = /^data:([^;]+);base64,(.*)$/.exec(url)
  return match ? { type: match[1], data: match[2] } : undefined
}

function chatPart(part: AskedPart): JsonObject {
  if ('text' in part) return { type: 'text', text: part.text }
  if ('image' in part) return { type: 'image_url', image_url: { url: part.image } }
  return { type: 'file', file: { file_data: part.file, filename: part.name } }
}

const chatContent = (parts: readonly AskedPart[]): Json => (parts.length === 1 && 'text' in parts[0] ? parts[0].text : parts.map(chatPart))

function chatMessages(turn: AskedTurn): JsonObject[] {
  if ('user' in turn) return [{ role: 'user', content: chatContent(turn.user) }]
  if ('assistant' in turn) return [{ role: 'assistant', content: turn.assistant }]
  if ('replayed' in turn) return [object(list(turn.replayed.choices)[0].message)]
  if ('results' in turn) return turn.results.map(({ id, parts }) => ({ role: 'tool', tool_call_id: id, content: chatContent(parts) }))
  const calls = turn.calls.map(({ id, name, args }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }))
  return [{ role: 'assistant', content: null, tool_calls: calls }]
}

function writeChat(asked: Asked): JsonObject {
  const { choice, schema } = asked
  return present({
    messages: [...(asked.system === undefined ? [] : [{ role: 'system', content: asked.system }]), ...asked.turns.flatMap(chatMessages)],
    tools: asked.tools?.map(({ name, description, schema }) => ({ type: 'function', function: { name, description, parameters: schema } })),
    tool_choice: typeof choice === 'object' ? { type: 'function', function: choice } : choice,
    parallel_tool_calls: asked.serial ? false : undefined,
    response_format: schema && { type: 'json_schema', json_schema: { ...schema, strict: true } },
    reasoning_effort: asked.effort,
    max_completion_tokens: asked.cap,
    stop: asked.stop && [...asked.stop],
    temperature: asked.temperature,
  })
}

function responsesPart(part: AskedPart): JsonObject {
  if ('text' in part) return { type: 'input_text', text: part.text }
  if ('image' in part) return { type: 'input_image', detail: 'auto', image_url: part.image }
  return { type: 'input_file', file_data: part.file, filename: part.name }
}

function responsesItems(turn: AskedTurn): JsonObject[] {
  if ('user' in turn) return [{ type: 'message', role: 'user', content: turn.user.map(responsesPart) }]
  if ('assistant' in turn)
    return [
      {
        type: 'message',
        id: 'msg_before',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: turn.assistant, annotations: [] }],
      },
    ]
  if ('replayed' in turn) return list(turn.replayed.output)
  if ('calls' in turn)
    return turn.calls.map(({ id, name, args }) => ({ type: 'function_call', call_id: id, name, arguments: JSON.stringify(args) }))
  return turn.results.map(({ id, parts }) => ({
    type: 'function_call_output',
    call_id: id,
    output: parts.length === 1 && 'text' in parts[0] ? parts[0].text : parts.map(responsesPart),
  }))
}

function writeResponses(asked: Asked): JsonObject {
  const { choice, schema } = asked
  return present({
    instructions: asked.system,
    input: asked.turns.flatMap(responsesItems),
    tools: asked.tools?.map(({ name, description, schema }) => ({
      type: 'function',
      name,
      description,
      parameters: schema,
      strict: false,
    })),
    tool_choice: typeof choice === 'object' ? { type: 'function', ...choice } : choice,
    parallel_tool_calls: asked.serial ? false : undefined,
    text: schema && { format: { type: 'json_schema', ...schema, strict: true } },
    reasoning: asked.effort === undefined ? undefined : { effort: asked.effort, summary: 'auto' },
    include: asked.effort === undefined ? undefined : ['reasoning.encrypted_content'],
    max_output_tokens: asked.cap,
    temperature: asked.temperature,
  })
}

function messagesBlock(part: AskedPart): JsonObject {
  if ('text' in part) return { type: 'text', text: part.text }
  const url = 'image' in part ? part.image : part.file
  const data = inline(url)
  const source = data ? { type: 'base64', media_type: data.type, data: data.data } : { type: 'url', url }
  return 'image' in part ? { type: 'image', source } : { type: 'document', source, title: part.name }
}

function messagesTurn(turn: AskedTurn): JsonObject {
  if ('user' in turn) return { role: 'user', content: turn.user.map(messagesBlock) }
  if ('assistant' in turn) return { role: 'assistant', content: turn.assistant }
  if ('replayed' in turn) return { role: 'assistant', content: turn.replayed.content }
  if ('calls' in turn)
    return { role: 'assistant', content: turn.calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })) }
  return {
    role: 'user',
    content: turn.results.map(({ id, parts }) => ({ type: 'tool_result', tool_use_id: id, content: parts.map(messagesBlock) })),
  }
}

const MESSAGES_CHOICE = { auto: 'auto', none: 'none', required: 'any' } as const

function messagesChoice(choice: AskedChoice | undefined, serial: boolean): JsonObject | undefined {
  if (choice === undefined && !serial) return undefined
  const kind = typeof choice === 'object' ? { type: 'tool', name: choice.name } : { type: MESSAGES_CHOICE[choice ?? 'auto'] }
  return serial ? { ...kind, disable_parallel_tool_use: true } : kind
}

function writeMessages(asked: Asked): JsonObject {
  const config = present({ effort: asked.effort, format: asked.schema && { type: 'json_schema', schema: asked.schema.schema } })
  return present({
    max_tokens: asked.cap ?? 4096,
    system: asked.system,
    messages: asked.turns.map(messagesTurn),
    tools: asked.tools?.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    tool_choice: messagesChoice(asked.choice, asked.serial ?? false),
    thinking: asked.effort === undefined ? undefined : { type: 'adaptive' },
    output_config: Object.keys(config).length > 0 ? config : undefined,
    stop_sequences: asked.stop && [...asked.stop],
    temperature: asked.temperature,
  })
}

export const CLIENTS: readonly Client[] = [
  {
    id: 'chat',
    path: '/v1/chat/completions',
    write: writeChat,
    fold: foldChat,
    foldStream: foldChatStream,
    ends: { stop: 'stop', length: 'length', tool_calls: 'tool_calls', content_filter: 'content_filter' },
  },
  {
    id: 'responses',
    path: '/v1/responses',
    write: writeResponses,
    fold: foldResponse,
    foldStream: foldResponseStream,
    ends: {
      stop: 'completed',
      length: 'incomplete: max_output_tokens',
      tool_calls: 'completed',
      content_filter: 'incomplete: content_filter',
    },
  },
  {
    id: 'messages',
    path: '/v1/messages',
    write: writeMessages,
    fold: foldMessage,
    foldStream: foldMessageStream,
    ends: { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use', content_filter: 'refusal' },
  },
]
