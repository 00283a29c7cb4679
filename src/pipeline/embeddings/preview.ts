/** For plans: the calls that an endpoint would get, with nothing sent. */

import type { Endpoint } from '../../routing/catalog/types.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Planned } from '../exchange.ts'
import type { CallPreview } from '../plan/candidates.ts'
import { AT_ONCE, callsAt, mostOf } from './calls.ts'
import { inputTokens } from './input-size.ts'

export function previewVectors(exchange: Planned, endpoint: Endpoint, dependencies: Pick<ChainDependencies, 'wires'>): CallPreview {
  const { wire, target, ask, batches, cut } = callsAt(exchange, endpoint, dependencies)
  const { dropped } = wire.encode({ ...ask, inputs: [] }, target)
  const most = mostOf(wire, target)
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
