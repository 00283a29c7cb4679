/** The streams of the mock upstream in the two wires that are not OpenAI's, as their providers' references give them. */
import { chunked, TEXT_EVENTS, WORDS } from './replies.ts'

const anthropicEvent = (type: string, fields: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

function anthropicFrames(): string[] {
  const message = {
    id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
    type: 'message',
    role: 'assistant',
    model: 'mock-1',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 118, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 },
  }
  return [
    anthropicEvent('message_start', { message }),
    anthropicEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    anthropicEvent('ping', {}),
    ...WORDS.map((text) => anthropicEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
    anthropicEvent('content_block_stop', { index: 0 }),
    anthropicEvent('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: TEXT_EVENTS } }),
    anthropicEvent('message_stop', {}),
  ]
}

function geminiFrames(): string[] {
  return WORDS.map((text, at) => {
    const last = at === WORDS.length - 1
    const candidate = { content: { parts: [{ text }], role: 'model' }, ...(last ? { finishReason: 'STOP' } : {}), index: 0 }
    const usageMetadata = { promptTokenCount: 118, candidatesTokenCount: at + 1, totalTokenCount: 119 + at }
    const frame = { candidates: [candidate], usageMetadata, modelVersion: 'mock-1', responseId: 'mV5nZ-OtMsGB1MkP' }
    return `data: ${JSON.stringify(frame)}\r\n\r\n`
  })
}

/** One transfer chunk per event. */
export const ANTHROPIC_STREAM: readonly Buffer[] = anthropicFrames().map(chunked)
export const GEMINI_STREAM: readonly Buffer[] = geminiFrames().map(chunked)
