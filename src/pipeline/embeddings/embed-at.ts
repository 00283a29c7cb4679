/** One endpoint's answer: the batch as calls, some of them at once, their vectors in the order of the inputs. */
import { entryAt } from '../../core/entry-at.ts'
import { asFault, Fault, isRejection } from '../../core/faults.ts'
import { addUsage, noUsage, type Usage } from '../../dialects/canon/usage.ts'
import type { EmbeddingAsk, EmbeddingTarget, EmbeddingWire } from '../../dialects/types.ts'
import type { WrittenVector } from '../../machines/vectors/written.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { isOutage, type RetryPermit } from '../../routing/index.ts'
import { countAttempt } from '../attempt/attempt.ts'
import type { Turn } from '../attempt/turn.ts'
import { type Cancellable, Cancellation } from '../attempt/upstream-attempt.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Planned } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { type Brought, type Calling, callProvider } from './call.ts'
import { AT_ONCE, type Batch, callsAt } from './calls.ts'
import { embeddingClient, imagesIn, imageTokens, inputTokens } from './embedding-request.ts'

export function embedAt(exchange: Planned, endpoint: Endpoint, dependencies: ChainDependencies): Promise<Reply> {
  const run = new EmbeddingRun(exchange, endpoint, dependencies)
  run.start()
  return run.done
}

interface Running {
  readonly batch: Batch
  readonly calling: Calling
}

class EmbeddingRun implements Cancellable {
  /** Rejects with a fault: the caller has got nothing, and another endpoint may be tried. */
  readonly done: Promise<Reply>
  private readonly exchange: Planned
  private readonly endpoint: Endpoint
  private readonly dependencies: ChainDependencies
  private readonly wire: EmbeddingWire
  private readonly target: EmbeddingTarget
  private readonly ask: EmbeddingAsk
  private readonly queue: Batch[]
  private readonly running = new Set<Running>()
  /** Calls that have failed once, with the leave to make them again. */
  private readonly failedOnce = new Map<Batch, RetryPermit>()
  /** Those that are sent over a new connection, since theirs had been closed while it was idle. */
  private readonly anew = new Set<Batch>()
  private readonly vectors: WrittenVector[]
  private readonly dropped = new Set<string>()
  /** Of the calls that have ended well. */
  private usage: Usage | undefined
  /** Estimate of those that were sent and cut off. */
  private cut: Usage | undefined
  /** Images in the inputs of all these calls, for prices per image. */
  private images = 0
  private succeeded = 0
  private calls: number
  private over = false
  private readonly cancellation: Cancellation
  private resolve: (reply: Reply) => void = () => {}
  private reject: (fault: Fault) => void = () => {}

  constructor(exchange: Planned, endpoint: Endpoint, dependencies: ChainDependencies) {
    this.exchange = exchange
    this.endpoint = endpoint
    this.dependencies = dependencies
    this.cancellation = new Cancellation(exchange.head, this)
    const { wire, target, ask, batches, cut } = callsAt(exchange, endpoint, dependencies)
    this.wire = wire
    this.target = target
    this.ask = ask
    this.queue = batches
    for (const what of cut) this.dropped.add(what)
    this.calls = this.queue.length
    this.vectors = new Array<WrittenVector>(this.ask.inputs.length)
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  start(): void {
    const { exchange, endpoint } = this
    exchange.run.ctx.model = endpoint.model.slug
    exchange.run.ctx.provider = endpoint.provider.name
    this.cancellation.watch(endpoint.provider, this.dependencies.drains)
    this.fill()
  }

  private fill(): void {
    while (!this.over && this.running.size < AT_ONCE) {
      const batch = this.queue.shift()
      if (!batch) return
      this.begin(batch)
    }
  }

  private begin(batch: Batch): void {
    const { exchange, endpoint, wire, target, ask } = this
    const inputs = batch.to - batch.from === ask.inputs.length ? ask.inputs : ask.inputs.slice(batch.from, batch.to)
    const calling = callProvider(
      { exchange, endpoint, wire, target, ask: { ...ask, inputs }, anew: this.anew.has(batch) },
      this.dependencies,
    )
    for (const name of calling.dropped) this.dropped.add(name)
    const running = { batch, calling }
    this.running.add(running)
    calling.done
      .then(
        (brought) => this.came(running, brought),
        (thrown) => this.broke(running, asFault(thrown)),
      )
      .catch((thrown) => this.fail(asFault(thrown)))
  }

  private came(running: Running, { vectors, usage }: Brought): void {
    this.running.delete(running)
    running.calling.abort()
    if (this.over) return
    const { from, to } = running.batch
    for (let i = from; i < to; i++) {
      const vector = vectors[i - from]
      if (vector === undefined) {
        this.fail(new Fault('upstream_garbled'))
        return
      }
      this.vectors[i] = vector
    }
    this.countReply(running.batch, usage)
    this.succeeded++
    this.failedOnce.get(running.batch)?.end(true)
    if (this.vectors[0] !== undefined && vectors[0]?.length !== this.vectors[0].length) this.fail(new Fault('upstream_garbled'))
    else if (this.succeeded === this.calls) this.complete()
    else this.fill()
  }

  /**
   * Of several calls one may fail and be made again at the end, as long as no more have failed than have come off:
   * an endpoint that is down is left at once, and after a single failure the other results of the endpoint are kept.
   */
  private broke(running: Running, fault: Fault): void {
    this.running.delete(running)
    running.calling.abort()
    if (this.over) return
    const { batch } = running
    if (this.cancellation.discarding) {
      // The caller has ended it: what was sent is charged, whatever became of it, unless the provider refused it as wrong.
      if (!isRejection(fault)) this.cutOff(running)
      else this.countUnfit(running)
      this.calls--
      if (this.succeeded === this.calls) this.complete()
      return
    }
    // The provider had closed the connection while it was idle, which says nothing of the provider.
    if (fault.retry === 'at once' && !this.anew.has(batch)) {
      this.anew.add(batch)
      this.begin(batch)
      return
    }
    const again = this.calls > 1 && isOutage(fault) && !this.failedOnce.has(batch) && this.failedOnce.size <= this.succeeded
    const permit = again ? this.dependencies.retries.take(this.endpoint.model) : undefined
    if (!permit) {
      this.fail(fault, running)
      return
    }
    countAttempt(this.dependencies.metrics, this.endpoint.provider.slug, fault.code)
    this.failedOnce.set(batch, permit)
    this.queue.push(batch)
    this.fill()
  }

  readOn(): void {
    // Calls that have not been sent yet are not needed any more.
    this.calls -= this.queue.length
    this.queue.length = 0
    if (this.succeeded === this.calls) this.complete()
  }

  /** The caller has gone for good: what was under way is charged by estimate. */
  gone(): void {
    if (this.over) return
    for (const running of this.running) this.cutOff(running)
    this.settle(true)
  }

  get sent(): boolean {
    if (this.usage) return true
    for (const { calling } of this.running) if (calling.sent()) return true
    return false
  }

  /** Counts the input of a call that ends before it reports, where the provider had it. */
  private cutOff({ batch, calling }: Running): void {
    if (!calling.sent()) return
    this.cut = sumUsage(this.cut, this.estimated(batch))
    this.images += this.batchImages(batch)
  }

  private countReply(batch: Batch, usage: Usage | undefined): void {
    this.usage = sumUsage(this.usage, usage ?? this.estimated(batch))
    this.images += this.batchImages(batch)
  }

  /** A reply of no use to the caller is charged: what it requested is its own choice, and the provider bills it. */
  private countUnfit({ batch, calling }: Running): void {
    const unfit = calling.unfit()
    if (unfit) this.countReply(batch, unfit.usage)
  }

  private complete(): void {
    this.exchange.run.commit(this.endpoint, this.exchange.head.clock.monotonic())
    this.settle(this.cancellation.discarding)
  }

  private settle(aborted: boolean): void {
    this.close()
    const { exchange, vectors } = this
    const pieces = (final: Parameters<Reply['finish']>[0]): Buffer[] => embeddingClient(exchange).encode(vectors, exchange.run.ctx, final)
    this.resolve({
      turn: this.turn({ aborted, fault: undefined, end: ENDED }),
      pieces,
      finish: (final) => Buffer.concat(pieces(final)).toString('utf8'),
    })
  }

  /** @param broken the call that failed, where one did: refused as wrong before any work it costs nothing itself, and the others are charged. */
  fail(fault: Fault, broken?: Running): void {
    if (this.over) return
    const rejected = broken !== undefined && isRejection(fault)
    for (const running of this.running) this.cutOff(running)
    if (broken && !rejected) this.cutOff(broken)
    else if (broken) this.countUnfit(broken)
    const turn = this.turn({ aborted: false, fault, end: undefined })
    if (rejected && turn.sent !== false) turn.callRejected = true
    this.exchange.run.unfinished = turn
    this.close()
    this.reject(fault)
  }

  private turn(facts: Pick<Turn, 'aborted' | 'fault' | 'end'>): Turn {
    const { endpoint, usage, cut, images, succeeded } = this
    const turn: Turn = { endpoint, lane: 'translate', usage, cut, extras: { images }, begun: succeeded > 0, relayed: 0, ...facts }
    if (!usage && !cut) turn.sent = false
    return turn
  }

  private close(): void {
    this.over = true
    this.cancellation.end()
    for (const { calling } of this.running) calling.abort()
    for (const permit of this.failedOnce.values()) permit.end(false)
    const record = this.exchange.history.attempts.at(-1)
    if (record && this.dropped.size > 0) record.dropped = [...this.dropped]
  }

  private batchImages({ from, to }: Batch): number {
    let images = 0
    for (let i = from; i < to; i++) images += imagesIn(entryAt(this.ask.inputs, i))
    return images
  }

  private estimated({ from, to }: Batch): Usage {
    let input = 0
    let image = 0
    for (let i = from; i < to; i++) {
      const each = entryAt(this.ask.inputs, i)
      input += inputTokens(each)
      image += imageTokens(each)
    }
    return { ...noUsage(), input, ...(image > 0 ? { inputSplit: { text: input - image, image } } : {}), estimated: true }
  }
}

const sumUsage = (before: Usage | undefined, more: Usage): Usage => (before ? addUsage(before, more) : more)

/** Vectors end in one way only; a provider gives no reason for it. */
const ENDED = { reason: 'stop', raw: 'stop' } as const
