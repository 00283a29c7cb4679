/** A client of raw bytes: what no well-behaved HTTP library would send. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export class RawClient {
  private readonly socket: Socket
  private received = ''
  private watchers: (() => void)[] = []
  /** True once the other side has closed, cleanly or not. */
  ended = false
  /** True once it has closed by a reset. */
  wasReset = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1')
      this.wake()
    })
    const end = (): void => {
      this.ended = true
      this.wake()
    }
    socket.on('end', end)
    socket.on('close', end)
    socket.on('error', () => {
      this.wasReset = true
      end()
    })
  }

  /** @param url of the server; only host and port count. */
  static async open(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    await once(socket, 'connect')
    return new RawClient(socket)
  }

  /** Everything received so far, one character per byte. */
  get text(): string {
    return this.received
  }

  send(bytes: string | Buffer): this {
    if (!this.socket.destroyed) this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    return this
  }

  /** Sends bytes. @returns resolves once the system has them. */
  sent(bytes: string | Buffer): Promise<void> {
    return new Promise(
      (resolve) => void this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, () => resolve()),
    )
  }

  /** Sends FIN and goes on listening. */
  halfClose(): this {
    this.socket.end()
    return this
  }

  /** Stops and starts reading: a slow client. */
  pause(): this {
    this.socket.pause()
    return this
  }

  resume(): this {
    this.socket.resume()
    return this
  }

  /** RST instead of FIN. */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  close(): void {
    this.socket.destroy()
  }

  /** Resolves with all bytes so far once they match, or rejects if the server closes before. */
  async until(pattern: RegExp): Promise<string> {
    for (;;) {
      if (pattern.test(this.received)) return this.received
      if (this.ended) throw new Error(`closed before ${pattern}: ${JSON.stringify(this.received.slice(0, 500))}`)
      await this.change()
    }
  }

  /** Resolves with everything once the server has closed. */
  async closed(): Promise<string> {
    while (!this.ended) await this.change()
    this.socket.destroy()
    return this.received
  }

  private change(): Promise<void> {
    return new Promise((resolve) => this.watchers.push(resolve))
  }

  private wake(): void {
    const { watchers } = this
    this.watchers = []
    for (const watcher of watchers) watcher()
  }
}

export interface RawReply {
  status: number
  headers: Map<string, string>
  body: string
}

/** Splits one raw reply; a chunked body is joined. */
export function parseReply(text: string): RawReply {
  const cut = text.indexOf('\r\n\r\n')
  const [first, ...lines] = text.slice(0, cut).split('\r\n')
  const headers = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]))
  const rest = text.slice(cut + 4)
  const body = headers.get('transfer-encoding') === 'chunked' ? joinChunks(rest) : rest
  return { status: Number(first.split(' ')[1]), headers, body }
}

function joinChunks(text: string): string {
  let joined = ''
  for (let at = 0; at < text.length; ) {
    const lineEnd = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    if (lineEnd === -1 || !(size > 0)) break
    joined += text.slice(lineEnd + 2, lineEnd + 2 + size)
    at = lineEnd + 2 + size + 2
  }
  return joined
}

/** One request on a connection of its own; resolves when the server has closed it. */
export async function rawExchange(url: string, bytes: string): Promise<string> {
  const client = await RawClient.open(url)
  return client.send(bytes).closed()
}
