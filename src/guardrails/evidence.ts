/** The texts that a stage matched: the audit trail needs them, and the stage itself must not show them. */
import type { Stage } from '../plugin-api/exchange.ts'
import type { GuardrailName } from './rule.ts'

export interface Evidence {
  readonly guardrail: GuardrailName
  /** Kinds of what was found. */
  readonly entities: readonly string[]
  /** Distinct texts, as far as they are known. */
  readonly matched: readonly string[]
}

/** Goes with every copy of a stage, and into no JSON. */
const EVIDENCE = Symbol('evidence')

/** The stage, which from now on has its evidence with it. */
export function evident(stage: Stage, evidence: Evidence): Stage {
  return Object.assign(stage, { [EVIDENCE]: evidence })
}

/** @returns undefined for a stage of no guardrail. */
export function stageEvidence(stage: Stage): Evidence | undefined {
  return (stage as Stage & { [EVIDENCE]?: Evidence })[EVIDENCE]
}
