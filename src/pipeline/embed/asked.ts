/** What an exchange asks of a model of vectors, read once. */
import type { Endpoint } from '../../catalog/types.ts'
import { Fault } from '../../core/faults.ts'
import type { EmbeddingAsk, EmbeddingClient, EmbeddingTarget, EmbeddingWire } from '../../dialects/types.ts'
import type { Exchange } from '../exchange.ts'
import type { ChainParts } from '../parts.ts'

/** What the chain of embeddings is built from. */
export interface EmbeddingParts extends ChainParts {
  /** Formats of embeddings by the dialects of their providers. */
  wires: ReadonlyMap<string, EmbeddingWire>
}

const read = new WeakMap<Exchange, EmbeddingAsk>()

export function askOf(exchange: Exchange): EmbeddingAsk {
  let ask = read.get(exchange)
  if (!ask) {
    ask = clientOf(exchange).ask(exchange.body)
    read.set(exchange, ask)
  }
  return ask
}

/** @throws Fault 500 where the operation is none of embeddings. */
export function clientOf({ client }: Exchange): EmbeddingClient {
  if (!client.embedding) throw new Fault('internal', { cause: new Error(`${client.id} asks for no vectors`) })
  return client.embedding
}

export function wireOf({ provider }: Endpoint, { wires }: Pick<EmbeddingParts, 'wires'>): EmbeddingWire {
  const wire = wires.get(provider.dialect)
  if (!wire) throw new Fault('internal', { cause: new Error(`no embeddings in ${provider.dialect}`) })
  return wire
}

export function targetOf({ model, upstreamModel, quirks, provider }: Endpoint): EmbeddingTarget {
  return {
    model: upstreamModel,
    quirks: quirks ?? provider.quirks,
    user: provider.user,
    reads: model.input,
    longInput: model.longInput,
  }
}
