/** Field of each parameter on this wire. */
import { type FieldNames, fieldNames, parameterTable, plainField, sameFields } from '../canon/parameters.ts'

export const responsesParameters = parameterTable({
  ...sameFields('temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty', 'top_logprobs', 'parallel_tool_calls'),
  ...sameFields('service_tier', 'modalities', 'user', 'safety_identifier', 'metadata', 'prompt_cache_key'),
  max_tokens: plainField('max_output_tokens'),
  stop: { here: 'the gateway cuts the answer' },
  logprobs: { as: 'include' },
  tools: { as: 'tools' },
  tool_choice: { as: 'tool_choice' },
  response_format: { as: 'text.format' },
  structured_outputs: { as: 'text.format' },
  reasoning: { as: 'reasoning' },
  verbosity: { as: 'text.verbosity' },
  image_config: { field: 'image_config', dropped: 'this format has no field for it' },
  prompt_cache_options: { dropped: 'sent only to a provider with the quirk `explicit_caching`' },
  cache_control: { field: 'cache_control', dropped: 'sent only to a provider with the quirk `explicit_caching`' },
  truncation: { as: 'truncation' },
  include: { as: 'include' },
  prefill: { as: 'input[-1]' },
})

export const responsesFields: FieldNames = fieldNames(responsesParameters, {
  conversation: ['input'],
  system: ['instructions'],
})
