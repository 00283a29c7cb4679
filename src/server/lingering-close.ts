/**
 * Closes a connection so that its caller gets to read the reply: a socket that is closed with bytes unread sends a reset,
 * and the caller's system then throws away what it has received (RFC 9112, section 9.6). So the sending side closes first, and what
 * the caller still sends is read and thrown away for a bounded time, as nginx does (`lingering_close`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../core/clock.ts'
import type { CallerReply } from './caller.ts'

/** The bounds of nginx: `lingering_timeout` without a byte, `lingering_time` in all. Milliseconds. */
const MAX_SILENCE_MS = 5_000
const LONGEST = 30_000

/** Bytes: twice the default limit of a body. */
const MAX_BYTES = 64 * 1024 ** 2

/** A body of up to so many bytes costs less to read than a new connection: then the old one is kept. */
const WORTH_READING = 1024 ** 2

const LINGERS = Symbol('lingers')
const LAST = Symbol('last')
type Lingering = Socket & { [LINGERS]?: true; [LAST]?: CallerReply }

/** Ends the connection with this reply: nothing behind its request is read as one. */
export function markLast(reply: CallerReply): void {
  const socket: Lingering = reply.req.socket
  socket[LAST] ??= reply
}

/**
 * True for the reply to what came behind the last request of its connection: that is not answered (RFC 9112 section 9.6), and may
 * be the rest of one that was refused for its framing.
 */
export function isBehindLast(reply: CallerReply): boolean {
  const last = (reply.req.socket as Lingering)[LAST]
  return last !== undefined && last !== reply
}

/** True once nothing more is to be answered on a connection. */
export function lingers(socket: Socket): boolean {
  return (socket as Lingering)[LINGERS] === true
}

/**
 * Before the head of a reply is written to a request whose body has not been read: keeps the connection where the body is short,
 * else lets it end with the reply.
 * @param status of the reply: after a 408 the connection ends (RFC 9110, section 15.5.9).
 */
export function giveUpBody(request: IncomingMessage, response: ServerResponse, status: number, clock: Clock): void {
  if (request.complete || !hasBody(request)) return
  const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  // A caller that waits for "100 Continue" may send the body or not (RFC 9110, section 10.1.1): what follows may be a body or a request.
  const ends = status === 408 || length > WORTH_READING || request.headers.expect !== undefined
  if (ends) closeAfterReply(request, response, clock)
  else {
    const { socket } = request
    const timer = clock.after(LONGEST, () => {
      if (!request.complete) socket.destroy()
    })
    request.once('close', () => timer.cancel())
  }
  skipBody(request)
}

/** Function that Node's parser calls with each piece of a body (lib/_http_common.js, `parser[kOnBody] = parserOnBody`). */
interface Parser {
  [callback: number]: unknown
}
const ON_BODY = 3
const ON_BODY_NAME = 'parserOnBody'

/** The callback that was taken from the parser of a connection. */
const TAKEN = Symbol('taken')
type Skipping = Socket & { parser?: Parser | null; [TAKEN]?: { parser: Parser; callback: unknown } }

/**
 * Skips the rest of a body. Without the callback the parser neither copies a piece nor calls JavaScript for it
 * (src/node_http_parser.cc, on_body): under overload this leaves more processor time for the requests that are served.
 */
function skipBody(request: IncomingMessage): void {
  const socket: Skipping = request.socket
  const { parser } = socket
  const callback = parser?.[ON_BODY]
  if (parser && typeof callback === 'function' && callback.name === ON_BODY_NAME) {
    // Parsers go to other connections later.
    if (socket[TAKEN] === undefined) socket.once('close', () => takeBodies(socket))
    socket[TAKEN] = { parser, callback }
    parser[ON_BODY] = null
  }
  if (request.readableFlowing !== null) request.resume()
}

/** To be called at every request, and where Node releases a parser: bodies are taken again after one that went by. */
export function takeBodies(socket: Socket): void {
  const { [TAKEN]: taken } = socket as Skipping
  if (taken) taken.parser[ON_BODY] = taken.callback
}

/** Lets a connection end with the reply that is about to be written. */
export function closeAfterReply(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  const { socket } = request
  markLast(response)
  response.setHeader('Connection', 'close')
  // Node calls this after the last reply of a connection (lib/_http_server.js, resOnFinish), and would destroy the socket.
  socket.destroySoon = () => closeLingering(socket, clock)
}

/** Flag that Node sets where the head says that the connection ends (lib/_http_server.js, `resOnFinish`; lib/_http_outgoing.js, `_storeHeader`). */
type LastReply = ServerResponse & { _last?: boolean }

/** The same for a reply whose head has been sent: its body ends with the connection, without having come to its end. */
export function closeBehindReply({ socket }: IncomingMessage, response: LastReply, clock: Clock): void {
  response._last = true
  socket.destroySoon = () => closeLingering(socket, clock, READING_TIME)
}

/**
 * Milliseconds that a caller has for reading the last event of a body that is cut, before it sees the cut: a body of `fetch` that errs loses
 * what has come and not been read (streams.spec.whatwg.org, ReadableStreamDefaultControllerError). Callers that know the event close first.
 */
export const READING_TIME = 250

/**
 * Ends the sending side once all is written, and reads on without looking, within the bounds.
 * @param delay milliseconds before the sending side ends, unless the caller ends first.
 */
export function closeLingering(socket: Socket, clock: Clock, delay = 0): void {
  const lingering: Lingering = socket
  if (socket.destroyed || lingering[LINGERS]) return
  lingering[LINGERS] = true
  let bytes = 0
  let before = 0
  const discard = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes > MAX_BYTES) socket.destroy()
  }
  // Node's server takes the bytes back from its parser when a listener is added (lib/_http_server.js, generateSocketListenerWrapper).
  socket.on('data', discard)
  for (const listener of socket.listeners('data')) if (listener !== discard) socket.off('data', listener as () => void)
  const silence = (): void => {
    if (bytes === before) {
      socket.destroy()
      return
    }
    before = bytes
    timer = clock.after(MAX_SILENCE_MS, silence)
  }
  let timer = clock.after(MAX_SILENCE_MS, silence)
  const end = clock.after(LONGEST, () => socket.destroy())
  socket.once('close', () => {
    timer.cancel()
    end.cancel()
    later?.cancel()
  })
  const later = delay > 0 ? clock.after(delay, () => socket.end()) : undefined
  const close = (): void => {
    if (!socket.writableEnded) socket.end()
    if (socket.writableFinished) socket.destroy()
    else socket.once('finish', () => socket.destroy())
  }
  socket.once('end', close)
  if (!later && !socket.writableEnded) socket.end()
  if (socket.readableEnded) close()
  else socket.resume()
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
