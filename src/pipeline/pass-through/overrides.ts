/** Methods and headers of a request that stand elsewhere than in its first line and its head: a server may take them for its own. */
import { Fault } from '../../core/faults.ts'

/** Headers with another method; the first is Google's (cloud.google.com, system parameters). */
export const OVERRIDES = ['x-http-method-override', 'x-http-method', 'x-method-override'] as const

/** Parameters of Google's servers with another method, and with other headers (Closure Library, `goog.net.rpc.HttpCors`). */
const PARAMETERS = /^\$http(?:Method|Headers)$/i

/** @throws Fault 400 for a query that turns the request into another one. */
export function refuseOverrides(query: URLSearchParams): void {
  for (const name of query.keys())
    if (PARAMETERS.test(name))
      throw new Fault('bad_request', { message: `${name}: expected none; send the method and the headers themselves` })
}
