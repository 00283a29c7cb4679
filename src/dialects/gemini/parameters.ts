/** Field of each parameter on this wire. */
import { type FieldNames, fieldNames, limited, parameterTable, sentAs } from '../canon/parameters.ts'

const CACHES = { dropped: 'providers of this format cache by themselves' } as const

export const geminiParameters = parameterTable({
  temperature: sentAs('generationConfig.temperature'),
  top_p: sentAs('generationConfig.topP'),
  top_k: sentAs('generationConfig.topK', limited),
  frequency_penalty: sentAs('generationConfig.frequencyPenalty'),
  presence_penalty: sentAs('generationConfig.presencePenalty'),
  // The field holds 32 bits; a longer seed still means the same one every time.
  seed: sentAs('generationConfig.seed', (seed) => Number(seed) | 0),
  stop: { as: 'generationConfig.stopSequences' },
  max_tokens: { as: 'generationConfig.maxOutputTokens' },
  logprobs: { as: 'generationConfig.responseLogprobs' },
  top_logprobs: { as: 'generationConfig.logprobs' },
  tools: { as: 'tools[].functionDeclarations' },
  tool_choice: { as: 'toolConfig.functionCallingConfig' },
  response_format: { as: 'generationConfig.responseMimeType' },
  structured_outputs: { as: 'generationConfig.responseJsonSchema' },
  reasoning: { as: 'generationConfig.thinkingConfig' },
  service_tier: { as: 'serviceTier' },
  modalities: { as: 'generationConfig.responseModalities' },
  audio: { as: 'generationConfig.speechConfig' },
  image_config: { as: 'generationConfig.imageConfig' },
  metadata: { dropped: 'labels of this format are for billing and accept no free text' },
  prompt_cache_key: CACHES,
  prompt_cache_options: CACHES,
  cache_control: CACHES,
  include: { as: 'generationConfig.responseLogprobs' },
  prefill: { as: 'contents[-1]' },
})

export const geminiFields: FieldNames = fieldNames(geminiParameters, {
  conversation: ['contents'],
  system: ['systemInstruction'],
})
