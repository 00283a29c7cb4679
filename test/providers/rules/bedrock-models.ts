/** Refusals of models behind Bedrock for a request whose shape is right: their own fields, their reasoning, what goes with it. */
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import type { Utterance } from '../../support/wire.ts'
import { type Call, Signatures } from '../stand-in.ts'

export interface ModelFacts {
  readonly family: 'claude' | 'nova'
  /** Values of `thinking.type`. */
  readonly thinking?: readonly string[]
  readonly efforts?: readonly string[]
  /** True where the answer can be held to a schema (docs.aws.amazon.com, Structured outputs, "Supported models"). */
  readonly structured: boolean
}

export const FACTS: Readonly<Record<string, ModelFacts>> = {
  'us.anthropic.claude-sonnet-4-5-20250929-v1:0': { family: 'claude', thinking: ['enabled', 'disabled'], structured: true },
  'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/mi1dadi0g15f': {
    family: 'claude',
    thinking: ['enabled', 'disabled'],
    structured: true,
  },
  // Recordings test_bedrock_model_thinking_part_anthropic_adaptive and …_adaptive_effort; BerriAI/litellm pull 27074.
  'us.anthropic.claude-sonnet-4-6': {
    family: 'claude',
    thinking: ['enabled', 'adaptive', 'disabled'],
    efforts: ['low', 'medium', 'high', 'max'],
    structured: true,
  },
  'us.amazon.nova-2-lite-v1:0': { family: 'nova', structured: false },
}

export const modelFacts = ({ model }: Call): ModelFacts => FACTS[model.name] ?? { family: 'claude', structured: true }

/** Errors of models are passed on behind these words (recordings test_multimodal_tool_returns). */
const ofModel = (message: string): string => `The model returned the following errors: ${message}`

const callFields = ({ body }: Call): JsonObject => object(body.additionalModelRequestFields)
const messageContent = (message: JsonObject | undefined): JsonObject[] => list(message?.content)

/** "extraneous key [toolResult] is not permitted" is how Nova refuses what it does not know (recordings); its fields by its user guide. */
function novaRefusal(call: Call): string | undefined {
  const { body } = call
  for (const message of list(body.messages))
    if (messageContent(message).some(({ reasoningContent }) => reasoningContent !== undefined))
      // can1357/oh-my-pi pull 9086
      return 'User messages cannot contain reasoning content. Please remove the reasoning content and try again.'
  for (const [name, value] of Object.entries(callFields(call))) {
    if (name === 'inferenceConfig' && Object.keys(object(value)).every((key) => key === 'topK')) continue
    if (name !== 'reasoningConfig')
      return ofModel(`Malformed input request: extraneous key [${name}] is not permitted, please reformat your input and try again.`)
  }
  const { type, maxReasoningEffort: effort } = object(callFields(call).reasoningConfig)
  if (type !== undefined && !['enabled', 'disabled'].includes(String(type)))
    return ofModel('the provided reasoning config value is invalid')
  if (effort !== undefined && !['low', 'medium', 'high'].includes(String(effort)))
    return ofModel('the provided reasoning config value is invalid')
  const config = object(body.inferenceConfig)
  // UKGovernmentBEIS/inspect_ai issue 3767
  if (effort === 'high' && (config.maxTokens ?? config.temperature ?? config.topP) !== undefined)
    return ofModel('maxTokens, temperature and topP must be unset when maxReasoningEffort is high')
  return undefined
}

function tokensRefusal(config: JsonObject, thinking: JsonObject): string | undefined {
  const { budget_tokens: budget } = thinking
  if (thinking.type !== 'enabled') return undefined
  if (typeof budget !== 'number' || budget < 1024) return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024'
  if (typeof config.maxTokens === 'number' && config.maxTokens <= budget)
    return '`max_tokens` must be greater than `thinking.budget_tokens`.'
  return undefined
}

/** "Expected `thinking` or `redacted_thinking`, but found `tool_use`" (github.com/anomalyco/opencode/issues/3077), of budgets alone. */
function firstBlockRefusal(body: JsonObject): string | undefined {
  const messages = list(body.messages)
  let start = messages.length
  while (
    start > 0 &&
    (messages[start - 1]?.role === 'assistant' || messageContent(messages[start - 1]).some(({ toolResult }) => toolResult))
  )
    start--
  const at = messages.findIndex(({ role }, index) => index >= start && role === 'assistant')
  if (at === -1 || messageContent(messages[at])[0]?.reasoningContent !== undefined) return undefined
  return `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`
}

/** Claude's own form is base64 within the base64 of the service (recorded: test_bedrock_model_thinking_part_redacted). */
const isRedacted = (redacted: unknown, signatures: Call['signatures']): boolean =>
  typeof redacted === 'string' &&
  [redacted, Buffer.from(redacted, 'base64').toString('utf8')].some((form) => signatures.verify(form) || Signatures.isIssued(form))

/** Blocks that Claude has signed, here or at another of its providers: signatures hold at all of them (platform.claude.com, Extended thinking). */
function signatureRefusal({ body, signatures }: Call): string | undefined {
  for (const [i, message] of list(body.messages).entries())
    for (const [j, { reasoningContent }] of messageContent(message).entries()) {
      if (reasoningContent === undefined) continue
      const { reasoningText, redactedContent } = object(reasoningContent)
      if (reasoningText === undefined && isRedacted(redactedContent, signatures)) continue
      const { text, signature } = object(reasoningText)
      const known = signatures.verify(signature, String(text)) || Signatures.isIssued(String(signature).split('.').at(-1) ?? '')
      if (!known) return `messages.${i}.content.${j}: Invalid \`signature\` in \`thinking\` block`
    }
  return undefined
}

function claudeRefusal(call: Call, { thinking: kinds = [], efforts }: ModelFacts): string | undefined {
  const { body } = call
  const fields = callFields(call)
  const unknown = Object.keys(fields).find(
    (name) => !['thinking', 'output_config', 'top_k', 'tool_choice', 'anthropic_beta'].includes(name),
  )
  if (unknown !== undefined) return `${unknown}: Extra inputs are not permitted`
  const thinking = object(fields.thinking)
  if (thinking.type !== undefined && !kinds.includes(String(thinking.type)))
    return `thinking.type: ${String(thinking.type)} is not supported on this model`
  const { effort } = object(fields.output_config)
  if (effort !== undefined && !efforts?.includes(String(effort))) return 'This model does not support the effort parameter.'
  const config = object(body.inferenceConfig)
  if (config.temperature !== undefined && config.topP !== undefined)
    return '`temperature` and `top_p` cannot both be specified for this model. Please use only one.'
  if (Array.isArray(config.stopSequences) && config.stopSequences.some((each) => String(each).trim() === ''))
    return 'stop_sequences: each stop sequence must contain non-whitespace'
  const thinks = thinking.type === 'enabled' || thinking.type === 'adaptive'
  const choice = object(object(body.toolConfig).toolChoice)
  const own = object(fields.tool_choice)
  // BerriAI/litellm issue 36536 and pull 34347
  if (fields.tool_choice !== undefined && (own.type === undefined) === (body.toolConfig === undefined || Object.keys(choice).length === 0))
    return own.type === undefined ? 'missing field `type`' : 'tool_choice is given twice'
  if (thinks && config.temperature !== undefined && config.temperature !== 1)
    return '`temperature` may only be set to 1 when thinking is enabled.'
  if (thinks && fields.top_k !== undefined) return '`top_k` must be unset when thinking is enabled.'
  if (thinking.type === 'enabled' && (choice.any ?? choice.tool) !== undefined)
    return 'Thinking may not be enabled when tool_choice forces tool use.'
  return tokensRefusal(config, thinking) ?? (thinking.type === 'enabled' ? firstBlockRefusal(body) : undefined) ?? signatureRefusal(call)
}

/** The first rule of the model that the request breaks. */
export function modelRefusal(call: Call): string | undefined {
  const facts = modelFacts(call)
  if (facts.family === 'nova') return novaRefusal(call)
  const wrong = claudeRefusal(call, facts)
  return wrong === undefined ? undefined : ofModel(wrong)
}

/** Claude signs what it thinks; Nova shows it unsigned; neither thinks where the request does not say so. */
export function thought(utterance: Utterance, call: Call): Utterance {
  if (!utterance.reasoning) return utterance
  const { thinking, reasoningConfig } = callFields(call)
  const { type, display } = object(thinking)
  if (object(reasoningConfig).type === 'enabled') return utterance
  const choice = object(object(call.body.toolConfig).toolChoice)
  if ((type !== 'enabled' && type !== 'adaptive') || (choice.any ?? choice.tool) !== undefined)
    return { ...utterance, reasoning: undefined }
  // strands-rl/strands-env pull 258
  const reasoning = type === 'adaptive' && display !== 'summarized' ? [''] : utterance.reasoning
  return { ...utterance, reasoning, signature: call.signatures.issue(reasoning.join('')) }
}
