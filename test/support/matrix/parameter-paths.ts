/** Which fields of each client are which parameter of the canonical list. */
import { PARAMETER_NAMES, type ParameterName } from '../../../src/core/parameters.ts'

/** Parts of a request that stand elsewhere in it, or that are no field of their own. */
const ELSEWHERE: ReadonlySet<ParameterName> = new Set([
  'tools',
  'tool_choice',
  'response_format',
  'structured_outputs',
  'reasoning',
  'prefill',
])

const SAME = PARAMETER_NAMES.filter((name) => !ELSEWHERE.has(name))

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
export function findParameter(client: string, path: string): ParameterName | undefined {
  let best: string | undefined
  for (const field of Object.keys(FIELDS[client])) {
    const below = path === field || (path.startsWith(field) && /^[.[]/.test(path.slice(field.length)))
    if (below && field.length > (best?.length ?? 0)) best = field
  }
  return best === undefined ? undefined : FIELDS[client][best]
}
