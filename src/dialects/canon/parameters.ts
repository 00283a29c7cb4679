/**
 * The parameters of a request by their canonical names, and what a dialect declares to become of each. The names are those of
 * `supported_parameters` in the model list and of `used` in a canonical request. And what a wire calls each part of a request, so that an
 * error about a field of one wire can be explained in the words of another.
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

/** `top_k` for a wire without a word for no limit, which -1 says on others. @param dropped receives its name where it is left out. */
export function limitedTopK(topK: number | undefined, dropped: Set<string>): number | undefined {
  if (topK === undefined || topK >= 0) return topK
  dropped.add('top_k')
  return undefined
}

/** Names that the dialect sends, or that the gateway does in its place. */
export function sentParameters(table: ParameterTable): ReadonlySet<string> {
  return new Set(PARAMETERS.filter((name) => 'as' in table[name] || 'here' in table[name]))
}

/** By canonical parameter, and `conversation` and `system`: paths in the body. */
export type FieldNames = ReadonlyMap<string, readonly string[]>

/** @param others parts that the table does not have, and parameters that have several names. */
export function fieldNames(table: ParameterTable, others: Readonly<Record<string, readonly string[]>>): FieldNames {
  const names = new Map<string, readonly string[]>()
  for (const name of PARAMETERS) {
    const outcome = table[name]
    // The beginning of an answer is a place in the conversation, and no field of its own.
    if ('as' in outcome && name !== 'prefill') names.set(name, [outcome.as.replaceAll('[]', '')])
  }
  for (const [name, paths] of Object.entries(others)) names.set(name, paths)
  return names
}
