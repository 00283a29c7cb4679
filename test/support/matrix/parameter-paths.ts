/** Which fields of each client are which parameter of the canonical list. */
import type { ParameterName } from '../../../src/dialects/canon/parameters.ts'

const SAME: readonly ParameterName[] = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'top_a',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'seed',
  'stop',
  'max_tokens',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'parallel_tool_calls',
  'verbosity',
  'service_tier',
  'audio',
  'image_config',
  'prediction',
  'web_search_options',
  'user',
  'safety_identifier',
  'metadata',
  'prompt_cache_key',
  'prompt_cache_options',
  'cache_control',
  'truncation',
  'include',
  'modalities',
]

const FIELDS: Readonly<Record<string, Readonly<Record<string, ParameterName>>>> = {
  chat: { ...Object.fromEntries(SAME.map((name) => [name, name])), max_completion_tokens: 'max_tokens' },
  responses: { ...Object.fromEntries(SAME.map((name) => [name, name])), max_output_tokens: 'max_tokens', 'text.verbosity': 'verbosity' },
  messages: {
    ...Object.fromEntries(SAME.map((name) => [name, name])),
    stop_sequences: 'stop',
    'metadata.user_id': 'user',
    'tool_choice.disable_parallel_tool_use': 'parallel_tool_calls',
  },
}

/** The parameter that a leaf of a request belongs to; undefined for content and what the gateway itself reads. */
export function parameterOf(client: string, path: string): ParameterName | undefined {
  let best: string | undefined
  for (const field of Object.keys(FIELDS[client])) {
    const below = path === field || (path.startsWith(field) && /^[.[]/.test(path.slice(field.length)))
    if (below && field.length > (best?.length ?? 0)) best = field
  }
  return best === undefined ? undefined : FIELDS[client][best]
}
