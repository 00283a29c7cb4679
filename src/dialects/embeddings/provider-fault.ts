/** Refusals of providers that give embeddings only. */
import type { Fault } from '../../core/faults.ts'
import type { Json } from '../../core/json.ts'
import { faultIn } from '../faults/classify.ts'

/** @param status the HTTP status, or 200 for an error inside a good reply. */
export function decodeFault(status: number, body: Json | undefined): Fault {
  return faultIn('embeddings', status, body)
}
