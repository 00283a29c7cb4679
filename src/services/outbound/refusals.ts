/**
 * The faults of a fetch. A fault that follows from the address alone names its reason; all that the network shows have one
 * text, so that callers do not learn which names and ports exist behind the gateway.
 */
import { Fault } from '../../core/faults.ts'

/** Why a fetch failed, in `metadata.fetch`. */
export type FetchFailure = 'refused' | 'unreachable' | 'redirects' | 'too_large' | 'type' | 'timeout'

export function refused(why: string): Fault {
  return new Fault('bad_request', { message: `The address may not be fetched: ${why}`, metadata: { fetch: 'refused' } })
}

/** A private, missing or silent host, a closed port, a broken answer: all the same to the caller. */
export function unreachable(cause?: unknown): Fault {
  return new Fault('unprocessable', { message: 'The address could not be fetched', metadata: { fetch: 'unreachable' }, cause })
}

export function tooManyRedirects(most: number): Fault {
  return new Fault('unprocessable', { message: `The address redirects more than ${most} times`, metadata: { fetch: 'redirects' } })
}

/** @param most bytes. */
export function tooLarge(most: number): Fault {
  return new Fault('too_large', { message: `The content is larger than ${most} bytes`, metadata: { fetch: 'too_large' } })
}

export function wrongType(types: readonly string[]): Fault {
  return new Fault('media_type', {
    message: `The content is none of: ${types.filter((type) => type !== '').join(', ')}`,
    metadata: { fetch: 'type' },
  })
}

/** @param ms what the whole fetch was given. */
export function tooSlow(ms: number): Fault {
  return new Fault('deadline', { message: `The address did not answer within ${ms} ms`, metadata: { fetch: 'timeout' } })
}
