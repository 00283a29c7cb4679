/** The entry of a model in `GET /v1/models` (docs/contract.md#lists-and-records; every field that strict clients require). */
import type { JsonObject } from '../../core/json.ts'
import { slugAuthor } from '../../core/model-family.ts'
import type { Rate } from '../../core/money.ts'
import { rateText } from '../../core/money-text.ts'
import { USUAL_PARAMETERS } from '../../core/parameters.ts'
import type { PriceOverride, RateKind, Rates } from '../../core/price.ts'
import { dayDate, WEEKDAYS } from '../../core/price-window.ts'
import { shownKinds } from '../../core/token-kinds.ts'
import type { Endpoint, Model, Price } from './types.ts'

const NO_PARAMETERS: ReadonlySet<string> = new Set()

/** Value that a price list shows for an unknown price. */
const UNKNOWN_PRICE = '-1'

/**
 * One model as the model lists show it. Prices are those of the cheapest endpoint, decimal strings in USD per token or unit;
 * lengths are the largest of any endpoint; `created` is Unix seconds, 0 where unknown.
 */
export function modelEntry(model: Model): JsonObject {
  const context = largest(model.context, model.endpoints, (endpoint) => endpoint.context)
  return {
    id: model.slug,
    object: 'model',
    owned_by: slugAuthor(model.slug) || (model.endpoints[0]?.provider.slug ?? 'unknown'),
    canonical_slug: model.slug,
    hugging_face_id: null,
    name: model.name,
    created: model.created,
    description: model.description,
    context_length: context,
    architecture: {
      modality: `${model.input.join('+')}->${model.output.join('+')}`,
      input_modalities: [...model.input],
      output_modalities: [...model.output],
      tokenizer: 'Other',
      instruct_type: null,
    },
    pricing: pricing(cheapest(model.endpoints)),
    top_provider: {
      context_length: context,
      max_completion_tokens: largest(model.maxOutput, model.endpoints, (endpoint) => endpoint.maxOutput),
      is_moderated: false,
    },
    per_request_limits: null,
    supported_parameters: supportedParameters(model.endpoints),
    default_parameters: null,
    supported_voices: null,
    knowledge_cutoff: null,
    expiration_date: model.expiration ?? null,
    links: { details: `/v1/models/${model.slug}/endpoints` },
  }
}

/** The entry of an alias: the model's own facts under the alias's slug. */
export function aliasEntry(alias: string, model: Model): JsonObject {
  return { ...modelEntry(model), id: alias, alias_target: { slug: model.slug, name: model.name } }
}

function largest(own: number | undefined, endpoints: readonly Endpoint[], of: (endpoint: Endpoint) => number | undefined): number | null {
  const most = endpoints.reduce((highest, endpoint) => Math.max(highest, of(endpoint) ?? 0), 0)
  return most > 0 ? most : (own ?? null)
}

/** Names of the parameters that the endpoint takes, as lists show them. */
export function endpointParameters({ supported, model }: Endpoint): ReadonlySet<string> {
  return supported ?? (model.kind === 'generate' ? USUAL_PARAMETERS : NO_PARAMETERS)
}

function supportedParameters(endpoints: readonly Endpoint[]): string[] {
  const all = new Set<string>()
  for (const endpoint of endpoints) for (const name of endpointParameters(endpoint)) all.add(name)
  return [...all].sort()
}

/** Service tiers are served on demand only, so their prices are not the model's. */
function cheapest(endpoints: readonly Endpoint[]): Endpoint['price'] {
  const prices = endpoints.filter((endpoint) => endpoint.tier === undefined).map((endpoint) => endpoint.price)
  if (prices.includes('free')) return 'free'
  const priced = prices.filter((price): price is Price => typeof price === 'object')
  const sum = (price: Price): Rate => price.prompt + price.completion
  return priced.reduce<Endpoint['price']>(
    (least, price) => (typeof least !== 'object' || sum(price) < sum(least) ? price : least),
    'unpriced',
  )
}

/** Decimal strings in USD per token or unit. */
export function pricing(price: Endpoint['price']): JsonObject {
  if (price === 'free') return { prompt: '0', completion: '0', request: '0', image: '0' }
  if (price === 'unpriced') return { prompt: UNKNOWN_PRICE, completion: UNKNOWN_PRICE }
  return {
    prompt: rateText(price.prompt),
    completion: rateText(price.completion),
    request: rateText(price.request ?? 0n),
    image: rateText(price.image ?? 0n),
    ...namedRates(price, LISTED),
    ...(price.overrides === undefined ? {} : { overrides: price.overrides.filter(({ from }) => from === undefined).map(overrideEntry) }),
  }
}

/** Kinds that are listed where they are stated, by their names on the wire. */
const LISTED: readonly Listed[] = [
  ...listed('input', (kind) => kind.cache === true),
  ['webSearch', 'web_search'],
  ...listed('output', (kind) => kind.fallback !== undefined),
  ...listed('input', (kind) => kind.fallback !== undefined && !kind.cache),
]
const OVERRIDABLE: readonly Listed[] = [['prompt', 'prompt'], ['completion', 'completion'], ...LISTED]

type Listed = readonly [RateKind, string]

function listed(side: 'input' | 'output', isIn: (kind: ReturnType<typeof shownKinds>[number]) => boolean): Listed[] {
  return shownKinds(side)
    .filter(isIn)
    .map((kind) => [kind.rate, kind.listed])
}

function namedRates(rates: Partial<Rates>, names: readonly Listed[]): JsonObject {
  const entry: JsonObject = {}
  for (const [kind, name] of names) {
    const rate = rates[kind]
    if (rate !== undefined) entry[name] = rateText(rate)
  }
  return entry
}

/**
 * Hours are clock numbers: 130 is 01:30 UTC. The form has no condition for a day from which a price holds, so those with one are not
 * listed. `days` and `not_on` are ours: who does not know them sees the price of the hour on every day.
 */
function overrideEntry({ minPromptTokens, window, rates }: PriceOverride): JsonObject {
  return {
    ...(minPromptTokens === undefined ? {} : { min_prompt_tokens: minPromptTokens }),
    ...(window?.hours === undefined ? {} : { utc_start: clockNumber(window.hours.start), utc_end: clockNumber(window.hours.end) }),
    ...(window?.days === undefined ? {} : { days: WEEKDAYS.filter((_, day) => window.days?.has(day)) }),
    ...(window?.notOn === undefined ? {} : { not_on: [...window.notOn].map(dayDate) }),
    ...namedRates(rates, OVERRIDABLE),
  }
}

function clockNumber(minute: number): number {
  return Math.floor(minute / 60) * 100 + (minute % 60)
}
