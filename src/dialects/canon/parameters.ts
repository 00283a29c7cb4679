/**
 * The parameters of a request by their canonical names, and what a dialect declares to become of each.
 * The names are those of `supported_parameters` in the model list and of `used` in a canonical request.
 */

export const PARAMETERS = [
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
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'structured_outputs',
  'reasoning',
  'verbosity',
  'service_tier',
  'modalities',
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
  'prefill',
] as const

export type ParameterName = (typeof PARAMETERS)[number]

/**
 * `here`: the gateway does it itself, so it counts as accepted. `as`: it is sent, in the named field of the wire. `dropped`: it is left out and recorded, for the reason given.
 * `refused`: an endpoint of this dialect does not serve a request that has it.
 */
export type ParameterOutcome = { as: string } | { here: string } | { dropped: string } | { refused: string }

export type ParameterTable = Readonly<Record<ParameterName, ParameterOutcome>>

/** Names that the dialect sends, or that the gateway does in its place. */
export function sentParameters(table: ParameterTable): ReadonlySet<string> {
  return new Set(PARAMETERS.filter((name) => 'as' in table[name] || 'here' in table[name]))
}
