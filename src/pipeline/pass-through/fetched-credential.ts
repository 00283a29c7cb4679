/** The credential that a request of the pass-through is sent with, before anything is held for it. */
import { accountFault, asFault, isAccountFault } from '../../core/faults.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { ChainDependencies } from '../dependencies.ts'

/** @throws Fault where it cannot be fetched. A refusal by the provider itself is reported, and the fault names the provider. */
export async function fetchCredential(provider: Provider, { clock, alarm }: Pick<ChainDependencies, 'clock' | 'alarm'>): Promise<void> {
  const { credential } = provider
  if (!credential || credential.ready(clock.now())) return
  await credential.refresh().catch((thrown: unknown) => {
    const fault = asFault(thrown)
    if (!isAccountFault(fault)) throw fault
    alarm(provider, fault, undefined)
    throw accountFault(fault, provider.name) ?? fault
  })
}
