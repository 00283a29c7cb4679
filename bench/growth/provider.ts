/**
 * The provider of the growth charts: answers a chat at once, streams as many events as the model's name says (`events-100`) in writes of
 * 16, and leaves the streams of the model `silent` open after their first event.
 */
import { createServer, type ServerResponse } from 'node:http'
import { serveToParent } from '../child.ts'
import { CHAT_BODY, CHAT_STREAM } from '../replies.ts'

/** Events of one write. */
const TOGETHER = 16

function stream(response: ServerResponse, events: number | undefined): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked' })
  response.flushHeaders()
  const { socket } = response
  // The chunks carry their own transfer framing.
  if (events === undefined) {
    socket?.write(Buffer.concat(CHAT_STREAM.slice(0, 2)))
    return
  }
  const text = CHAT_STREAM[1] ?? Buffer.alloc(0)
  let left = events
  const turn = (): void => {
    if (socket?.destroyed !== false) return
    const some = Math.min(left, TOGETHER)
    left -= some
    socket.write(Buffer.concat(Array.from({ length: some }, () => text)))
    if (left > 0) {
      if (socket.writableNeedDrain) socket.once('drain', turn)
      else setImmediate(turn)
      return
    }
    // The finish, the usage and the end.
    socket.write(Buffer.concat(CHAT_STREAM.slice(-3)))
    response.end()
  }
  turn()
}

serveToParent(
  createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const [, model, events] = /"model":"(silent|events-(\d+))"/.exec(body.toString('latin1')) ?? []
      if (model !== undefined) stream(response, model === 'silent' ? undefined : Number(events))
      else response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': CHAT_BODY.length }).end(CHAT_BODY)
    })
  }),
)
