/** `guardrail`: what guardrails allow, and what the models that a request names as advisors allow. */
import { criterion } from './criterion.ts'

export const guardrail = criterion({
  name: 'guardrail',
  refusal: { code: 'constraint_filtered' },
  removes: 'that a [guardrail](guardrails.md) does not allow',
  need: 'barred',
  demand: (_preferences, { barred }) => barred,
  test: (endpoint, barred) => barred(endpoint) === undefined,
  explain: (endpoint, barred) => barred(endpoint) ?? '',
})
