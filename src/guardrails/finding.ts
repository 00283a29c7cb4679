/** How a block is told: the fault for the caller, the stage for `router_metadata` (contract section 7). */
import { Fault } from '../core/faults.ts'
import type { Stage } from '../plugin-api/exchange.ts'

export interface Finding {
  /** Distinct texts that matched, in order, each shortened to `MATCH_LENGTH` characters. */
  matched: string[]
  /** Label of the first filter that matched. */
  label?: string
}

function message(finding: Finding): string {
  return `Request blocked by content filter: ${finding.label ?? '[BLOCKED]'}`
}

/** 403 `guardrail_blocked`, with the matched texts in `metadata.patterns`. */
export function guardrailFault(finding: Finding): Fault {
  return new Fault('guardrail_blocked', { message: message(finding), metadata: { patterns: [...finding.matched] } })
}

/** @param guardrailId the guardrail's id, or its name where it stands in the configuration file. */
export function guardrailStage(guardrailId: string, finding: Finding): Stage {
  return {
    type: 'guardrail',
    name: 'content-filter',
    guardrail_id: guardrailId,
    guardrail_scope: 'api-key',
    summary: message(finding),
    data: { action: 'blocked', detected: true, engines: ['regex'], patterns: [...finding.matched] },
  }
}
