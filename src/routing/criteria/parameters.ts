/** `require_parameters` and `soft_parameters`: whether what the caller sent reaches the provider, and the endpoint takes it there. */
import { isParameter, PARAMETERS, type ParameterName, UNLISTED_PARAMETERS } from '../../core/parameters.ts'
import type { Endpoint } from '../catalog/types.ts'
import { criterion, type RequestNeeds } from './criterion.ts'

type Sent = RequestNeeds['sent']

export interface ParametersDemand {
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
  demand: ({ require_parameters: strict }, { used, sent, effort }): ParametersDemand | undefined =>
    strict && used ? { used, sent, effort } : undefined,
  test: (endpoint, demand) => missingFrom(endpoint, demand) === undefined,
  explain: (endpoint, demand) => `does not take ${missingFrom(endpoint, demand)}`,
})

/** Sent parameters that an endpoint must take as soon as any candidate does. */
const SOFT_PARAMETERS = ['tools', 'response_format', 'verbosity'] as const

export const softParameters = criterion({
  name: 'soft_parameters',
  refusal: { code: 'constraint_filtered', field: 'provider.require_parameters' },
  removes: 'that does not accept the `tools`, `response_format` or `verbosity` of the request, if another endpoint does',
  need: 'used',
  demand: (_preferences, { used, sent }): ParametersDemand | undefined =>
    used && SOFT_PARAMETERS.some((name) => used.has(name)) ? { used, sent } : undefined,
  inferior(kept, { used, sent }) {
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

function missingFrom(endpoint: Endpoint, { used, sent, effort }: ParametersDemand): string | undefined {
  for (const name of used) if (!takes(endpoint, name, sent)) return name
  const { efforts } = endpoint.quirks ?? endpoint.provider.quirks
  return effort !== undefined && efforts !== undefined && !efforts.includes(effort) ? `the effort ${effort}` : undefined
}

/** The gateway cuts the answer itself where an endpoint does not take it. */
const DONE_HERE: ParameterName = 'stop'

/** True where the parameter reaches the provider and the endpoint takes it there. */
function takes(endpoint: Endpoint, name: string, sent: Sent): boolean {
  const { supported } = endpoint
  if (name === DONE_HERE) return true
  const other = isParameter(name) ? PARAMETERS[name].alias : undefined
  const listed =
    supported === undefined || UNLISTED_PARAMETERS.has(name) || supported.has(name) || (other !== undefined && supported.has(other))
  if (!listed || sent?.(endpoint)?.has(name) === false) return false
  const { body } = endpoint.quirks ?? endpoint.provider.quirks
  return body?.drop?.includes(name) !== true
}
