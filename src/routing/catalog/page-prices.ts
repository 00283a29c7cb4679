/**
 * Prices by providers' own pages, where the price snapshot is older than they are or public price lists disagree. Looked up in pip
 * genai-prices 0.2.3 and pip litellm 1.110.2, which cite these pages: both state the same, or one of them quotes the page.
 */
import type { EndpointConfig } from '../../config/config.ts'

type PriceConfig = Exclude<NonNullable<EndpointConfig['price']>, string>

/** The day on which they were looked up. */
export const PAGES_DATE = '2026-11-28'

export interface PagePrice {
  /** Undefined where the page has no price of the model: it is retired, or costs what the models that it calls do. */
  readonly price: PriceConfig | undefined
  readonly source: string
}

type Row = readonly [models: string, prompt: string, completion: string, cached?: string, more?: Partial<PriceConfig>]

const WEEKDAYS = { days: ['mon', 'tue', 'wed', 'thu', 'fri'] as ('mon' | 'tue' | 'wed' | 'thu' | 'fri')[], not_on: ['2027-01-01'] }

/** The peak of DeepSeek costs twice the price: footnote 2 of its page, 2026-09. */
const peak = (prompt: string, completion: string, cached: string): Partial<PriceConfig> => ({
  overrides: [
    { utc_start: '0100', utc_end: '0400', ...WEEKDAYS, prompt, completion, cached },
    { utc_start: '0600', utc_end: '1000', ...WEEKDAYS, prompt, completion, cached },
  ],
})

/** By the snapshot's name of the provider: its page, and rows of models with prices per million tokens; names of one price stand together. */
const PAGES: Readonly<Record<string, { source: string; rows: readonly Row[]; none?: string }>> = {
  deepseek: {
    source: 'https://api-docs.deepseek.com/quick_start/pricing',
    rows: [
      ['deepseek-flash deepseek-v4-flash deepseek-v4-flash-vision-exp', '0.15', '0.60', '0.003', peak('0.30', '1.20', '0.006')],
      ['deepseek-v4-pro', '0.66', '1.98', '0.022', peak('1.32', '3.96', '0.044')],
    ],
  },
  mistral: {
    source: 'https://docs.mistral.ai/inference/pricing',
    rows: [
      ['mistral-large-4 mistral-large-4-0', '0.70', '2.10', '0.07'],
      ['mistral-medium-3-5', '1.50', '7.50', '0.15'],
      ['mistral-small-2603', '0.15', '0.60', '0.015'],
      ['deepseek-v4-1-flash-1017', '0.30', '1.20', '0.007'],
      ['zai-glm-5-3', '1.40', '4.40', '0.14'],
      ['zai-glm-5-3-flash', '0.15', '0.50', '0.03'],
    ],
  },
  groq: {
    source: 'https://console.groq.com/docs/models',
    rows: [
      ['openai/gpt-oss-20b openai/gpt-oss-safeguard-20b', '0.075', '0.30', '0.0375'],
      ['openai/gpt-oss-120b', '0.15', '0.60', '0.075'],
      ['qwen/qwen3.8-27b', '0.80', '4.00'],
    ],
    none: 'groq/compound groq/compound-mini',
  },
  // Retired on 2026-05-15, and what took its place on 2026-11-19 (docs.apiyi.com/en/live/2026-11/grok-code-models-offline).
  'x-ai': { source: 'https://docs.x.ai/docs/models', rows: [], none: 'grok-code-fast-1' },
  zai: {
    source: 'https://docs.z.ai/guides/overview/pricing',
    rows: [
      ['glm-4.6 glm-4.7', '0.60', '2.20', '0.11'],
      ['glm-5', '1.00', '3.20', '0.20'],
      ['glm-5.1 glm-5.2 glm-5.3', '1.40', '4.40', '0.26'],
      ['glm-5.3-flash', '0.15', '0.50', '0.03'],
    ],
  },
  moonshotai: {
    source: 'https://platform.kimi.ai/docs/pricing/chat',
    rows: [
      ['kimi-k3.1-pro', '2.00', '10.00', '0.20'],
      ['kimi-k3.1-pro-highspeed', '4.00', '20.00', '0.20'],
    ],
  },
  together: {
    source: 'https://api.together.ai/v1/models',
    rows: [
      ['openai/gpt-oss-120b', '0.15', '0.60'],
      ['minimaxai/minimax-m3.1-flash', '0.15', '0.60', '0.015'],
      ['zai-org/glm-5.2 zai-org/glm-5.3', '1.40', '4.40', '0.26'],
      ['zai-org/glm-5.3-flash', '0.15', '0.50', '0.03'],
      ['moonshotai/kimi-k3', '3.00', '15.00', '0.30'],
      ['moonshotai/kimi-k3.1-pro', '2.00', '10.00', '0.20'],
      ['deepseek-ai/deepseek-v4-pro-0813', '1.32', '3.96', '0.13'],
      ['deepseek-ai/deepseek-v4.1-flash', '0.30', '1.20', '0.006'],
      ['qwen/qwen3.5-9b', '0.17', '0.25'],
      ['qwen/qwen3.7-max', '2.50', '7.50', '0.50'],
    ],
    // Retired on 2026-10-22; lists differ on what it cost.
    none: 'meta-llama/llama-3.3-70b-instruct-turbo',
  },
  fireworks: {
    source: 'https://docs.fireworks.ai/serverless/pricing',
    rows: [
      ['glm-5p3', '1.40', '4.40', '0.26'],
      ['glm-5p3-flash', '0.15', '0.50', '0.03'],
      ['kimi-k3p1-pro', '2.00', '10.00', '0.20'],
      ['kimi-k3-us', '4.50', '22.50', '0.45'],
      ['deepseek-v4p1-flash', '0.30', '1.20', '0.006'],
      ['qwen3p8-max', '2.00', '6.00', '0.25'],
    ],
  },
  novita: {
    source: 'https://novita.ai/pricing',
    rows: [
      ['meta-llama/llama-3.1-8b-instruct', '0.02', '0.05'],
      ['meta-llama/llama-3.3-70b-instruct', '0.135', '0.40'],
    ],
  },
  azure: {
    source: 'https://azure.microsoft.com/pricing/details/phi-3/',
    rows: [
      ['phi-4', '0.125', '0.50'],
      ['phi-4-mini-instruct', '0.075', '0.30'],
      ['phi-4-multimodal-instruct', '0.08', '0.32'],
      ['phi-4-reasoning-plus', '0.125', '0.50'],
    ],
  },
}

/** Fireworks has its own models below this. */
const BELOW = /^accounts\/fireworks\/models\//

let known: ReadonlyMap<string, PagePrice> | undefined

/** @param provider the snapshot's name of it. @param model the provider's name. */
export function pagePrice(provider: string, model: string): PagePrice | undefined {
  known ??= new Map(
    Object.entries(PAGES).flatMap(([name, { source, rows, none = '' }]) => [
      ...rows.flatMap(([models, prompt, completion, cached, more]) =>
        models.split(' ').map((each): [string, PagePrice] => {
          const price: PriceConfig = { prompt, completion, ...(cached === undefined ? {} : { cached }), ...more }
          return [`${name} ${each}`, { price, source }]
        }),
      ),
      ...none
        .split(' ')
        .filter((each) => each !== '')
        .map((each): [string, PagePrice] => [`${name} ${each}`, { price: undefined, source }]),
    ]),
  )
  return known.get(`${provider} ${model.toLowerCase().replace(BELOW, '')}`)
}
