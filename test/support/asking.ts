/** One question to the gateway in any client format, streamed or not, and what came back. */
import type { JsonObject } from '../../src/core/json.ts'
import { bodyText } from './body-text.ts'
import { type FoldedReply, foldChat, foldChatStream, foldResponse, foldResponseStream } from './fold.ts'
import { foldMessage, foldMessageStream } from './fold-messages.ts'
import type { Gateway } from './gateway.ts'

export const FORMATS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' } as const
export type Format = keyof typeof FORMATS
export interface AskWay {
  format: Format
  stream: boolean
}
export const ASK_WAYS: readonly AskWay[] = (['chat', 'responses', 'messages'] as const).flatMap((format) =>
  [false, true].map((stream) => ({ format, stream })),
)

export const askName = ({ format, stream }: AskWay): string => `${format}${stream ? ', streamed' : ''}`

export interface Asked {
  status: number
  raw: string
  reply: FoldedReply
  /** The body; of a stream its last event that has usage or a Response object. */
  body: JsonObject
}

/** Message of the user, as the format has it. */
export function userTurn(format: Format, text: string): JsonObject {
  if (format === 'responses') return { input: text }
  const own: JsonObject = { messages: [{ role: 'user', content: text }] }
  return format === 'messages' ? { ...own, max_tokens: 500 } : own
}

/** Asks `acme/one`, unless `more` says otherwise. */
export async function askGateway(gateway: Gateway, { format, stream }: AskWay, more: JsonObject = {}): Promise<Asked> {
  const asked = { model: 'acme/one', stream, ...userTurn(format, 'Will it rain?'), ...more }
  const response = await gateway.post(FORMATS[format], asked, { 'X-Router-Metadata': 'enabled' })
  const raw = await bodyText(response)
  return { status: response.status, raw, reply: folded(format, response, raw), body: parseBody(raw) }
}

function folded(format: Format, response: Response, raw: string): FoldedReply {
  const stream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (format === 'chat') return stream ? foldChatStream(raw) : foldChat(JSON.parse(raw) as JsonObject)
  if (format === 'responses') return stream ? foldResponseStream(raw) : foldResponse(JSON.parse(raw) as JsonObject)
  return stream ? foldMessageStream(raw) : foldMessage(JSON.parse(raw) as JsonObject)
}

/** The data of a stream's events that are objects. */
export function streamEvents(raw: string): JsonObject[] {
  return raw.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as JsonObject] : []))
}

function parseBody(raw: string): JsonObject {
  if (raw.startsWith('{')) return JSON.parse(raw) as JsonObject
  const last = streamEvents(raw).findLast((event) => event.usage !== undefined || event.response !== undefined)
  return ((last?.response ?? last) as JsonObject | undefined) ?? {}
}

/** `GET /v1/generation` of the newest generation. */
export async function newestGeneration(gateway: Gateway): Promise<JsonObject> {
  const id = [...gateway.running.store.journal.export()].at(-1)?.id
  return ((await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }).data
}
