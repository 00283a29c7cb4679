/** Plans of embedding requests: candidates, the split into calls, the hold, and that the request then does just that. */
import t from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import type { Plan } from '../../../src/pipeline/plan/answer.ts'
import { FakeClock } from '../../support/clock.ts'
import { cohereVectors, openaiVectors, readError, voyageVectors } from '../../support/embedder.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import type { Script } from '../../support/upstream.ts'

const POOR = 'sk-router-v1-00112233445566'
const CENSORED = 'sk-router-v1-66554433221100'

/** One server that speaks all three formats. */
const speak: Script = (seen, index) => {
  if (seen.path.endsWith('/embed')) return cohereVectors()(seen, index)
  return seen.headers['x-voyage'] === 'yes' ? voyageVectors()(seen, index) : openaiVectors()(seen, index)
}
const { gateway, upstream } = await startScene(t, {
  answer: speak,
  config: (url) => `
auth:
  keys:
    - { name: app, key: sk-router-v1-0123456789abcdef, limit: "10.00" }
    - { name: poor, key: "${POOR}", limit: "0.000001" }
    - { name: censored, key: "${CENSORED}" }
provider: { ignore: [ barred ] }
providers:
  coh: { name: Coh, dialect: cohere, base_url: "${url}/v2", key: sk-up }
  voy: { name: Voy, dialect: voyage, base_url: "${url}/v1", key: sk-up, headers: { x-voyage: "yes" } }
  oai: { name: Oai, dialect: openai-chat, base_url: "${url}/v1", key: sk-up, zdr: true }
  barred: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
  sim: { dialect: sim }
models:
  acme/vectors:
    kind: embedding
    context: 50
    long_input: truncate
    input: [ text, image ]
    endpoints:
      - { provider: coh, model: m, price: { prompt: "1.00", image_token: "4.00" } }
      - { provider: voy, model: m, price: { prompt: "2.00" } }
      - { provider: oai, model: m, price: { prompt: "3.00" }, quirks: { max_batch_tokens: 90 } }
      - { provider: barred, model: m, price: { prompt: "1.00" } }
  acme/words: { context: 1000, endpoints: [ { provider: sim, model: echo } ] }
guardrails:
  - { name: no-names, scope: { keys: [ censored ] }, content_filters: [ { pattern: aurora, action: block } ] }
`,
  clock: new FakeClock(7),
})

const ORDER = { provider: { sort: 'price' } }
const planned = async (body: JsonObject, query = '', headers: Record<string, string> = {}): Promise<Plan> => {
  const response = await gateway.post(`/v1/plan${query}`, body, headers)
  t.equal(response.status, 200, JSON.stringify(body).slice(0, 80))
  return (await response.json()) as Plan
}
const texts = (count: number): string[] => Array.from({ length: count }, (_, i) => `text ${i}`)
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } }

t.test('candidates with their calls, exclusions and the hold; nothing is sent', async (t) => {
  const before = upstream.requests.length
  const plan = await planned({ model: 'acme/vectors', input: texts(200), user: 'me', ...ORDER })
  t.match(plan, {
    object: 'plan',
    format: 'embeddings',
    requested: 'acme/vectors',
    strategy: 'direct',
    models: ['acme/vectors'],
    stream: false,
    inputs: 200,
    key: 'app',
    candidates: [
      {
        position: 1,
        provider: 'Coh',
        endpoint: 'coh',
        price: { prompt: '1', image_token: '4' },
        why: { by: 'price', value: 1 },
        lane: 'translate',
        dropped: ['user'],
        calls: { count: 3, at_once: 3, inputs: 96, most_inputs: 96, most_tokens: null },
      },
      { position: 2, provider: 'Voy', calls: { count: 1, at_once: 1, inputs: 200, most_inputs: 1000, most_tokens: 120_000 } },
      { position: 3, provider: 'Oai', dropped: [], calls: { at_once: 4, most_inputs: 2048, most_tokens: 90 } },
    ],
    excluded: [{ provider: 'barred', filter: 'ignore', from: 'account' }],
    hold: { output_cap: 0, left_usd: '10.00' },
    plugins: [],
    guardrails: [],
    pipeline: [],
  })
  const [, , last] = plan.candidates
  t.ok(last.calls && last.calls.count > 4 && last.calls.estimated_tokens <= 90, JSON.stringify(last.calls))
  t.ok(plan.hold.input_tokens_bound > 200 && Number(plan.hold.usd) > 0)
  t.equal(plan.hold.usd, plan.hold.floor_usd, 'a vector has no output')
  t.equal(upstream.requests.length, before)
})

t.test('the request then does what the plan said', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [only, input] of [
      ['coh', texts(200)],
      ['voy', texts(1001)],
      ['oai', texts(200)],
      ['oai', ['word '.repeat(200), 'short']],
      ['coh', [{ content: [{ type: 'text', text: 'a 1' }, IMAGE] }]],
    ] satisfies [string, Json][]) {
      const body = { model: 'acme/vectors', input: input as Json, provider: { only: [only] } }
      const plan = await planned(body)
      const [candidate] = plan.candidates
      const before = upstream.requests.length
      const response = await gateway.post('/v1/embeddings', body, { 'X-Router-Metadata': 'enabled' })
      t.equal(response.status, 200)
      const reply = (await response.json()) as { provider: string; data: unknown[]; router_metadata: { attempts: JsonObject[] } }
      t.equal(upstream.requests.length - before, candidate.calls?.count, `${only}: as many calls`)
      t.same([reply.provider, reply.data.length], [candidate.provider, plan.inputs])
      t.same(reply.router_metadata.attempts[0].dropped ?? [], candidate.dropped, `${only}: what is left out`)
      const sizes = upstream.requests.slice(before).map(({ json }) => {
        const sent = json.input ?? json.inputs ?? json.texts
        return Array.isArray(sent) ? sent.length : 1
      })
      t.equal(Math.max(...sizes), candidate.calls?.inputs, `${only}: the largest call`)
    }
  })
})

t.test('the hold is the one that is taken', async (t) => {
  const body = { model: 'acme/vectors', input: texts(20), provider: { only: ['oai'] } }
  const { hold } = await planned(body)
  let left = Number.NaN
  upstream.script = async (seen, index) => {
    const { data } = (await (await gateway.get('/v1/key')).json()) as { data: { limit_remaining: number } }
    left = data.limit_remaining
    return speak(seen, index)
  }
  t.equal((await gateway.post('/v1/embeddings', body)).status, 200)
  upstream.script = speak
  t.equal(Math.round((Number(hold.left_usd) - left) * 1e9), Math.round(Number(hold.usd) * 1e9))
})

t.test('endpoints that cannot read the inputs are among the excluded, with the place', async (t) => {
  const joint = await planned({ model: 'acme/vectors', input: [{ content: [IMAGE] }] })
  t.same(joint.candidates.map(({ endpoint }) => endpoint).sort(), ['coh', 'voy'])
  t.match(
    joint.excluded.find(({ endpoint }) => endpoint === 'oai'),
    { filter: 'dialect', detail: 'input[0].content[0]: it takes no image in this format' },
  )
  const strict = await planned({ model: 'acme/vectors', input: 'x', user: 'me', provider: { require_parameters: true } })
  t.same(
    strict.excluded.filter(({ filter }) => filter === 'require_parameters').map(({ endpoint }) => endpoint),
    ['coh', 'voy'],
  )
  const tokens = await planned({ model: 'acme/vectors', input: [[1, 2]] })
  t.same(
    tokens.candidates.map(({ endpoint }) => endpoint),
    ['oai'],
  )
  const audio = { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }
  const refused = await gateway.post('/v1/plan', { model: 'acme/vectors', input: [{ content: [audio] }] })
  t.equal(refused.status, 400)
  const error = await readError(refused)
  t.match(error, { metadata: { field: 'input[0].content[0]' } })
  const { excluded } = error.metadata as { excluded: JsonObject[] }
  t.same(
    excluded.filter(({ filter }) => filter === 'input_modality').map(({ endpoint }) => endpoint),
    ['coh', 'voy', 'oai'],
  )
})

t.test('refuses a plan for the same reasons as its request', async (t) => {
  const rows: [body: JsonObject, headers: Record<string, string>, status: number][] = [
    [{ model: 'acme/vectors', input: texts(50) }, as(POOR), 402],
    [{ model: 'acme/vectors', input: ['aurora'] }, as(CENSORED), 403],
    [{ model: 'acme/vectors', input: [''] }, {}, 400],
    [{ model: 'acme/words', input: 'x', dimensions: 8 }, {}, 404],
    [{ model: 'acme/vectors', input: ['x'], provider: { only: ['barred'] } }, {}, 404],
  ]
  await every(t, 'every case', async (t) => {
    for (const [body, headers, status] of rows) {
      const [plan, call] = [await gateway.post('/v1/plan', body, headers), await gateway.post('/v1/embeddings', body, headers)]
      t.same([plan.status, call.status], [status, status], JSON.stringify(body))
      t.equal((await readError(plan)).message, (await readError(call)).message)
    }
  })
})

t.test('the format is told by the model, by the body, or by the query', async (t) => {
  const detectedFormat = async (body: JsonObject, query = ''): Promise<unknown> => {
    const reply = (await (await gateway.post(`/v1/plan${query}`, body)).json()) as JsonObject
    return reply.format ?? reply.error
  }
  t.equal(await detectedFormat({ model: 'acme/vectors', input: 'x' }), 'embeddings')
  t.equal(await detectedFormat({ models: ['acme/vectors'], input: 'x' }), 'embeddings')
  t.equal(await detectedFormat({ model: 'acme/vectors', input: 'x' }, '?format=embeddings'), 'embeddings')
  t.equal(await detectedFormat({ model: 'acme/words', input: 'x' }), 'responses')
  t.equal(await detectedFormat({ model: 'acme/words', input: [{ role: 'user', content: 'x' }] }), 'responses')
  t.match(await detectedFormat({ model: 'acme/vectors', input: 'x' }, '?format=responses'), { code: 400 })
  for (const own of [
    { input: ['x'] },
    { input: [1, 2] },
    { input: [[1], [2]] },
    { input: [{ content: [IMAGE] }] },
    { input: 'x', input_type: 'query' },
  ])
    t.match(
      await detectedFormat({ model: 'acme/words', ...own }),
      { code: 404, message: 'model: acme/words is a model that generates text' },
      JSON.stringify(own),
    )
})
