/** Counting the tokens of a request at a provider of this wire (`POST /responses/input_tokens`; types of openai 7.59.0, `InputTokenCountParams`). */
import type { JsonObject } from '../../core/json.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import type { Encoded, Target, UpstreamDialect } from '../types.ts'
import { encodeRequest, PATH } from './encode-request.ts'

const COUNTED = [
  'model',
  'input',
  'instructions',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'tool_choice',
  'tools',
  'truncation',
] as const

export const countTokens: NonNullable<UpstreamDialect['countTokens']> = {
  encode(request: CanonicalRequest, target: Target): Encoded {
    const encoded = encodeRequest(request, { ...target, stream: false })
    const body: JsonObject = {}
    for (const field of COUNTED) if (encoded.body[field] !== undefined) body[field] = encoded.body[field]
    return { ...encoded, path: `${PATH}/input_tokens`, body }
  },

  decode: ({ input_tokens: tokens }) =>
    typeof tokens === 'number' && Number.isFinite(tokens) && tokens >= 0 ? Math.floor(tokens) : undefined,

  // Images, files and tools are counted (developers.openai.com, Counting tokens).
  sees: (kind) => kind === 'media',
}
