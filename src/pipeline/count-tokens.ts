/** Counts the tokens of a request instead of answering it: at a provider that counts, else by our own estimate. Free of charge. */

import type { IncomingHttpHeaders } from 'node:http'
import { asFault, Fault } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { estimatedNeed } from '../dialects/canon/need.ts'
import type { UpstreamDialect } from '../dialects/types.ts'
import { estimateTokens } from '../ledger/usage-estimate.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import { type Receiver, UpstreamCall } from '../services/upstream/call.ts'
import { countAttempt } from './attempt/attempt.ts'
import { targetOf } from './attempt/endpoint-call.ts'
import { ErrorBody, type FaultSource } from './attempt/error-body.ts'
import { answeredHere } from './attempt/turn.ts'
import type { ChainDependencies } from './dependencies.ts'
import type { Guarded } from './exchange.ts'
import type { Reply, Service } from './layer.ts'
import { callPath, providerAddress } from './route/provider-address.ts'

/** A count is a short object. */
const CAP = 64 * 1024

/** The last service of the counting chain: calls the endpoints that count in catalogue order, and estimates where none answers. */
export function countTokens(dependencies: ChainDependencies): Service<Guarded> {
  return async function handle(exchange) {
    for (const endpoint of exchange.route.endpoints) {
      const dialect = dependencies.upstreams.get(endpoint.provider.dialect)
      if (!dialect?.countTokens) continue
      const tokens = await countAt(exchange, { endpoint, dialect }, dependencies)
      if (tokens !== undefined) return replyOf(exchange, endpoint, { tokens, estimated: false })
    }
    const { prompt } = estimatedNeed(exchange.request.canonical(), estimateTokens)
    return replyOf(exchange, exchange.route.endpoints[0], { tokens: prompt, estimated: true })
  }
}

function replyOf(exchange: Guarded, endpoint: Endpoint, count: { tokens: number; estimated: boolean }): Reply {
  exchange.run.final = {
    usage: exchange.head.costs.noUsage,
    cost: 0,
    inputCost: 0,
    outputCost: 0,
    end: { reason: 'stop' },
    completedAt: Math.floor(exchange.head.clock.now() / 1000),
  }
  const text = JSON.stringify(exchange.request.client.countBody?.(count) ?? {})
  return { turn: answeredHere(endpoint), finish: () => text }
}

/** @returns undefined where the provider failed: an estimate is worth more than an error. @throws Fault where the caller's request is at fault. */
async function countAt(
  exchange: Guarded,
  { endpoint, dialect }: { endpoint: Endpoint; dialect: UpstreamDialect },
  dependencies: ChainDependencies,
): Promise<number | undefined> {
  const { countTokens: counter } = dialect
  if (!counter) return undefined
  const encoded = counter.encode(exchange.request.canonical(), { ...targetOf(exchange, endpoint), stream: false })
  const { provider } = endpoint
  const address = providerAddress(provider, dialect)
  const gathered = new GatheredJson(exchange, (status, body) => dialect.decodeFault(status, body))
  const call = new UpstreamCall(gathered, exchange.head.clock, provider.timeouts)
  const takeBack = exchange.head.cancel.onAbort(() => {
    call.abort()
    gathered.fail(exchange.head.cancel.reason instanceof Fault ? exchange.head.cancel.reason : new Fault('client_gone'))
  })
  // A path of the operator's own is that of generations.
  const path = callPath(address, { ...provider, path: undefined }, { path: encoded.path, model: endpoint.upstreamModel })
  call.send(dependencies.pools.for(address), {
    path,
    headers: [...address.headers, ...(encoded.headers ?? [])],
    body: JSON.stringify(encoded.body),
  })
  try {
    return counter.decode(await gathered.done)
  } catch (thrown) {
    const fault = asFault(thrown)
    if (fault.origin !== 'upstream' || fault.retry === 'never') throw fault
    countAttempt(dependencies.tallies, provider.slug, fault.code)
    return undefined
  } finally {
    takeBack()
    call.abort()
  }
}

/** A short JSON reply, or the fault that came in its place. */
class GatheredJson implements Receiver {
  readonly done: Promise<JsonObject>
  private readonly exchange: Guarded
  private readonly decode: FaultSource['decode']
  private readonly chunks: Buffer[] = []
  private size = 0
  private error: ErrorBody | undefined
  private resolve: (body: JsonObject) => void = () => {}
  private reject: (fault: Fault) => void = () => {}

  constructor(exchange: Guarded, decode: FaultSource['decode']) {
    this.exchange = exchange
    this.decode = decode
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    if (status !== 200) this.error = new ErrorBody(status, headers, { clock: this.exchange.head.clock, decode: this.decode })
  }

  data(chunk: Buffer): void {
    this.size += chunk.length
    if (this.error) {
      if (!this.error.push(chunk)) this.fail(this.error.fault())
    } else if (this.size > CAP) this.fail(new Fault('upstream_garbled'))
    else this.chunks.push(chunk)
  }

  end(): void {
    if (this.error) {
      this.fail(this.error.fault())
      return
    }
    try {
      const body: unknown = JSON.parse(Buffer.concat(this.chunks).toString('utf8'))
      if (isObject(body)) this.resolve(body)
      else this.fail(new Fault('upstream_garbled'))
    } catch (cause) {
      this.fail(new Fault('upstream_garbled', { cause }))
    }
  }

  fail(fault: Fault): void {
    this.reject(fault)
  }
}
