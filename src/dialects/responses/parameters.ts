/** What becomes of each parameter at a provider of this wire. */
import { type FieldNames, fieldNames } from '../canon/field-names.ts'
import type { ParameterTable } from '../canon/parameters.ts'

export const responsesParameters: ParameterTable = {
  temperature: { as: 'temperature' },
  top_p: { as: 'top_p' },
  top_k: { as: 'top_k' },
  min_p: { dropped: 'this format has no field for it' },
  top_a: { dropped: 'this format has no field for it' },
  frequency_penalty: { as: 'frequency_penalty' },
  presence_penalty: { as: 'presence_penalty' },
  repetition_penalty: { dropped: 'this format has no field for it' },
  seed: { dropped: 'this format has no field for it' },
  stop: { here: 'the gateway cuts the answer' },
  max_tokens: { as: 'max_output_tokens' },
  logit_bias: { dropped: 'this format has no field for it' },
  logprobs: { as: 'include' },
  top_logprobs: { as: 'top_logprobs' },
  tools: { as: 'tools' },
  tool_choice: { as: 'tool_choice' },
  parallel_tool_calls: { as: 'parallel_tool_calls' },
  response_format: { as: 'text.format' },
  structured_outputs: { as: 'text.format' },
  reasoning: { as: 'reasoning' },
  verbosity: { as: 'text.verbosity' },
  service_tier: { as: 'service_tier' },
  modalities: { as: 'modalities' },
  audio: { dropped: 'this format has no field for it' },
  image_config: { dropped: 'this format has no field for it' },
  prediction: { dropped: 'this format has no field for it' },
  web_search_options: { dropped: 'this format has no field for it' },
  user: { as: 'user' },
  safety_identifier: { as: 'safety_identifier' },
  metadata: { as: 'metadata' },
  prompt_cache_key: { as: 'prompt_cache_key' },
  prompt_cache_options: { dropped: 'sent only to a provider with the quirk `explicit_caching`' },
  cache_control: { dropped: 'sent only to a provider with the quirk `explicit_caching`' },
  truncation: { as: 'truncation' },
  include: { as: 'include' },
  prefill: { as: 'input[-1]' },
}

export const responsesFields: FieldNames = fieldNames(responsesParameters, {
  conversation: ['input'],
  system: ['instructions'],
})
