/** Counting the tokens of a request at the provider (`countTokens`). */

import { type JsonObject, present } from '../../core/json.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import type { Encoded, Target } from '../types.ts'
import { encodeRequest } from './encode-request.ts'
import { operationPath, resourceOf } from './wire.ts'

/**
 * Everything that costs tokens on the way in. Models of a publisher take it as it is; others within a request of their own,
 * since beside bare contents they count neither instructions nor tools.
 */
export function encodeCount(request: CanonicalRequest, target: Target): Encoded {
  const { body, dropped } = encodeRequest(request, { ...target, stream: false })
  const model = resourceOf(target.model)
  const counted = present({ contents: body.contents, systemInstruction: body.systemInstruction, tools: body.tools })
  const bare = model.startsWith('publishers/') || model.startsWith('projects/')
  return {
    path: operationPath(target.model, 'countTokens'),
    body: bare ? counted : { generateContentRequest: { model, ...counted } },
    dropped,
  }
}

export function decodeCount(body: JsonObject): number | undefined {
  const total = body.totalTokens
  return typeof total === 'number' && Number.isSafeInteger(total) && total >= 0 ? total : undefined
}
