/** Calls of endpoints whose credential rotates: it is fetched before the call, and another one is tried where the provider refuses it. */
import { asFault, Fault, isAccountFault } from '../../core/faults.ts'
import type { Credential, Grant } from '../../services/credentials/types.ts'
import type { Planned, Received } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { withoutEcho } from '../refusal/echoed-words.ts'
import { endedEarly } from '../reply/final-fault.ts'

/** Calls of one attempt: the first, and those with another credential or key. */
const MAX_CALLS = 3

/** A call of an endpoint with a credential of its own or its provider's: it is made with one that holds. */
export async function credentialed(call: () => Promise<Reply>, source: Credential, exchange: Planned): Promise<Reply> {
  const { head, run, history } = exchange
  const conversation = exchange.plan.conversation?.name
  const tried: Credential[] = []
  let credential = source.forCall(conversation)
  for (let calls = 1; ; calls++) {
    if (!credential.ready(head.clock.now())) await present(credential, exchange)
    run.credential = credential
    const used = credential.grant
    tried.push(credential)
    try {
      return await call()
    } catch (thrown) {
      const fault = withoutEcho(asFault(thrown), exchange.request.payload)
      const record = history.attempts.at(-1)
      const isRefused = isRefusal(fault)
      const failure = isRefused
        ? refused(fault, source.isOwn === true && !credential.isIn(fault.sentence ?? ''))
        : hidden(fault, credential)
      if (head.cancel.aborted) throw failure
      const left = isRefused ? await afterRefusal(credential, used) : afterOther(credential, fault)
      const next = left ? (left === 'same' ? credential : source.another?.(tried, conversation)) : undefined
      if (!next || calls === MAX_CALLS) throw failure
      // The caller may have left meanwhile.
      if (head.cancel.aborted) throw endedEarly(exchange, [])
      credential = next
      run.unfinished = undefined
      if (record) record.status = null
    }
  }
}

/** Credential for another call: the same one, fetched anew, or another key of its pool. */
type Left = 'same' | 'another' | undefined

async function afterRefusal(credential: Credential, used: Grant | undefined): Promise<Left> {
  return (await credential.renew(used)) ? 'same' : 'another'
}

/**
 * A rate limit of one key says nothing of the others. Nor do rights that are missing or a bill that is unpaid: then another key is tried,
 * and this one stays, since callers choose what they need rights for.
 */
function afterOther(credential: Credential, fault: Fault): Left {
  if (!credential.limited) return undefined
  if (isAccountFault(fault)) return 'another'
  if (fault.status !== 429) return undefined
  credential.limited(fault.retryAfter)
  return 'another'
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

/** A refusal of the credential, and neither of the account's unpaid bill nor of its rights. Words of the caller's own are none. */
export function isRefusal({ code, isEchoed }: Fault): boolean {
  return code === 'upstream_auth' && !isEchoed
}

/** Without the provider's own words, which may quote the credential. @param keepsWords true where they are the caller's to read, and do not. */
export function refused({ retryAfter, providerStatus, sentence }: Fault, keepsWords = false): Fault {
  const words = keepsWords ? sentence : undefined
  return new Fault('credential_refused', { metadata: { credential: 'refused' }, retryAfter, providerStatus, sentence: words })
}

/** Removes the credential, which a dialect may have taken for a harmless word. */
function hidden(fault: Fault, credential: Credential): Fault {
  if (!credential.isIn(`${fault.message}${JSON.stringify(fault.metadata)}${fault.sentence ?? ''}`)) return fault
  const { retryAfter, providerStatus, refusesReasoning, isEchoed } = fault
  return new Fault(fault.code, { retryAfter, providerStatus, refusesReasoning, isEchoed })
}
