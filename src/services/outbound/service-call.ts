/** One call of a service that the operator has named: JSON back, within a time and a size. */
import { request as secureRequest } from 'node:https'
import type { Clock } from '../../core/clock.ts'
import type { Json } from '../../core/json.ts'
import { request as plainRequest } from '../../core/node-http.ts'
import { Pieces } from '../../core/pieces.ts'
import { serviceConnections } from '../connections/service-connections.ts'

/** A GET, or a POST where there is a body. */
export interface ServiceRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Json | undefined
}

export interface ServiceBounds {
  readonly clock: Clock
  /** Milliseconds for everything, and bytes of the answer. */
  readonly timeout: number
  readonly cap: number
  /** Calls `fn` when the result is no longer needed. @returns a function that removes `fn`. */
  onAbort(fn: () => void): () => void
}

/**
 * Rejects with a word for the log, never with the text of the service: `timeout`, `aborted`, `status 500`, `unreadable`, or
 * the code of a network error. Redirects are not followed: the key is sent to the configured address only.
 */
export function callService({ url, headers, body }: ServiceRequest, { clock, timeout, cap, onAbort }: ServiceBounds): Promise<Json> {
  return new Promise((resolve, reject) => {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const sent: Record<string, string | number> = { accept: 'application/json', ...headers }
    if (bytes) Object.assign(sent, { 'content-type': 'application/json', 'content-length': bytes.length })
    const request = (url.startsWith('https:') ? secureRequest : plainRequest)(url, {
      method: bytes ? 'POST' : 'GET',
      headers: sent,
      agent: serviceConnections.agent(new URL(url).protocol),
    })
    const timer = clock.after(timeout, () => fail('timeout'))
    const takeBack = onAbort(() => fail('aborted'))
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
      if (response.statusCode !== 200) {
        fail(`status ${response.statusCode}`)
        return
      }
      const pieces = new Pieces()
      response.on('data', (chunk: Buffer) => {
        if (pieces.size + chunk.length > cap) fail('too long')
        else pieces.push(chunk)
      })
      response.on('error', () => fail('cut'))
      response.on('aborted', () => fail('cut'))
      response.on('end', () => {
        try {
          const answer = JSON.parse(pieces.take().toString('utf8')) as Json
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
