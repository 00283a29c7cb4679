/** Faults of an account that the caller's team has at a provider itself. */
import { Fault, type FaultCode, isAccountFault } from './faults.ts'

/** True where a fault may be that of the account alone: another account at the same provider may be served. */
export function concernsAccount(fault: Fault): boolean {
  return (
    isAccountFault(fault) ||
    fault.code === 'upstream_limited' ||
    fault.code === 'upstream_missing' ||
    fault.code === 'credential_unavailable'
  )
}

/** Problems of an account of the caller's own, as they stand behind the name of the key and the provider. */
const OWN_PROBLEMS: Partial<Record<FaultCode, string>> = {
  upstream_auth: 'was refused',
  credential_refused: 'was refused',
  upstream_rights: 'may not do this',
  upstream_credit: 'belongs to an account that is out of credit',
  upstream_account: 'belongs to an account that cannot be used',
  upstream_quota: 'may not send a request of this size in a minute',
  upstream_region: "is not served from the gateway's region",
  upstream_limited: 'has reached its rate limit',
  upstream_missing: 'has no access to this model, or it does not exist there',
}

/**
 * Fault that the caller reads where a provider refuses a key that its team has brought: it says whose account it is, with the provider's own
 * words, which are the team's to read.
 * @param sentence of the provider, without the key. @returns undefined where the account is not at fault.
 */
export function ownAccountFault(
  fault: Fault,
  { name, provider }: { name: string; provider: string },
  sentence?: string,
): Fault | undefined {
  const problem = OWN_PROBLEMS[fault.code]
  if (problem === undefined) return undefined
  const { code, metadata, retryAfter, providerStatus, headers, isEchoed } = fault
  const message = `Your own key ${JSON.stringify(name)} at ${provider} ${problem}${sentence ? `: ${sentence}` : ''}`
  return new Fault(code, { message, metadata: { ...metadata, is_byok: true }, retryAfter, providerStatus, headers, isEchoed })
}
