/**
 * Stands between the guardrails and the plan: keeps the endpoints that can read the inputs as they are.
 * Inputs that no endpoint can read are refused at once, with the place in the request, before any provider is called.
 */
import { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import type { EmbeddingAsk, EmbeddingLack, EmbeddingTarget, EmbeddingWire } from '../../dialects/types.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { FilterName, Removed } from '../../routing/index.ts'
import type { ChainDependencies } from '../dependencies.ts'
import { type Guarded, narrow } from '../exchange.ts'
import type { GuardrailSetting } from '../guard/guardrail-setting.ts'
import { holdsFor } from '../guard/guardrail-terms.ts'
import type { Layer } from '../layer.ts'
import { embeddingAsk, embeddingClient, endpointTarget, inputTokens } from './embedding-request.ts'
import type { VectorLengths } from './vector-lengths.ts'

export function filterLayer(guardrails: readonly GuardrailSetting[], dependencies: Needs): Layer<Guarded> {
  return (next) =>
    function handle(exchange) {
      const ask = embeddingAsk(exchange)
      checkLegible(exchange, ask, guardrails)
      const { kept, first, removed } = sorted(exchange, ask, dependencies)
      if (removed.length > 0) exchange.history.removed = [...exchange.history.removed, ...removed]
      if (kept.length === 0 && first) throw refusal(exchange, first)
      return next(narrow(exchange, kept))
    }
}

type Needs = Pick<ChainDependencies, 'wires' | 'vectorLengths'>

/** Refuses token ids where a guardrail applies, since guardrails read text only. @throws Fault 400. */
function checkLegible(exchange: Guarded, { inputs }: EmbeddingAsk, guardrails: readonly GuardrailSetting[]): void {
  const hidden = inputs.findIndex(({ kind }) => kind === 'tokens')
  if (hidden === -1) return
  const guardrail = guardrails.find((each) => holdsFor(each, exchange.auth.key))
  if (!guardrail) return
  const field = embeddingClient(exchange).inputPath(exchange.request.body, hidden)
  throw new Fault('bad_request', {
    message: `${field}: expected text: the guardrail ${guardrail.name} cannot read token ids`,
    metadata: { field },
  })
}

interface Lacking {
  endpoint: Endpoint
  lack: EmbeddingLack
  filter: FilterName
}

interface Sorted {
  kept: Endpoint[]
  first?: Lacking | undefined
  removed: Removed[]
}

function sorted(exchange: Guarded, ask: EmbeddingAsk, dependencies: Needs): Sorted {
  const strict = exchange.demand.preferences.require_parameters === true
  const kept: Endpoint[] = []
  const removed: Removed[] = []
  let first: Lacking | undefined
  for (const endpoint of exchange.route.endpoints) {
    const wire = dependencies.wires.get(endpoint.provider.dialect)
    const lengths = dependencies.vectorLengths
    const lacking = wire ? findLacking(ask, endpoint, { wire, strict, lengths }) : { endpoint, lack: NO_WIRE, filter: 'dialect' as const }
    if (!lacking) {
      kept.push(endpoint)
      continue
    }
    first ??= lacking
    const { lack, filter } = lacking
    removed.push({ endpoint, filter, detail: `${lackPlace(exchange, lack)}: it ${lack.why}` })
  }
  return { kept, first, removed }
}

/** `models` may name a model of a provider without embeddings. */
const NO_WIRE: EmbeddingLack = { at: 'model', why: 'gives no vectors' }

interface Look {
  readonly wire: EmbeddingWire
  readonly strict: boolean
  readonly lengths: VectorLengths
}

function findLacking(ask: EmbeddingAsk, endpoint: Endpoint, { wire, strict, lengths }: Look): Lacking | undefined {
  const target = endpointTarget(endpoint)
  const looks: readonly (readonly [FilterName, () => EmbeddingLack | undefined])[] = [
    ['input_modality', () => (endpoint.model.anyInput ? undefined : unreadable(ask, target))],
    ['dialect', () => wire.lacks(ask, target)],
    ['dialect', () => ofOneLength(lengths.lengthInstead(endpoint.id, ask.settings.dimensions))],
    ['require_parameters', () => (strict ? unsaid(ask, wire, target) : undefined)],
    ['context', () => tooLong(ask, endpoint, wire)],
  ]
  for (const [filter, look] of looks) {
    const lack = look()
    if (lack) return { endpoint, lack, filter }
  }
  return undefined
}

/** Path of the part of the request that cannot be served. */
function lackPlace(exchange: Guarded, { at }: EmbeddingLack): string {
  return typeof at === 'string' ? at : embeddingClient(exchange).inputPath(exchange.request.body, at.input, at.part)
}

/** @param length that the endpoint has given before, whatever was requested. */
function ofOneLength(length: number | undefined): EmbeddingLack | undefined {
  return length === undefined ? undefined : { at: 'dimensions', why: `gives vectors of ${length} numbers` }
}

/** A medium that the model does not read. */
function unreadable({ inputs }: EmbeddingAsk, { reads }: EmbeddingTarget): EmbeddingLack | undefined {
  for (const [input, each] of inputs.entries()) {
    if (each.kind !== 'parts') continue
    for (const [part, { kind, ...rest }] of each.parts.entries()) {
      const media = kind === 'media' && 'media' in rest ? rest.media : undefined
      if (media !== undefined && !reads.includes(media)) return { at: { input, part }, why: `reads no ${media}, only ${reads.join(', ')}` }
    }
  }
  return undefined
}

/** With `require_parameters` nothing is left out. */
function unsaid(ask: EmbeddingAsk, wire: EmbeddingWire, target: EmbeddingTarget): EmbeddingLack | undefined {
  const [name] = wire.encode({ ...ask, inputs: [] }, target).dropped
  return name === undefined ? undefined : { at: name, why: 'does not take it, and require_parameters is set' }
}

/** Finds an input that is too long, where such inputs are to be refused and the provider would truncate them. */
function tooLong({ inputs }: EmbeddingAsk, { context, model }: Endpoint, wire: EmbeddingWire): EmbeddingLack | undefined {
  if (model.longInput !== 'reject' || wire.longInput !== 'truncates' || context === undefined) return undefined
  const input = inputs.findIndex((each) => inputTokens(each) > context)
  return input === -1 ? undefined : { at: { input }, why: `takes at most ${context} tokens of each input` }
}

function refusal(exchange: Guarded, { endpoint, lack, filter }: Lacking): Fault {
  const { why } = lack
  const field = lackPlace(exchange, lack)
  const availability: JsonObject = {
    code: 'constraint_filtered',
    retryable: false,
    requested_models: exchange.route.models.map(({ slug }) => slug),
    constraint: { field, detail: why },
  }
  const message = `${field}: ${endpoint.model.slug} at ${endpoint.provider.name} ${why}`
  return new Fault(filter === 'context' ? 'context_length' : 'bad_request', { message, metadata: { field }, availability })
}
