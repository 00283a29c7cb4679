/** A provider's error as one of our faults. */
import type { Fault } from '../../core/faults.ts'
import type { Json } from '../../core/json.ts'
import { faultIn } from '../faults/classify.ts'

/**
 * @param status the HTTP status, or 200 for an error inside a good reply.
 * @param body what the provider sent, if it was JSON.
 */
export function decodeFault(status: number, body: Json | undefined): Fault {
  return faultIn('chat', status, body)
}
