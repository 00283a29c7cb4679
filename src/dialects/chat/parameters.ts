/** What becomes of each parameter at a provider of this wire. */
import { type FieldNames, fieldNames } from '../canon/field-names.ts'
import type { ParameterTable } from '../canon/parameters.ts'

export const chatParameters: ParameterTable = {
  temperature: { as: 'temperature' },
  top_p: { as: 'top_p' },
  top_k: { as: 'top_k' },
  min_p: { as: 'min_p' },
  top_a: { as: 'top_a' },
  frequency_penalty: { as: 'frequency_penalty' },
  presence_penalty: { as: 'presence_penalty' },
  repetition_penalty: { as: 'repetition_penalty' },
  seed: { as: 'seed' },
  stop: { as: 'stop' },
  max_tokens: { as: 'max_tokens' },
  logit_bias: { as: 'logit_bias' },
  logprobs: { as: 'logprobs' },
  top_logprobs: { as: 'top_logprobs' },
  tools: { as: 'tools' },
  tool_choice: { as: 'tool_choice' },
  parallel_tool_calls: { as: 'parallel_tool_calls' },
  response_format: { as: 'response_format' },
  structured_outputs: { as: 'response_format.json_schema' },
  reasoning: { as: 'reasoning_effort' },
  verbosity: { as: 'verbosity' },
  service_tier: { as: 'service_tier' },
  modalities: { as: 'modalities' },
  audio: { as: 'audio' },
  image_config: { dropped: 'this format has no field for it' },
  prediction: { as: 'prediction' },
  web_search_options: { as: 'web_search_options' },
  user: { as: 'user' },
  safety_identifier: { as: 'safety_identifier' },
  metadata: { dropped: 'only the gateway keeps it: chat providers keep it only with stored replies' },
  prompt_cache_key: { as: 'prompt_cache_key' },
  prompt_cache_options: { dropped: 'sent only to a provider with the quirk `explicit_caching`' },
  cache_control: { dropped: 'sent only to a provider with the quirk `cache_control` or `explicit_caching`' },
  truncation: { dropped: 'this format has no field for it' },
  include: { as: 'logprobs' },
  prefill: { as: 'messages[-1]' },
}

export const chatFields: FieldNames = fieldNames(chatParameters, {
  conversation: ['messages'],
  max_tokens: ['max_completion_tokens', 'max_tokens'],
  reasoning: ['reasoning_effort', 'reasoning'],
})
