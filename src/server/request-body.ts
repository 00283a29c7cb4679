/** The two ways of taking a request body: whole, and in pieces. Both count their bytes in the memory of all bodies. */
import type { IncomingMessage } from 'node:http'
import { Fault } from '../core/faults.ts'
import { Pieces } from '../core/pieces.ts'
import { type ArrivalSource, BodyArrival } from './body-arrival.ts'
import { BODY_WEIGHT, type BodyShare, noBodyMemory } from './body-memory.ts'

export interface BodySource extends ArrivalSource {
  share: BodyShare
  /** Bytes of the body as announced; undefined where nothing is. */
  length: number | undefined
  /** Called with the length of each piece; what it throws ends the body. */
  count?: ((bytes: number) => void) | undefined
}

/**
 * The whole body in one buffer.
 * @param limit bytes.
 * @throws Fault 413 beyond the limit, 408 where it comes too slowly, 499 where the caller leaves, 503 without memory for it,
 *   and the reason of the cancel.
 */
export async function readWhole(request: IncomingMessage, limit: number, source: BodySource): Promise<Buffer> {
  // A small body comes in one piece with its head, and Node's parser has passed it on when this turn's microtasks run
  // (MakeCallback in on_body of src/node_http_parser.cc, 24.21): it then needs no listeners and no time limit.
  await undefined
  const { length } = source
  const body = length !== undefined && request.readableLength === length ? atHand(request, limit, source) : undefined
  return body ?? new Promise((resolve, reject) => new WholeBody(request, limit, { ...source, resolve, reject }).read())
}

/** A body that has come as a whole; undefined where it has to be refused or has to wait. */
function atHand(request: IncomingMessage, limit: number, { cancel, share }: BodySource): Buffer | undefined {
  const { readableLength } = request
  if (request.destroyed || cancel?.aborted || readableLength === 0 || readableLength > limit) return undefined
  if (!share.takeNow(readableLength * BODY_WEIGHT)) return undefined
  share.arrived()
  const body = request.read() as Buffer
  // The end is still to come, and is not reported to a stream that is not read.
  request.resume()
  return body
}

class WholeBody extends BodyArrival {
  private readonly limit: number
  private readonly share: BodyShare
  private readonly count: ((bytes: number) => void) | undefined
  private resolve: (bytes: Buffer) => void
  private reject: (fault: Fault) => void
  /** Nearly always there is one. */
  private first: Buffer | undefined
  private pieces: Pieces | undefined

  constructor(
    request: IncomingMessage,
    limit: number,
    source: BodySource & { resolve: (bytes: Buffer) => void; reject: (fault: Fault) => void },
  ) {
    super(request, source)
    this.limit = limit
    this.share = source.share
    this.count = source.count
    this.resolve = source.resolve
    this.reject = source.reject
  }

  read(): void {
    this.begin()
  }

  protected data(chunk: Buffer): void {
    if (this.size > this.limit) {
      this.break(new Fault('too_large', { message: `Request payload too large: at most ${this.limit} bytes are accepted` }))
      return
    }
    try {
      this.count?.(chunk.length)
    } catch (refused) {
      this.break(refused)
      return
    }
    if (!this.first) this.first = chunk
    else {
      if (!this.pieces) {
        this.pieces = new Pieces()
        this.pieces.push(this.first)
      }
      this.pieces.push(chunk)
    }
    if (!this.share.take(chunk.length * BODY_WEIGHT, this.granted)) this.pause()
  }

  protected end(): void {
    const { first = EMPTY, pieces, resolve } = this
    this.forget()
    this.share.arrived()
    resolve(pieces ? pieces.take() : first)
  }

  protected fail(fault: Fault): void {
    const { reject } = this
    this.forget()
    this.share.clear()
    reject(fault)
  }

  /** The request holds this object as long as the reply lasts, and the promise's functions would hold the buffer. */
  private forget(): void {
    this.first = undefined
    this.pieces = undefined
    this.resolve = NOTHING
    this.reject = NOTHING
  }

  private readonly granted = (granted: boolean): void => {
    if (granted) this.resume()
    else this.break(noBodyMemory())
  }
}

const EMPTY = Buffer.alloc(0)
const NOTHING = (): void => {}

/**
 * The body as it comes; the caller waits while a piece is worked on.
 * @throws Fault 408, 499, 503.
 */
export async function* readPieces(request: IncomingMessage, source: BodySource): AsyncGenerator<Buffer> {
  const body = new PiecewiseBody(request, source)
  for (;;) {
    const piece = await body.next()
    if (!piece) return
    yield piece
  }
}

class PiecewiseBody extends BodyArrival {
  private readonly share: BodyShare
  private begun = false
  private piece: Buffer | undefined
  private fault: Fault | undefined
  private nextPiece: PromiseWithResolvers<Buffer | undefined> | undefined

  constructor(request: IncomingMessage, source: BodySource) {
    super(request, source)
    this.share = source.share
  }

  /** @returns undefined at the end. */
  next(): Promise<Buffer | undefined> {
    this.nextPiece = Promise.withResolvers()
    const { promise } = this.nextPiece
    if (this.fault) this.nextPiece.reject(this.fault)
    else if (this.over) this.nextPiece.resolve(undefined)
    else if (!this.begun) {
      this.begun = true
      this.begin()
    } else {
      this.share.clear()
      this.resume()
    }
    return promise
  }

  protected data(chunk: Buffer): void {
    this.pause()
    this.piece = chunk
    if (this.share.take(chunk.length, this.granted)) this.deliver()
  }

  protected end(): void {
    this.nextPiece?.resolve(undefined)
  }

  protected fail(fault: Fault): void {
    this.fault = fault
    this.share.clear()
    this.nextPiece?.reject(fault)
  }

  private deliver(): void {
    const { piece } = this
    this.piece = undefined
    this.nextPiece?.resolve(piece)
  }

  private readonly granted = (granted: boolean): void => {
    if (granted) this.deliver()
    else this.break(noBodyMemory())
  }
}
