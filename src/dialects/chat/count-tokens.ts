/** Counting the tokens of a request at servers that offer it on this wire. */
import type { JsonObject } from '../../core/json.ts'
import { statedCount } from '../canon/counts.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import type { Encoded, Target } from '../types.ts'
import { encodeRequest, PATH } from './encode-request.ts'

export const countTokens = {
  isOfSome: true,

  /** llama.cpp has the operation below that of generations, for the same body (tools/server/server.cpp, release b11549). */
  encode(request: CanonicalRequest, target: Target): Encoded | undefined {
    if (target.quirks.count_tokens !== 'input_tokens') return undefined
    const encoded = encodeRequest(request, { ...target, stream: false })
    return { ...encoded, path: `${PATH}/input_tokens` }
  },

  decode({ input_tokens: tokens }: JsonObject): number | undefined {
    return statedCount(tokens)
  },
}
