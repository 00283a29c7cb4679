/** Guardrails. */
import { guardrail } from './guardrail-filters.ts'
import { listOf } from './scalars.ts'

export const guardrails = listOf('Guardrails, all of which apply.', guardrail)
