import type { IncomingHttpHeaders } from 'node:http'
import type { UpstreamDialect } from '../../dialects/types.ts'

/** Recognises the head of a stream in a provider's reply. */
export function streamCheck({ framing }: UpstreamDialect): (status: number, headers: IncomingHttpHeaders) => boolean {
  return framing ? (status, headers) => hasContentType(framing.type, status, headers) : isEventStream
}

const isEventStream = (status: number, headers: IncomingHttpHeaders): boolean => hasContentType('text/event-stream', status, headers)

function hasContentType(type: string, status: number, headers: IncomingHttpHeaders): boolean {
  return status >= 200 && status <= 299 && headers['content-type']?.toLowerCase().startsWith(type) === true
}
