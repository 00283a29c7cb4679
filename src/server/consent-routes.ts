/** /v1/auth/…: a key consents to a further one for an application, and the application fetches it with the code. */
import { type ApiReply, authorize, exchangeCode } from '../api/index.ts'
import type { Clock } from '../core/clock.ts'
import { asFault, Fault } from '../core/faults.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { Attempts } from './consent-attempts.ts'
import type { OperationRequest, Operations } from './gateway.ts'
import { bodyOf, type ManagementSource } from './management.ts'

export interface ConsentSource extends ManagementSource {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
}

const EXCHANGE = '/v1/auth/keys'
const CODE = '/v1/auth/keys/code'

/** Bytes: every field is short. */
const MOST_BYTES = 16 * 1024
/** Codes that one key may make, and wrong codes that one address may send: at once, and per second later on. */
const CODES = { burst: 60, perSecond: 1 }
const WRONG = { burst: 100, perSecond: 1 }

/** @param callerOf finds the key of a request, and throws where there is none that can be used. */
export function consentOperations(source: ConsentSource, callerOf: (asked: OperationRequest) => Promise<ApiKey>): Operations {
  const made = new Attempts(source.clock, CODES)
  const wrong = new Attempts(source.clock, WRONG)
  const limits = { ...source, maxBody: Math.min(MOST_BYTES, source.maxBody) }

  async function code(asked: OperationRequest): Promise<ApiReply> {
    const { hash, identity } = await callerOf(asked)
    made.check(identity)
    made.count(identity)
    return authorize(await bodyOf(asked, limits), hash, source)
  }

  async function exchange(asked: OperationRequest): Promise<ApiReply> {
    const address = asked.request.socket.remoteAddress ?? ''
    wrong.check(address)
    try {
      return await exchangeCode(await bodyOf(asked, limits), source)
    } catch (thrown) {
      if (asFault(thrown).status === 403) wrong.count(address)
      throw thrown
    }
  }

  return (asked) => {
    const run = asked.path === EXCHANGE ? exchange : asked.path === CODE ? code : undefined
    if (!run) return undefined
    if (asked.method !== 'POST') throw new Fault('method_not_allowed', { headers: { Allow: 'POST' } })
    return run(asked)
  }
}
