/** The lists of endpoints and providers over HTTP, in the exact shapes that strict clients parse. */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { type Gateway, KEY, startGateway } from '../support/gateway.ts'
import { startScene } from '../support/scene.ts'
import { startUpstream } from '../support/upstream.ts'
import { answerFor, says, upstreamError } from '../support/wire.ts'

const yaml = (first: string, second: string): string => `
auth:
  keys:
    - { name: test, key: "${KEY}" }
    - { name: narrow, key: "sk-router-v1-narrow-narrow-narrow", allowed_models: [ acme/two ] }
providers:
  first:
    name: First & Sons
    dialect: openai-chat
    base_url: "${first}/v1"
    key: "sk-first-secret"
    zdr: true
    data_collection: deny
    about:
      privacy_url: https://first.example/privacy
      terms_url: https://first.example/terms
      status_url: https://status.first.example
      headquarters: DE
      datacenters: [ DE, IE ]
  second: { dialect: openai-chat, base_url: "${second}/v1" }
models:
  acme/one:
    name: Acme One
    description: The first of its kind
    created: "2026-01-02"
    context: 128000
    max_output: 4096
    input: [ text, image ]
    endpoints:
      - { provider: first, model: m, price: { prompt: "1.00", completion: "2.00", cached: "0.10" }, quantization: fp8, supported_parameters: [ tools, temperature ] }
      - { provider: first, model: m-flex, tier: flex, context: 32000, max_output: 100, price: { prompt: "0.50", completion: "1.00", cached: "0.05", cache_write: "0.60", cache_write_1h: "1.00", image: "0.001", request: "0.01" } }
      - { provider: second, model: m }
      - { provider: second, model: m-gift, variant: gift, price: free }
  acme/two:
    endpoints: [ { provider: second, model: m2, price: free } ]
aliases: { app/default: acme/one }
`

interface Lists {
  clock: FakeClock
  gateway: Gateway
  get(path: string): Promise<{ status: number; body: JsonObject }>
}

async function withLists(body: (scene: Lists) => Promise<void>): Promise<void> {
  const clock = new FakeClock(3)
  const first = await startUpstream(async (seen) => {
    await clock.advance(250)
    return seen.json.model === 'm' ? answerFor(seen, { text: ['fine'] }) : upstreamError(500)
  })
  const second = await startUpstream(says({ text: ['second'] }))
  const gateway = await startGateway(yaml(first.url, second.url), { clock })
  const get: Lists['get'] = async (path) => {
    const response = await gateway.get(path)
    return { status: response.status, body: (await response.json()) as JsonObject }
  }
  try {
    await body({ clock, gateway, get })
  } finally {
    await gateway.close()
    await Promise.all([first.close(), second.close()])
  }
}

const UNUSED = {
  status: 0,
  uptime_last_5m: null,
  uptime_last_30m: null,
  uptime_last_1d: null,
  latency_last_30m: null,
  throughput_last_30m: null,
}

const PLAIN = {
  name: 'First & Sons: Acme One',
  model_id: 'acme/one',
  model_name: 'Acme One',
  provider_name: 'First & Sons',
  tag: 'first',
  context_length: 128000,
  max_completion_tokens: 4096,
  max_prompt_tokens: null,
  pricing: { prompt: '0.000001', completion: '0.000002', request: '0', image: '0', input_cache_read: '0.0000001' },
  quantization: 'fp8',
  supported_parameters: ['temperature', 'tools'],
  supports_implicit_caching: true,
  supports_tool_choice: { auto: true, none: false, required: false, function: false },
  supports_voice_cloning: false,
  ...UNUSED,
}

t.test('GET /v1/models/{author}/{slug}/endpoints: every field of every endpoint', async (t) => {
  await withLists(async ({ gateway, get }) => {
    const { status, body } = await get('/v1/models/acme/one/endpoints')
    t.equal(status, 200)
    const { endpoints, ...model } = body.data as JsonObject & { endpoints: JsonObject[] }
    t.strictSame(Object.keys(body), ['data'])
    t.strictSame(model, {
      id: 'acme/one',
      name: 'Acme One',
      description: 'The first of its kind',
      created: Date.UTC(2026, 0, 2) / 1000,
      architecture: {
        modality: 'text+image->text',
        input_modalities: ['text', 'image'],
        output_modalities: ['text'],
        tokenizer: 'Other',
        instruct_type: null,
      },
    })
    t.strictSame(endpoints[0], PLAIN)
    const { supported_parameters: parameters, ...flex } = endpoints[1] as JsonObject & { supported_parameters: string[] }
    const { supported_parameters: _, ...plain } = PLAIN
    t.strictSame(flex, {
      ...plain,
      tag: 'first/flex',
      context_length: 32000,
      max_completion_tokens: 100,
      pricing: {
        prompt: '0.0000005',
        completion: '0.000001',
        request: '0.01',
        image: '0.001',
        input_cache_read: '0.00000005',
        input_cache_write: '0.0000006',
        input_cache_write_1h: '0.000001',
      },
      quantization: 'unknown',
      supports_implicit_caching: false,
      supports_tool_choice: { auto: true, none: true, required: true, function: true },
    })
    t.ok(parameters.includes('tool_choice') && parameters.includes('response_format'))
    t.match(endpoints[2], { tag: 'second', provider_name: 'second', pricing: { prompt: '-1' }, supports_implicit_caching: false })
    t.match(endpoints[3], { tag: 'second/gift', pricing: { prompt: '0', completion: '0' } })
    for (const entry of endpoints) t.same(Object.keys(entry).sort(), Object.keys(PLAIN).sort(), 'one shape for all')
    const { body: two } = await get('/v1/models/acme/two/endpoints')
    t.match((two.data as JsonObject).endpoints, [{ context_length: 0, max_completion_tokens: null }], 'a length that nobody declared')
    for (const slug of ['app/default', 'acme/one:nitro', 'acme%2Fone']) {
      t.match((await get(`/v1/models/${slug}/endpoints`)).body, { data: { id: 'acme/one' } }, `${slug} is found`)
    }
    const listed = (await get('/v1/model/acme/one')).body.data as { links: { details: string } }
    t.match((await get(listed.links.details)).body, { data: { id: 'acme/one' } }, 'the model list links here')
    t.notMatch(JSON.stringify(body), /sk-first-secret|127\.0\.0\.1/)
    const head = await fetch(`${gateway.url}/v1/models/acme/one/endpoints`, { method: 'HEAD', headers: { authorization: `Bearer ${KEY}` } })
    t.equal(head.status, 200)
  })
})

t.test('what an endpoint has lived through stands in its entry', async (t) => {
  await withLists(async ({ clock, gateway, get }) => {
    const ask = (only: string) =>
      gateway.post('/v1/chat/completions', {
        model: 'acme/one',
        messages: [{ role: 'user', content: 'Hello' }],
        provider: { only: [only] },
      })
    t.equal((await ask('first')).status, 200)
    t.equal((await ask('first/flex')).status, 502)
    const entries = async () => ((await get('/v1/models/acme/one/endpoints')).body.data as { endpoints: JsonObject[] }).endpoints
    const [plain, flex, unused] = await entries()
    const hit = { p50: 250, p75: 250, p90: 250, p99: 250 }
    t.match(plain, { status: 0, uptime_last_5m: 100, uptime_last_30m: 100, uptime_last_1d: 100, latency_last_30m: hit })
    t.match(flex, { status: -3, uptime_last_5m: 0, uptime_last_30m: 0, uptime_last_1d: 0, latency_last_30m: null })
    t.match(unused, UNUSED)
    await clock.advance(31_000)
    t.match((await entries())[1], { status: 0, uptime_last_5m: 0 }, 'an outage ends, its trace stays')
    await clock.advance(7 * 60_000)
    t.match((await entries())[1], { uptime_last_5m: null, uptime_last_30m: 0, uptime_last_1d: 0 })
  })
})

t.test('GET /v1/endpoints/zdr and GET /v1/providers', async (t) => {
  await withLists(async ({ get }) => {
    const zdr = await get('/v1/endpoints/zdr')
    t.equal(zdr.status, 200)
    t.strictSame((zdr.body.data as JsonObject[])[0], PLAIN, 'the same entry')
    t.same(
      (zdr.body.data as JsonObject[]).map((entry) => `${entry.model_id} ${entry.tag}`),
      ['acme/one first', 'acme/one first/flex'],
    )
    const providers = await get('/v1/providers')
    t.strictSame(providers.body, {
      data: [
        {
          name: 'First & Sons',
          slug: 'first',
          privacy_policy_url: 'https://first.example/privacy',
          terms_of_service_url: 'https://first.example/terms',
          status_page_url: 'https://status.first.example',
          headquarters: 'DE',
          datacenters: ['DE', 'IE'],
        },
        {
          name: 'second',
          slug: 'second',
          privacy_policy_url: null,
          terms_of_service_url: null,
          status_page_url: null,
          headquarters: null,
          datacenters: null,
        },
      ],
    })
  })
})

t.test('who may ask, and for what', async (t) => {
  await withLists(async ({ gateway, get }) => {
    await every(t, 'every path', async (t) => {
      for (const path of ['/v1/models/acme/one/endpoints', '/v1/endpoints/zdr', '/v1/providers', '/v1/presets']) {
        t.equal((await fetch(`${gateway.url}${path}`)).status, 401, `${path} asks for a key`)
        const posted = await gateway.post(path, {})
        t.equal(posted.status, 405)
        t.equal(posted.headers.get('allow'), 'GET')
      }
    })
    const missing = await get('/v1/models/acme/none/endpoints')
    t.equal(missing.status, 404)
    t.match(missing.body, {
      error: {
        code: 404,
        message: /acme\/none/,
        metadata: { error_type: 'not_found' },
        availability: { code: 'model_not_found', retryable: false, requested_models: ['acme/none'], docs_url: String },
      },
    })
    t.equal((await get('/v1/models/acme%/endpoints')).status, 404)
    t.equal((await get('/v1/models/endpoints')).status, 404)
    const narrow = await gateway.get('/v1/models/acme/one/endpoints', { authorization: 'Bearer sk-router-v1-narrow-narrow-narrow' })
    t.equal(narrow.status, 404, 'a key sees here what the model list shows it: what it may use')
  })
})

t.test('GET /v1/models with distillable, and the presets', async (t) => {
  const { gateway } = await startScene(t, {
    config: (url) => `
providers: { first: { dialect: openai-chat, base_url: "${url}/v1" } }
models:
  acme/open: { distillable: true, endpoints: [ { provider: first, model: m, price: free } ] }
  acme/closed: { endpoints: [ { provider: first, model: m, price: free } ] }
presets: { short: { description: Few words, parameters: { temperature: 0 } } }
`,
  })
  const ids = async (value: string) => {
    const body = (await (await gateway.get(`/v1/models?distillable=${value}`)).json()) as { data: { id: string }[] }
    return body.data.map(({ id }) => id)
  }
  t.same(await ids('true'), ['acme/open'])
  t.same(await ids('false'), ['acme/closed'])
  t.same(await ids(''), ['acme/open', 'acme/closed'])
  t.equal((await gateway.get('/v1/models?distillable=maybe')).status, 400)
  t.match(await (await gateway.get('/v1/presets')).json(), { data: [{ slug: 'short', status: 'active' }], total_count: 1 })
  t.match(await (await gateway.get('/v1/presets/short')).json(), {
    data: { slug: 'short', designated_version: { config: { temperature: 0 } } },
  })
  for (const path of ['/v1/presets/none', '/v1/presets/short/versions']) t.equal((await gateway.get(path)).status, 404, path)
})
