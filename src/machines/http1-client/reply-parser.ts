/**
 * Node's own parser of HTTP/1.1 (llhttp), for the replies of providers: the one that reads the requests of callers. It calls
 * JavaScript three times per small reply, where undici's copy in WebAssembly calls it for every header.
 */
import { Fault } from '../../core/faults.ts'

/** The callbacks of lib/_http_common.js (24.21) that a reply needs. */
interface NodeParser {
  [callback: number]: unknown
  initialize(type: number, resource: object, maxHeaderSize: number): void
  /** @returns the error, where the bytes are no reply. */
  execute(bytes: Uint8Array): unknown
  finish(): unknown
  close(): void
}

interface NodeParserClass {
  new (): NodeParser
  readonly RESPONSE: number
  readonly kOnMessageBegin: number
  readonly kOnHeaders: number
  readonly kOnHeadersComplete: number
  readonly kOnBody: number
  readonly kOnMessageComplete: number
}

/** Undocumented, so that a later Node may lack it: undici then reads all replies. */
const Parser = (process.getBuiltinModule('_http_common') as { HTTPParser?: NodeParserClass } | undefined)?.HTTPParser

/** Result of the callback of a head where no content follows (`F_SKIPBODY` of llhttp; `parserOnIncomingClient` in lib/_http_client.js, 24.21). */
const NO_CONTENT = 1

/** Bytes of the head of a reply, as undici has it (`maxHeaderSize` in lib/dispatcher/client.js of 8.12.4). */
const MAX_HEADERS = 16 * 1024

export interface ReplyReceiver {
  /** A message begins. */
  begin(): void
  /** @param headers flat list: name, value, name, value. @returns true where no content follows, whatever the head announces. */
  head(status: number, headers: readonly string[], keepAlive: boolean, upgrade: boolean): boolean
  body(bytes: Buffer): void
  complete(): void
}

export class ReplyParser {
  private readonly parser: NodeParser

  /** False where this Node offers no such parser. */
  static readonly isThere = Parser !== undefined

  /** @throws TypeError where this Node offers no such parser. */
  constructor(receiver: ReplyReceiver) {
    if (!Parser) throw new TypeError('this Node has no parser of HTTP to offer')
    const parser = new Parser()
    parser.initialize(Parser.RESPONSE, receiver, MAX_HEADERS)
    /** Headers come in several lists where they are many. After the head the same callback brings trailers, which nothing reads. */
    let early: string[] | undefined
    parser[Parser.kOnMessageBegin] = () => {
      early = []
      receiver.begin()
    }
    parser[Parser.kOnHeaders] = (headers: string[]) => {
      early?.push(...headers)
    }
    parser[Parser.kOnHeadersComplete] = (
      major: number,
      minor: number,
      headers: string[] | undefined,
      _method: unknown,
      _url: unknown,
      status: number,
      _reason: string,
      upgrade: boolean,
      keepAlive: boolean,
    ) => {
      const all = headers ?? early ?? []
      early = undefined
      // llhttp reads heads of HTTP/2.0 and 0.9 as well, and any three digits as a status (RFC 9112 section 2.3, RFC 9110 section 15).
      if (major !== 1 || status < 100) throw new Fault('upstream_garbled', { cause: new Error(`HTTP/${major}.${minor} ${status}`) })
      // The framing of HTTP/1.0 in chunks is faulty: its connection ends with the message (RFC 9112 section 6.1).
      const isReusable = keepAlive && (minor > 0 || !all.some((text, at) => at % 2 === 0 && /^transfer-encoding$/i.test(text)))
      return receiver.head(status, all, isReusable, upgrade) ? NO_CONTENT : 0
    }
    parser[Parser.kOnBody] = (bytes: Buffer) => receiver.body(bytes)
    parser[Parser.kOnMessageComplete] = () => receiver.complete()
    this.parser = parser
  }

  /** @param bytes may be used again afterwards: what the receiver gets of them is a copy. @returns why they are no reply, if they are none. */
  execute(bytes: Uint8Array): Error | undefined {
    return asError(this.parser.execute(bytes))
  }

  /** The connection has ended. @returns what is wrong with that, if anything is. */
  finish(): Error | undefined {
    return asError(this.parser.finish())
  }

  /** Call once. The parser may be at work just now, so it is freed a little later. */
  close(): void {
    setImmediate(() => this.parser.close())
  }
}

function asError(result: unknown): Error | undefined {
  return result instanceof Error ? result : undefined
}
