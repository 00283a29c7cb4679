/** `require_parameters` and `soft_parameters`: whether what the caller sent reaches the provider, and the endpoint takes it there. */
import type { ParameterName } from '../../dialects/canon/parameters.ts'
import type { Endpoint } from '../catalog/types.ts'
import { criterion, type RequestNeeds } from './criterion.ts'

type Sent = RequestNeeds['sent']

export interface ParametersWish {
  readonly used: ReadonlySet<string>
  readonly sent: Sent
  readonly effort?: string | undefined
}

export const requireParameters = criterion({
  name: 'require_parameters',
  fields: {
    require_parameters: {
      kind: 'flag',
      text: 'True: only endpoints that accept every parameter of the request. False or unset: a parameter that an endpoint does not accept is left out of the request to it.',
    },
  },
  refusal: { code: 'constraint_filtered', excludedBy: 'require_parameters' },
  removes: 'that does not accept every parameter of the request',
  need: 'used',
  wish: ({ require_parameters: strict }, { used, sent, effort }): ParametersWish | undefined =>
    strict && used ? { used, sent, effort } : undefined,
  test: (endpoint, wish) => missingFrom(endpoint, wish) === undefined,
  explain: (endpoint, wish) => `does not take ${missingFrom(endpoint, wish)}`,
})

/** Sent parameters that an endpoint must take as soon as any candidate does. */
const SOFT_PARAMETERS = ['tools', 'response_format', 'verbosity'] as const

export const softParameters = criterion({
  name: 'soft_parameters',
  refusal: { code: 'constraint_filtered', field: 'provider.require_parameters' },
  removes: 'that does not accept the `tools`, `response_format` or `verbosity` of the request, if another endpoint does',
  need: 'used',
  wish: (_preferences, { used, sent }): ParametersWish | undefined =>
    used && SOFT_PARAMETERS.some((name) => used.has(name)) ? { used, sent } : undefined,
  outdone(kept, { used, sent }) {
    const removed = new Map<Endpoint, string>()
    let able = kept
    for (const name of SOFT_PARAMETERS) {
      if (able.length < 2 || !used.has(name)) continue
      const next = able.filter((endpoint) => takes(endpoint, name, sent))
      if (next.length === 0 || next.length === able.length) continue
      for (const endpoint of able) if (!next.includes(endpoint)) removed.set(endpoint, `does not take ${name}`)
      able = next
    }
    return removed
  },
})

function missingFrom(endpoint: Endpoint, { used, sent, effort }: ParametersWish): string | undefined {
  for (const name of used) if (!takes(endpoint, name, sent)) return name
  const { efforts } = endpoint.quirks ?? endpoint.provider.quirks
  return effort !== undefined && efforts !== undefined && !efforts.includes(effort) ? `the effort ${effort}` : undefined
}

/** Parameters that `supported_parameters` may list under another name. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  max_tokens: 'max_completion_tokens',
  reasoning: 'reasoning_effort',
  response_format: 'structured_outputs',
}

/** The gateway cuts the answer itself where an endpoint does not take it. */
const DONE_HERE: ParameterName = 'stop'

/** Names that `supported_parameters` does not list: whether they arrive depends on the dialect alone. */
const UNLISTED: ReadonlySet<string> = new Set<ParameterName>([
  'service_tier',
  'modalities',
  'audio',
  'image_config',
  'user',
  'safety_identifier',
  'metadata',
  'prompt_cache_key',
  'prompt_cache_options',
  'cache_control',
  'truncation',
  'include',
  'prefill',
])

/** True where the parameter reaches the provider and the endpoint takes it there. */
function takes(endpoint: Endpoint, name: string, sent: Sent): boolean {
  const { supported } = endpoint
  if (name === DONE_HERE) return true
  const other = OTHER_NAMES[name]
  const listed = supported === undefined || UNLISTED.has(name) || supported.has(name) || (other !== undefined && supported.has(other))
  if (!listed || sent?.(endpoint)?.has(name) === false) return false
  const { body } = endpoint.quirks ?? endpoint.provider.quirks
  return body?.drop?.includes(name) !== true
}
