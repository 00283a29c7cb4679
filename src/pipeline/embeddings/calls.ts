/** Calls of an endpoint for vectors: the inputs in its form, split into calls; nothing is sent, so that plans use it too. */
import { entryAt } from '../../core/entry-at.ts'
import type { EmbeddingAsk, EmbeddingInput, EmbeddingTarget, EmbeddingWire } from '../../dialects/types.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Planned } from '../exchange.ts'
import type { CallPreview } from '../plan/candidates.ts'
import type { SentBody } from '../refusal/callers-view.ts'
import { cutTo, embeddingAsk, embeddingClient, endpointTarget, endpointWire, inputTokens } from './embedding-request.ts'

/** Calls under way at once. */
export const AT_ONCE = 4

interface EmbeddingCalls {
  readonly wire: EmbeddingWire
  readonly target: EmbeddingTarget
  readonly ask: EmbeddingAsk
  /** In the order of the inputs; one for each call. */
  readonly batches: Batch[]
  /** Inputs that were shortened, in words for `dropped`. */
  readonly cut: readonly string[]
}

/** Sends nothing. */
export function callsAt(exchange: Planned, endpoint: Endpoint, dependencies: Pick<ChainDependencies, 'wires'>): EmbeddingCalls {
  const wire = endpointWire(endpoint, dependencies)
  const target = endpointTarget(endpoint)
  const cut: string[] = []
  const ask = fitting(exchange, { endpoint, wire, target }, cut)
  return { wire, target, ask, batches: inputBatches(ask.inputs, batchLimits(wire, target)), cut }
}

/** Rebuilds the body that an endpoint was sent, of all calls together. */
export function vectorBodyFor(exchange: Planned, endpoint: Endpoint, dependencies: Pick<ChainDependencies, 'wires'>): SentBody {
  const { wire, target, ask } = callsAt(exchange, endpoint, dependencies)
  const rename = target.quirks.body?.rename ?? {}
  return { body: () => wire.encode(ask, target).body, naming: { client: exchange.request.client.fields, upstream: wire.fields, rename } }
}

interface Taker {
  readonly endpoint: Endpoint
  readonly wire: EmbeddingWire
  readonly target: EmbeddingTarget
}

/** Truncates long inputs where the operator wants that and the provider would refuse them. */
function fitting(exchange: Planned, { endpoint: { context }, wire, target }: Taker, cut: string[]): EmbeddingAsk {
  const ask = embeddingAsk(exchange)
  if (target.longInput !== 'truncate' || wire.longInput !== 'rejects' || context === undefined) return ask
  const inputs = ask.inputs.map((input, index) => {
    if (inputTokens(input) <= context) return input
    cut.push(`${embeddingClient(exchange).inputPath(exchange.request.body, index)} beyond ${context} tokens`)
    return cutTo(input, context)
  })
  return { ...ask, inputs }
}

/** The wire's bounds, with the operator's in their place. */
function batchLimits({ most }: EmbeddingWire, { quirks }: EmbeddingTarget): EmbeddingWire['most'] {
  return {
    inputs: quirks.max_batch ?? most.inputs,
    tokens: quirks.max_batch_tokens ?? most.tokens,
  }
}

export function previewVectors(exchange: Planned, endpoint: Endpoint, dependencies: Pick<ChainDependencies, 'wires'>): CallPreview {
  const { wire, target, ask, batches, cut } = callsAt(exchange, endpoint, dependencies)
  const { dropped } = wire.encode({ ...ask, inputs: [] }, target)
  const most = batchLimits(wire, target)
  const sizes = batches.map(({ from, to }) => ({
    inputs: to - from,
    tokens: ask.inputs.slice(from, to).reduce((sum, input) => sum + inputTokens(input), 0),
  }))
  return {
    lane: 'translate',
    dropped: [...dropped, ...cut],
    calls: {
      count: batches.length,
      at_once: Math.min(AT_ONCE, batches.length),
      inputs: Math.max(...sizes.map(({ inputs }) => inputs)),
      estimated_tokens: Math.max(...sizes.map(({ tokens }) => tokens)),
      most_inputs: most.inputs,
      most_tokens: most.tokens ?? null,
    },
  }
}

/** Inputs from `from` to before `to`. */
export interface Batch {
  readonly from: number
  readonly to: number
}

/** As few calls as the bounds allow, in order; an input that is beyond them by itself is a call of its own. */
export function inputBatches(inputs: readonly EmbeddingInput[], most: { inputs: number; tokens?: number | undefined }): Batch[] {
  const batches: Batch[] = []
  const room = most.tokens ?? Number.POSITIVE_INFINITY
  let from = 0
  let tokens = 0
  for (let at = 0; at < inputs.length; at++) {
    const own = room === Number.POSITIVE_INFINITY ? 0 : inputTokens(entryAt(inputs, at))
    if (at > from && (at - from >= most.inputs || tokens + own > room)) {
      batches.push({ from, to: at })
      from = at
      tokens = 0
    }
    tokens += own
  }
  batches.push({ from, to: inputs.length })
  return batches
}
