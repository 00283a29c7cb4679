/** The part of autocannon 9 that the load generator uses; the package brings no types. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events'

  interface Options {
    url: string
    method: string
    headers: Record<string, string>
    body: string
    connections: number
    duration: number
    verifyBody: (body: string) => boolean
  }

  interface Result {
    /** Connection errors and time-outs. */
    errors: number
    timeouts: number
    mismatches: number
    non2xx: number
    '2xx': number
    /** Seconds. */
    duration: number
  }

  /** Emits `response` (client, status, bytes, milliseconds) and is awaited for the result. */
  type Instance = EventEmitter & PromiseLike<Result>

  export default function autocannon(options: Options): Instance
}
