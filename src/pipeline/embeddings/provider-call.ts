/** One call on its way: over HTTP, or at a provider inside this process. */

import { Fault } from '../../core/faults.ts'
import type { Usage } from '../../dialects/canon/usage.ts'
import type { EmbeddingAsk, EmbeddingTarget, EmbeddingWire, VectorSink } from '../../dialects/types.ts'
import { type WrittenVector, writeFloats } from '../../dialects/vectors/written.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { UpstreamCall } from '../../services/upstream/call.ts'
import { AnswerOrError, isSuccess } from '../attempt/answer-or-error.ts'
import { traceOf } from '../attempt/call-trace.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Planned } from '../exchange.ts'
import { callPath, credentialHeaders, providerAddress } from '../route/provider-address.ts'
import { type Brought, EmbeddingCall } from './call.ts'

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

export interface ProviderAsk {
  readonly exchange: Planned
  readonly endpoint: Endpoint
  readonly wire: EmbeddingWire
  readonly target: EmbeddingTarget
  readonly ask: EmbeddingAsk
}

export interface Calling {
  /** Rejects with a fault. */
  readonly done: Promise<Brought>
  /** What the provider cannot take. */
  readonly dropped: readonly string[]
  /** False where the provider cannot have seen anything of it. */
  sent(): boolean
  /** Ends the call; harmless where it has ended. */
  abort(): void
}

export function callProvider({ exchange, endpoint, wire, target, ask }: ProviderAsk, dependencies: ChainDependencies): Calling {
  const encoded = wire.encode(ask, target)
  if (wire.run) {
    const local = new LocalCall(ask)
    const run = wire.run(ask, target, exchange.head.clock, local)
    return { done: local.done, dropped: encoded.dropped, sent: () => true, abort: () => run.abort() }
  }
  const { provider } = endpoint
  const address = providerAddress(provider, wire)
  const own = target.quirks.embeddings_path
  // A path of the provider's is that of generations.
  const path = callPath(address, { path: own }, { path: encoded.path, model: target.model })
  const request = {
    path,
    headers: [...address.headers, 'x-client-request-id', exchange.head.id, ...(encoded.headers ?? [])],
    body: JSON.stringify(encoded.body),
  }
  if (provider.traceContext !== 'none') request.headers.push(...traceOf(exchange, provider.traceContext))
  if (endpoint.credential) {
    const credential = exchange.run.credential ?? endpoint.credential
    request.headers.push(...credentialHeaders(credential, { provider, dialect: wire }, request))
  }
  const call = new EmbeddingCall(ask, wire)
  const reply = new AnswerOrError(call, {
    clock: exchange.head.clock,
    decode: (status, body, head) => wire.decodeFault(status, body, head),
    accepts: isSuccess,
    trail: exchange.trail,
  })
  const upstream = new UpstreamCall(reply, exchange.head.clock, address.timeouts)
  call.flow = upstream
  upstream.send(dependencies.pools.for(address), request)
  return { done: call.done, dropped: encoded.dropped, sent: () => upstream.sent, abort: () => upstream.abort() }
}
