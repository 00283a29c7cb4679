/** Field of each parameter on this wire. */
import { type FieldNames, fieldNames, limited, parameterTable, sentAs } from '../canon/parameters.ts'

const TEXT_ONLY = { dropped: 'this format has no field for the kind of a reply' } as const

export const bedrockParameters = parameterTable({
  temperature: sentAs('inferenceConfig.temperature'),
  top_p: sentAs('inferenceConfig.topP'),
  top_k: sentAs('additionalModelRequestFields.top_k', limited),
  stop: { as: 'inferenceConfig.stopSequences' },
  max_tokens: { as: 'inferenceConfig.maxTokens' },
  tools: { as: 'toolConfig.tools' },
  tool_choice: { as: 'toolConfig.toolChoice' },
  parallel_tool_calls: { as: 'additionalModelRequestFields.tool_choice' },
  response_format: { as: 'outputConfig.textFormat' },
  structured_outputs: { as: 'outputConfig.textFormat' },
  reasoning: { as: 'additionalModelRequestFields.thinking' },
  service_tier: { as: 'serviceTier' },
  modalities: TEXT_ONLY,
  audio: TEXT_ONLY,
  image_config: TEXT_ONLY,
  metadata: { as: 'requestMetadata' },
  prompt_cache_key: { dropped: 'the provider finds its cache by the prompt' },
  prompt_cache_options: { dropped: 'cache marks in the prompt serve the same purpose' },
  cache_control: { as: 'messages[].content[].cachePoint' },
  prefill: { as: 'messages[-1]' },
})

export const bedrockFields: FieldNames = fieldNames(bedrockParameters, {
  conversation: ['messages'],
  system: ['system'],
})
