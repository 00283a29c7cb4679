/**
 * Has a provider count the tokens of a request: for a caller that wants the count, for a hold whose bound does not fit, and near the end of
 * a context. Free of charge.
 */

import { asFault, Fault, isAccountFault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { Remembered } from '../core/remembered.ts'
import { wellFormedJson } from '../core/well-formed.ts'
import { withTakenNames } from '../dialects/canon/tool-names.ts'
import type { Encoded, UpstreamDialect } from '../dialects/types.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import type { Grant } from '../services/credentials/types.ts'
import { type BodyReceiver, type CallTimeouts, UpstreamCall } from '../services/upstream/call.ts'
import { JsonBody } from '../services/upstream/json-body.ts'
import { nameVersion } from './attempt/api-version.ts'
import { countAttempt } from './attempt/attempt.ts'
import { buildTarget, encodeCanonical } from './attempt/endpoint-call.ts'
import { isRefusal, present } from './attempt/refused-credential.ts'
import { AnswerOrError } from './attempt/upstream-attempt.ts'
import type { ChainDependencies } from './dependencies.ts'
import type { Guarded } from './exchange.ts'
import { loweredCap } from './money/output-caps.ts'
import type { InputCounter } from './money/outside-count.ts'
import { withoutEcho } from './refusal/echoed-words.ts'
import { endedEarly } from './reply/final-fault.ts'
import { withMedia } from './route/media-fetch.ts'
import type { ContextCounter } from './route/near-end.ts'
import { addCredential, callPath, inVersion, providerAddress } from './route/provider-address.ts'

/** Bytes of a reply, unless the dialect knows better: a count is a short object. */
const CAP = 64 * 1024
/** Statuses of a provider of the wire that has no counter: no such operation (RFC 9110, 15.5.6 and 15.6.2). */
const LACKS_COUNTER: ReadonlySet<number> = new Set([405, 501])
/** Milliseconds that a request waits for a count before it is refused. */
const TIMEOUT_MS = 5_000
/** The same where an estimate does in its place. */
const SHORT_TIMEOUT_MS = 2_000
/** Milliseconds for which a server whose counter has failed is not called for contexts. */
const FAILED_MS = 60_000
/** The version of the API at the end of a base URL. */
const VERSION = /\/v\d+$/

/** Counts for holds: at most so often as a key may have it, and any failure of the provider leaves the hold as it is. */
export function inputCounter(
  dependencies: Pick<ChainDependencies, 'upstreams' | 'pools' | 'metrics' | 'alarm' | 'byok' | 'admission'>,
): InputCounter {
  return async function count(exchange, endpoint) {
    if (!(await dependencies.admission.mayCount(exchange.auth.key))) return undefined
    try {
      return await countAt(exchange, endpoint, dependencies, TIMEOUT_MS)
    } catch (thrown) {
      const fault = asFault(thrown)
      if (fault.origin === 'upstream') return undefined
      throw fault
    }
  }
}

/** Counts for contexts: bounded as those for holds, and a server whose counter has failed is called again after a while only. */
export function contextCounter(
  dependencies: Pick<ChainDependencies, 'upstreams' | 'pools' | 'metrics' | 'alarm' | 'byok' | 'admission' | 'clock'>,
): ContextCounter {
  const failing = new Remembered<true>(dependencies.clock, { forMs: FAILED_MS, most: 1_000 })
  return {
    counts(endpoint) {
      const dialect = dependencies.upstreams.get(endpoint.provider.dialect)
      return dialect !== undefined && counts(endpoint, dialect) && failing.get(endpoint.id) === undefined
    },
    async count(exchange, endpoint) {
      if (!(await dependencies.admission.mayCount(exchange.auth.key))) return undefined
      try {
        const tokens = await countAt(exchange, endpoint, dependencies, SHORT_TIMEOUT_MS)
        if (tokens === undefined) failing.note(endpoint.id, true)
        return tokens
      } catch (thrown) {
        if (exchange.head.cancel.aborted) throw thrown
        // What is wrong with the request its answer shows, and it says nothing of the counter.
        return undefined
      }
    },
  }
}

const counts = ({ provider, quirks = provider.quirks }: Endpoint, { countTokens }: UpstreamDialect): boolean =>
  countTokens !== undefined && countTokens.offers?.(quirks) !== false

/**
 * Has the provider of the endpoint count the tokens of the request.
 * @param timeoutMs milliseconds for the whole call, where that is less than the provider's own time-outs.
 * @returns undefined where the provider does not count, or failed: an estimate is worth more than an error.
 * @throws Fault where the caller's request is at fault, the caller leaves or the deadline passes.
 */
export async function countAt(
  exchange: Guarded,
  endpoint: Endpoint,
  dependencies: Pick<ChainDependencies, 'upstreams' | 'pools' | 'metrics' | 'alarm' | 'byok'>,
  timeoutMs = Number.POSITIVE_INFINITY,
): Promise<number | undefined> {
  const dialect = dependencies.upstreams.get(endpoint.provider.dialect)
  const counter = dialect?.countTokens
  if (!dialect || !counter || !counts(endpoint, dialect)) return undefined
  const target = { ...buildTarget(exchange, endpoint, dialect, loweredCap(exchange, endpoint)), stream: false }
  const encoded: Encoded = encodeCanonical(withMedia(exchange, target.quirks), target, (request) => {
    const renamed = dialect.toolNames && withTakenNames(request, dialect.toolNames)
    return counter.encode(renamed?.request ?? request, target)
  })
  nameVersion(exchange, dialect, encoded)
  const { provider } = endpoint
  const address = providerAddress(provider, dialect)
  const gathered = new GatheredJson(counter.longestReply ?? CAP)
  let replied = 0
  const reply = new AnswerOrError(gathered, {
    clock: exchange.head.clock,
    dialect,
    accepts: (status) => {
      replied = status
      return status === 200
    },
  })
  const call = new UpstreamCall(reply, exchange.head.clock, within(provider.timeouts, timeoutMs))
  const takeBack = exchange.head.cancel.onAbort(() => {
    call.abort()
    gathered.fail(endedEarly(exchange, []))
  })
  // A path of the operator's own is that of generations.
  const base = encoded.besideVersion ? { ...address, path: address.path.replace(VERSION, '') } : address
  const path = callPath(base, { ...provider, path: undefined }, { path: encoded.path, model: endpoint.upstreamModel })
  const body = wellFormedJson(encoded.body)
  const credential = endpoint.credential?.forCall()
  let used: Grant | undefined
  try {
    if (credential && !credential.ready(exchange.head.clock.now())) await present(credential, exchange)
    const headers = [...inVersion(address.headers, encoded.version, { provider, dialect }), ...(encoded.headers ?? [])]
    if (credential) addCredential(credential, { provider, dialect }, { path, body, headers })
    used = credential?.grant
    call.send(dependencies.pools.for(address), { path, headers, body })
    return counter.decode(await gathered.done)
  } catch (thrown) {
    const fault = withoutEcho(asFault(thrown), exchange.request.payload)
    if (fault.origin !== 'upstream' || (fault.retry === 'never' && !LACKS_COUNTER.has(replied) && !(counter.isOfSome && replied === 404)))
      throw fault
    countAttempt(dependencies.metrics, provider.slug, fault.code)
    if (endpoint.byok && isAccountFault(fault)) dependencies.byok.failed(endpoint.byok.entry, fault)
    else if (isAccountFault(fault)) dependencies.alarm(provider, fault, undefined)
    // The estimate is worth more than another call; the next request gets another credential.
    if (credential && isRefusal(fault)) credential.renew(used).catch(() => {})
    return undefined
  } finally {
    takeBack()
    call.abort()
  }
}

function within(timeouts: CallTimeouts, most: number): CallTimeouts {
  const { connect, firstByte, idle, total } = timeouts
  return {
    connect: Math.min(connect, most),
    firstByte: Math.min(firstByte, most),
    idle: Math.min(idle, most),
    total: Math.min(total, most),
  }
}

/** A JSON object. */
class GatheredJson implements BodyReceiver {
  readonly done: Promise<JsonObject>
  private readonly body: JsonBody
  private resolve: (body: JsonObject) => void = () => {}
  private reject: (fault: Fault) => void = () => {}

  /** @param most bytes. */
  constructor(most: number) {
    this.body = new JsonBody(most)
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
