/** Outcome of each parameter at a provider of this wire. */
import { type FieldNames, fieldNames, type ParameterTable } from '../canon/parameters.ts'

const NO_FIELD = { dropped: 'this format has no field for it' } as const
const TEXT_ONLY = { dropped: 'this format has no field for the kind of a reply' } as const

export const bedrockParameters: ParameterTable = {
  temperature: { as: 'inferenceConfig.temperature' },
  top_p: { as: 'inferenceConfig.topP' },
  top_k: { as: 'additionalModelRequestFields.top_k' },
  min_p: NO_FIELD,
  top_a: NO_FIELD,
  frequency_penalty: NO_FIELD,
  presence_penalty: NO_FIELD,
  repetition_penalty: NO_FIELD,
  seed: NO_FIELD,
  stop: { as: 'inferenceConfig.stopSequences' },
  max_tokens: { as: 'inferenceConfig.maxTokens' },
  logit_bias: NO_FIELD,
  logprobs: NO_FIELD,
  top_logprobs: NO_FIELD,
  tools: { as: 'toolConfig.tools' },
  tool_choice: { as: 'toolConfig.toolChoice' },
  parallel_tool_calls: { as: 'additionalModelRequestFields.tool_choice' },
  response_format: { as: 'outputConfig.textFormat' },
  structured_outputs: { as: 'outputConfig.textFormat' },
  reasoning: { as: 'additionalModelRequestFields.thinking' },
  verbosity: NO_FIELD,
  service_tier: { as: 'serviceTier' },
  modalities: TEXT_ONLY,
  audio: TEXT_ONLY,
  image_config: TEXT_ONLY,
  prediction: NO_FIELD,
  web_search_options: NO_FIELD,
  user: NO_FIELD,
  safety_identifier: NO_FIELD,
  metadata: { as: 'requestMetadata' },
  prompt_cache_key: { dropped: 'the provider finds its cache by the prompt' },
  prompt_cache_options: { dropped: 'cache marks in the prompt serve the same purpose' },
  cache_control: { as: 'messages[].content[].cachePoint' },
  truncation: NO_FIELD,
  include: NO_FIELD,
  prefill: { as: 'messages[-1]' },
}

export const bedrockFields: FieldNames = fieldNames(bedrockParameters, {
  conversation: ['messages'],
  system: ['system'],
})
