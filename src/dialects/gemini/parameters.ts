/** What becomes of each parameter at a provider of this wire. */
import { type FieldNames, fieldNames } from '../canon/field-names.ts'
import type { ParameterTable } from '../canon/parameters.ts'

export const geminiParameters: ParameterTable = {
  temperature: { as: 'generationConfig.temperature' },
  top_p: { as: 'generationConfig.topP' },
  top_k: { as: 'generationConfig.topK' },
  min_p: { dropped: 'this format has no field for it' },
  top_a: { dropped: 'this format has no field for it' },
  frequency_penalty: { as: 'generationConfig.frequencyPenalty' },
  presence_penalty: { as: 'generationConfig.presencePenalty' },
  repetition_penalty: { dropped: 'this format has no field for it' },
  seed: { as: 'generationConfig.seed' },
  stop: { as: 'generationConfig.stopSequences' },
  max_tokens: { as: 'generationConfig.maxOutputTokens' },
  logit_bias: { dropped: 'this format has no field for it' },
  logprobs: { as: 'generationConfig.responseLogprobs' },
  top_logprobs: { as: 'generationConfig.logprobs' },
  tools: { as: 'tools[].functionDeclarations' },
  tool_choice: { as: 'toolConfig.functionCallingConfig' },
  parallel_tool_calls: { dropped: 'this format has no field for it' },
  response_format: { as: 'generationConfig.responseMimeType' },
  structured_outputs: { as: 'generationConfig.responseJsonSchema' },
  reasoning: { as: 'generationConfig.thinkingConfig' },
  verbosity: { dropped: 'this format has no field for it' },
  service_tier: { as: 'serviceTier' },
  modalities: { as: 'generationConfig.responseModalities' },
  audio: { as: 'generationConfig.speechConfig' },
  image_config: { as: 'generationConfig.imageConfig' },
  prediction: { dropped: 'this format has no field for it' },
  web_search_options: { dropped: 'this format has no field for it' },
  user: { dropped: 'this format has no field for it' },
  safety_identifier: { dropped: 'this format has no field for it' },
  metadata: { dropped: 'labels of this format are for billing and accept no free text' },
  prompt_cache_key: { dropped: 'providers of this format cache by themselves' },
  prompt_cache_options: { dropped: 'providers of this format cache by themselves' },
  cache_control: { dropped: 'providers of this format cache by themselves' },
  truncation: { dropped: 'this format has no field for it' },
  include: { as: 'generationConfig.responseLogprobs' },
  prefill: { as: 'contents[-1]' },
}

export const geminiFields: FieldNames = fieldNames(geminiParameters, {
  conversation: ['contents'],
  system: ['systemInstruction'],
})
