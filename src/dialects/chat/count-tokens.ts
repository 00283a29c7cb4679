/** Counting the tokens of a request at servers that offer it on this wire. */
import type { JsonObject } from '../../core/json.ts'
import { statedCount } from '../canon/counts.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import type { Quirks } from '../quirks.ts'
import type { Encoded, Target } from '../types.ts'
import { encodeRequest, PATH } from './encode-request.ts'

/** Parts of a request from which a chat template makes the prompt (vLLM 0.32.0, entrypoints/serve/tokenize/protocol.py, `TokenizeChatRequest`). */
const TOKENIZED = ['model', 'messages', 'tools', 'chat_template_kwargs'] as const

export const countTokens = {
  isOfSome: true,

  /** The reply of `/tokenize` has every token of the prompt beside their count. */
  longestReply: 16 * 1024 * 1024,

  offers: ({ count_tokens: counter }: Quirks): boolean => counter !== undefined,

  encode(request: CanonicalRequest, target: Target): Encoded {
    const encoded = encodeRequest(request, { ...target, stream: false })
    // llama.cpp has the operation below that of generations, for the same body (tools/server/server.cpp, release b11549).
    if (target.quirks.count_tokens !== 'tokenize') return { ...encoded, path: `${PATH}/input_tokens` }
    const body: JsonObject = {}
    for (const field of TOKENIZED) if (encoded.body[field] !== undefined) body[field] = encoded.body[field]
    return { ...encoded, path: '/tokenize', besideVersion: true, body }
  },

  decode: ({ input_tokens: tokens, count }: JsonObject): number | undefined => statedCount(tokens ?? count),
}
