/** One call of an engine: JSON there and back, within a time that is ours. */
import type { Json } from '../core/json.ts'
import { callService } from '../services/outbound/service-call.ts'
import type { EngineContext } from './engine.ts'

/** Bytes of an answer that are read. */
const CAP = 8 * 1024 * 1024

export interface EngineCall {
  readonly url: string
  readonly key: string | undefined
  /** Milliseconds. */
  readonly timeout: number
}

/** Rejects with a word for the log, as `callService` does. */
export function postJson({ url, key, timeout }: EngineCall, body: Json, { clock, onAbort }: EngineContext): Promise<Json> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
  return callService({ url, headers, body }, { clock, timeout, cap: CAP, onAbort })
}
