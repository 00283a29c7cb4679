/** `headgate import`: configurations of six other gateways, of which nothing may be lost without a word, and what serves afterwards. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { type Imported, importText } from '../../src/cli/import.ts'
import { OTHER_GATEWAYS } from '../../src/cli/other-gateways/gateways.ts'
import { expand } from '../../src/config/expand.ts'
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { startGateway } from '../support/gateway.ts'
import { LAUNCHER } from '../support/launcher.ts'

t.setTimeout(240_000)

const FOLDER = join(import.meta.dirname, '../fixtures/other-gateways')
const FILES: Readonly<Record<string, string>> = {
  litellm: 'litellm.yaml',
  bifrost: 'bifrost.json',
  tensorzero: 'tensorzero.toml',
  agentgateway: 'agentgateway.yaml',
  portkey: 'portkey.json',
  openrouter: 'openrouter.json',
}

const fixtureText = (name: string, server = 'http://127.0.0.1:9'): string =>
  readFileSync(join(FOLDER, FILES[name] ?? ''), 'utf8').replaceAll('SERVER', server)
const imported = (name: string, server?: string): Imported => importText(FILES[name] ?? '', fixtureText(name, server))
const importedConfig = ({ yaml }: Imported): JsonObject => parse(yaml) as JsonObject

function leaves(value: Json | undefined): number {
  const members = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []
  return members.length === 0 ? 1 : members.reduce<number>((sum, each) => sum + leaves(each), 0)
}

t.test('each gateway has an example, and is known by its file', async (t) => {
  t.same(Object.keys(FILES).sort(), OTHER_GATEWAYS.map(({ name }) => name).sort())
  for (const name of Object.keys(FILES)) t.equal(imported(name).gateway.name, name)
})

for (const { name, title } of OTHER_GATEWAYS)
  t.test(`${title}: each value has one fate, and no secret comes out`, async (t) => {
    const read = imported(name)
    if (FILES[name]?.endsWith('.toml') !== true) t.equal(read.fates.length, leaves(parse(fixtureText(name)) as Json))
    t.equal(new Set(read.fates.map(({ path }) => path)).size, read.fates.length, 'no value is counted twice')
    await every(t, 'what is not carried has a reason', (t) => {
      for (const { fate, note, path } of read.fates) if (fate !== 'carried') t.ok((note ?? '').length > 3, path)
    })
    const out = `${read.yaml}${JSON.stringify(read.fates.map(({ note }) => note))}${JSON.stringify([...read.variables])}`
    t.notMatch(out, /secret-0001|secret-password|secret-langfuse/)
    const used = [...read.yaml.matchAll(/\$\{(\w+)\}/g)].map(([, variable]) => variable)
    for (const variable of used) t.ok(read.variables.has(variable ?? ''), `${variable} is named`)
  })

t.test('a member that no reader knows is left, and named', async (t) => {
  const { fates } = importText('x.yaml', 'model_list: []\nbrand_new: { deep: [1, { deeper: 2 }] }\nlitellm_settings: { novel: 1 }')
  t.same(
    fates.filter(({ fate }) => fate === 'left').map(({ path }) => path),
    ['model_list', 'brand_new.deep[0]', 'brand_new.deep[1].deeper', 'litellm_settings.novel'],
  )
})

t.test('what is carried', async (t) => {
  const litellm = importedConfig(imported('litellm'))
  t.match(litellm.models, {
    chat: {
      context: 400000,
      endpoints: [
        { provider: 'openai', variant: 'place-1', weight: 3, price: { prompt: '0.25', completion: '2', cached: '0.025' } },
        { provider: 'azure', model: 'my-mini', variant: 'place-1' },
        { provider: 'anthropic', variant: 'place-2' },
      ],
    },
    vectors: { kind: 'embedding' },
  })
  t.same((litellm.provider as JsonObject).order, ['openai/place-1', 'azure/place-1', 'anthropic/place-2'])
  t.same(litellm.aliases, { 'gpt-4o': 'chat', 'hidden-one': 'careful' })
  const [app, old] = (importedConfig(imported('bifrost')).auth as { keys: JsonObject[] }).keys
  t.match(app, {
    name: 'app',
    limit: '10.5',
    limit_reset: 'monthly',
    limits: { requests: 100 },
    allowed_models: ['openai/gpt-5-mini', 'anthropic/*'],
  })
  t.match(old, { name: 'old', disabled: true }, 'a key that may use no model opens none here')
  t.match(importedConfig(imported('tensorzero')).models, { chat: { endpoints: [{ price: { cached: '0.025' } }, { provider: 'azure' }] } })
  t.match(importedConfig(imported('openrouter')).presets, {
    'email-copywriter': { parameters: { temperature: 0.7 }, provider: { data_collection: 'deny' } },
  })
})

t.test('what the file does not say of a model that the shipped catalogue has', async (t) => {
  const read = (params: JsonObject, info: JsonObject = {}): JsonObject => {
    const file = { model_list: [{ model_name: 'a', litellm_params: { api_key: 'os.environ/K', ...params }, model_info: info }] }
    return importedConfig(importText('x.json', JSON.stringify(file)))
  }
  const known = { context: 1_000_000, max_output: 128_000, price: { prompt: '2.00', cached: '0.10' }, quirks: { thinking: 'adaptive' } }
  t.match(read({ model: 'anthropic/claude-sonnet-5-5' }).models, { a: { endpoints: [{ provider: 'anthropic', ...known }] } })
  const stated = read(
    { model: 'anthropic/claude-sonnet-5-5', input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 },
    { max_input_tokens: 5 },
  )
  t.match(
    stated.models,
    { a: { context: 5, endpoints: [{ price: { prompt: '1' }, quirks: { thinking: 'adaptive' } }] } },
    'what it says counts',
  )
  t.notMatch(stated.models, { a: { endpoints: [{ context: 1_000_000 }] } })
  const half = read({ model: 'anthropic/claude-sonnet-5-5' }, { input_cost_per_token: 1e-6 })
  t.match(half.models, { a: { endpoints: [{ price: { prompt: '2.00', completion: '10.00' } }] } }, 'no price of one side')
  const elsewhere = read({ model: 'anthropic/claude-sonnet-5-5', api_base: 'http://127.0.0.1:9' })
  t.match(elsewhere.models, { a: { endpoints: [{ price: 'snapshot' }] } }, 'a server of the operator’s own may be anything')
  const chat = (read({ model: 'openai/gpt-5.5' }).models as { a: { endpoints: [JsonObject] } }).a.endpoints[0]
  t.match(chat, { context: Number, price: Object })
  t.notOk(chat.quirks ?? chat.supported_parameters, 'of another format only what does not depend on it')
})

t.test('models of vectors are known by their mode or name; those of pictures, sound and order are left out, and named', async (t) => {
  const entry = (model: string, mode?: string) => ({
    model_name: model,
    litellm_params: { model, api_key: 'os.environ/K' },
    ...(mode === undefined ? {} : { model_info: { mode } }),
  })
  const vectors = ['openai/text-embedding-3-small', 'gemini/gemini-embedding-001', 'azure/text-embedding-3-large', 'cohere/embed-v4.0']
  const others = ['openai/whisper-1', 'openai/dall-e-3', 'cohere/rerank-v3.5', 'openai/gpt-4o-mini-tts', 'openai/omni-moderation-latest']
  const list = [...vectors, ...others].map((model) => entry(model))
  const stated = [entry('openai/custom', 'audio_transcription'), entry('openai/next', 'some_new_mode'), entry('openai/chatty', 'chat')]
  const read = importText('x.json', JSON.stringify({ model_list: [...list, ...stated] }))
  const models = importedConfig(read).models as Record<string, JsonObject>
  t.same(Object.keys(models).sort(), [...vectors, 'openai/chatty'].sort())
  for (const model of vectors) t.equal(models[model]?.kind, 'embedding', model)
  t.not(models['openai/chatty']?.kind, 'embedding')
  const left = read.fates.filter(({ note }) => note?.startsWith('makes neither text nor vectors') === true)
  t.same(
    [...new Set(left.map(({ path }) => path.slice(0, 'model_list[00'.length).replace(/\D+$/, '')))],
    ['model_list[4', 'model_list[5', 'model_list[6', 'model_list[7', 'model_list[8', 'model_list[9', 'model_list[10'],
  )
  const file = join(t.testdir(), 'headgate.yaml')
  writeFileSync(file, read.yaml)
  const env = Object.fromEntries([...read.variables.keys()].map((name) => [name, 'https://example.com/a-value-of-24-letters']))
  const { status, stdout, stderr } = spawnSync(process.execPath, [LAUNCHER, 'check', file], {
    encoding: 'utf8',
    env: { ...env, HOME: '/' },
  })
  t.equal(status, 0, `${stdout}${stderr}`)
})

t.test('providers by the names, addresses and models that LiteLLM knows', async (t) => {
  const endpoint = (params: JsonObject): { provider: JsonObject; endpoint: JsonObject; read: Imported } => {
    const file = { model_list: [{ model_name: 'a', litellm_params: { api_key: 'os.environ/K', ...params } }] }
    const read = importText('x.json', JSON.stringify(file))
    const { providers, models } = importedConfig(read) as {
      providers: Record<string, JsonObject>
      models: { a?: { endpoints: [JsonObject] } }
    }
    return { provider: Object.values(providers)[0] ?? {}, endpoint: models.a?.endpoints[0] ?? {}, read }
  }
  for (const address of ['http://127.0.0.1:11434', 'http://127.0.0.1:11434/', 'http://127.0.0.1:11434/v1'])
    t.match(endpoint({ model: 'ollama/llama3', api_base: address }).provider, { preset: 'ollama', base_url: 'http://127.0.0.1:11434/v1' })
  t.match(endpoint({ model: 'vertex_ai/claude-sonnet-4-5@20250929' }), {
    provider: { preset: 'vertex-claude' },
    endpoint: { model: 'claude-sonnet-4-5@20250929' },
  })
  t.match(endpoint({ model: 'vertex_ai/gemini-3.5-flash' }).provider, { preset: 'vertex-gemini' })
  const other = endpoint({ model: 'vertex_ai/meta/llama-4' })
  t.same(other.endpoint, {}, 'none of another format')
  t.ok(
    other.read.fates.every(({ fate, note }) => fate === 'left' && /other makers/.test(note ?? '')),
    'and it says so',
  )
  t.match(endpoint({ model: 'claude-3-5-haiku-20241022' }).provider, { preset: 'anthropic' }, 'its key goes to no one else')
  t.match(endpoint({ model: 'gpt-5-mini' }).provider, { preset: 'openai-chat' })
  const azure = { api_base: 'https://x.openai.azure.com/' }
  for (const model of ['azure/mine', 'azure/responses/mine'])
    t.match(endpoint({ model, ...azure }), {
      provider: { preset: 'azure-openai', base_url: 'https://x.openai.azure.com/openai/v1' },
      endpoint: { model: 'mine' },
    })
})

t.test('what stands for fallbacks and alerts is what the gateway has', async (t) => {
  const file = {
    model_list: ['a', 'b'].map((name) => ({ model_name: name, litellm_params: { model: `openai/${name}`, api_key: 'os.environ/K' } })),
    router_settings: { context_window_fallbacks: [{ a: ['b'] }], content_policy_fallbacks: [{ a: ['b'] }] },
    general_settings: { alerting: ['slack'] },
  }
  const found = notes(importText('x.json', JSON.stringify(file)))
  t.match(found['router_settings.context_window_fallbacks[0].a[0]'], /^left: models of a request or of a preset/)
  t.match(found['router_settings.content_policy_fallbacks[0].a[0]'], /^left: models of a request or of a preset/)
  t.equal(found['general_settings.alerting[0]'], 'left: events.receivers')
})

t.test('an entry that answers with a mock calls no provider, and costs nothing', async (t) => {
  const file = {
    model_list: [{ model_name: 'a', litellm_params: { model: 'openai/gpt-5-mini', api_key: 'os.environ/K', mock_response: 'hi' } }],
    general_settings: { max_request_size_mb: 2.5 },
  }
  const read = importText('x.json', JSON.stringify(file))
  t.match(importedConfig(read), {
    server: { max_body: '3MB' },
    providers: { sim: { dialect: 'sim' } },
    models: { a: { endpoints: [{ provider: 'sim', model: 'echo' }] } },
  })
  t.notMatch(read.yaml, /openai|snapshot/)
  t.notOk(read.variables.has('K'), 'no key is needed')
})

/** Notes of a report by the places of their values. */
const notes = ({ fates }: Imported): Record<string, string> =>
  Object.fromEntries(fates.map(({ path, fate, note }) => [path, `${fate}: ${note}`]))

t.test('time limits: which one each becomes, and none that would end more than it did', async (t) => {
  const model = { model_name: 'a', litellm_params: { model: 'openai/a', timeout: 30, stream_timeout: 4.5 } }
  const file = { model_list: [model], router_settings: { timeout: 60, stream_timeout: 5 }, litellm_settings: { request_timeout: 600 } }
  const read = importText('x.json', JSON.stringify(file))
  t.match(notes(read), {
    'model_list[0].litellm_params.timeout': /^replaced: timeouts\.total of the provider/,
    'model_list[0].litellm_params.stream_timeout': /^left: timeouts\.first_byte .* would end replies that are not streamed/,
    'router_settings.timeout': /^replaced: server\.deadline/,
    'router_settings.stream_timeout': /^left: timeouts\.first_byte/,
    'litellm_settings.request_timeout': /^left: timeout of router_settings/,
  })
  const { server, providers } = importedConfig(read) as { server: JsonObject; providers: Record<string, JsonObject> }
  t.same(server, { deadline: '60s' })
  t.same(providers.openai?.timeouts, { total: '30s' })
  const alone = importText('x.json', JSON.stringify({ model_list: [model], litellm_settings: { request_timeout: 600 } }))
  t.match(notes(alone), { 'litellm_settings.request_timeout': /^replaced: server\.deadline/ })
  t.same(importedConfig(alone).server, { deadline: '600s' })
  const zero = importText(
    't.toml',
    '[models.m]\nrouting = ["p"]\n[models.m.providers.p]\ntype = "openai"\nmodel_name = "m"\ntimeouts = { streaming = { ttft_ms = 3000, total_ms = 9000 }, non_streaming.total_ms = 15000 }',
  )
  const at = 'models.m.providers.p.timeouts'
  t.match(notes(zero), {
    [`${at}.streaming.total_ms`]: /^replaced: timeouts\.total/,
    [`${at}.streaming.ttft_ms`]: /^left: timeouts\.first_byte/,
    [`${at}.non_streaming.total_ms`]: /^left: timeouts\.total has that of streams/,
  })
})

t.test('weights that places make useless are named, others are not', async (t) => {
  const entry = (name: string, weight: number, more = {}) => ({
    model_name: name,
    litellm_params: { model: `openai/${name}-${weight}`, weight, ...more },
  })
  const list = [entry('a', 1), entry('a', 3), entry('b', 1), entry('b', 2), entry('c', 1, { order: 1 }), entry('c', 2, { order: 2 })]
  const read = importText('x.json', JSON.stringify({ model_list: list, router_settings: { fallbacks: [{ a: ['b'] }] } }))
  t.equal(read.remarks.length, 2)
  t.match(read.remarks, [/^a: its endpoints have places .* their weights have no effect/, /^c: /])
  t.equal(read.caller, 'app')
})

t.test("the database of LiteLLM does not become headgate's", async (t) => {
  const read = importText('x.json', JSON.stringify({ model_list: [], general_settings: { database_url: 'os.environ/DATABASE_URL' } }))
  t.match(importedConfig(read).store, { url: /^\$\{HEADGATE_DATABASE\}$/ })
  t.match(notes(read), { 'general_settings.database_url': /another database than that of LiteLLM/ })
  t.same(
    [...read.variables.keys()].filter((name) => name.includes('DATABASE')),
    ['HEADGATE_DATABASE'],
  )
})

t.test('places of deployments, wildcards, and servers without keys', async (t) => {
  const entry = (name: string, params: string) => `  - { model_name: "${name}", litellm_params: { ${params} } }`
  const { yaml, fates, variables } = importText(
    'litellm.yaml',
    [
      'model_list:',
      entry('chat', 'model: openai/gpt-5-mini, api_key: os.environ/OPENAI_API_KEY, order: 2'),
      entry('chat', 'model: groq/fast, api_key: os.environ/GROQ_API_KEY, order: 1'),
      entry('careful', 'model: anthropic/claude-sonnet-5-5, api_key: os.environ/ANTHROPIC_API_KEY'),
      entry('*', 'model: "openai/*", api_key: os.environ/OPENAI_API_KEY'),
      entry('own', 'model: openai/qwen, api_base: "http://vllm:8000/v1", api_key: EMPTY'),
      'litellm_settings: { fallbacks: [{ chat: [careful] }] }',
      'general_settings: { master_key: os.environ/MASTER }',
    ].join('\n'),
  )
  const { models, provider, providers, auth } = parse(yaml) as {
    models: Record<string, { endpoints: { provider: string; variant: string }[] }>
    provider: { order: string[] }
    providers: Record<string, JsonObject>
    auth: { keys: JsonObject[] }
  }
  t.same(provider.order, ['groq/place-1', 'openai/place-2', 'anthropic/place-3'])
  t.same(
    models.chat?.endpoints.map(({ provider, variant }) => `${provider}/${variant}`),
    provider.order,
  )
  t.match(models['openai/*']?.endpoints, [{ provider: 'openai', model: '*' }])
  t.match(
    fates.find(({ path }) => path === 'model_list[3].model_name'),
    { fate: 'replaced', note: /openai\/\*/ },
  )
  const own = providers[models.own?.endpoints[0]?.provider ?? '']
  t.match(own, { base_url: 'http://vllm:8000/v1', key: 'none' })
  t.equal(own?.snapshot_url, undefined, 'a server of the operator has no price of another')
  t.same(
    auth.keys.map(({ name }) => name),
    ['master', 'app'],
    'a file without a key for callers gets one',
  )
  for (const name of variables.keys()) t.match(yaml, `\${${name}}`, `${name} stands in the file`)
})

t.test('two models that ask the same providers in another order keep theirs', async (t) => {
  const provider = (type: string) => `type = "${type}"\nmodel_name = "m"`
  const model = (name: string, order: string[]) =>
    `[models.${name}]\nrouting = ${JSON.stringify(order)}\n${order.map((each) => `[models.${name}.providers.${each}]\n${provider(each)}`).join('\n')}`
  const config = importedConfig(importText('t.toml', `${model('one', ['openai', 'groq'])}\n${model('two', ['groq', 'openai'])}`))
  const { order } = config.provider as { order: string[] }
  const tags = (name: string) =>
    (config.models as Record<string, { endpoints: { provider: string; variant: string }[] }>)[name]?.endpoints
      .map(({ provider, variant }) => `${provider}/${variant}`)
      .sort((one, other) => order.indexOf(one) - order.indexOf(other))
      .map((tag) => tag.split('/')[0])
  t.same(tags('one'), ['openai', 'groq'])
  t.same(tags('two'), ['groq', 'openai'])
})

t.test('a secret of the file does not take the name of a variable that means another one', async (t) => {
  const { yaml, variables } = imported('agentgateway')
  t.match(yaml, /key: \$\{IMPORTED_OPENAI_API_KEY\}/)
  t.match(yaml, /key: \$\{OPENAI_API_KEY\}/)
  t.match(variables.get('IMPORTED_OPENAI_API_KEY'), /its value stands in the file/)
})

t.test('a provider that is none here, without an address, has one to be set', async (t) => {
  const text = stringify({ model_list: [{ model_name: 'ours', litellm_params: { model: 'sagemaker/ours' } }] })
  const { yaml, variables } = importText('litellm.yaml', text)
  t.match(parse(yaml), { providers: { sagemaker: { dialect: 'openai-chat', base_url: /^..IMPORTED_SAGEMAKER_BASE_URL.$/ } } })
  t.match(variables.get('IMPORTED_SAGEMAKER_BASE_URL'), /no preset of headgate/)
})

const CALLER = { name: 'caller', key: 'sk-caller-0123456789' }

interface Upstream {
  readonly url: string
  /** Answers with 500 for these models. */
  readonly broken: Set<string>
}

/** Accepts what OpenAI's types have for a plain request (npm openai 7.59.0: model, messages, stream, max_completion_tokens; input). */
async function upstream(t: Test): Promise<Upstream> {
  const broken = new Set<string>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const { model, messages, input } = JSON.parse(Buffer.concat(chunks).toString()) as {
      model: string
      messages?: unknown
      input?: unknown
    }
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
    const choice = {
      index: 0,
      message: { role: 'assistant', content: `from ${model}`, refusal: null },
      finish_reason: 'stop',
      logprobs: null,
    }
    const isChat = request.url === '/v1/chat/completions' && Array.isArray(messages)
    const isEmbedding = request.url === '/v1/embeddings' && input !== undefined
    response.writeHead(broken.has(model) ? 500 : isChat || isEmbedding ? 200 : 404, { 'content-type': 'application/json' })
    if (broken.has(model)) response.end('{"error":{"message":"down","type":"server_error","code":null,"param":null}}')
    else if (isChat) response.end(JSON.stringify({ id: 'c1', object: 'chat.completion', created: 1, model, choices: [choice], usage }))
    else
      response.end(
        JSON.stringify({
          object: 'list',
          model,
          data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
          usage: { prompt_tokens: 3, total_tokens: 3 },
        }),
      )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, broken }
}

/** Names that callers used, each with the provider's model that answers; those at providers that are not here are only planned. */
const NAMES: Readonly<Record<string, readonly [name: string, answers: string | undefined][]>> = {
  litellm: [
    ['chat', 'gpt-5-mini'],
    ['gpt-4o', 'gpt-5-mini'],
    ['careful', undefined],
    ['groq/llama-3.3-70b-versatile', undefined],
  ],
  // Of the others the price is not known, so that a key with a limit may not use them: `check` warns of it.
  bifrost: [['openai/gpt-5-mini', 'gpt-5-mini']],
  tensorzero: [
    ['chat', 'gpt-5-mini'],
    ['claude-sonnet', undefined],
  ],
  agentgateway: [
    ['smart', 'gpt-5-mini'],
    ['gpt-5.5', undefined],
  ],
  portkey: [['gpt-5-mini', 'gpt-5-mini']],
  openrouter: [['anthropic/claude-sonnet-5.5', undefined]],
}

for (const { name, title } of OTHER_GATEWAYS)
  t.test(`${title}: serves under the names that callers use`, async (t) => {
    const { url } = await upstream(t)
    // A proxy of the provider, in whose place the stand-in is: the prices of the provider hold there.
    const { yaml, ...known } = imported(name, 'https://proxy.example')
    const read = { ...known, yaml: yaml.replaceAll('https://proxy.example', url) }
    const folder = t.testdir({ 'headgate.yaml': read.yaml })
    const env = Object.fromEntries([...read.variables.keys()].map((variable) => [variable, `sk-set-${variable.toLowerCase()}-0123456789`]))
    const checked = spawnSync(process.execPath, [LAUNCHER, 'check', join(folder, 'headgate.yaml')], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    })
    t.equal(checked.status, 0, `${checked.stdout}${checked.stderr}`)
    const config = parse(read.yaml) as { auth: { keys: { key: string; management?: boolean; disabled?: boolean }[] } } & JsonObject
    // What belongs to this machine: ports, the store, and the one upstream that is here in the place of others.
    const { store: _, server: __, ...rest } = config
    const keys: { key: string; management?: boolean; disabled?: boolean }[] = config.auth.keys.some(
      ({ management, disabled }) => management !== true && disabled !== true,
    )
      ? config.auth.keys
      : [...config.auth.keys, CALLER]
    const gateway = await startGateway(stringify({ ...rest, auth: { keys } }), { env })
    t.teardown(() => gateway.close())
    const caller = keys.find(({ management, disabled }) => management !== true && disabled !== true)?.key ?? ''
    const secret = caller.startsWith('$') ? (env[caller.slice(2, -1)] ?? '') : caller
    for (const [model, answers] of NAMES[name] ?? []) {
      const body = { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 }
      const planned = await gateway.post('/v1/plan?format=chat', body, { authorization: `Bearer ${secret}` })
      t.equal(planned.status, 200, `${model}: ${await planned.text()}`)
      if (answers === undefined) continue
      const reply = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${secret}` })
      const text = await reply.text()
      t.equal(reply.status, 200, `${model}: ${text}`)
      t.match(JSON.parse(text), { choices: [{ message: { content: `from ${answers}` } }] })
    }
  })

t.test('the command line', async (t) => {
  const folder = t.testdir({
    'config.yaml': fixtureText('litellm'),
    'broken.yaml': 'model_list: [ { api_key: sk-secret-0001',
    'other.yaml': 'a: 1',
  })
  const run = (...words: string[]) => spawnSync(process.execPath, [LAUNCHER, 'import', ...words], { cwd: folder, encoding: 'utf8' })
  const printed = run('config.yaml')
  t.equal(printed.status, 0, printed.stderr)
  t.match(parse(printed.stdout), { models: { chat: {} } }, 'the configuration alone is on standard output')
  t.match(printed.stderr, /LiteLLM\. \d+ of \d+ values carried, \d+ replaced, \d+ left\./)
  t.equal(run('config.yaml', '--output', 'headgate.yaml').status, 0)
  writeFileSync(join(folder, 'headgate.yaml'), 'mine: true')
  const refused = run('config.yaml', '--output', 'headgate.yaml')
  t.equal(refused.status, 2)
  t.match(refused.stderr, /headgate\.yaml is there already: --force replaces it/)
  t.equal(readFileSync(join(folder, 'headgate.yaml'), 'utf8'), 'mine: true')
  t.equal(run('config.yaml', '--output', 'headgate.yaml', '--force').status, 0)
  const report = JSON.parse(run('config.yaml', '--json', '--output', 'new.yaml').stderr) as { from: string; values: unknown[] }
  t.match(report, { from: 'litellm', values: [{ fate: 'carried' }] })
  t.ok(existsSync(join(folder, 'new.yaml')))
  const broken = run('broken.yaml')
  t.equal(broken.status, 2)
  t.notMatch(broken.stderr, 'secret', 'a file that cannot be read is not shown')
  t.match(run('other.yaml').stderr, /of no gateway that is known: --from names it, one of litellm, /)
  t.match(run('config.yaml', '--from', 'nginx').stderr, /--from: expected one of litellm/)
  t.match(run('absent.yaml').stderr, /absent\.yaml/)
  t.ok(execFileSync(process.execPath, [LAUNCHER, 'import', '--help'], { encoding: 'utf8' }).split('\n').length < 30)
})

t.test('a text of the file that looks like a reference is none', (t) => {
  const prompt = `Say \${HOME}, \${command:id} and $\${x}.`
  const data = { slug: 'p', designated_version: { system_prompt: prompt, config: { model: 'openai/gpt-5' } } }
  const { yaml } = importText('x.json', JSON.stringify({ data }))
  const { presets } = parse(yaml) as { presets: { p: { system_prompt: string } } }
  t.same(expand(presets.p.system_prompt, { HOME: 'a secret', 'command:id': 'a secret' }), { text: prompt, expanded: false })
  t.match(yaml, `key: \${HEADGATE_APP_KEY}`)
  t.end()
})

t.test('what was read and has no place here is left', (t) => {
  const leftVariables = (value: JsonObject): string[] =>
    importText('x.json', JSON.stringify(value)).fates.flatMap(({ fate, path }) => (fate === 'left' ? [path] : []))
  const model = { model_name: 'two words', litellm_params: { model: 'openai/gpt-5' } }
  t.same(leftVariables({ model_list: [model], router_settings: { routing_strategy: 'usage-based-routing' } }), [
    'model_list[0].model_name',
    'router_settings.routing_strategy',
  ])
  const key = { name: 'a', value: 'sk-bf-0123456789', budget: { max_limit: 5, reset_duration: '1h' } }
  const providers = { openai: { keys: [{ value: 'env.A', models: ['m'] }] } }
  t.same(leftVariables({ version: 1, providers, governance: { virtual_keys: [key] } }), [
    'governance.virtual_keys[0].budget.reset_duration',
  ])
  t.end()
})

t.test('reads names such as constructor and __proto__ like others', (t) => {
  const models = ['constructor', 'toString'].map((name) => ({ model_name: name, litellm_params: { model: `${name}/x`, api_key: 'env.A' } }))
  const router = { routing_strategy: 'toString', model_group_alias: { valueOf: 'constructor' } }
  const file = JSON.stringify({ model_list: models, router_settings: router, litellm_settings: { fallbacks: [{ toString: ['valueOf'] }] } })
  const config = importedConfig(importText('x.json', file))
  t.match(config, { providers: { constructor: { dialect: 'openai-chat' } }, aliases: { valueOf: 'constructor' } })
  t.equal((config.provider as JsonObject).sort, undefined)
  t.end()
})

t.test('a weight of 0 stays, keys have names of their own, and an address with a secret is one', (t) => {
  const [one, other] = ['a-2', 'a'].map((name) => ({ name, value: `sk-bf-${name}-0123456789`, provider_configs: [] }))
  const keys = [0, 1].map((weight) => ({ value: `env.A${weight}`, models: ['m'], weight }))
  const network_config = { base_url: 'https://me:secret-0002@host.example/v1?key=secret-0003' }
  const providers = { openai: { keys, network_config } }
  const read = importText('x.json', JSON.stringify({ version: 1, providers, governance: { virtual_keys: [one, other] } }))
  const { models, auth } = importedConfig(read) as { models: Record<string, { endpoints: JsonObject[] }>; auth: { keys: JsonObject[] } }
  t.same(
    models['openai/m']?.endpoints.map(({ weight }) => weight),
    [0, 1000],
  )
  t.equal(new Set(auth.keys.map(({ name }) => name)).size, 2)
  t.notMatch(read.yaml, /secret-000/)
  t.end()
})
