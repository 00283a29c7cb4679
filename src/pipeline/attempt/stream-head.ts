import type { IncomingHttpHeaders } from 'node:http'
import type { Framing } from '../../machines/sse/framing.ts'

/** Recognises the head of a stream in a provider's reply. */
export const isEventStream = (status: number, headers: IncomingHttpHeaders): boolean => hasContentType('text/event-stream', status, headers)

/** The same of a stream that has a framing of its own. */
export function streamCheck({ type }: Framing): (status: number, headers: IncomingHttpHeaders) => boolean {
  return (status, headers) => hasContentType(type, status, headers)
}

function hasContentType(type: string, status: number, headers: IncomingHttpHeaders): boolean {
  return status >= 200 && status <= 299 && headers['content-type']?.toLowerCase().startsWith(type) === true
}
