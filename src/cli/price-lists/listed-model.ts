/** A model of a public price list, in one form for all lists, and the readers of its fields. */
import type { EndpointConfig, ModelConfig } from '../../config/config.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { decimalText } from '../../core/money-text.ts'
import { TOKEN_KINDS } from '../../core/token-kinds.ts'

export type PriceConfig = Exclude<NonNullable<EndpointConfig['price']>, string>
export type OverrideConfig = NonNullable<PriceConfig['overrides']>[number]
type Modality = NonNullable<ModelConfig['input']>[number]
type OutputModality = NonNullable<ModelConfig['output']>[number]

export interface ListedModel {
  /** The list's own name of the provider. */
  readonly provider: string
  /** The provider's own name of the model. */
  readonly model: string
  readonly kind: 'generate' | 'embedding'
  readonly name?: string | undefined
  /** Days, such as `2026-04-23`: of the release, and from which the provider no longer serves it. */
  readonly created?: string | undefined
  readonly expiration?: string | undefined
  /** Tokens of input and output together. */
  readonly context?: number | undefined
  /** Tokens of input, where the list states no context. */
  readonly maxInput?: number | undefined
  readonly maxOutput?: number | undefined
  readonly input?: readonly Modality[] | undefined
  readonly output?: readonly OutputModality[] | undefined
  /** Without `completion` where the list has no price for output text; `free` where the list states that. */
  readonly price?: PriceConfig | 'free' | undefined
  /** Prices that the list states at 0, which it also writes where it knows none. */
  readonly zeros?: readonly string[] | undefined
  readonly efforts?: readonly string[] | undefined
  /** True where reasoning is requested by an effort and not by a budget of tokens. */
  readonly effortOnly?: boolean | undefined
}

/** Reason why an entry of a list is not imported. */
export type LeftOut = 'is neither a text nor an embedding model' | 'is no longer served' | 'is not a readable entry'

/** An entry that is not imported; without a provider where none can be read. */
export interface LeftOutModel {
  readonly provider?: string | undefined
  readonly model: string
  readonly leftOut: LeftOut
}

export interface PriceList {
  /** Name of the list, for people. */
  readonly title: string
  /** The field of `price_lists` of a preset that names the providers of this list. */
  readonly form: PriceListForm
  readonly models: readonly ListedModel[]
  readonly leftOut: readonly LeftOutModel[]
}

export type PriceListForm = 'models_dev' | 'litellm'

/** Longest text of a line of the configuration. */
const LONGEST = 200

/** False for text that cannot be the name of a model in a configuration: a list may hold any text, and `${NAME}` would be a variable there. */
export function isModelName(name: string): boolean {
  return name !== '' && name.length <= LONGEST && !/[\p{C}\s"\\*]|\$\{/u.test(name)
}

/** A name for people, as one plain line; undefined where nothing is left of it. */
export function displayName(value: Json | undefined): string | undefined {
  const text =
    typeof value === 'string'
      ? value
          .replace(/[\p{C}\s"\\$]+/gu, ' ')
          .trim()
          .slice(0, LONGEST)
          .trim()
      : ''
  return text === '' ? undefined : text
}

/** A whole number of tokens above 0, where it is one. */
export function tokens(value: Json | undefined): number | undefined {
  return typeof value === 'number' && value >= 1 && value <= 1e12 ? Math.floor(value) : undefined
}

const DAY = /^\d{4}-\d{2}-\d{2}$/

/** A day; the first of a month where the list names the month alone. */
export function day(value: Json | undefined): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = /^\d{4}-\d{2}$/.test(value) ? `${value}-01` : value
  return DAY.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined
}

const MODALITIES: Readonly<Record<string, Modality>> = {
  text: 'text',
  image: 'image',
  pdf: 'file',
  file: 'file',
  audio: 'audio',
  video: 'video',
}

export function inputModalities(names: readonly Json[]): Modality[] {
  const known = names.flatMap((name) => (typeof name === 'string' ? (MODALITIES[name] ?? []) : []))
  return [...new Set<Modality>(['text', ...known])]
}

export function outputModalities(names: readonly Json[]): OutputModality[] {
  return (['text', 'image', 'audio'] as const).filter((name) => names.includes(name))
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** Undefined where none of our efforts is among them. */
export function effortsAmong(names: readonly Json[]): string[] | undefined {
  const known = EFFORTS.filter((effort) => names.includes(effort))
  return known.length === 0 ? undefined : known
}

/** A name by which a host says that it serves a model for nothing, as OpenRouter does. */
export function isStatedFree(model: string): boolean {
  return model.endsWith(':free')
}

/** Names of the prices that are stated at 0. */
export function zeroPrices(entry: JsonObject, names: readonly (readonly [field: string, name: string])[]): string[] | undefined {
  const zeros = names.flatMap(([field, name]) => (entry[field] === 0 ? [name] : []))
  return zeros.length === 0 ? undefined : zeros
}

/**
 * Reads the prices under these names as decimals. A value that is no price is left out, and so is 0: lists write 0 where a price is unknown,
 * is per piece, or is that of another model (a router's fee, music), and a model at 0 is open to keys without credit.
 * @param shift of the decimal point.
 */
export function readPrices<Name extends string>(
  entry: JsonObject,
  names: readonly (readonly [field: string, name: Name])[],
  shift: number,
): { [name in Name]?: string } {
  const prices: { [name in Name]?: string } = {}
  for (const [field, name] of names) {
    const amount = entry[field]
    const text = typeof amount === 'number' ? decimalText(amount, shift) : undefined
    if (text !== undefined && Number(text) > 0) prices[name] = text
  }
  return prices
}

/** Pairs of a price and its fallback, which counts where the price is not stated (`ledger/pricing.ts`). */
const FALLBACKS = TOKEN_KINDS.flatMap((kind) => ('fallback' in kind && !('cache' in kind) ? [[kind.price, kind.fallback] as const] : []))

/** Returns the prices without those that equal their fallback. */
export function withoutFallbacks<Prices extends Omit<OverrideConfig, 'min_prompt_tokens'>>(prices: Prices): Prices {
  const kept = { ...prices }
  for (const [name, fallback] of FALLBACKS) if (kept[name] !== undefined && kept[name] === prices[fallback]) delete kept[name]
  return kept
}
