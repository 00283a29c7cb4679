/** The chat dialect: what callers speak and what OpenAI-compatible providers speak. */
import { isReqwest } from '../../core/reqwest.ts'
import type { ClientDialect, UpstreamDialect } from '../types.ts'
import { check } from './check.ts'
import { chatClientTools } from './client-tools.ts'
import { countTokens } from './count-tokens.ts'
import { decodeRequest } from './decode-request.ts'
import { decodeResult } from './decode-result.ts'
import { ChatStreamDecoder } from './decode-stream.ts'
import { demandsNames } from './demanding-clients.ts'
import { encodeRequest } from './encode-request.ts'
import { encodeResult } from './encode-result.ts'
import { ChatStreamEncoder } from './encode-stream.ts'
import { decodeFault } from './fault.ts'
import { chatCap, replaysDetails } from './fit-request.ts'
import { outsideInput } from './outside-input.ts'
import { chatFields, chatParameters } from './parameters.ts'
import { chatPass } from './pass.ts'
import { withPreset } from './preset.ts'
import { PROVIDER_TOOLS } from './provider-tools.ts'
import { debugChunk } from './reply.ts'
import { Sources } from './sources.ts'
import { searchForm } from './web-search.ts'
import { CLIENT_ID, UPSTREAM_ID, WIRE } from './wire.ts'

export const chatClient: ClientDialect = {
  id: CLIENT_ID,
  cutsFailures: true,
  demands: demandsNames,
  refusesTwoNames: isReqwest,
  files: 'openai',
  fields: chatFields,
  capFields: ['max_completion_tokens', 'max_tokens'],
  withPreset,
  check,
  clientTools: chatClientTools,
  decodeRequest,
  debug: debugChunk,
  streamEncoder: (ctx) => new ChatStreamEncoder(ctx),
  encodeResult,
}

export const openaiChat: UpstreamDialect = {
  id: UPSTREAM_ID,
  encodeRequest,
  streamDecoder: (quirks, sent) => new ChatStreamDecoder(new Sources(quirks, sent), { way: quirks?.running_usage }),
  decodeResult,
  decodeFault,
  auth: (key) => ['authorization', `Bearer ${key}`],
  parameters: chatParameters,
  fields: chatFields,
  cap: chatCap,
  bindsReasoning: replaysDetails,
  // `image_url` has an address alone.
  files: { family: 'openai', kinds: ['file'] },
  // FunctionDefinition.name: "with a maximum length of 64" (types of openai 7.55.0, resources/shared).
  toolNames: { most: 64 },
  webSearch: searchForm,
  hasTool: ({ type }, quirks) => !PROVIDER_TOOLS.has(type) || quirks.provider_tools?.some((each) => each === type) === true,
  outside: outsideInput,
  wire: WIRE,
  countTokens,
  pass: chatPass,
}
