/** A `fetch` for client libraries that are given an address by a caller: every connection of it is checked. */

import { guardedConnect, type Resolve } from './guarded-connect.ts'
import { checkAddress, type OutboundPolicy } from './policy.ts'
import { refused, tooLarge, unreachable } from './refusals.ts'

export interface GuardedClientOptions {
  policy: OutboundPolicy
  /** The only origin that is called: `https://mcp.example.com`. */
  origin: string
  /** Bytes of all answers together, inflated. */
  maxBytes: number
  /** Called when an answer had more bytes: a library may not report why the stream ended. */
  tooMuch?: (fault: Error) => void
  resolve?: Resolve
}

export interface GuardedClient {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
  /** Closes all connections. */
  close(): Promise<void>
}

const MAX_HEAD_BYTES = 16 * 1024
/** Bounds of connections and of requests without a reply: a server can make the library send any number of requests. */
const MAX_CONNECTIONS = 16
const MAX_UNANSWERED = 64
/** Bytes that are passed on in one turn of the event loop. */
const PIECE_BYTES = 4096
/** Statuses whose answers have no body. */
const EMPTY: ReadonlySet<number> = new Set([101, 204, 205, 304])

/**
 * Makes the client. Redirects are returned as they are. The whole entry point of undici is loaded here, and only here.
 * @returns a client whose `fetch` throws a Fault 400 for an address that is not allowed.
 */
export async function guardedClient({ policy, origin, maxBytes, tooMuch, resolve }: GuardedClientOptions): Promise<GuardedClient> {
  const { Agent, fetch } = await import('undici')
  const agent = new Agent({
    connect: guardedConnect({ policy, resolve }),
    allowH2: false,
    connections: MAX_CONNECTIONS,
    pipelining: 1,
    maxHeaderSize: MAX_HEAD_BYTES,
    // The time limits are the caller's own.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const left = { bytes: maxBytes }
  let unanswered = 0
  const over = (): Error => {
    const fault = tooLarge(maxBytes)
    tooMuch?.(fault)
    return fault
  }
  return {
    fetch: async (address, init) => {
      const url = checkAddress(String(address), policy)
      if (url.origin !== origin) throw refused('it leads to another host')
      const headers = new Headers(init?.headers)
      headers.set('accept-encoding', 'identity')
      headers.set('user-agent', 'headgate')
      const request = { ...init, headers: [...headers], redirect: 'manual', dispatcher: agent } as Parameters<typeof fetch>[1]
      if (unanswered >= MAX_UNANSWERED) throw unreachable(new Error('too many requests at once'))
      unanswered++
      const { status, statusText, headers: received, body } = await fetch(url, request).finally(() => unanswered--)
      const counted = body && !EMPTY.has(status) ? (body as ReadableStream<Uint8Array>).pipeThrough(counting(left, over)) : null
      return new Response(counted, { status, statusText, headers: [...received] })
    },
    close: () => agent.destroy(),
  }
}

/**
 * Counts the bytes, and passes on one piece per turn of the event loop: a library that does a lot for each of many small messages
 * would otherwise do it for all of them at once.
 */
function counting(left: { bytes: number }, over: () => Error): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    async transform(chunk, controller) {
      left.bytes -= chunk.length
      if (left.bytes < 0) {
        controller.error(over())
        return
      }
      for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
        controller.enqueue(chunk.subarray(at, at + PIECE_BYTES))
        if (at > 0 || chunk.length > PIECE_BYTES) await new Promise((resolve) => setImmediate(resolve))
      }
    },
  })
}
