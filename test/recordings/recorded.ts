/** Content of an exchange's recorded reply, whatever its wire. */
import type { JsonObject } from '../../src/core/json.ts'
import type { Answer } from '../support/upstream.ts'
import type { AnyWireName } from '../support/wire.ts'
import type { Exchange } from './cassettes.ts'
import type { Expected } from './expected.ts'
import { readMessage, readMessageStream } from './read-anthropic.ts'
import { readConverse, readConverseStream } from './read-bedrock.ts'
import { readChat, readChatStream } from './read-chat.ts'
import { readGemini, readGeminiStream } from './read-gemini.ts'
import { readResponse, readResponseStream } from './read-responses.ts'

const WHOLE: Readonly<Record<AnyWireName, (reply: JsonObject) => Expected>> = {
  'openai-chat': readChat,
  'openai-responses': readResponse,
  anthropic: readMessage,
  gemini: (reply) => readGemini([reply]),
  'bedrock-converse': readConverse,
  'bedrock-anthropic': readMessage,
}

const STREAM: Readonly<Record<AnyWireName, (stream: string) => Expected>> = {
  'openai-chat': readChatStream,
  'openai-responses': readResponseStream,
  anthropic: readMessageStream,
  gemini: readGeminiStream,
  'bedrock-converse': readConverseStream,
  'bedrock-anthropic': () => {
    throw new Error('no stream of InvokeModelWithResponseStream is recorded')
  },
}

/** The recorded reply, byte for byte. */
export function recordedAnswer({ status, headers, body, binary }: Exchange): Answer {
  return { status, headers, body: [binary ? Buffer.from(body, 'latin1') : body] }
}

export function recordedExpected(exchange: Exchange): Expected {
  const { wire, body, streamed } = exchange
  return streamed ? STREAM[wire](body) : WHOLE[wire](JSON.parse(body) as JsonObject)
}
