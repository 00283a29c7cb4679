/** One call of an engine: JSON there and back, within a time that is ours. */
import { request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Json } from '../core/json.ts'
import type { EngineContext } from './engine.ts'

/** Bytes of an answer that are read. */
const CAP = 8 * 1024 * 1024

export interface EngineCall {
  readonly url: string
  readonly key: string | undefined
  /** Milliseconds. */
  readonly timeout: number
}

/** Rejects with a word for the log: `timeout`, `status 500`, `unreadable`, or the code of a network error. */
export function postJson({ url, key, timeout }: EngineCall, body: Json, { clock, onAbort }: EngineContext): Promise<Json> {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(JSON.stringify(body))
    const headers: Record<string, string | number> = {
      'content-type': 'application/json',
      'content-length': bytes.length,
      accept: 'application/json',
    }
    if (key !== undefined) headers.authorization = `Bearer ${key}`
    const request = (url.startsWith('https:') ? secureRequest : plainRequest)(url, { method: 'POST', headers })
    const timer = clock.after(timeout, () => fail('timeout'))
    const takeBack = onAbort(() => fail('the caller has gone'))
    const over = (): void => {
      timer.cancel()
      takeBack()
    }
    function fail(why: string): void {
      over()
      request.destroy()
      reject(new Error(why))
    }
    request.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? 'failed'))
    request.on('response', (response) => {
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
        if (response.statusCode !== 200) {
          fail(`status ${response.statusCode}`)
          return
        }
        try {
          const answer = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json
          over()
          resolve(answer)
        } catch {
          fail('unreadable')
        }
      })
    })
    request.end(bytes)
  })
}
