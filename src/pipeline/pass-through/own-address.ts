import type { IncomingMessage } from 'node:http'
import { requestScheme } from '../../core/request-scheme.ts'

/** Path of the pass-through, before the provider's slug. */
export const PASS_THROUGH_PREFIX = '/v1/passage/'

/** Address of the gateway as the caller has it, for that caller alone: the headers may say anything. */
export function addressIn(request: Pick<IncomingMessage, 'headers' | 'socket'>): string {
  return `${requestScheme(request)}://${request.headers.host ?? ''}`
}
