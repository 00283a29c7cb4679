/** The simulated market: five providers, what they ask for, and how fast they are, over the hour. */
import { entryAt } from '../../src/core/entry-at.ts'

export const MINUTE = 60_000

export type ProviderName = 'alpha' | 'bravo' | 'charlie' | 'delta' | 'echo'
export const PROVIDERS: readonly ProviderName[] = ['alpha', 'bravo', 'charlie', 'delta', 'echo']

export type ModelSlug = 'acme/large' | 'acme/small'

/** Providers of each model, and the model's price against the provider's price of the large one. */
export const MODELS: Readonly<Record<ModelSlug, { providers: readonly ProviderName[]; factor: number }>> = {
  'acme/large': { providers: PROVIDERS, factor: 1 },
  'acme/small': { providers: ['alpha', 'charlie', 'echo'], factor: 0.25 },
}

/** Silence after which the gateway gives a provider up. */
export const FIRST_BYTE_MS = 10_000

/** At these minutes the operator's file changes, and the gateway takes it over. */
export const PRICE_MINUTES: readonly number[] = [0, 15, 40]

/** USD per million tokens of prompt and completion together, for the large model, in each span of `PRICE_MINUTES`. */
const PRICES: Readonly<Record<ProviderName, readonly number[]>> = {
  alpha: [4, 4.8, 4.8],
  bravo: [4.4, 4.4, 6.4],
  charlie: [5.2, 5.2, 4.8],
  delta: [6, 5.6, 4],
  echo: [8, 6, 6],
}

interface Pace {
  readonly firstTokenMs: number
  readonly tokensPerSecond: number
  /** Factor by which it is slower at its busiest time of the hour, and the minute of that. */
  readonly swing: number
  readonly peak: number
}

const PACES: Readonly<Record<ProviderName, Pace>> = {
  alpha: { firstTokenMs: 350, tokensPerSecond: 80, swing: 0.3, peak: 50 },
  bravo: { firstTokenMs: 500, tokensPerSecond: 60, swing: 0.2, peak: 10 },
  charlie: { firstTokenMs: 400, tokensPerSecond: 90, swing: 0.4, peak: 35 },
  delta: { firstTokenMs: 700, tokensPerSecond: 45, swing: 0.2, peak: 20 },
  echo: { firstTokenMs: 250, tokensPerSecond: 120, swing: 0.3, peak: 5 },
}

/** @returns the price in USD per million tokens, prompt and completion together. */
export function priceAt(provider: ProviderName, model: ModelSlug, minute: number): number {
  const span = PRICE_MINUTES.findLastIndex((from) => from <= minute)
  return entryAt(PRICES[provider], span) * MODELS[model].factor
}

/** Mean time to the first token and mean output speed. */
export function paceAt(provider: ProviderName, minute: number): { firstTokenMs: number; tokensPerSecond: number } {
  const { firstTokenMs, tokensPerSecond, swing, peak } = PACES[provider]
  const slower = 1 + (swing * (1 + Math.cos((2 * Math.PI * (minute - peak)) / 60))) / 2
  return { firstTokenMs: firstTokenMs * slower, tokensPerSecond: tokensPerSecond / slower }
}

/** The share of a model's requests that each provider gets by the documented law, weight 1/price². */
export function fairShares(model: ModelSlug, minute: number): ReadonlyMap<ProviderName, number> {
  const weights = MODELS[model].providers.map((provider) => [provider, priceAt(provider, model, minute) ** -2] as const)
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0)
  return new Map(weights.map(([provider, weight]) => [provider, weight / total]))
}

/** The operator's file as it stands at a minute. */
export function configText(minute: number, secret: string): string {
  const providers = PROVIDERS.map((name) => `  ${name}: { dialect: sim, timeouts: { first_byte: ${FIRST_BYTE_MS}ms } }\n`)
  const models = Object.entries(MODELS).map(([slug, { providers: serving }]) => {
    const endpoints = serving.map((provider) => endpointText(provider, slug as ModelSlug, minute))
    return `  ${slug}:\n    context: 128000\n    max_output: 4096\n    endpoints:\n${endpoints.join('')}`
  })
  return [
    'store: { url: "memory:" }\n',
    `auth: { keys: [ { name: simulation, key: "${secret}", limit: "1000000.00" } ] }\n`,
    'providers:\n',
    ...providers,
    'models:\n',
    ...models,
  ].join('')
}

/** A quarter of the price is the prompt's, the rest the completion's. */
function endpointText(provider: ProviderName, slug: ModelSlug, minute: number): string {
  const price = priceAt(provider, slug, minute)
  const usd = (share: number): string => (price * share).toFixed(4)
  return `      - { provider: ${provider}, model: "${provider}:${slug}", price: { prompt: "${usd(0.25)}", completion: "${usd(0.75)}" } }\n`
}
