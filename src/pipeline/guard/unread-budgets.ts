/** Guardrails over requests that are not read: those of the pass-through. */
import { Fault } from '../../core/faults.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { GuardrailBudget, GuardrailSetting } from './guardrail-setting.ts'
import { budgetsFor, holdsFor } from './guardrail-terms.ts'

/** Budgets of guardrails for the key. @throws Fault 403 where a guardrail must read requests. */
export function unreadBudgets(guardrails: readonly GuardrailSetting[], key: ApiKey): readonly GuardrailBudget[] {
  const own = guardrails.filter((guardrail) => holdsFor(guardrail, key))
  const reading = own.find((guardrail) => guardrail.rules.length > 0 || guardrail.engine !== undefined || guardrail.bounds)
  if (reading) {
    const { name } = reading
    const message = `The guardrail ${name} cannot read what passes through, so this key may not use it`
    throw new Fault('guardrail_blocked', { message, metadata: { guardrail: name } })
  }
  return budgetsFor(own, key)
}
