import type { IncomingHttpHeaders } from 'node:http'
import type { Framing } from '../../machines/sse/framing.ts'

/** Recognises the head of a stream in a provider's reply. */
export function streamCheck({ type }: Pick<Framing, 'type'>): (status: number, headers: IncomingHttpHeaders) => boolean {
  return (status, headers) => status >= 200 && status <= 299 && headers['content-type']?.toLowerCase().startsWith(type) === true
}

export const isEventStream = streamCheck({ type: 'text/event-stream' })
