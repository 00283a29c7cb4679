/** One WebSocket over which a client requests responses, one after the other, each of which may continue the one before. */
import { Fault, faultReply } from '../../core/faults.ts'
import type { SocketRequest } from '../../dialects/types.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { BodyShare } from '../body-memory.ts'
import { onDrain, wasCut } from '../drain.ts'
import type { Histories, Keeper } from './histories.ts'
import { MessageArrival } from './message-arrival.ts'
import { type Channel, SocketConnection } from './socket-connection.ts'

/** What the gateway does for all of its WebSockets. */
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
const LONGEST_SILENCE = 5 * 60_000

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
const IN_FLIGHT = new Fault('conflict', {
  message: 'A response is in flight on this connection: wait for its end, or open another connection',
  metadata: { code: 'response_already_in_flight' },
})

function notFound(id: string): Fault {
  return new Fault('bad_request', {
    message: `previous_response_id: ${id.slice(0, 64)} is not the last response of this connection; send the whole conversation in input`,
    metadata: { field: 'previous_response_id', code: 'previous_response_not_found' },
  })
}

interface Last {
  readonly id: string
  readonly conversation: Buffer
}

export class ResponseSocket implements Keeper {
  readonly payer: string
  private readonly channel: Channel
  private readonly host: SocketHost
  private readonly histories: Histories
  private readonly arrival: MessageArrival
  private readonly opened: number
  /** The response in flight. */
  private turn: Exchange | undefined
  private last: Last | undefined
  /** Set once no further response may begin. */
  private ending: 'drain' | 'age' | undefined
  /** When something came last. Monotonic milliseconds. */
  private heardAt: number

  constructor(channel: Channel, { payer, host, histories }: { payer: string; host: SocketHost; histories: Histories }) {
    const { ws, socket, source } = channel
    this.channel = channel
    this.payer = payer
    this.host = host
    this.histories = histories
    this.opened = source.clock.monotonic()
    this.heardAt = this.opened
    this.arrival = new MessageArrival(ws, socket, { ...source, payer, refuse: (fault) => this.refuse(fault) })
    ws.on('message', (data, isBinary) => this.message(data as Buffer, isBinary))
    // The library closes the connection by itself.
    ws.on('error', () => {})
    ws.once('close', () => this.closed())
    // Behind the library's own listeners: a client that leaves is noticed before its socket has closed.
    socket.on('data', this.heard)
    socket.once('end', this.heard)
    onDrain(socket, () => this.end('drain'))
  }

  forget(): void {
    this.last = undefined
  }

  /** Called from time to time: ends a connection that is too old, or whose client does not answer. */
  look(): void {
    const { ws, source } = this.channel
    const now = source.clock.monotonic()
    if (now - this.opened >= LONGEST) this.end('age')
    if (now - this.heardAt >= LONGEST_SILENCE) ws.terminate()
    else ws.ping()
  }

  terminate(): void {
    this.channel.ws.terminate()
  }

  private readonly heard = (): void => {
    const { ws, source } = this.channel
    this.heardAt = source.clock.monotonic()
    if (this.turn && ws.readyState !== ws.OPEN) this.gone()
  }

  private message(data: Buffer, isBinary: boolean): void {
    const { ws, format } = this.channel
    const share = this.arrival.whole()
    try {
      if (ws.readyState !== ws.OPEN) share.release()
      else if (isBinary) {
        share.release()
        ws.close(UNSUPPORTED, 'text messages are expected')
      } else {
        const request = format.read(data)
        const refusal = request && (this.turn ? IN_FLIGHT : this.host.refusal(data.length))
        if (refusal) throw refusal
        if (request) this.begin(request, data.length, share)
        else share.release()
      }
    } catch (thrown) {
      share.release()
      if (!(thrown instanceof Fault)) throw thrown
      this.fail(thrown)
    }
  }

  private begin(request: SocketRequest, length: number, share: BodyShare): void {
    const { continues, generates } = request
    const history = continues !== undefined && this.last?.id === continues ? this.last.conversation : undefined
    const body = (): ReturnType<SocketRequest['body']> => {
      if (continues !== undefined && !history) throw notFound(continues)
      return request.body(history)
    }
    // What stands in the body beside the message and the conversation is shorter than this.
    const most = length + (history?.length ?? 0) + 64
    const connection = new SocketConnection(this.channel, { length: most, body, share, ended: (last) => this.ended(turn, last, continues) })
    const turn = this.host.exchange(connection, this.channel)
    this.turn = turn
    void this.host.run(turn, generates).then((expected) => {
      connection.release()
      if (this.turn !== turn) return
      // The reply has no end: the client has left, or something unexpected failed.
      this.turn = undefined
      if (!expected) this.terminate()
    })
  }

  private ended(turn: Exchange, last: Buffer | undefined, continues: string | undefined): void {
    if (this.turn !== turn) return
    this.turn = undefined
    const { conversation } = turn.head.connection as SocketConnection
    const after = last && conversation && this.channel.format.after(conversation, last)
    if (after) this.keep({ id: turn.head.id, conversation: after })
    // Open Responses specification 2026-04-24, "WebSocket": a response whose continuation has failed is forgotten.
    else if (continues !== undefined && continues === this.last?.id) this.drop()
    if (this.ending) this.end(this.ending)
  }

  private keep(last: Last): void {
    this.last =
      this.channel.ws.readyState === this.channel.ws.OPEN && this.histories.keep(this, last.conversation.length) ? last : undefined
  }

  private drop(): void {
    this.last = undefined
    this.histories.drop(this)
  }

  /** Closes the connection, after the response in flight. */
  private end(why: 'drain' | 'age'): void {
    this.ending = why
    if (this.turn) return
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

  private fail(fault: Fault): void {
    const { ws, socket, format } = this.channel
    // A client that sends without reading would fill the memory with refusals.
    if (socket.writableNeedDrain) {
      ws.terminate()
      return
    }
    const { headers, json } = faultReply(fault, { body: format.client.faultBody })
    ws.send(format.headed(json, headers))
  }

  private closed(): void {
    this.channel.watch.end()
    this.drop()
    this.gone()
  }

  private gone(): void {
    this.turn?.head.cancel.abort(new Fault(wasCut(this.channel.socket) ? 'shutdown' : 'client_gone'))
  }
}
