/** Settings of WebSockets for one configuration. */
import type { Config } from '../../config/config.ts'
import type { ChainDependencies } from '../../pipeline/dependencies.ts'
import { completionCaller } from '../../pipeline/request/authenticate.ts'
import type { Callers } from '../../pipeline/request/authentication/index.ts'
import { keyRateHeaders } from '../../pipeline/request/shown-rates.ts'
import type { SocketServing } from './response-sockets.ts'

/** Undefined where they are switched off. */
export function socketServing(
  { server: { responsesWebsocket, maxBody } }: Pick<Config, 'server'>,
  callers: Callers,
  dependencies: ChainDependencies,
): SocketServing | undefined {
  const { clock, failures } = dependencies
  if (!responsesWebsocket.enabled) return undefined
  return {
    maxConnections: responsesWebsocket.maxConnections,
    maxBody,
    authenticate: completionCaller({ callers, clock, failures }),
    rates: (key) => keyRateHeaders(key, { ...dependencies, form: 'durations' }),
  }
}
