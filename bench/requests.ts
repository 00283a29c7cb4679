/** Bodies of the clients: one body of about 500 bytes per kind of request. */

/** The key that the gateway's bench configuration knows; it means nothing anywhere else. */
export const BENCH_KEY = 'sk-router-v1-bench-0123456789abcdef0123456789abcdef'

export type StreamKind = 'chat-stream' | 'responses-stream' | 'messages-stream' | 'gemini-stream'

/** Sending of a request, and the check of its reply. */
export interface BenchRequest {
  readonly path: string
  readonly body: string
  readonly reply: 'chat' | StreamKind
}

const system = 'You are a patient teacher. Answer in plain words, in at most three sentences, and name no sources.'
const turns = [
  { role: 'user', content: 'Why is the sea salty?' },
  { role: 'assistant', content: 'Rivers carry dissolved minerals into it; water leaves as vapour, and the salt stays behind.' },
  { role: 'user', content: 'And why are there tides, twice a day on most coasts, when the moon passes overhead only once?' },
]

const chat = (model: string, more: object = {}): string =>
  JSON.stringify({ model, messages: [{ role: 'system', content: system }, ...turns], temperature: 0.7, max_tokens: 512, ...more })

const streaming = { stream: true, stream_options: { include_usage: true } }

const responses = (model: string): string =>
  JSON.stringify({ model, instructions: system, input: turns, temperature: 0.7, max_output_tokens: 512, stream: true })

/** Chat, one JSON reply. */
export const CHAT: BenchRequest = { path: '/v1/chat/completions', body: chat('bench/chat'), reply: 'chat' }

const prose =
  'The committee met on Tuesday to discuss the plans for the new library, and most members agreed that the roof has to come first. ' +
  'It rained all afternoon, so the children stayed inside, built a castle out of boxes and asked for stories until dinner was ready. ' +
  'In 1987 the town had 4,200 inhabitants; by 2019 there were 11,350, and the number of schools had grown from 2 to 7. '

/** Chat with a prompt of 2 KB, one JSON reply. */
export const CHAT_2KB: BenchRequest = {
  path: '/v1/chat/completions',
  body: JSON.stringify({ model: 'bench/chat', messages: [{ role: 'user', content: prose.repeat(6).slice(0, 2048) }], max_tokens: 512 }),
  reply: 'chat',
}

/** So many inputs of a sentence; 100 of them get 2 MB back. */
export const embeddings = (inputs: number): { path: string; body: string } => ({
  path: '/v1/embeddings',
  body: JSON.stringify({
    model: 'bench/embed',
    input: Array.from({ length: inputs }, (_, at) => `${prose.slice(0, 120)} ${at}`),
    encoding_format: 'float',
  }),
})

/** Chat, streamed as fast as the upstream can. */
export const CHAT_STREAM: BenchRequest = { path: '/v1/chat/completions', body: chat('bench/chat', streaming), reply: 'chat-stream' }

/** Chat, streamed with one event every 5 ms. */
export const CHAT_PACED: BenchRequest = { path: '/v1/chat/completions', body: chat('bench/chat-paced', streaming), reply: 'chat-stream' }

/** Responses asked of a model whose provider speaks chat: every event is translated. */
export const RESPONSES_TRANSLATED: BenchRequest = { path: '/v1/responses', body: responses('bench/chat'), reply: 'responses-stream' }

/** Responses asked of a model whose provider speaks Responses. */
export const RESPONSES_PASSED: BenchRequest = { path: '/v1/responses', body: responses('bench/responses'), reply: 'responses-stream' }

const messages = (model: string): string =>
  JSON.stringify({ model, system, messages: turns, temperature: 0.7, max_tokens: 512, stream: true })

/** Each client's streaming request, for a model of the bench configuration. */
export const STREAM_OF: Readonly<Record<'chat' | 'responses' | 'messages', (model: string) => BenchRequest>> = {
  chat: (model) => ({ path: '/v1/chat/completions', body: chat(model, streaming), reply: 'chat-stream' }),
  responses: (model) => ({ path: '/v1/responses', body: responses(model), reply: 'responses-stream' }),
  messages: (model) => ({ path: '/v1/messages', body: messages(model), reply: 'messages-stream' }),
}

/** Request to a provider of each wire, so that the bare forwarder carries the very stream that the gateway reads. */
export const NATIVE: Readonly<Record<'chat' | 'responses' | 'anthropic' | 'gemini', BenchRequest>> = {
  chat: CHAT_STREAM,
  responses: RESPONSES_PASSED,
  anthropic: STREAM_OF.messages('mock-1'),
  gemini: {
    path: '/v1beta/models/gemini:streamGenerateContent?alt=sse',
    body: JSON.stringify({
      systemInstruction: { parts: [{ text: system }] },
      contents: turns.map(({ role, content }) => ({ role: role === 'user' ? 'user' : 'model', parts: [{ text: content }] })),
      generationConfig: { temperature: 0.7, maxOutputTokens: 512 },
    }),
    reply: 'gemini-stream',
  },
}
