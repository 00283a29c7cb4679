/** `POST /v1/embeddings` as callers speak it. */
import type { JsonObject } from '../../core/json.ts'
import type { ClientDialect } from '../types.ts'
import { ask, decodeRequest, pathOf } from './ask.ts'
import { check } from './check.ts'
import { encodeReply } from './encode-reply.ts'
import { CLIENT_ID } from './names.ts'

export const embeddingsClient: ClientDialect = {
  id: CLIENT_ID,
  /** Vectors never stream, whichever client requests it (contract section 0, row 24). */
  expand: (body) => (body.stream === undefined ? body : withoutStream(body)),
  check,
  decodeRequest,
  embedding: { ask, pathOf, encode: encodeReply },
  // There is no text to stream or to fold: the vectors are the whole reply.
  open: () => '',
  debug: () => '',
  streamEncoder: () => ({ push: () => '', finish: () => '' }),
  encodeResult: (_folded, ctx, final) => Buffer.concat(encodeReply([], ctx, final)).toString('utf8'),
}

function withoutStream({ stream: _never, ...body }: JsonObject): JsonObject {
  return body
}
