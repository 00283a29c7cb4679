/** Price lists in the forms that are kept in public, with models and prices of our own. */
import type { JsonObject } from '../../src/core/json.ts'

/** As models.dev's `api.json`; fields of packages/core/src/schema.ts at commit f3fc692. */
export const MODELS_DEV: JsonObject = {
  openai: {
    id: 'openai',
    name: 'OpenAI',
    models: {
      'acme-one': {
        id: 'acme-one',
        name: 'Acme One "new"',
        family: 'acme',
        release_date: '2026-04',
        last_updated: '2026-04-23',
        attachment: true,
        reasoning: true,
        reasoning_options: [{ type: 'effort', values: ['none', 'low', 'high', null, 'default'] }],
        tool_call: true,
        open_weights: false,
        limit: { context: 1_050_000, input: 922_000, output: 128_000 },
        modalities: { input: ['text', 'image', 'pdf'], output: ['text'] },
        cost: {
          input: 5,
          output: 30.0,
          reasoning: 30,
          cache_read: 0.1 + 0.2,
          tiers: [{ tier: { type: 'context', size: 272_000 }, input: 10, output: 45, cache_read: 1 }],
          context_over_200k: { input: 99, output: 99 },
        },
      },
      'acme-old': { status: 'deprecated', modalities: { input: ['text'], output: ['text'] }, cost: { input: 1, output: 1 } },
      'acme-draw': { modalities: { input: ['text'], output: ['image'] }, cost: { input: 1, output: 1 } },
      'acme-embed': {
        family: 'text-embedding',
        modalities: { input: ['text'], output: ['text'] },
        limit: { context: 8191, output: 1536 },
        cost: { input: 0.02, output: 0 },
      },
      'acme-unknown': { modalities: { input: ['text'], output: ['text'] }, limit: { context: 1000, output: 100 } },
    },
  },
  anthropic: {
    models: {
      'acme-thinks': {
        reasoning_options: [{ type: 'effort', values: ['low', 'max'] }],
        modalities: { input: ['text'], output: ['text'] },
        limit: { context: 200_000, output: 8000 },
        cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75, context_over_200k: { input: 6, output: 22.5 } },
      },
    },
  },
  groq: {
    models: {
      'meta/open-1': {
        modalities: { input: ['text'], output: ['text'] },
        limit: { context: 8000, output: 800 },
        cost: { input: 0.5, output: 0.5 },
      },
    },
  },
  togetherai: {
    models: {
      'Meta/Open-1': {
        modalities: { input: ['text'], output: ['text'] },
        limit: { context: 4000, output: 800 },
        cost: { input: 0.4, output: 0.6 },
      },
    },
  },
  elsewhere: { models: { one: { cost: { input: 1, output: 1 } }, two: 'broken' } },
}

/** As LiteLLM's `model_prices_and_context_window.json`; fields of the PyPI package litellm 1.110.2. */
export const LITELLM: JsonObject = {
  sample_spec: { litellm_provider: 'one of the documented', mode: 'one of: chat, embedding', max_input_tokens: 'a number' },
  'acme-one': {
    litellm_provider: 'openai',
    mode: 'responses',
    max_input_tokens: 922_000,
    max_output_tokens: 128_000,
    input_cost_per_token: 1e-7,
    output_cost_per_token: 4.000000000000001e-7,
    output_cost_per_reasoning_token: 4e-7,
    cache_read_input_token_cost: 1.25e-8,
    cache_creation_input_token_cost: 1.2499999999999999e-7,
    cache_creation_input_token_cost_above_1hr: 2e-7,
    input_cost_per_audio_token: 1e-6,
    input_cost_per_token_above_272k_tokens: 2e-7,
    output_cost_per_token_above_272k_tokens: 6e-7,
    cache_read_input_token_cost_above_272k_tokens: 2.5e-8,
    input_cost_per_token_above_272k_tokens_priority: 9e-7,
    input_cost_per_token_batches: 5e-8,
    search_context_cost_per_query: { search_context_size_low: 0.01, search_context_size_medium: 0.0125, search_context_size_high: 0.02 },
    supports_vision: true,
    supports_pdf_input: true,
    deprecation_date: '2099-01-31',
  },
  'acme-wide': {
    litellm_provider: 'openai',
    mode: 'chat',
    max_input_tokens: 8192,
    max_output_tokens: 16_384,
    input_cost_per_token: 1e-6,
    output_cost_per_token: 1e-6,
  },
  'acme-ended': {
    litellm_provider: 'openai',
    mode: 'chat',
    input_cost_per_token: 1e-6,
    output_cost_per_token: 1e-6,
    deprecation_date: '2024-01-31',
  },
  'acme-latest': { alias_of: 'acme-one' },
  'acme-draw': { litellm_provider: 'openai', mode: 'image_generation', output_cost_per_image: 0.04 },
  'groq/meta/open-1': {
    litellm_provider: 'groq',
    mode: 'chat',
    max_input_tokens: 8000,
    max_output_tokens: 800,
    input_cost_per_token: 5e-7,
    output_cost_per_token: 5e-7,
  },
  'dashscope/acme-tiers': {
    litellm_provider: 'dashscope',
    mode: 'chat',
    max_input_tokens: 997_952,
    tiered_pricing: [
      { input_cost_per_token: 2.5e-7, output_cost_per_token: 2e-6, range: [256e3, 1e6] },
      { input_cost_per_token: 5e-8, output_cost_per_token: 4e-7, range: [0, 256e3] },
    ],
  },
  'deepseek/acme-night': {
    litellm_provider: 'deepseek',
    mode: 'chat',
    input_cost_per_token: 3e-7,
    output_cost_per_token: 1.2e-6,
    off_peak_pricing: {
      input_cost_per_token: 1.5e-7,
      windows: [{ hours_utc: ['16:30-00:30'] }, { hours_utc: '00:00-00:00', weekdays: [6, 7] }],
    },
  },
  'azure/eu/acme-one': { litellm_provider: 'azure', mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 },
  'voyage/acme-vectors': { litellm_provider: 'voyage', mode: 'embedding', max_input_tokens: 32_000, input_cost_per_token: 1.8e-7 },
  broken: 5,
}

/** A list of so many models, as large in each entry as the real ones. */
export function manyModels(count: number): JsonObject {
  const providers = ['openai', 'fireworks_ai', 'deepinfra', 'together_ai']
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => {
      const provider = providers[index % providers.length] ?? 'openai'
      const name = `author-${index % 50}/model-${index}`
      const entry = {
        ...(LITELLM['acme-one'] as JsonObject),
        litellm_provider: provider,
        input_cost_per_token: (index + 1) * 1e-9,
        source: 'https://provider.example/pricing',
        supported_endpoints: ['/v1/chat/completions', '/v1/responses', '/v1/batch'],
        supports_function_calling: true,
        supports_reasoning: true,
      }
      return [`${provider}/${name}`, entry]
    }),
  )
}
