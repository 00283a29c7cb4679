/** Policies over requests that are not read: those of the pass-through. */
import { Fault } from '../../core/faults.ts'
import { PolicyFacts, type PolicySource } from './policy-facts.ts'
import type { PolicySettings } from './policy-setting.ts'

/**
 * Looks at the policies with what is known without the body. No policy can take effect there but by refusing: one whose condition holds, or
 * cannot be evaluated, refuses. The gateway runs no tools for it, so that policies over tools say nothing.
 * @throws Fault 403
 */
export function admitUnread(settings: PolicySettings, source: Omit<PolicySource, 'operation'>): void {
  const facts = new PolicyFacts({ ...source, operation: 'pass_through' })
  for (const { name, condition } of [...settings.request, ...settings.endpoint, ...settings.cost]) {
    if (condition.test(facts) === false) continue
    const message = `The policy ${name} applies, or cannot be evaluated without reading the request: it may not pass through`
    throw new Fault('forbidden', { message, metadata: { policy: name } })
  }
}
