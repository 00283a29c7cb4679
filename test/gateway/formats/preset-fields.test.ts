// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a preset holds variables of its own
/** Single fields as presets of providers want them; the preset has the reference of each. */
import t, { type Test } from 'tap'
import { providerPreset } from '../../../src/config/provider-presets.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { type Client, PATHS, questionFor } from '../../support/providers.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { says } from '../../support/wire.ts'

const startPreset = (test: Test, preset: string): Promise<Scene> =>
  startScene(test, {
    answer: says({ text: ['before END5 behind'] }),
    config: (url) => `
providers:
  one: { preset: ${preset}, discover: false, base_url: "${url}/v1", key: sk-provider-1 }
models:
  acme/one: { endpoints: [ { provider: one, model: m, price: { prompt: "1", completion: "2" } } ] }
`,
  })

async function send({ gateway, upstream }: Scene, more: JsonObject, client: Client = 'chat') {
  const response = await gateway.post(
    PATHS[client],
    { ...questionFor(client), ...more, model: 'acme/one' },
    { 'x-router-metadata': 'enabled' },
  )
  const text = await response.text()
  t.equal(response.status, 200, text)
  const reply = object(JSON.parse(text))
  return { reply, body: object(upstream.requests.at(-1)?.json), dropped: list(object(reply.router_metadata).attempts)[0]?.dropped }
}

t.test('the cap of an output goes into the field that bounds the thought as well', async (t) => {
  for (const preset of ['qwen', 'moonshot']) {
    const scene = await startPreset(t, preset)
    for (const [client, more] of [
      ['chat', { max_tokens: 50 }],
      ['chat', { max_completion_tokens: 50 }],
      ['messages', { max_tokens: 50 }],
      ['responses', { max_output_tokens: 50 }],
    ] as const) {
      const { body } = await send(scene, more, client)
      t.same([body.max_completion_tokens, body.max_tokens], [50, undefined], `${preset}, ${client}`)
    }
  }
})

/** Most stop sequences that the reference of the provider states, by preset. */
const MOST: Readonly<Record<string, number>> = { zai: 1, novita: 4, openrouter: 4, 'openai-chat': 4, siliconflow: 4 }

t.test('no provider gets more stop sequences than its reference states', async (t) => {
  const stop = ['END1', 'END2', 'END3', 'END4', 'END5']
  await every(t, 'every preset', async (t) => {
    for (const [preset, most] of Object.entries(MOST)) {
      const scene = await startPreset(t, preset)
      t.same((await send(scene, { stop: stop.slice(0, most) })).body.stop, stop.slice(0, most), preset)
      const { body, reply } = await send(scene, { stop: [...stop.slice(0, most), 'END5'] })
      t.equal(body.stop, undefined, `${preset}: one more is looked for here`)
      t.match(list(reply.choices), [{ message: { content: 'before ' } }], preset)
    }
  })
  t.same((await send(await startPreset(t, 'zai'), { stop: 'END1' })).body.stop, ['END1'], 'Z.AI takes a list')
})

t.test('members of tools that xAI rejects are left out, and recorded', async (t) => {
  const scene = await startPreset(t, 'xai')
  const tools = [
    {
      type: 'web_search',
      search_context_size: 'low',
      user_location: { type: 'approximate', city: 'Oslo' },
      filters: { allowed_domains: ['a.no'] },
    },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'function', name: 'filters', parameters: { type: 'object', properties: {} }, strict: false },
  ]
  const { body, dropped } = await send(scene, { tools }, 'responses')
  t.same(list(body.tools).slice(0, 2), [{ type: 'web_search', filters: { allowed_domains: ['a.no'] } }, { type: 'code_interpreter' }])
  t.match(list(body.tools)[2], tools[2])
  t.same(dropped, ['tools.web_search.search_context_size', 'tools.web_search.user_location', 'tools.code_interpreter.container'])
  t.same((await send(scene, { tools: [{ type: 'web_search', user_location: null }] }, 'responses')).dropped, undefined, 'null says nothing')
})

/** Words of callers of each format for no thinking. */
const NO_THOUGHT = [
  ['chat', { reasoning_effort: 'none' }],
  ['chat', { reasoning: { enabled: false } }],
  ['chat', { thinking: { type: 'disabled' } }],
  ['messages', { thinking: { type: 'disabled' } }],
  ['responses', { reasoning: { effort: 'none' } }],
] as const

t.test('no thinking is written as each of these providers reads it', async (t) => {
  for (const [preset, off] of [
    // github.com/anomalyco/models.dev/pull/4377: before, it became the effort `low`, which is thought and billed
    ['nebius', { reasoning_effort: 'none' }],
    // support.crusoecloud.com, article 51230217080347: `thinking` at the top is refused
    ['crusoe', { chat_template_kwargs: { enable_thinking: false, thinking: false } }],
  ] as const) {
    const scene = await startPreset(t, preset)
    await every(t, preset, async (t) => {
      for (const [client, more] of NO_THOUGHT) {
        const { body } = await send(scene, more, client)
        const { reasoning_effort, chat_template_kwargs, thinking, reasoning } = body
        const sent = { reasoning_effort, chat_template_kwargs, thinking, reasoning }
        t.same(JSON.parse(JSON.stringify(sent)), off, `${client} ${JSON.stringify(more)}`)
      }
    })
  }
})

t.test('LM Studio gets JSON output as a schema that any object fits', async (t) => {
  const scene = await startPreset(t, 'lm-studio')
  const { body, dropped } = await send(scene, { response_format: { type: 'json_object' } })
  t.same(body.response_format, { type: 'json_schema', json_schema: { name: 'object', schema: { type: 'object' } } })
  t.equal(dropped, undefined)
  const text = await send(scene, { text: { format: { type: 'json_object' } } }, 'responses')
  t.same(text.body.response_format, body.response_format, 'of the Responses API')
  const own = { type: 'json_schema', json_schema: { name: 'own', schema: { type: 'object' }, strict: true } }
  t.same((await send(scene, { response_format: own })).body.response_format, own, 'a schema of the caller stays')
})

t.test('Databricks gets no strict functions, and only a lost promise is recorded', async (t) => {
  const scene = await startPreset(t, 'databricks')
  const call = (more: JsonObject): JsonObject => ({ name: 'look', parameters: { type: 'object', properties: {} }, ...more })
  const functions = (...some: JsonObject[]) => some.map((each) => ({ type: 'function', function: call(each) }))
  const strict = await send(scene, { tools: functions({ strict: true }, {}) })
  t.same([strict.body.tools, strict.dropped], [functions({}, {}), ['tools.strict']])
  const loose = await send(scene, { tools: functions({ strict: false }) })
  t.same([loose.body.tools, loose.dropped], [functions({}), undefined])
  const items = await send(scene, { tools: [{ type: 'function', ...call({ strict: true }) }] }, 'responses')
  t.same([items.body.tools, items.dropped], [functions({}), ['tools.strict']], 'of the Responses API')
  t.equal(object(providerPreset('databricks').provider.quirks).media_urls, 'inline')
})

/** Presets whose providers have no stand-in: their addresses, and the field of the cap of an output, as their references have them. */
const REFERENCES: readonly (readonly [preset: string, address: string, cap: 'max_tokens' | 'max_completion_tokens'])[] = [
  // docs.aws.amazon.com/bedrock, inference-chat-completions
  ['bedrock-openai', 'https://bedrock-runtime.${AWS_REGION?}.amazonaws.com/openai/v1', 'max_completion_tokens'],
  // PyPI litellm 1.110.2, llms/cloudflare
  ['cloudflare', 'https://api.cloudflare.com/client/v4/accounts/${CLOUDFLARE_ACCOUNT_ID?}/ai/v1', 'max_tokens'],
  // PyPI pydantic-ai-slim 2.68.0, providers/crusoe.py
  ['crusoe', 'https://api.inference.crusoecloud.com/v1', 'max_tokens'],
  ['databricks', '${DATABRICKS_HOST?}/serving-endpoints', 'max_tokens'],
  // PyPI litellm 1.110.2, llms/hyperbolic
  ['hyperbolic', 'https://api.hyperbolic.xyz/v1', 'max_tokens'],
  ['lm-studio', '${LMSTUDIO_BASE_URL:-http://127.0.0.1:1234/v1}', 'max_tokens'],
  // novita.ai/docs/api-reference/model-apis-llm-create-chat-completion
  ['novita', 'https://api.novita.ai/openai/v1', 'max_tokens'],
  // PyPI litellm 1.110.2, llms/nvidia_nim
  ['nvidia', 'https://integrate.api.nvidia.com/v1', 'max_tokens'],
  // PyPI pydantic-ai-slim 2.68.0, providers/ovhcloud.py
  ['ovhcloud', 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1', 'max_tokens'],
  // PyPI litellm 1.110.2, llms/openai_like/providers.json
  ['scaleway', 'https://api.scaleway.ai/v1', 'max_tokens'],
  // docs.siliconflow.com/en/api-reference/chat-completions
  ['siliconflow', 'https://api.siliconflow.com/v1', 'max_tokens'],
  // PyPI pydantic-ai-slim 2.68.0, providers/snowflake.py
  ['snowflake', 'https://${SNOWFLAKE_ACCOUNT?}.snowflakecomputing.com/api/v2/cortex/v1', 'max_completion_tokens'],
  // PyPI litellm 1.110.2, llms/wandb
  ['wandb', 'https://api.inference.wandb.ai/v1', 'max_tokens'],
]

t.test('address, key and cap of presets without a stand-in are as their references have them', async (t) => {
  await every(t, 'every preset', async (t) => {
    for (const [preset, address, cap] of REFERENCES) {
      t.equal(providerPreset(preset).provider.base_url, address, preset)
      const scene = await startPreset(t, preset)
      const { body } = await send(scene, { max_tokens: 50, stream: false })
      t.same([body.max_tokens, body.max_completion_tokens], cap === 'max_tokens' ? [50, undefined] : [undefined, 50], preset)
      const sent = scene.upstream.requests.at(-1)
      t.equal(sent?.headers.authorization, 'Bearer sk-provider-1', preset)
      t.equal(sent?.path, '/v1/chat/completions', preset)
    }
  })
})
