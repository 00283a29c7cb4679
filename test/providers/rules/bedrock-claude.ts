/**
 * Requests that bedrock-runtime.REGION.amazonaws.com accepts at InvokeModel and InvokeModelWithResponseStream for models of Claude: the Messages API,
 * with what npm @anthropic-ai/bedrock-sdk 1.1.3 (client.js) and npm @ai-sdk/amazon-bedrock 5.0.101 (anthropic/) change about it.
 */
import { list, object } from '../../support/fold.ts'
import { type Call, type Refusal, type Rules, SECRET } from '../stand-in.ts'
import { ruleBroken } from './anthropic.ts'
import { type ModelFacts, thinkingUtterance } from './anthropic-thinking.ts'
import { bedrock } from './bedrock.ts'

const SONNET_45 = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const OPUS_48 = 'us.anthropic.claude-opus-4-8'
const PROFILE = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/mi1dadi0g15f'

const BUDGET: ModelFacts & { readonly structured: boolean } = {
  thinking: ['enabled', 'disabled'],
  thinksUnasked: false,
  forcedTools: true,
  prefill: true,
  sampling: true,
  preserved: false,
  systemInside: false,
  structured: true,
}

const FACTS: Readonly<Record<string, typeof BUDGET>> = {
  [SONNET_45]: BUDGET,
  [PROFILE]: BUDGET,
  // Recording test_mid_conversation_system_prompt_on_bedrock; UKGovernmentBEIS/inspect_ai issue 3721 (sampling); of schemas npm
  // @ai-sdk/amazon-bedrock 5.0.101, MODELS_WITHOUT_STRICT_TOOL_SUPPORT.
  [OPUS_48]: {
    ...BUDGET,
    thinking: ['adaptive', 'disabled'],
    efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
    prefill: false,
    sampling: false,
    systemInside: true,
    structured: false,
  },
}

const modelFacts = ({ model }: Call): typeof BUDGET => FACTS[model.name] ?? BUDGET

/** Names that the service knows (BerriAI/litellm, anthropic_beta_headers_config.json at 030dd40, `bedrock`). */
const BETAS: ReadonlySet<unknown> = new Set([
  'compact-2026-01-12',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dangerous-tool-use-2026-09-03',
  'effort-2025-11-24',
  'fine-grained-tool-streaming-2025-05-14',
  'mid-conversation-output-config-2026-07-01',
  'mid-conversation-tool-changes-2026-07-01',
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  'tool-search-tool-2025-10-19',
])

const refused = (message: string): Refusal => ({ status: 400, body: { message }, headers: { 'x-amzn-errortype': 'ValidationException' } })

/** Parts that the envelope of the service has in other places than the provider of the format. */
function envelopeRefusal({ body, request }: Call): string | undefined {
  // fumito-ito/AnthropicSwiftSDK issue 19, sigoden/aichat issue 543
  const keys = ['model', 'stream'].filter((name) => name in body)
  if (keys.length > 0)
    return `Malformed input request: ${keys.map((name) => `#: extraneous key [${name}] is not permitted`).join('')}, please reformat your input and try again.`
  if (body.anthropic_version !== 'bedrock-2023-05-31') return `anthropic_version: Input should be 'bedrock-2023-05-31'`
  // The SDK takes it out, since the body has it.
  if (request.headers['anthropic-version'] !== undefined) return 'anthropic-version: no such header'
  // The SDK refuses other places for keys.
  if (request.headers['x-api-key'] !== undefined) return 'x-api-key: no such header'
  const { anthropic_beta: betas } = body
  // coder/aibridge issue 221; Claude Code met it with an empty list, too.
  if (betas !== undefined && (!Array.isArray(betas) || betas.length === 0 || betas.some((name) => !BETAS.has(name))))
    return 'invalid beta flag'
  // UKGovernmentBEIS/inspect_ai pull 3851, measured; litellm issue 26320
  for (const name of ['cache_control', 'service_tier']) if (name in body) return `${name}: Extra inputs are not permitted`
  return undefined
}

/** Departures of the service's copy of the format (npm @ai-sdk/amazon-bedrock 5.0.101, transformRequestBody). */
function departureRefusal(call: Call): string | undefined {
  const { body } = call
  for (const [i, tool] of list(body.tools).entries()) {
    if ('eager_input_streaming' in tool) return `tools.${i}.custom.eager_input_streaming: Extra inputs are not permitted`
    if (tool.strict !== undefined && !modelFacts(call).structured) return `tools.${i}.custom.strict: Extra inputs are not permitted`
  }
  // vectorize-io/hindsight issue 3300
  if (object(body.output_config).format !== undefined && !modelFacts(call).structured)
    return 'output_config.format: Extra inputs are not permitted'
  for (const [i, { content }] of list(body.messages).entries())
    for (const [j, block] of list(content).entries())
      if (['url', 'file'].includes(String(object(block.source).type)))
        return `messages.${i}.content.${j}.${String(block.type)}.source: Input tag '${String(object(block.source).type)}' found using 'type' does not match any of the expected tags`
  const binding = object(object(body.thinking).block_binding)
  return 'prefix_mismatch_behavior' in binding
    ? 'thinking.adaptive.block_binding.prefix_mismatch_behavior: Extra inputs are not permitted'
    : undefined
}

/** With a name that a signature of the stand-in can hold: its parts are parted by dots. */
const plain = (call: Call): Call => ({ ...call, model: { ...call.model, name: call.model.name.replaceAll(/[^a-z0-9-]/g, '-') } })

function check(call: Call): Refusal | undefined {
  const early = envelopeRefusal(call) ?? departureRefusal(call)
  if (early !== undefined) return refused(early)
  const { anthropic_version: _, anthropic_beta: betas = [], ...body } = call.body
  const broken = ruleBroken({ ...plain(call), body: { ...body, model: call.model.name } }, betas as string[], modelFacts(call))
  return broken === undefined ? undefined : refused(broken)
}

const entry = (model: string, quirks: string): string => `context: 200000
max_output: 64000
input: [ text, image, file ]
endpoints:
  - provider: bedrock-claude
    model: "${model}"
    price: { prompt: "3", completion: "15" }
    quirks: ${quirks}`

const ADAPTIVE =
  '{ thinking: adaptive, efforts: [ low, medium, high, xhigh, max ], json_schema: words, system_messages: true, body: { drop: [ prefill, temperature, top_p, top_k ] } }'

export const bedrockClaude: Rules = {
  preset: 'bedrock-claude',
  settings: `key: ${SECRET}`,
  variables: { AWS_REGION: 'us-east-1' },
  wire: 'bedrock-anthropic',
  sources: [
    'npm @anthropic-ai/bedrock-sdk 1.1.3 (client.js, core/streaming.js)',
    'npm @ai-sdk/amazon-bedrock 5.0.101 (amazon-bedrock-anthropic-provider.ts)',
    'npm @anthropic-ai/sdk 1.14.0, resources/messages, resources/beta/messages',
    'Recording test_mid_conversation_system_prompt_on_bedrock',
  ],
  models: [
    { slug: 'bedrock-claude/sonnet-4.5', name: SONNET_45, entry: entry(SONNET_45, '{ thinking: budget }'), reasons: true, images: true },
    { slug: 'bedrock-claude/profile', name: PROFILE, entry: entry(PROFILE, '{ thinking: budget }'), reasons: true, images: true },
    { slug: 'bedrock-claude/opus-4.8', name: OPUS_48, entry: entry(OPUS_48, ADAPTIVE), reasons: true, images: true },
  ],
  path: (model, stream) => `/model/${encodeURIComponent(model.name)}/${stream ? 'invoke-with-response-stream' : 'invoke'}`,
  denied: bedrock.denied,
  check,
  says: (utterance, call) => thinkingUtterance(utterance, plain(call), modelFacts(call)),
}
