/** One call of an engine: JSON back, within a time, a size and a signal. */
import { request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Clock } from '../core/clock.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { EngineRequest } from './types.ts'

/** Bytes of an answer that are read. */
const CAP = 4 * 1024 * 1024
/** Milliseconds. */
const TIMEOUT = 10_000

export interface AskOptions {
  clock: Clock
  signal: AbortSignal
}

/**
 * Rejects with a word for the log, never with what the engine said: `timeout`, `status 500`, `unreadable`, or the code of
 * a network error. Redirects are not followed: a key goes where the operator has sent it.
 */
export function askEngine({ url, headers, body }: EngineRequest, { clock, signal }: AskOptions): Promise<JsonObject> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new Error('aborted'))
      return
    }
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const sent: Record<string, string | number> = { accept: 'application/json', 'user-agent': 'headgate', ...headers }
    if (bytes) Object.assign(sent, { 'content-type': 'application/json', 'content-length': bytes.length })
    const request = (url.startsWith('https:') ? secureRequest : plainRequest)(url, { method: bytes ? 'POST' : 'GET', headers: sent })
    const abort = (): void => fail('aborted')
    const timer = clock.after(TIMEOUT, () => fail('timeout'))
    signal.addEventListener('abort', abort, { once: true })
    const over = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', abort)
    }
    function fail(why: string): void {
      over()
      request.destroy()
      reject(new Error(why))
    }
    request.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? 'failed'))
    request.on('response', (response) => {
      const { statusCode } = response
      if (statusCode !== 200) {
        fail(`status ${statusCode}`)
        return
      }
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > CAP) fail('too long')
        else chunks.push(chunk)
      })
      response.on('error', () => fail('cut'))
      response.on('aborted', () => fail('cut'))
      response.on('end', () => {
        const answer = parsed(Buffer.concat(chunks).toString('utf8'))
        if (!answer) {
          fail('unreadable')
          return
        }
        over()
        resolve(answer)
      })
    })
    request.end(bytes)
  })
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
