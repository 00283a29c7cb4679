/** Counting the tokens of a request at a provider of this wire. */

import type { JsonObject } from '../../core/json.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import type { Encoded, Target } from '../types.ts'
import { encodeRequest, PATH } from './encode-request.ts'

/** Fields that the count takes; those of an answer it refuses. */
const COUNTED = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'cache_control',
  'context_management',
  'compaction',
  'mcp_servers',
  'speed',
] as const

export const countTokens = {
  /** The request as it would be sent, without what belongs to its answer. */
  encode(request: CanonicalRequest, target: Target): Encoded {
    const encoded = encodeRequest(request, { ...target, stream: false })
    const body: JsonObject = {}
    for (const field of COUNTED) if (encoded.body[field] !== undefined) body[field] = encoded.body[field]
    return { ...encoded, path: `${PATH}/count_tokens`, body }
  },

  /** @returns undefined where the reply holds no count. */
  decode(body: JsonObject): number | undefined {
    const tokens = body.input_tokens
    return typeof tokens === 'number' && Number.isFinite(tokens) && tokens >= 0 ? Math.floor(tokens) : undefined
  },
}
