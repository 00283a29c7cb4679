/** `policy`: what policies of the configuration refuse. */
import { criterion } from './criterion.ts'

export const policy = criterion({
  name: 'policy',
  refusal: { code: 'constraint_filtered' },
  removes: 'that a [policy](conditions.md) refuses',
  need: 'denied',
  demand: (_preferences, { denied }) => denied,
  test: (endpoint, denied) => denied(endpoint) === undefined,
  explain: (endpoint, denied) => denied(endpoint) ?? '',
})
