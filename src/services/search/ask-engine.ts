/** One call of an engine: an object of JSON back, within a time, a size and a signal. */
import type { Clock } from '../../core/clock.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { callService } from '../outbound/service-call.ts'
import type { EngineRequest } from './types.ts'

/** An engine did not answer, or not as it should. */
export class EngineError extends Error {
  /** @param word of our own: nothing of the query or the answer. The name carries it, since logs show names and no messages. */
  constructor(engine: string, word: string) {
    super(word)
    this.name = `EngineError (${engine}: ${word})`
  }
}

/** Bytes of an answer that are read. */
const CAP = 4 * 1024 * 1024
/** Milliseconds. */
const TIMEOUT = 10_000

export interface AskOptions {
  clock: Clock
  signal: AbortSignal
}

/** Rejects with a word for the log, as `callService` does; never with the text of the engine. */
export async function askEngine({ url, headers, body }: EngineRequest, { clock, signal }: AskOptions): Promise<JsonObject> {
  if (signal.aborted) throw new Error('aborted')
  const onAbort = (fn: () => void): (() => void) => {
    signal.addEventListener('abort', fn, { once: true })
    return () => signal.removeEventListener('abort', fn)
  }
  const request = { url, headers: { 'user-agent': 'headgate', ...headers }, body }
  const answer = await callService(request, { clock, timeout: TIMEOUT, cap: CAP, onAbort })
  if (!isObject(answer)) throw new Error('unreadable')
  return answer
}
