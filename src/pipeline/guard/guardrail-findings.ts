/** Findings of guardrails in an exchange, read from its stages, for metrics and for the audit trail. */
import { stageEvidence } from '../../guardrails/index.ts'
import type { Stage } from '../../plugin-api/exchange.ts'

export interface GuardrailFinding {
  /** Id and name. */
  readonly guardrail: string
  readonly name: string
  readonly direction: 'input' | 'output'
  readonly stage: string
  /** `flagged`, `redacted`, `blocked` or `unchecked`. */
  readonly action: string
  readonly entities: readonly string[]
  readonly engines: readonly string[]
  /** Distinct texts that matched: never shown as they are, unless `full`. */
  readonly matched: readonly string[]
  readonly full: boolean
}

export function stageFindings(stages: readonly Stage[]): GuardrailFinding[] {
  const findings: GuardrailFinding[] = []
  for (const stage of stages) {
    const { type, name, guardrail_id: id, data = {} } = stage
    if (type !== 'guardrail' || id === undefined) continue
    const evidence = stageEvidence(stage)
    const { engines } = data
    findings.push({
      guardrail: id,
      name: evidence?.guardrail.name ?? id,
      direction: data.direction === 'output' ? 'output' : 'input',
      stage: name,
      action: String(data.action),
      entities: evidence?.entities ?? [],
      engines: Array.isArray(engines) ? engines.map(String) : [],
      matched: evidence?.matched ?? [],
      full: evidence?.guardrail.full === true,
    })
  }
  return findings
}
