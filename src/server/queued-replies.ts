/**
 * Replies to pipelined requests that wait for their turn. Node ends them when the connection closes, but not after a
 * CONNECT: there it takes its close listener away and forgets them (lib/_http_server.js of 24.21, onParserExecuteCommon),
 * and whatever waits for the end of such a reply would wait for ever.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const QUEUED = Symbol('queued replies')
type Pipelined = Socket & { [QUEUED]?: Set<ServerResponse> }

/** Makes sure that a reply ends with its connection. Call it as the request comes. */
export function followQueued(response: ServerResponse): void {
  // Only a reply behind another one has no socket yet.
  if (response.socket) return
  const socket: Pipelined = response.req.socket
  let queued = socket[QUEUED]
  if (!queued) {
    queued = new Set()
    socket[QUEUED] = queued
    socket.once('close', () => process.nextTick(endAll, socket))
  }
  const followed = queued
  followed.add(response)
  response.once('close', () => followed.delete(response))
}

function endAll(socket: Pipelined): void {
  for (const response of socket[QUEUED] ?? []) {
    response.destroy()
    if (!response.closed) response.emit('close')
  }
}
