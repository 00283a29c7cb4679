/** Counts the tokens of a request instead of answering it: at a provider that counts, else by our own estimate. Free of charge. */

import { entryAt } from '../core/entry-at.ts'
import { asFault, Fault, isAccountFault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { estimatedNeed } from '../dialects/canon/need.ts'
import { withTakenNames } from '../dialects/canon/tool-names.ts'
import { noUsage } from '../dialects/canon/usage.ts'
import type { UpstreamDialect } from '../dialects/types.ts'
import { estimateTokens } from '../ledger/settlement.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import type { Grant } from '../services/credentials/types.ts'
import { type BodyReceiver, UpstreamCall } from '../services/upstream/call.ts'
import { JsonBody } from '../services/upstream/json-body.ts'
import { countAttempt } from './attempt/attempt.ts'
import { isRefusal, present } from './attempt/credential.ts'
import { encodeCanonical, targetOf } from './attempt/endpoint-call.ts'
import { answeredHere } from './attempt/turn.ts'
import { AnswerOrError } from './attempt/upstream-attempt.ts'
import type { ChainDependencies } from './dependencies.ts'
import type { Guarded } from './exchange.ts'
import type { Reply, Service } from './layer.ts'
import { withoutEcho } from './refusal/echoed-words.ts'
import { endedEarly } from './reply/final-fault.ts'
import { callPath, credentialHeaders, providerAddress } from './route/provider-address.ts'

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
    return replyOf(exchange, entryAt(exchange.route.endpoints, 0), { tokens: prompt, estimated: true })
  }
}

function replyOf(exchange: Guarded, endpoint: Endpoint, count: { tokens: number; estimated: boolean }): Reply {
  exchange.run.final = {
    usage: noUsage(),
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
  const target = { ...targetOf(exchange, endpoint, dialect), stream: false }
  const encoded = encodeCanonical(exchange.request.canonical(), target, (request) => {
    const renamed = dialect.toolNames && withTakenNames(request, dialect.toolNames)
    return counter.encode(renamed?.request ?? request, target)
  })
  const { provider } = endpoint
  const address = providerAddress(provider, dialect)
  const gathered = new GatheredJson()
  const reply = new AnswerOrError(gathered, {
    clock: exchange.head.clock,
    dialect,
    accepts: (status) => status === 200,
  })
  const call = new UpstreamCall(reply, exchange.head.clock, provider.timeouts)
  const takeBack = exchange.head.cancel.onAbort(() => {
    call.abort()
    gathered.fail(endedEarly(exchange, []))
  })
  // A path of the operator's own is that of generations.
  const path = callPath(address, { ...provider, path: undefined }, { path: encoded.path, model: endpoint.upstreamModel })
  const body = JSON.stringify(encoded.body)
  const credential = endpoint.credential?.forCall()
  let used: Grant | undefined
  try {
    if (credential && !credential.ready(exchange.head.clock.now())) await present(credential, exchange)
    const headers = [...address.headers, ...(encoded.headers ?? [])]
    if (credential) headers.push(...credentialHeaders(credential, { provider, dialect }, { path, body, headers }))
    used = credential?.grant
    call.send(dependencies.pools.for(address), { path, headers, body })
    return counter.decode(await gathered.done)
  } catch (thrown) {
    const fault = withoutEcho(asFault(thrown), exchange.request)
    if (fault.origin !== 'upstream' || fault.retry === 'never') throw fault
    countAttempt(dependencies.tallies, provider.slug, fault.code)
    if (isAccountFault(fault)) dependencies.alarm(provider, fault, undefined)
    // The estimate is worth more than another call; the next request gets another credential.
    if (credential && isRefusal(fault)) credential.renew(used).catch(() => {})
    return undefined
  } finally {
    takeBack()
    call.abort()
  }
}

/** A short JSON object. */
class GatheredJson implements BodyReceiver {
  readonly done: Promise<JsonObject>
  private readonly body = new JsonBody(CAP)
  private resolve: (body: JsonObject) => void = () => {}
  private reject: (fault: Fault) => void = () => {}

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  data(chunk: Buffer): void {
    if (!this.body.push(chunk)) this.fail(new Fault('upstream_garbled'))
  }

  end(): void {
    try {
      this.resolve(this.body.parse())
    } catch (thrown) {
      this.fail(asFault(thrown))
    }
  }

  fail(fault: Fault): void {
    this.reject(fault)
  }
}
