/** Calls of endpoints whose credential rotates: it is there before the call, and replaced once where the provider refuses it. */
import { asFault, Fault } from '../../core/faults.ts'
import type { Credential } from '../../services/credentials/credential.ts'
import type { Planned, Received } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { endedEarly } from '../reply/final-fault.ts'
import type { Call } from './attempt.ts'

/** The same call; an endpoint with a credential of its own or its provider's is called with one that holds. */
export function withCredential<Dependencies>(call: Call<Dependencies>): Call<Dependencies> {
  return (exchange, endpoint, dependencies) => {
    const { credential } = endpoint
    const make = () => call(exchange, endpoint, dependencies)
    return credential ? credentialed(make, credential, exchange) : make()
  }
}

async function credentialed(call: () => Promise<Reply>, credential: Credential, exchange: Planned): Promise<Reply> {
  const { head, run, trail } = exchange
  if (!credential.ready(head.clock.now())) await present(credential, exchange)
  const used = credential.grant
  try {
    return await call()
  } catch (thrown) {
    const fault = asFault(thrown)
    const status = trail.attempts.at(-1)?.status
    if (!isRefusal(fault, status)) throw hidden(fault, credential)
    if (head.cancel.aborted || !(await credential.renew(used))) throw refused(fault)
    // The caller may have left meanwhile.
    if (head.cancel.aborted) throw endedEarly(exchange, [])
    run.unfinished = undefined
    const record = trail.attempts.at(-1)
    if (record) record.status = null
    try {
      return await call()
    } catch (again) {
      const second = asFault(again)
      throw isRefusal(second, trail.attempts.at(-1)?.status) ? refused(second) : hidden(second, credential)
    }
  }
}

/**
 * Resolves once the credential can be used, or ends with the exchange.
 * @throws Fault `credential_unavailable` where it cannot be fetched.
 */
export function present(credential: Credential, exchange: Received): Promise<void> {
  return new Promise((resolve, reject) => {
    const takeBack = exchange.head.cancel.onAbort(() => reject(endedEarly(exchange, [])))
    credential.refresh().then(resolve, reject).finally(takeBack)
  })
}

/** A refusal of the credential, and not of the account's unpaid bill. @param status of the provider's reply. */
export function isRefusal(fault: Fault, status: number | null | undefined): boolean {
  return fault.code === 'upstream_auth' && status !== 402 && status !== 429
}

/** Without the provider's own words, which may quote the credential. */
export function refused({ retryAfter, providerStatus }: Fault): Fault {
  return new Fault('credential_refused', { metadata: { credential: 'refused' }, retryAfter, providerStatus })
}

/** What a dialect took for a harmless word may be what the provider was sent. */
function hidden(fault: Fault, credential: Credential): Fault {
  if (!credential.isIn(`${fault.message}${JSON.stringify(fault.metadata)}${fault.sentence ?? ''}`)) return fault
  const { retryAfter, providerStatus, refusesReasoning } = fault
  return new Fault(fault.code, { retryAfter, providerStatus, refusesReasoning })
}
