/** One WebSocket over which a client requests responses, each of which may continue one before it. */
import { Fault, faultReply } from '../../core/faults.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { onDrain, wasCut } from '../drain.ts'
import type { Histories } from './histories.ts'
import { type Lane, Lanes, type Waiting } from './lanes.ts'
import { MessageArrival } from './message-arrival.ts'
import { type Channel, failureMessage, SocketConnection } from './socket-connection.ts'

/** Services of the gateway for all of its WebSockets. */
export interface SocketHost {
  /** Why a request of this length is not even looked at. */
  refusal(bytes: number): Fault | undefined
  exchange(connection: SocketConnection, channel: Channel): Exchange
  /** Answers it. @param generates false: without a call of a provider. @returns false where something unexpected failed. */
  run(exchange: Exchange, generates: boolean): Promise<boolean>
}

/** Milliseconds that a connection lasts (OpenAI's guide "WebSocket mode": 60 minutes). */
const LONGEST = 60 * 60_000

/** Milliseconds without a byte, pongs among them; a client that does not read for a while cannot answer a ping. */
const MAX_SILENCE_MS = 5 * 60_000

const MAX_LISTENERS = 100

/** Codes of RFC 6455 section 7.4.1, and 1013 of the IANA registry. */
const NORMAL = 1000
const GOING_AWAY = 1001
const UNSUPPORTED = 1003
const POLICY = 1008
const TRY_AGAIN = 1013

const LIMIT_REACHED = new Fault('bad_request', {
  message: 'A WebSocket lasts at most 60 minutes: open a new one to go on',
  metadata: { code: 'websocket_connection_limit_reached' },
})

function notFound(id: string): Fault {
  return new Fault('bad_request', {
    message: `previous_response_id: ${id.slice(0, 64)} is not the last response of a stream of this connection; send the whole conversation in input`,
    metadata: { field: 'previous_response_id', code: 'previous_response_not_found' },
  })
}

export class ResponseSocket {
  private readonly channel: Channel
  private readonly host: SocketHost
  private readonly lanes: Lanes
  private readonly arrival: MessageArrival
  private readonly opened: number
  /** Set once no further response may begin. */
  private ending: 'drain' | 'age' | undefined
  /** Time of the last byte, in monotonic milliseconds. */
  private lastDataAt: number

  constructor(channel: Channel, { payer, host, histories }: { payer: string; host: SocketHost; histories: Histories }) {
    const { ws, socket, source } = channel
    this.channel = channel
    this.host = host
    this.lanes = new Lanes(payer, histories)
    this.opened = source.clock.monotonic()
    this.lastDataAt = this.opened
    this.arrival = new MessageArrival(ws, socket, { ...source, payer, refuse: (fault) => this.refuse(fault) })
    // Each response of several at the same time may wait for the socket.
    socket.setMaxListeners(MAX_LISTENERS)
    ws.on('message', (data, isBinary) => this.message(data as Buffer, isBinary))
    // The library closes the connection by itself.
    ws.on('error', () => {})
    ws.once('close', () => this.closed())
    // Behind the library's own listeners: a client that leaves is noticed before its socket has closed.
    socket.on('data', this.onData)
    socket.once('end', this.onData)
    onDrain(socket, () => this.end('drain'))
  }

  /** Called from time to time: ends a connection that is too old, or whose client does not answer. */
  look(): void {
    const { ws, source } = this.channel
    const now = source.clock.monotonic()
    if (now - this.opened >= LONGEST) this.end('age')
    if (now - this.lastDataAt >= MAX_SILENCE_MS) ws.terminate()
    else ws.ping()
  }

  terminate(): void {
    this.channel.ws.terminate()
  }

  private readonly onData = (): void => {
    const { ws, source } = this.channel
    this.lastDataAt = source.clock.monotonic()
    if (ws.readyState !== ws.OPEN) this.gone()
  }

  private message(data: Buffer, isBinary: boolean): void {
    const { ws, format } = this.channel
    const share = this.arrival.whole()
    let name: string | undefined
    try {
      if (ws.readyState !== ws.OPEN) share.release()
      else if (isBinary) {
        share.release()
        ws.close(UNSUPPORTED, 'text messages are expected')
      } else {
        const request = format.read(data)
        if (request && 'lane' in request) {
          name = request.lane
          const refusal = this.host.refusal(data.length)
          if (refusal) throw refusal
          this.lanes.wait({ lane: this.lanes.at(name), request, length: data.length, share })
          this.begin()
        } else {
          share.release()
          if (request) this.send(request.answer)
        }
      }
    } catch (thrown) {
      share.release()
      if (!(thrown instanceof Fault)) throw thrown
      this.fail(thrown, name)
    }
  }

  /** Begins with the requests whose turn it is. */
  private begin(): void {
    if (this.ending) return
    for (let next = this.lanes.next(); next; next = this.lanes.next()) this.run(next)
  }

  private run({ lane, request, length, share }: Waiting): void {
    const { continues, generates } = request
    const history = continues === undefined ? undefined : this.lanes.after(continues)
    const body = (): ReturnType<typeof request.body> => {
      if (continues !== undefined && !history) throw notFound(continues)
      return request.body(history)
    }
    // What stands in the body beside the message and the conversation is shorter than this.
    const most = length + (history?.length ?? 0) + 64
    const ended = (last: Buffer | undefined): void => this.ended(lane, { turn, last, continues })
    const connection = new SocketConnection(this.channel, { lane: lane.name, length: most, body, share, ended })
    const turn = this.host.exchange(connection, this.channel)
    lane.turn = turn
    void this.host.run(turn, generates).then((expected) => {
      connection.release()
      if (lane.turn !== turn) return
      // The reply has no end: the client has left, or something unexpected failed.
      lane.turn = undefined
      if (!expected) this.terminate()
    })
  }

  private ended(lane: Lane, { turn, last, continues }: { turn: Exchange; last: Buffer | undefined; continues: string | undefined }): void {
    if (lane.turn !== turn) return
    lane.turn = undefined
    const { ws, format } = this.channel
    const { conversation } = turn.head.connection as SocketConnection
    const after = last && conversation && ws.readyState === ws.OPEN ? format.after(conversation, last) : undefined
    if (after) this.lanes.keep(lane, { id: turn.head.id, conversation: after })
    // A response whose continuation has failed is forgotten, but for one of another lane (guide, "How continuation works").
    else if (continues !== undefined && continues === lane.last?.id) this.lanes.drop(lane)
    if (this.ending) this.end(this.ending)
    else this.begin()
  }

  /** Closes the connection, after the responses in flight; those that wait do not begin. */
  private end(why: 'drain' | 'age'): void {
    this.ending = why
    for (const { lane, share } of this.lanes.takeWaiting()) {
      share.release()
      this.fail(why === 'age' ? LIMIT_REACHED : new Fault('shutdown'), lane.name)
    }
    if (!this.lanes.isIdle) return
    if (why === 'age') this.fail(LIMIT_REACHED)
    if (why === 'age') this.channel.ws.close(NORMAL, 'a connection lasts at most 60 minutes')
    else this.channel.ws.close(GOING_AWAY, 'the gateway is shutting down')
  }

  /** Ends the connection: what comes on it cannot be taken. */
  private refuse(fault: Fault): void {
    this.fail(fault)
    this.channel.ws.close(fault.code === 'unavailable' ? TRY_AGAIN : POLICY, fault.message.slice(0, 100))
    this.gone()
  }

  private fail(fault: Fault, lane?: string): void {
    const { headers, json } = faultReply(fault, { body: this.channel.format.client.faultBody })
    this.send(failureMessage(this.channel, lane, json, headers))
  }

  private send(json: string | Buffer): void {
    const { ws, socket } = this.channel
    // A client that sends without reading would fill the memory with refusals.
    if (socket.writableNeedDrain) ws.terminate()
    else ws.send(json, { binary: false })
  }

  private closed(): void {
    this.channel.watch.end()
    for (const lane of this.lanes.all) this.lanes.drop(lane)
    this.gone()
  }

  private gone(): void {
    for (const { share } of this.lanes.takeWaiting()) share.release()
    for (const { turn } of this.lanes.all) turn?.head.cancel.abort(new Fault(wasCut(this.channel.socket) ? 'shutdown' : 'client_gone'))
  }
}
