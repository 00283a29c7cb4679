/** Field of each parameter on this wire. */
import { type FieldNames, fieldNames, parameterTable, sameFields } from '../canon/parameters.ts'

export const chatParameters = parameterTable({
  ...sameFields('temperature', 'top_p', 'top_k', 'min_p', 'top_a', 'frequency_penalty', 'presence_penalty', 'repetition_penalty', 'seed'),
  ...sameFields('logit_bias', 'logprobs', 'top_logprobs', 'parallel_tool_calls', 'verbosity', 'service_tier', 'modalities', 'audio'),
  ...sameFields('prediction', 'user', 'safety_identifier', 'prompt_cache_key'),
  stop: { as: 'stop' },
  max_tokens: { as: 'max_tokens' },
  tools: { as: 'tools' },
  tool_choice: { as: 'tool_choice' },
  response_format: { as: 'response_format' },
  structured_outputs: { as: 'response_format.json_schema' },
  reasoning: { as: 'reasoning_effort' },
  image_config: { field: 'image_config', dropped: 'this format has no field for it' },
  web_search_options: { as: 'web_search_options' },
  metadata: { field: 'metadata', dropped: 'only the gateway keeps it: chat providers keep it only with stored replies' },
  prompt_cache_options: { dropped: 'sent only to a provider with the quirk `explicit_caching`' },
  cache_control: { field: 'cache_control', dropped: 'sent only to a provider with the quirk `cache_control` or `explicit_caching`' },
  include: { as: 'logprobs' },
  prefill: { as: 'messages[-1]' },
})

export const chatFields: FieldNames = fieldNames(chatParameters, {
  conversation: ['messages'],
  max_tokens: ['max_completion_tokens', 'max_tokens'],
  reasoning: ['reasoning_effort', 'reasoning'],
})
