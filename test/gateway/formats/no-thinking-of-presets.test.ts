/**
 * "No thinking" at every preset, from callers of all formats: the switch of its provider, or the lowest effort where its material has none.
 * What each rests on stands in its file in `config/providers`; test/providers/no-thinking.test.ts has the stand-ins that refuse other words.
 */
import t from 'tap'
import { presetNames } from '../../../src/config/provider-presets.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { type Client, PATHS, questionFor } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'

const words = (text: string): string[] => text.trim().split(/\s+/)
const template = { chat_template_kwargs: { enable_thinking: false, thinking: false } }

const SWITCHES: readonly (readonly [presets: string[], off: JsonObject])[] = [
  [
    words(`
      baseten bedrock-openai cerebras cohere-chat databricks deepinfra fireworks groq hyperbolic litellm llama-cpp lm-studio
      minimax-chat mistral nebius ollama openai-chat ovhcloud scaleway snowflake`),
    { reasoning_effort: 'none' },
  ],
  [words('cloudflare crusoe nvidia sglang vllm wandb'), template],
  [words('novita qwen siliconflow'), { enable_thinking: false }],
  [words('deepseek moonshot zai'), { thinking: { type: 'disabled' } }],
  [words('together'), { reasoning: { enabled: false } }],
  [words('azure-openai ollama-responses openai xai'), { reasoning: { effort: 'none' } }],
  [words('anthropic bedrock-claude minimax ollama-messages vertex-claude'), { thinking: { type: 'disabled' } }],
  [words('gemini vertex-gemini'), { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
  // No value that switches it off is in the provider's types.
  [words('sambanova'), { reasoning_effort: 'low' }],
  // `none` is refused by models behind the router, in words that are not known of each.
  [words('huggingface'), { reasoning_effort: 'low' }],
  [words('perplexity'), { reasoning_effort: 'minimal' }],
  // Each family of models has a field of its own, and thinks where it is requested.
  [words('bedrock'), {}],
]
/** Presets of embeddings alone. */
const WITHOUT_TEXTS = words('cohere jina voyage')

const WAYS = [
  ['chat', { reasoning_effort: 'none' }],
  ['chat', { reasoning: { enabled: false } }],
  ['messages', { thinking: { type: 'disabled' } }],
  ['responses', { reasoning: { effort: 'none' } }],
] as const

const FIELDS = ['thinking', 'reasoning', 'reasoning_effort', 'enable_thinking', 'chat_template_kwargs', 'output_config']

/** Members of a provider's request that say how much is thought. */
function thinkingFields(body: JsonObject): JsonObject {
  const found = Object.fromEntries(FIELDS.flatMap((field) => (body[field] === undefined ? [] : [[field, body[field]]])))
  const { thinkingConfig } = object(body.generationConfig ?? {})
  return thinkingConfig === undefined ? found : { ...found, generationConfig: { thinkingConfig } }
}

const ENV = {
  AWS_REGION: 'us-east-1',
  AZURE_OPENAI_RESOURCE: 'acme',
  GOOGLE_CLOUD_PROJECT: 'acme',
  GOOGLE_CLOUD_LOCATION: 'global',
  SNOWFLAKE_ACCOUNT: 'acme',
}

const PRESETS = [...SWITCHES.flatMap(([presets]) => presets), 'openrouter']

t.test('each preset stands in the table', (t) => {
  t.same([...PRESETS, ...WITHOUT_TEXTS].toSorted(), presetNames().toSorted())
  t.end()
})

t.test('no thinking', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    env: ENV,
    config: (url) => `
providers:
${PRESETS.map((preset) => `  ${preset}: { preset: ${preset}, discover: false, base_url: "${url}/v1", key: sk-provider-1 }`).join('\n')}
models:
${PRESETS.map((preset) => `  acme/${preset}: { max_output: 8000, endpoints: [ { provider: ${preset}, model: m, price: free } ] }`).join('\n')}
`,
  })
  const sent = async (preset: string, client: Client, more: JsonObject): Promise<JsonObject> => {
    const before = upstream.requests.length
    await (await gateway.post(PATHS[client], { ...questionFor(client), ...more, model: `acme/${preset}` })).text()
    t.equal(upstream.requests.length, before + 1, `${preset}, ${client}: one call`)
    return thinkingFields(object(upstream.requests.at(-1)?.json))
  }
  for (const [presets, off] of SWITCHES)
    for (const preset of presets)
      await every(t, preset, async (t) => {
        for (const [client, more] of WAYS) t.same(await sent(preset, client, more), off, `${client} ${JSON.stringify(more)}`)
      })
  await every(t, 'openrouter', async (t) => {
    for (const [client, more] of WAYS)
      t.match(JSON.stringify(await sent('openrouter', client, more)), /^\{"reasoning":\{("effort":"none"|"enabled":false)\}\}$/)
  })
})
