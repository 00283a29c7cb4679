/** /v1/auth/…: a key consents to a further one for an application, and the application fetches it with the code. */
import { type ApiReply, authorize, exchangeCode, signInOf } from '../api/index.ts'
import type { Clock } from '../core/clock.ts'
import { asFault, Fault } from '../core/faults.ts'
import { Attempts } from '../pipeline/request/attempt-buckets.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { OperationRequest, Operations } from './gateway.ts'
import { bodyOf, type ManagementSource } from './management.ts'

export interface ConsentSource extends ManagementSource {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  readonly buckets: ConsentBuckets
}

/** Limits on attempts at sign-in. They outlive a reload, which other events than the operator's cause as well. */
export interface ConsentBuckets {
  /** Codes that one key makes. */
  readonly codes: Attempts
  /** Wrong codes, and keys on the page that cannot be used, of one address. */
  readonly wrongCodes: Attempts
  readonly wrongKeys: Attempts
}

/** At once, and per second later on. */
const CODES = { burst: 60, perSecond: 1 }
const WRONG_CODES = { burst: 100, perSecond: 1 }
const WRONG_KEYS = { burst: 20, perSecond: 0.2 }

export function consentBuckets(clock: Pick<Clock, 'now' | 'monotonic'>): ConsentBuckets {
  return { codes: new Attempts(clock, CODES), wrongCodes: new Attempts(clock, WRONG_CODES), wrongKeys: new Attempts(clock, WRONG_KEYS) }
}

const EXCHANGE = '/v1/auth/keys'
const CODE = '/v1/auth/keys/code'

/** Bytes: every field is short. */
const MOST_BYTES = 16 * 1024

/** @param callerOf finds the key of a request, and throws where there is none that can be used. */
export function consentOperations(source: ConsentSource, callerOf: (call: OperationRequest) => Promise<ApiKey>): Operations {
  const { codes: made, wrongCodes: wrong } = source.buckets
  const limits = { ...source, maxBody: Math.min(MOST_BYTES, source.maxBody) }

  async function code(call: OperationRequest): Promise<ApiReply> {
    const { hash, identity } = await callerOf(call)
    made.check(identity)
    made.count(identity)
    return authorize(await bodyOf(call, limits), hash, source)
  }

  async function exchange(call: OperationRequest): Promise<ApiReply> {
    const address = call.address()
    wrong.check(address)
    try {
      return await exchangeCode(await bodyOf(call, limits), source)
    } catch (thrown) {
      if (asFault(thrown).status === 403) wrong.count(address)
      throw thrown
    }
  }

  return (call) => {
    const run = call.path === EXCHANGE ? exchange : call.path === CODE ? code : undefined
    if (!run) return undefined
    signInOf(source)
    if (call.method !== 'POST') throw new Fault('method_not_allowed', { headers: { Allow: 'POST' } })
    return run(call)
  }
}
