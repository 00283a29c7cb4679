/** POST /v1/messages. */
import type { ClientDialect } from '../types.ts'
import { check } from './check.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeResult } from './encode-result.ts'
import { MessagesStreamEncoder } from './encode-stream.ts'
import { faultBody } from './fault-body.ts'
import { gatewayFields } from './gateway-fields.ts'
import { debugEvent, openStream } from './message.ts'
import { withPreset } from './preset.ts'
import { CLIENT_ID } from './wire.ts'

export const messagesClient: ClientDialect = {
  id: CLIENT_ID,
  capFields: ['max_tokens'],
  // Anthropic, "Data residency": on Claude Opus 4.6 and later, `us` costs 1.1 times as much per token.
  regionField: 'inference_geo',
  withPreset,
  check,
  decodeRequest,
  gatewayFields,
  faultBody,
  open: openStream,
  debug: debugEvent,
  streamEncoder: (ctx) => new MessagesStreamEncoder(ctx),
  encodeResult,
}
