/** Interface of a request and its reply for the server, whether Node's HTTP server has parsed it or the short way for plain requests. */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { StreamReply } from '../machines/sse/frames.ts'

/** Object that is watched: a reply over HTTP, or a connection that has been handed over. */
export type Watched = Pick<ServerResponse, 'destroyed' | 'writableFinished' | 'writableLength'> & {
  readonly socket: Socket | null
  destroy(): unknown
}

export type CallerRequest = Pick<IncomingMessage, 'headers' | 'socket'> & {
  /** A plain request has none: it is of HTTP/1.1. */
  readonly httpVersion?: string
}

export interface CallerReply extends Omit<StreamReply, 'socket' | 'destroyed' | 'once' | 'write'>, Watched {
  /** The request that it answers. */
  readonly req: CallerRequest
  readonly headersSent: boolean
  /** False where the connection ends with this reply. */
  shouldKeepAlive: boolean
  /** @param headers an object, or names and values in turn. */
  writeHead(status: number, headers: OutgoingHttpHeaders | OutgoingHttpHeader[]): unknown
  write(chunk: string | Buffer, encoding?: BufferEncoding): boolean
  once(event: 'close' | 'drain' | 'finish', fn: () => void): unknown
  /** Emitted once: `on` keeps less than `once` until then. */
  on(event: 'close', fn: () => void): unknown
}
