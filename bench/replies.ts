/**
 * Answers of the mock upstream, built once: bodies, stream events, and the text that a client must end up with.
 * Shapes: OpenAI chat completions and Responses, as the public API references give them.
 */

/** Text events in every stream; the envelope (role, finish, usage, end) comes on top. */
export const TEXT_EVENTS = 100

const CREATED = 1_760_000_000
export const WORDS = Array.from({ length: TEXT_EVENTS }, (_, at) => ` word${String(at).padStart(3, '0')}`)

/** The text of a stream, joined. */
export const STREAM_TEXT = WORDS.join('')

/** The text of a reply that is not streamed, about 250 bytes. */
export const PLAIN_TEXT =
  'The tide rises because the moon pulls on the near side of the sea a little more than on the earth beneath it, ' +
  'and on the far side a little less. Each shore meets both swellings in about a day, so most coasts see high water twice.'

const chatUsage = { prompt_tokens: 118, completion_tokens: TEXT_EVENTS, total_tokens: 118 + TEXT_EVENTS }
const chatId = 'chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG'
const responseUsage = {
  input_tokens: 118,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: TEXT_EVENTS,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 118 + TEXT_EVENTS,
}
const responseId = 'resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b'
const messageId = 'msg_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b'

const chatMessage = { role: 'assistant', content: PLAIN_TEXT, refusal: null }

/** A chat completion, about 650 bytes. */
export const CHAT_BODY = Buffer.from(
  JSON.stringify({
    id: chatId,
    object: 'chat.completion',
    created: CREATED,
    model: 'mock-1',
    choices: [{ index: 0, message: chatMessage, logprobs: null, finish_reason: 'stop' }],
    usage: chatUsage,
    system_fingerprint: 'fp_44709d6fcb',
  }),
)

/** @param echo what is shown of the request. */
const response = (status: string, text: string | undefined, echo: object = {}): object => ({
  id: responseId,
  object: 'response',
  created_at: CREATED,
  status,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: 512,
  model: 'mock-1',
  output:
    text === undefined
      ? []
      : [
          {
            type: 'message',
            id: messageId,
            status: 'completed',
            role: 'assistant',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ],
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: false,
  temperature: 0.7,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  usage: text === undefined ? null : responseUsage,
  user: null,
  metadata: {},
  ...echo,
})

/** A Responses reply that is not streamed. */
export const RESPONSE_BODY = Buffer.from(JSON.stringify(response('completed', PLAIN_TEXT)))

const DIMENSIONS = 1536
/** About 20 KB as JSON; 100 of them make a reply of 2 MB. */
const VECTOR = JSON.stringify(Array.from({ length: DIMENSIONS }, (_, at) => Math.fround(Math.sin(at + 1) / 8)))
const embeddingBodies = new Map<number, Buffer>()

/** The reply to a batch of so many inputs, built once. */
export function embeddingsBody(inputs: number): Buffer {
  let body = embeddingBodies.get(inputs)
  if (body === undefined) {
    const data = Array.from({ length: inputs }, (_, index) => `{"object":"embedding","index":${index},"embedding":${VECTOR}}`)
    const usage = { prompt_tokens: inputs * 8, total_tokens: inputs * 8 }
    body = Buffer.from(`{"object":"list","data":[${data.join(',')}],"model":"mock-1","usage":${JSON.stringify(usage)}}`)
    embeddingBodies.set(inputs, body)
  }
  return body
}

function chatFrames(): string[] {
  const chunk = (choices: object[], more: object = {}): string =>
    `data: ${JSON.stringify({ id: chatId, object: 'chat.completion.chunk', created: CREATED, model: 'mock-1', choices, ...more })}\n\n`
  const choice = (delta: object, finish_reason: string | null = null): object => ({ index: 0, delta, finish_reason })
  return [
    chunk([choice({ role: 'assistant', content: '' })]),
    ...WORDS.map((content) => chunk([choice({ content })])),
    chunk([choice({}, 'stop')]),
    chunk([], { usage: chatUsage }),
    'data: [DONE]\n\n',
  ]
}

/** @param echo instructions and tools, which the service shows three times in each stream (Responses API reference, the response object). */
export function responseFrames(echo: object = {}): string[] {
  let sequence_number = 0
  const event = (type: string, fields: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...fields })}\n\n`
  const place = { item_id: messageId, output_index: 0, content_index: 0 }
  const part = (text: string): object => ({ type: 'output_text', annotations: [], text })
  const item = (status: string, content: object[]): object => ({ type: 'message', id: messageId, status, role: 'assistant', content })
  return [
    event('response.created', { response: response('in_progress', undefined, echo) }),
    event('response.in_progress', { response: response('in_progress', undefined, echo) }),
    event('response.output_item.added', { output_index: 0, item: item('in_progress', []) }),
    event('response.content_part.added', { ...place, part: part('') }),
    ...WORDS.map((delta) => event('response.output_text.delta', { ...place, delta, logprobs: [] })),
    event('response.output_text.done', { ...place, text: STREAM_TEXT, logprobs: [] }),
    event('response.content_part.done', { ...place, part: part(STREAM_TEXT) }),
    event('response.output_item.done', { output_index: 0, item: item('completed', [part(STREAM_TEXT)]) }),
    event('response.completed', { response: response('completed', STREAM_TEXT, echo) }),
  ]
}

/** One event as one chunk of the chunked transfer coding (RFC 9112, 7.1). */
export const chunked = (frame: string): Buffer => {
  const bytes = Buffer.from(frame)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

/** The chat stream, one transfer chunk per event. */
export const CHAT_STREAM: readonly Buffer[] = chatFrames().map(chunked)

/** The Responses stream, one transfer chunk per event; like the real service it ends without `[DONE]`. */
export const RESPONSE_STREAM: readonly Buffer[] = responseFrames().map(chunked)
