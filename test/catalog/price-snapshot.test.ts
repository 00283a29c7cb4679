/** Prices from the snapshot: what is known of a model at a provider, and what is not. */
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { priceAt, ratesFor } from '../../src/core/price.ts'
import { buildCatalog } from '../../src/routing/catalog/catalog.ts'
import { SNAPSHOT_DATE } from '../../src/routing/catalog/price-snapshot.ts'
import type { Endpoint } from '../../src/routing/catalog/types.ts'
import { read } from '../repository/source-tree.ts'
import { every } from '../support/every.ts'

const PROVIDERS = `
providers:
  openai: { preset: openai }
  anthropic: { preset: anthropic }
  google: { preset: gemini }
  deepseek: { preset: deepseek }
  mistral: { preset: mistral }
  azure: { preset: azure-openai }
  groq: { preset: groq }
  together: { preset: together }
  zai: { preset: zai }
  xai: { preset: xai }
  own: { dialect: openai-chat, base_url: "https://models.example/v1" }
  proxied: { dialect: openai-chat, base_url: "https://proxy.example/v1", snapshot_url: "https://api.openai.com/v1" }
`
const NAMES = ['openai', 'anthropic', 'google', 'deepseek', 'mistral', 'azure', 'groq', 'together', 'zai', 'xai', 'own', 'proxied']
const WILDCARDS = NAMES.map((name) => `  "${name}/*": { endpoints: [{ provider: ${name}, model: "*", price: snapshot }] }`).join('\n')
const ENV = {
  OPENAI_API_KEY: 'k',
  ANTHROPIC_API_KEY: 'k',
  GEMINI_API_KEY: 'k',
  DEEPSEEK_API_KEY: 'k',
  MISTRAL_API_KEY: 'k',
  AZURE_OPENAI_API_KEY: 'k',
  AZURE_OPENAI_RESOURCE: 'acme',
  GROQ_API_KEY: 'k',
  TOGETHER_API_KEY: 'k',
  ZAI_API_KEY: 'k',
  XAI_API_KEY: 'k',
}
const catalog = buildCatalog(loadConfig('snapshot.yaml', ENV, { text: `${PROVIDERS}models:\n${WILDCARDS}\n` }))

function slugPrice(slug: string, kind?: 'embedding'): Endpoint['price'] | undefined {
  return catalog.find(slug, kind)?.model.endpoints[0]?.price
}

/** Nano-dollars per million tokens. */
function slugRates(slug: string, { at = '2026-09-23T12:00:00Z', promptTokens = 1000 } = {}): Record<string, number> {
  const price = slugPrice(slug)
  if (typeof price !== 'object') throw new Error(`${slug} is ${price}`)
  const { prompt, completion, cached, cacheWrite, cacheWriteLong } = ratesFor(priceAt(price, Date.parse(at)), promptTokens)
  const all = { prompt, completion, cached, cacheWrite, cacheWriteLong }
  return Object.fromEntries(Object.entries(all).flatMap(([name, rate]) => (rate === undefined ? [] : [[name, Number(rate) / 1e12]])))
}

t.test('the pinned package is the one whose day is stated', async (t) => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: JsonObject }
  t.equal(dependencies['@pydantic/genai-prices'], '0.1.8')
  t.equal(SNAPSHOT_DATE, '2026-09-23', 'the day on which 0.1.8 was released')
})

t.test('prices of the cache, of long prompts, of hours and of announced days', async (t) => {
  t.same(slugRates('anthropic/claude-sonnet-5'), { prompt: 2, completion: 10, cached: 0.2, cacheWrite: 2.5, cacheWriteLong: 4 })
  t.same(slugRates('openai/gpt-5.5'), { prompt: 5, completion: 30, cached: 0.5 })
  t.same(slugRates('openai/gpt-5.5', { promptTokens: 300_000 }), { prompt: 10, completion: 45, cached: 1 })
  t.same(slugRates('deepseek/deepseek-v4-pro', { at: '2026-09-23T02:00:00Z' }), { prompt: 1.32, completion: 3.96, cached: 0.044 })
  t.same(slugRates('deepseek/deepseek-v4-pro', { at: '2026-09-23T05:00:00Z' }), { prompt: 0.66, completion: 1.98, cached: 0.022 })
  t.same(slugRates('google/gemini-3.8-flash', { at: '2026-12-31T23:59:59Z' }), { prompt: 0.75, completion: 3.75, cached: 0.075 })
  t.same(slugRates('google/gemini-3.8-flash', { at: '2027-01-01T00:00:00Z' }), { prompt: 1.5, completion: 7.5, cached: 0.15 })
  t.same(
    slugRates('anthropic/claude-sonnet-4-6', { promptTokens: 500_000 }),
    { prompt: 3, completion: 15, cached: 0.3, cacheWrite: 3.75, cacheWriteLong: 6 },
    'a price that had ended by then',
  )
  t.match(slugPrice('openai/text-embedding-3-small', 'embedding'), { prompt: 20_000_000_000n })
})

t.test("where the snapshot is older or wrong, the provider's page counts", async (t) => {
  const [saturday, monday] = ['2026-11-28T02:00:00Z', '2026-11-30T02:00:00Z']
  t.same(slugRates('deepseek/deepseek-flash', { at: saturday }), { prompt: 0.15, completion: 0.6, cached: 0.003 })
  t.same(slugRates('deepseek/deepseek-flash', { at: monday }), { prompt: 0.3, completion: 1.2, cached: 0.006 })
  t.same(
    slugRates('deepseek/deepseek-v4-flash', { at: saturday }),
    slugRates('deepseek/deepseek-flash', { at: saturday }),
    'served as Flash',
  )
  t.same(slugRates('mistral/mistral-large-4-0'), { prompt: 0.7, completion: 2.1, cached: 0.07 })
  t.same(slugRates('zai/glm-5.3-flash'), { prompt: 0.15, completion: 0.5, cached: 0.03 }, 'the promotion of September has ended')
  t.same(slugRates('groq/openai/gpt-oss-safeguard-20b'), { prompt: 0.075, completion: 0.3, cached: 0.0375 })
  t.same(slugRates('together/zai-org/GLM-5.3'), { prompt: 1.4, completion: 4.4, cached: 0.26 }, 'a model that came after the snapshot')
  for (const slug of ['xai/grok-code-fast-1', 'groq/groq/compound', 'together/meta-llama/Llama-3.3-70B-Instruct-Turbo'])
    t.equal(slugPrice(slug), 'unpriced', `${slug} has no price any more, or none of its own`)
})

t.test('a dated release has the price of its model, or its own', async (t) => {
  t.same(slugRates('anthropic/claude-haiku-4-5-20251001'), slugRates('anthropic/claude-haiku-4-5'))
  t.equal(slugRates('openai/gpt-4o-2024-05-13').prompt, 5)
  t.equal(slugRates('openai/gpt-4o-2024-08-06').prompt, 2.5)
})

t.test('a provider behind a proxy, and one that serves the models of another', async (t) => {
  t.same(slugRates('proxied/gpt-5.5'), slugRates('openai/gpt-5.5'))
  t.same(slugRates('azure/gpt-5.5'), slugRates('openai/gpt-5.5'))
})

t.test('what is not known has no price', async (t) => {
  await every(t, 'each', async (t) => {
    for (const [slug, why] of [
      ['openai/gpt-99', 'a model that is not there'],
      ['anthropic/claude-sonnet-5-5', 'a name that only begins like a known one'],
      ['mistral/mistral-large-latest', 'a name that moves on'],
      ['openai/whisper-1', 'a price per hour of audio'],
      ['openai/text-embedding-3-small', 'no price of output, while it is to generate'],
      ['own/gpt-5.5', 'a provider that is not there'],
    ]) {
      t.equal(slugPrice(slug), 'unpriced', `${slug}: ${why}`)
    }
  })
})
