/** POST /v1/messages. */
import type { ClientDialect } from '../types.ts'
import { addedNativeTools } from './added-tools.ts'
import { isKnownVersion, versionIn } from './api-version.ts'
import { check } from './check.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeResult } from './encode-result.ts'
import { MessagesStreamEncoder } from './encode-stream.ts'
import { faultBody } from './fault-body.ts'
import { withFoundTools } from './found-tools.ts'
import { gatewayFields } from './gateway-fields.ts'
import { readsLastBlock } from './last-block-clients.ts'
import { messagesFields } from './parameters.ts'
import { withPreset } from './preset.ts'
import { debugEvent, openStream } from './reply.ts'
import { CLIENT_ID } from './wire.ts'

export const messagesClient: ClientDialect = {
  id: CLIENT_ID,
  files: 'messages',
  fields: messagesFields,
  capFields: ['max_tokens'],
  showsPauses: true,
  fillsCache: ({ max_tokens: cap }) => cap === 0,
  readsLastBlock,
  // Anthropic, "Data residency": on Claude Opus 4.6 and later, `us` costs 1.1 times as much per token.
  regionField: 'inference_geo',
  versions: { named: versionIn, isKnown: isKnownVersion },
  // @anthropic-ai/sdk 1.12.0, `_request_id` (internal/parse.ts).
  requestIdHeader: 'Request-Id',
  rateForm: 'times',
  withPreset,
  check,
  decodeRequest,
  nativeTools: addedNativeTools,
  gatewayFields,
  faultBody,
  open: openStream,
  opensLate: true,
  debug: debugEvent,
  streamEncoder: (ctx) => new MessagesStreamEncoder(ctx),
  encodeResult,
  // Its own tools are those of providers: `DialectAbility` finds endpoints that have them.
  clientTools: { areKnown: () => true, has: () => false, flatten: withFoundTools, clash: () => undefined },
}
