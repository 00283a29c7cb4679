/// <reference path="./undici-parts.d.ts" />
/** One request of a guarded fetch: its own connection, nothing of the gateway's or the caller's in it. */
import type { IncomingHttpHeaders } from 'node:http'
import type { buildConnector, Dispatcher } from 'undici'
import Client from 'undici/lib/dispatcher/client.js'
import { Content, type ContentLimits } from './content.ts'
import { unreachable } from './refusals.ts'

export interface HopAnswer {
  status: number
  headers: IncomingHttpHeaders
  /** Empty for a redirect, whose body is not read. */
  bytes: Buffer
}

export const isRedirect = (status: number, headers: IncomingHttpHeaders): boolean =>
  [301, 302, 303, 307, 308].includes(status) && typeof headers.location === 'string'

const HEAD_LIMIT = 16 * 1024

/**
 * @param stop settles as soon as the fetch has to end; its fault is what the hop fails with.
 * @throws Fault
 */
export async function hop(
  url: URL,
  limits: ContentLimits,
  { connect, stop }: { connect: buildConnector.connector; stop: Promise<never> },
): Promise<HopAnswer> {
  const client = new Client(url.origin, {
    connect,
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: HEAD_LIMIT,
    // The time limit is the fetch's own, on the injected clock.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  try {
    return await Promise.race([dispatched(client, url, limits), stop])
  } finally {
    await client.destroy()
  }
}

function dispatched(client: Client, url: URL, limits: ContentLimits): Promise<HopAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HopAnswer>()
  const headers = {
    accept: limits.types.filter((type) => type !== '').join(', ') || '*/*',
    'accept-encoding': 'gzip, deflate, br',
    'user-agent': 'headgate',
  }
  client.dispatch({ method: 'GET', path: url.pathname + url.search, headers }, new HopHandler(limits, resolve, reject))
  return promise
}

class HopHandler implements Dispatcher.DispatchHandler {
  private readonly limits: ContentLimits
  private readonly resolve: (answer: HopAnswer) => void
  private readonly reject: (fault: Error) => void
  private content: Content | undefined

  constructor(limits: ContentLimits, resolve: (answer: HopAnswer) => void, reject: (fault: Error) => void) {
    this.limits = limits
    this.resolve = resolve
    this.reject = reject
  }

  onRequestStart(): void {}

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    if (isRedirect(status, headers)) {
      this.resolve({ status, headers, bytes: Buffer.alloc(0) })
      controller.abort(new Error('redirected'))
      return
    }
    const done = (outcome: Buffer | Error): void => {
      if (outcome instanceof Error) {
        this.reject(outcome)
        controller.abort(outcome)
      } else this.resolve({ status, headers, bytes: outcome })
    }
    try {
      this.content = new Content(headers, this.limits, { checked: status < 300, done })
    } catch (thrown) {
      done(thrown instanceof Error ? thrown : unreachable(thrown))
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.content?.push(chunk, controller)
  }

  onResponseEnd(): void {
    this.content?.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.content?.drop()
    this.reject(unreachable(error))
  }
}
