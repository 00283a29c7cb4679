/**
 * A check that costs nothing: the provider's list of models. A list that comes says that the server is up, and not that it generates, so
 * it frees no endpoint of a doubt. A server that cannot be reached, or hangs for its list as it did for the request, is out for all keys.
 */
import { FAULTS, Fault } from '../../core/faults.ts'
import { networkFault } from '../../machines/http1-client/network-fault.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import { ListingError } from '../../services/upstream/listing.ts'

/** Result of a check. */
export interface CheckResult {
  readonly isWell: boolean
  /** Set if all keys would meet it, and the endpoint's record does not have it yet. */
  readonly fault?: Fault
  /** The provider's own. */
  readonly status?: number
}

/** Statuses of what stands before a server that cannot be reached, or that is not up (RFC 9110, 15.6.3 and 15.6.4). */
const NOT_REACHED: ReadonlySet<number> = new Set([502, 503])

/**
 * @param list fetches it, and rejects where none comes. @param doubt the fault that a request has met.
 * @returns undefined where it says nothing of the endpoint.
 */
export async function checkByList(
  list: (provider: Provider) => Promise<unknown>,
  provider: Provider,
  doubt: Fault,
): Promise<CheckResult | undefined> {
  try {
    await list(provider)
    return { isWell: true }
  } catch (error) {
    return failedResult(error as Error, doubt)
  }
}

function failedResult(error: Error, doubt: Fault): CheckResult | undefined {
  if (error instanceof ListingError)
    return NOT_REACHED.has(error.status) ? { isWell: false, fault: new Fault('upstream_error'), status: error.status } : undefined
  // Slowness says something only where the request had no reply either.
  if (error.name === 'TimeoutError' || error.name === 'AbortError')
    return doubt.code === 'upstream_silent' ? { isWell: false, fault: new Fault('upstream_silent') } : undefined
  const fault = networkFault(error, false)
  return FAULTS[fault.code].counts === 'all' ? { isWell: false, fault } : undefined
}
