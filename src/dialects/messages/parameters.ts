/** Field of each parameter on this wire. */
import { type FieldNames, fieldNames, limited, parameterTable, plainField, sameFields } from '../canon/parameters.ts'

const TEXT_ONLY = 'models of this format reply in text'

export const anthropicParameters = parameterTable({
  ...sameFields('temperature', 'top_p'),
  top_k: { ...plainField('top_k'), write: limited },
  stop: { as: 'stop_sequences', field: 'stop_sequences' },
  max_tokens: { as: 'max_tokens', field: 'max_tokens' },
  tools: { as: 'tools' },
  tool_choice: { as: 'tool_choice' },
  parallel_tool_calls: { as: 'tool_choice.disable_parallel_tool_use' },
  response_format: { as: 'output_config.format' },
  structured_outputs: { as: 'output_config.format' },
  reasoning: { as: 'thinking' },
  service_tier: { as: 'service_tier' },
  modalities: { field: 'modalities', dropped: TEXT_ONLY },
  audio: { dropped: TEXT_ONLY },
  image_config: { field: 'image_config', dropped: TEXT_ONLY },
  user: { as: 'metadata.user_id' },
  safety_identifier: { as: 'metadata.user_id', field: 'safety_identifier' },
  metadata: { dropped: 'only the gateway keeps it: the metadata of this format holds only the user' },
  prompt_cache_key: { field: 'prompt_cache_key', dropped: 'the provider finds its cache by the prompt' },
  prompt_cache_options: { dropped: 'cache marks in the prompt serve the same purpose' },
  cache_control: { as: 'cache_control' },
  prefill: { as: 'messages[-1]' },
})

export const messagesFields: FieldNames = fieldNames(anthropicParameters, {
  conversation: ['messages'],
  system: ['system'],
  reasoning: ['thinking', 'output_config.effort'],
})
