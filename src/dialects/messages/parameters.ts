/** Outcome of each parameter at a provider of this wire. */
import { type FieldNames, fieldNames, type ParameterTable } from '../canon/parameters.ts'

const NO_FIELD = { dropped: 'this format has no field for it' } as const

export const anthropicParameters: ParameterTable = {
  temperature: { as: 'temperature' },
  top_p: { as: 'top_p' },
  top_k: { as: 'top_k' },
  min_p: NO_FIELD,
  top_a: NO_FIELD,
  frequency_penalty: NO_FIELD,
  presence_penalty: NO_FIELD,
  repetition_penalty: NO_FIELD,
  seed: NO_FIELD,
  stop: { as: 'stop_sequences' },
  max_tokens: { as: 'max_tokens' },
  logit_bias: NO_FIELD,
  logprobs: NO_FIELD,
  top_logprobs: NO_FIELD,
  tools: { as: 'tools' },
  tool_choice: { as: 'tool_choice' },
  parallel_tool_calls: { as: 'tool_choice.disable_parallel_tool_use' },
  response_format: { as: 'output_config.format' },
  structured_outputs: { as: 'output_config.format' },
  reasoning: { as: 'thinking' },
  verbosity: NO_FIELD,
  service_tier: { as: 'service_tier' },
  modalities: { dropped: 'models of this format reply in text' },
  audio: { dropped: 'models of this format reply in text' },
  image_config: { dropped: 'models of this format reply in text' },
  prediction: NO_FIELD,
  web_search_options: NO_FIELD,
  user: { as: 'metadata.user_id' },
  safety_identifier: { as: 'metadata.user_id' },
  metadata: { dropped: 'only the gateway keeps it: the metadata of this format holds only the user' },
  prompt_cache_key: { dropped: 'the provider finds its cache by the prompt' },
  prompt_cache_options: { dropped: 'cache marks in the prompt serve the same purpose' },
  cache_control: { as: 'cache_control' },
  truncation: NO_FIELD,
  include: NO_FIELD,
  prefill: { as: 'messages[-1]' },
}

export const messagesFields: FieldNames = fieldNames(anthropicParameters, {
  conversation: ['messages'],
  system: ['system'],
  reasoning: ['thinking', 'output_config.effort'],
})
