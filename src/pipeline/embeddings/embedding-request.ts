/** The inputs and settings of a request for vectors, read once; and how long inputs are. Estimates err high, as everywhere. */

import { Fault } from '../../core/faults.ts'
import { itemTokens } from '../../dialects/canon/need.ts'
import type { Item } from '../../dialects/canon/request.ts'
import type { EmbeddingAsk, EmbeddingClient, EmbeddingInput, EmbeddingTarget, EmbeddingWire } from '../../dialects/types.ts'
import { estimateTokens } from '../../ledger/settlement.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Accepted } from '../exchange.ts'

const read = new WeakMap<Accepted, { ask: EmbeddingAsk; edits: number }>()

/** Embedding request of the caller, with the edits of layers. */
export function embeddingAsk(exchange: Accepted): EmbeddingAsk {
  const known = read.get(exchange)
  const edits = exchange.request.edits.length
  if (known?.edits === edits) return known.ask
  const sent = embeddingClient(exchange).ask(exchange.request.body)
  const ask = edits === 0 ? sent : { ...sent, inputs: editedInputs(sent.inputs, exchange.request.canonical().items) }
  read.set(exchange, { ask, edits })
  return ask
}

/** Each input is a message of the canonical form; token ids are never edited. @throws Fault 500 where some are gone or new. */
function editedInputs(sent: readonly EmbeddingInput[], items: readonly Item[]): EmbeddingInput[] {
  if (items.length !== sent.length) throw new Fault('internal', { cause: new Error('inputs of an embedding were added or removed') })
  return sent.map((input, index) => {
    const item = items[index]
    if (input.kind === 'tokens' || item?.kind !== 'message') return input
    const texts = item.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))
    return texts.length === item.parts.length ? { kind: 'text', text: texts.join('\n') } : { kind: 'parts', parts: item.parts }
  })
}

/** @throws Fault 500 where the operation is none of embeddings. */
export function embeddingClient({ request: { client } }: Accepted): EmbeddingClient {
  if (!client.embedding) throw new Fault('internal', { cause: new Error(`${client.id} is no format of embeddings`) })
  return client.embedding
}

export function endpointWire({ provider }: Endpoint, { wires }: Pick<ChainDependencies, 'wires'>): EmbeddingWire {
  const wire = wires.get(provider.dialect)
  if (!wire) throw new Fault('internal', { cause: new Error(`no embeddings in ${provider.dialect}`) })
  return wire
}

export function endpointTarget({ model, upstreamModel, quirks, provider }: Endpoint): EmbeddingTarget {
  return {
    model: upstreamModel,
    quirks: quirks ?? provider.quirks,
    user: provider.user,
    reads: model.input,
    longInput: model.longInput,
  }
}

/** Estimated tokens; exact where the caller sent tokens. */
export function inputTokens(input: EmbeddingInput): number {
  if (input.kind === 'tokens') return input.tokens.length
  if (input.kind === 'text') return estimateTokens(input.text)
  return itemTokens({ kind: 'message', role: 'user', parts: [...input.parts] }, estimateTokens)
}

/** So many of the estimated tokens are those of images, which may have a price of their own. */
export function imageTokens(input: EmbeddingInput): number {
  if (input.kind !== 'parts') return 0
  const others = input.parts.filter((part) => part.kind !== 'media' || part.media !== 'image')
  return others.length === input.parts.length ? 0 : inputTokens(input) - inputTokens({ kind: 'parts', parts: others })
}

export function imagesIn(input: EmbeddingInput): number {
  if (input.kind !== 'parts') return 0
  return input.parts.filter((part) => part.kind === 'media' && part.media === 'image').length
}

/** The beginning of an input, so much of it that it surely fits. Media are never cut. */
export function cutTo(input: EmbeddingInput, tokens: number): EmbeddingInput {
  if (input.kind === 'tokens') return { kind: 'tokens', tokens: input.tokens.slice(0, tokens) }
  return input.kind === 'text' ? { kind: 'text', text: textBeginning(input.text, tokens) } : input
}

function textBeginning(text: string, tokens: number): string {
  let fits = 0
  let over = text.length
  while (over - fits > 1) {
    const middle = (fits + over) >> 1
    if (estimateTokens(text.slice(0, middle)) <= tokens) fits = middle
    else over = middle
  }
  // Half of a pair is no character.
  const last = text.charCodeAt(fits - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? fits - 1 : fits)
}
