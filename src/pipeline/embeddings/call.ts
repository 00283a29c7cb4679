/**
 * One call for vectors: over HTTP, where its reply is scanned as it comes and every vector is written as the caller wants it at once, or
 * at a provider inside this process.
 */
import { Fault } from '../../core/faults.ts'
import { isObject } from '../../core/json.ts'
import { wellFormedJson } from '../../core/well-formed.ts'
import type { Usage } from '../../dialects/canon/usage.ts'
import type { EmbeddingAsk, EmbeddingTarget, EmbeddingWire, VectorSink } from '../../dialects/types.ts'
import { type RawVector, ReplyScan } from '../../machines/vectors/scan.ts'
import { SpentChunks } from '../../machines/vectors/spent.ts'
import { Turns } from '../../machines/vectors/turns.ts'
import { type WrittenVector, writeFloats, writeRaw } from '../../machines/vectors/written.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { type BodyReceiver, UpstreamCall } from '../../services/upstream/call.ts'
import { AnswerOrError, type Flow, isSuccess } from '../attempt/upstream-attempt.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Planned } from '../exchange.ts'
import { addCredential, callPath, forwardedTrace, providerAddress } from '../route/provider-address.ts'

/** A call at a provider inside this process: its numbers are written as the caller wants them, with nothing to scan. */
class LocalCall implements VectorSink {
  readonly done: Promise<Brought>
  private readonly ask: EmbeddingAsk
  private readonly written: WrittenVector[] = []
  private resolve: (brought: Brought) => void = () => {}
  private reject: (fault: Fault) => void = () => {}

  constructor(ask: EmbeddingAsk) {
    this.ask = ask
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  vectors(batch: readonly Float32Array[]): void {
    for (const floats of batch) this.written.push(writeFloats(floats, this.ask.settings.form))
  }

  fail(fault: Fault): void {
    this.reject(fault)
  }

  end(usage: Usage): void {
    if (this.written.length === this.ask.inputs.length) this.resolve({ vectors: this.written, usage })
    else this.fail(new Fault('upstream_garbled'))
  }
}

interface ProviderAsk {
  readonly exchange: Planned
  readonly endpoint: Endpoint
  readonly wire: EmbeddingWire
  readonly target: EmbeddingTarget
  readonly ask: EmbeddingAsk
  /** Over a new connection. */
  readonly anew: boolean
}

export interface Calling {
  /** Rejects with a fault. */
  readonly done: Promise<Brought>
  /** Parameters that the provider cannot take. */
  readonly dropped: readonly string[]
  /** False where the provider cannot have seen anything of it. */
  sent(): boolean
  /** A whole reply that no caller can use: the provider has done its work. */
  unfit(): Unfit | undefined
  /** Ends the call; harmless where it has ended. */
  abort(): void
}

export type Unfit = Pick<Brought, 'usage'>

/** One call on its way: over HTTP, or at a provider inside this process. */
export function callProvider({ exchange, endpoint, wire, target, ask, anew }: ProviderAsk, dependencies: ChainDependencies): Calling {
  const encoded = wire.encode(ask, target)
  if (wire.run) {
    const local = new LocalCall(ask)
    const run = wire.run(ask, target, exchange.head.clock, local)
    return { done: local.done, dropped: encoded.dropped, sent: () => true, unfit: () => undefined, abort: () => run.abort() }
  }
  const { provider } = endpoint
  const address = providerAddress(provider, wire)
  const own = target.quirks.embeddings_path
  // A path of the provider's is that of generations.
  const path = callPath(address, { path: own }, { path: encoded.path, model: target.model })
  const request = {
    path,
    headers: [...address.headers, 'x-client-request-id', exchange.head.id, ...(encoded.headers ?? [])],
    body: wellFormedJson(encoded.body),
  }
  if (provider.traceContext !== 'none') request.headers.push(...forwardedTrace(exchange, provider.traceContext))
  if (endpoint.credential) {
    const credential = exchange.run.credential ?? endpoint.credential
    addCredential(credential, { provider, dialect: wire }, request)
  }
  const call = new EmbeddingCall(ask, wire, (length) => dependencies.vectorLengths.note(endpoint.id, length))
  const reply = new AnswerOrError(call, {
    clock: exchange.head.clock,
    dialect: wire,
    accepts: isSuccess,
    history: exchange.history,
  })
  const upstream = new UpstreamCall(reply, exchange.head.clock, address.timeouts)
  call.flow = upstream
  upstream.send(dependencies.pools.for(address), request, anew || exchange.run.connectAnew)
  return {
    done: call.done,
    dropped: encoded.dropped,
    sent: () => upstream.sent,
    unfit: () => call.unfit,
    abort: () => upstream.abort(),
  }
}

/** Result of one call. */
export interface Brought {
  /** In the order of its inputs. */
  readonly vectors: readonly WrittenVector[]
  readonly usage: Usage | undefined
}

/** Numbers of a vector: more than any known model gives. A server that does not know `dimensions` gives its own length. */
const MAX_NUMBERS = 16_384
/** Bytes of the text of a number, blanks of a pretty printer included. */
const NUMBER_BYTES = 48
/** Bytes beside the vectors, and beside the numbers of each. */
const ROOM = 16 * 1024 * 1024
const VECTOR_ROOM = 1024
/** Bytes worked off at once: a millisecond or two, also where numbers have to be written anew. */
const TURN = 32 * 1024

class EmbeddingCall implements BodyReceiver {
  readonly done: Promise<Brought>
  private readonly ask: EmbeddingAsk
  private readonly wire: EmbeddingWire
  private readonly onLength: (length: number) => void
  private readonly vectors: WrittenVector[] = []
  private readonly scan: ReplyScan
  private readonly turns: Turns
  /** Undefined once a vector is made of views of the chunks. */
  private spent: SpentChunks | undefined = new SpentChunks()
  /** Bytes of the whole reply; known closely once the first vector has come. */
  private cap: number
  private size = 0
  /** Bytes of what the scan has been given. */
  private scanned = 0
  private over = false
  unfit: Unfit | undefined
  /** The call itself, once there is one. */
  flow: Flow | undefined
  private resolve: (brought: Brought) => void = () => {}
  private reject: (fault: Fault) => void = () => {}

  /** @param onLength is called with the length of vectors where another one was requested. */
  constructor(ask: EmbeddingAsk, wire: EmbeddingWire, onLength: (length: number) => void) {
    this.ask = ask
    this.wire = wire
    this.onLength = onLength
    const { dimensions = MAX_NUMBERS } = ask.settings
    this.cap = replyCap(ask, dimensions)
    this.scan = new ReplyScan({ keys: wire.keys, length: Math.max(dimensions, MAX_NUMBERS), take: (raw) => this.take(raw) })
    this.turns = new Turns(TURN, (chunk) => this.read(chunk), { pause: () => this.flow?.pause(), resume: () => this.flow?.resume() })
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  data(chunk: Buffer): void {
    if (this.over) return
    this.flow?.alive?.()
    this.size += chunk.length
    if (this.size > this.cap) this.fail(new Fault('upstream_oversized'))
    else {
      this.spent?.came(chunk)
      this.turns.push(chunk)
    }
  }

  end(): void {
    if (!this.over) this.turns.end(() => this.complete())
  }

  fail(fault: Fault): void {
    if (this.over) return
    this.over = true
    this.turns.stop()
    this.reject(fault)
  }

  private read(chunk: Buffer): void {
    if (this.over) return
    try {
      this.scan.push(chunk)
      this.scanned += chunk.length
    } catch (thrown) {
      this.fail(thrown instanceof Fault ? thrown : new Fault('internal', { cause: thrown }))
    }
  }

  /** @throws Fault `upstream_garbled` for a vector too many, or of another length than the first. */
  private take(raw: RawVector): void {
    const { settings, inputs } = this.ask
    const vector = writeRaw(raw, settings.form)
    // What stood before the bytes at hand has been written anew.
    if (vector.pieces === raw.pieces) this.spent = undefined
    this.spent?.free(this.scanned)
    const length = this.vectors[0]?.length ?? vector.length
    if (vector.length !== length || this.vectors.length >= inputs.length) throw new Fault('upstream_garbled')
    if (this.vectors.push(vector) === 1) this.cap = replyCap(this.ask, length)
  }

  private complete(): void {
    if (this.over) return
    try {
      const body = this.scan.end()
      // Some providers report a failure inside a 200.
      if (isObject(body.error)) throw this.wire.decodeFault(200, body)
      const { vectors: order, usage } = this.wire.decode(body)
      const vectors = inOrder(order, this.vectors, this.ask.inputs.length)
      const { dimensions } = this.ask.settings
      const [{ length = dimensions } = {}] = vectors
      if (dimensions !== undefined && length !== undefined && length !== dimensions) {
        this.onLength(length)
        this.unfit = { usage }
        throw ofOneLength(length)
      }
      this.over = true
      this.resolve({ vectors, usage })
    } catch (thrown) {
      this.fail(thrown instanceof Fault ? thrown : new Fault('upstream_garbled', { cause: thrown }))
    }
  }
}

/** llama.cpp ignores `dimensions`: the caller's to know, and another server may do it. */
function ofOneLength(length: number): Fault {
  return new Fault('upstream_unfit', {
    message: `dimensions: the model gives vectors of ${length} numbers there`,
    metadata: { field: 'dimensions' },
  })
}

function replyCap({ inputs }: EmbeddingAsk, dimensions: number): number {
  return ROOM + inputs.length * (VECTOR_ROOM + dimensions * NUMBER_BYTES)
}

/** One vector for each input, each once. @throws Fault `upstream_garbled`. */
function inOrder(order: readonly number[], came: readonly WrittenVector[], inputs: number): WrittenVector[] {
  if (order.length !== inputs || came.length !== inputs || new Set(order).size !== inputs) throw new Fault('upstream_garbled')
  return order.map((number) => {
    const vector = came[number]
    if (!vector) throw new Fault('upstream_garbled')
    return vector
  })
}
