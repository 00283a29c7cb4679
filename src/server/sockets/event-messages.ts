/** Events of a stream as messages of a WebSocket: the JSON of each without its framing as a server-sent event. */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

const DATA = 'data: '
const LINE_OF_DATA = `\n${DATA}`
const DONE = '[DONE]'

export class EventMessages {
  private readonly ws: WebSocket
  private readonly socket: Socket
  /** The beginning of an event whose end has not come. */
  private held = ''
  private corked = false
  /** The last event, as long as it is text. */
  private last: string | undefined

  private readonly mark: string

  /** @param mark stands in place of the brace that events begin with, where it is not empty. */
  constructor(ws: WebSocket, socket: Socket, mark: string) {
    this.ws = ws
    this.socket = socket
    this.mark = mark
  }

  /** @param text whole events; comments between them become pings. @param raw true where it holds bytes, one per character. @returns false if the client should be waited for. */
  write(text: string, raw: boolean): boolean {
    const events = this.held === '' ? text : this.held + text
    let at = 0
    for (let end = events.indexOf('\n\n'); end !== -1; end = events.indexOf('\n\n', at)) {
      this.event(events, at, end, raw)
      at = end + 2
    }
    this.held = events.slice(at)
    return !this.socket.writableNeedDrain
  }

  /** @returns the last event. */
  end(text: string): Buffer | undefined {
    this.last = undefined
    this.write(text, false)
    return this.last === undefined ? undefined : Buffer.from(this.last)
  }

  private event(events: string, at: number, end: number, raw: boolean): void {
    const line = events.startsWith(DATA, at) ? at - 1 : events.indexOf(LINE_OF_DATA, at)
    this.cork()
    if (line === -1 || line > end) {
      this.ws.ping()
      return
    }
    const json = events.slice(line + LINE_OF_DATA.length, end)
    if (json === DONE) return
    const { mark } = this
    const message = mark === '' ? json : mark + json.slice(1)
    if (raw) this.ws.send(Buffer.from(message, 'latin1'), { binary: false })
    else {
      this.ws.send(message)
      this.last = json
    }
  }

  /** What comes within one turn leaves in one write. */
  private cork(): void {
    if (this.corked) return
    this.corked = true
    this.socket.cork()
    process.nextTick(() => {
      this.corked = false
      this.socket.uncork()
    })
  }
}
