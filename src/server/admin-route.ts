/** A route of the admin listener, its replies, and the visitors of the control room that it is open to. */
import type { IncomingMessage } from 'node:http'
import type { Json } from '../core/json.ts'
import type { Visitors } from '../core/roles.ts'

export interface AdminReply {
  status: number
  headers?: Readonly<Record<string, string>> | undefined
  /** Sent as JSON, unless one of the others is there. */
  body?: Json
  text?: { type: string; content: string }
  /** Too long for one string; taken as fast as the reader reads. An error on the way cuts the connection. */
  chunks?: { type: string; content: Iterable<string> | AsyncIterable<string> }
}

export interface AdminRoute {
  (request: IncomingMessage, url: URL): AdminReply | Promise<AdminReply>
  /** Visitors of the control room whose session opens it; absent: the admin token alone does. */
  readonly visitors?: Visitors
}
