/// <reference path="./undici-parts.d.ts" />
/** One POST to an address that an operator wrote down. Its connection is checked as all others; of the response only the head counts. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import Client from 'undici/lib/dispatcher/client.js'
import type { Clock } from '../../core/clock.ts'
import { serviceConnections } from '../connections/service-connections.ts'
import { guardedConnect, type Resolve } from './guarded-connect.ts'
import { checkAddress, type OutboundPolicy } from './policy.ts'

export interface GuardedPost {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly policy: OutboundPolicy
  readonly clock: Pick<Clock, 'after'>
  /** Milliseconds for everything. */
  readonly timeout: number
  readonly signal: AbortSignal
  readonly resolve?: Resolve | undefined
}

export interface PostReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** Bytes of a response's head, and of a body that is read and dropped, so that a connection ends in order. */
const HEAD_LIMIT = 16 * 1024
const BODY_LIMIT = 64 * 1024

/**
 * Redirects are not followed. A response whose head has come counts, however its body ends.
 * @throws Fault for an address that is not allowed; Error with a word for the log: `timeout`, `aborted`, a network error's code.
 */
export async function guardedPost({ url, headers, body, policy, clock, timeout, signal, resolve }: GuardedPost): Promise<PostReply> {
  const target = checkAddress(url, policy)
  const tunnel = serviceConnections.throughProxy(target)
  const client = new Client(target.origin, {
    // Behind the operator's own proxy the proxy looks the name up, and decides what may be reached.
    connect: tunnel
      ? (_target, callback) =>
          tunnel((error, socket) => (socket ? callback(null, socket) : callback(error ?? new Error('no socket'), null)))
      : guardedConnect({ policy, resolve }),
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: HEAD_LIMIT,
    // The time limit is the caller's, on the injected clock.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const { promise, resolve: end, reject } = Promise.withResolvers<PostReply>()
  const handler = new HeadHandler(end, reject)
  const timer = clock.after(timeout, () => handler.stop(new Error('timeout')))
  const abort = (): void => handler.stop(new Error('aborted'))
  signal.addEventListener('abort', abort, { once: true })
  try {
    if (signal.aborted) abort()
    else
      client.dispatch(
        { method: 'POST', path: target.pathname + target.search, headers: { ...headers, 'user-agent': 'headgate' }, body },
        handler,
      )
    return await promise
  } finally {
    timer.cancel()
    signal.removeEventListener('abort', abort)
    await client.destroy()
  }
}

class HeadHandler implements Dispatcher.DispatchHandler {
  private readonly end: (reply: PostReply) => void
  private readonly fail: (error: Error) => void
  private reply: PostReply | undefined
  private size = 0

  constructor(end: (reply: PostReply) => void, fail: (error: Error) => void) {
    this.end = end
    this.fail = fail
  }

  /** A head that has come is the answer; without one it has failed. */
  stop(error: Error): void {
    if (this.reply) this.end(this.reply)
    else this.fail(error)
  }

  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 200) this.reply = { status, headers }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.size += chunk.length
    if (this.size > BODY_LIMIT) this.stop(new Error('its body is too long'))
  }

  onResponseEnd(): void {
    this.stop(new Error('cut'))
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    const { code } = error as NodeJS.ErrnoException
    this.stop(new Error(code ?? 'failed'))
  }
}
