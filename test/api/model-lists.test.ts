/** The model lists over HTTP: who may ask, whole entries, pages, and what a key sees. */
import OpenAI from 'openai'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { jsonAnswer, startUpstream } from '../support/upstream.ts'

const KEYS = {
  plain: 'sk-router-v1-plain0123456789',
  fenced: 'sk-router-v1-fenced0123456789',
  private: 'sk-router-v1-private0123456789',
  boss: 'sk-router-v1-boss0123456789',
}

const VECTORS = Array.from({ length: 5 }, (_, i) => `vectors-${i}`)

async function started(): Promise<{ gateway: Gateway; close: () => Promise<void> }> {
  const own = await startUpstream(({ path }) =>
    path === '/v1/models' ? jsonAnswer({ data: VECTORS.map((id) => ({ id, kind: 'embedding', context_length: 2048 })) }) : { status: 404 },
  )
  const gateway = await startGateway(`
auth:
  keys:
    - { name: plain, key: "${KEYS.plain}" }
    - { name: fenced, key: "${KEYS.fenced}", allowed_models: ["acme/*", "own/vectors-1"] }
    - { name: private, key: "${KEYS.private}", provider: { data_collection: deny } }
    - { name: boss, key: "${KEYS.boss}", management: true }
provider: { ignore: [shunned] }
providers:
  own: { dialect: openai-chat, base_url: "${own.url}/v1", discover: true }
  careful: { dialect: sim, data_collection: deny }
  curious: { dialect: sim }
  shunned: { dialect: sim }
models:
  acme/one:
    description: "One."
    created: "2026-09-01"
    context: 8000
    max_output: 1000
    endpoints:
      - { provider: careful, model: echo, price: { prompt: "2", completion: "4" } }
      - { provider: curious, model: echo, price: { prompt: "1", completion: "1" } }
  acme/two: { endpoints: [{ provider: curious, model: echo }] }
  other/three: { endpoints: [{ provider: careful, model: echo }] }
  other/never: { endpoints: [{ provider: shunned, model: echo }] }
aliases: { "short/name": acme/one, "short/other": other/three }
`)
  await gateway.running.runtime.discover()
  return { gateway, close: () => gateway.close().then(() => own.close()) }
}

const { gateway, close } = await started()
t.teardown(close)

interface Page {
  data: { id: string; pricing: JsonObject }[]
  total_count: number
  links: { next: string | null }
}

const get = (path: string, key = KEYS.plain) => gateway.get(path, { authorization: `Bearer ${key}` })
const page = async (path: string, key?: string) => (await (await get(path, key)).json()) as Page
const ids = async (path: string, key?: string) => (await page(path, key)).data.map(({ id }) => id)
const vectors = (...which: number[]) => which.map((i) => `own/vectors-${i}`)

const LISTS = ['/v1/models', '/v1/models/user', '/v1/embeddings/models'] as const
const ALL = [...LISTS, '/v1/models/count', '/v1/model/acme/one', '/v1/models/acme/one/endpoints', '/v1/endpoints/zdr', '/v1/providers']

t.test('every list is a 401 without a key, or with an unknown one', async (t) => {
  await every(t, 'every path', async (t) => {
    for (const path of ALL) {
      for (const headers of [{ authorization: '' }, { authorization: 'Bearer sk-router-v1-nobodys' }] as const) {
        const response = await fetch(gateway.url + path, { headers })
        t.equal(response.status, 401, path)
        t.match(await response.json(), { error: { code: 401, message: String } })
      }
      t.equal((await get(path)).status, 200)
    }
  })
})

t.test('a management key may read them; another method is a 405', async (t) => {
  await every(t, 'every path', async (t) => {
    for (const path of ALL) {
      t.equal((await get(path, KEYS.boss)).status, 200, path)
      const posted = await gateway.post(path, {}, { authorization: `Bearer ${KEYS.plain}` })
      t.equal(posted.status, 405, path)
      t.equal(posted.headers.get('allow'), 'GET')
    }
  })
})

t.test('lists only embedding models, each with a text as id', async (t) => {
  const { data } = await page('/v1/embeddings/models')
  t.same(
    data.map(({ id }) => id),
    vectors(0, 1, 2, 3, 4),
  )
  t.match(data[0], { architecture: { output_modalities: ['embeddings'] }, context_length: 2048 })
  t.notOk(
    (await ids('/v1/models')).some((id) => id.startsWith('own/')),
    'which the list of text models leaves out',
  )
  t.same(await ids('/v1/models?output_modalities=embeddings'), vectors(0, 1, 2, 3, 4))
})

t.test('lists have data, total_count and links.next; a limit of 0 or 1001 is a 400', async (t) => {
  await every(t, 'every path', async (t) => {
    for (const path of LISTS) {
      const whole = await page(path)
      t.equal(whole.total_count, whole.data.length, path)
      t.same(Object.keys(whole).sort(), ['data', 'links', 'object', 'total_count'])
      t.equal(whole.links.next, null)
      for (const wrong of ['limit=0', 'limit=1001', 'limit=ten', 'offset=-1']) {
        const response = await get(`${path}?${wrong}`)
        t.equal(response.status, 400, `${path}?${wrong}`)
        t.match(((await response.json()) as { error: { message: string } }).error.message, new RegExp(`^${wrong.split('=')[0]}: `))
      }
      for (const edge of ['limit=1', 'limit=1000', 'offset=0']) t.equal((await get(`${path}?${edge}`)).status, 200)
    }
  })
})

t.test('following links.next visits each model once, with the filters kept', async (t) => {
  await every(t, 'every path', async (t) => {
    for (const path of [...LISTS, '/v1/models?output_modalities=all&q=o']) {
      const whole = await ids(path)
      const walked: string[] = []
      let next: string | null = `${path}${path.includes('?') ? '&' : '?'}limit=2`
      for (let steps = 0; next !== null && steps < 20; steps++) {
        const { data, total_count: count, links }: Page = await page(next)
        t.equal(count, whole.length)
        walked.push(...data.map(({ id }) => id))
        next = links.next
      }
      t.same(walked, whole, path)
      t.ok(whole.length > 2, 'more than one page')
    }
  })
  t.match(await page('/v1/models?offset=99'), { data: [], links: { next: null } })
})

/** Fields without which strict clients refuse an entry. */
const REQUIRED = {
  id: String,
  canonical_slug: String,
  name: String,
  created: Number,
  description: String,
  architecture: { modality: String, input_modalities: Array, output_modalities: Array },
  pricing: { prompt: /^-?\d/, completion: /^-?\d/ },
  top_provider: { is_moderated: Boolean },
  supported_parameters: Array,
  links: { details: String },
}
const NULLABLE = ['context_length', 'default_parameters', 'per_request_limits', 'supported_voices']

t.test('every entry of every list is whole', async (t) => {
  await every(t, 'every path', async (t) => {
    for (const path of ['/v1/models?output_modalities=all', '/v1/models/user', '/v1/embeddings/models']) {
      for (const entry of (await page(path)).data) {
        t.match(entry, REQUIRED, `${path}: ${entry.id}`)
        for (const name of NULLABLE) t.ok(Object.hasOwn(entry, name), `${entry.id}: ${name}`)
      }
    }
  })
  const { data } = (await (await get('/v1/model/acme/one')).json()) as { data: { links: { details: string } } }
  t.match(data, { description: 'One.', context_length: 8000, top_provider: { context_length: 8000, max_completion_tokens: 1000 } })
  t.equal((await get(data.links.details)).status, 200, 'its link leads somewhere')
})

t.test('what a key may not use is in none of its lists', async (t) => {
  t.same(await ids('/v1/models/user'), ['acme/one', 'acme/two', 'other/three', ...vectors(0, 1, 2, 3, 4)], 'the account ignores a provider')
  t.same(await ids('/v1/models/user', KEYS.fenced), ['acme/one', 'acme/two', 'own/vectors-1'])
  t.same(await ids('/v1/models', KEYS.fenced), ['acme/one', 'acme/two'])
  t.same(await ids('/v1/embeddings/models', KEYS.fenced), ['own/vectors-1'])
  t.same(await ids('/v1/models/user', KEYS.private), ['acme/one', 'other/three'])
  const count = async (key: string) => (await (await get('/v1/models/count?output_modalities=all', key)).json()) as JsonObject
  t.same(await count(KEYS.plain), { data: { count: 8 } })
  t.same(await count(KEYS.fenced), { data: { count: 3 } })
  t.equal((await get('/v1/model/other/three', KEYS.fenced)).status, 404)
  t.equal((await get('/v1/model/short/other', KEYS.fenced)).status, 404, 'not by an alias either')
  t.equal((await get('/v1/models/other/three/endpoints', KEYS.fenced)).status, 404)
  t.equal((await get('/v1/model/short/name', KEYS.fenced)).status, 200)
})

t.test('of a model that a key may use in part, that part is shown', async (t) => {
  const price = async (key: string) =>
    ((await (await get('/v1/model/acme/one', key)).json()) as { data: Page['data'][0] }).data.pricing.prompt
  t.equal(await price(KEYS.plain), '0.000001', 'of the cheapest endpoint')
  t.equal(await price(KEYS.private), '0.000002')
  const { data } = (await (await get('/v1/models/acme/one/endpoints', KEYS.private)).json()) as { data: { endpoints: JsonObject[] } }
  t.same(
    data.endpoints.map(({ tag }) => tag),
    ['careful'],
  )
})

t.test('an alias, the newest of a family and a variant are found', async (t) => {
  const entry = async (slug: string) => ((await (await get(`/v1/model/${slug}`)).json()) as { data: JsonObject }).data
  t.match(await entry('short/name'), { id: 'short/name', canonical_slug: 'acme/one', alias_target: { slug: 'acme/one' } })
  t.match(await entry('acme/one:nitro'), { id: 'acme/one' })
  t.match(await entry('~acme/one-latest'), { id: '~acme/one-latest', alias_target: { slug: 'acme/one' } })
  const missing = await get('/v1/model/acme/none')
  t.equal(missing.status, 404)
  t.match(await missing.json(), { error: { code: 404, availability: { code: 'model_not_found', requested_models: ['acme/none'] } } })
})

t.test('orders by use come from what this gateway has served', async (t) => {
  const ask = (model: string, words: number) =>
    gateway.post(
      '/v1/chat/completions',
      { model, messages: [{ role: 'user', content: 'word '.repeat(words) }] },
      { authorization: `Bearer ${KEYS.plain}` },
    )
  for (const [model, words] of [
    ['other/three', 1],
    ['other/three', 1],
    ['acme/two', 400],
  ] as const)
    t.equal((await ask(model, words)).status, 200)
  t.same((await ids('/v1/models?sort=most-popular')).slice(0, 2), ['other/three', 'acme/two'])
  t.same((await ids('/v1/models?sort=top-weekly')).slice(0, 2), ['acme/two', 'other/three'])
  t.equal((await ids('/v1/models?sort=top-weekly')).length, (await ids('/v1/models')).length, 'the others come behind')
  t.same(await ids('/v1/models?sort=top-weekly&limit=1', KEYS.fenced), ['acme/two'], 'of what the key may use')
  t.equal((await get('/v1/models?sort=design-arena-elo-high-to-low')).status, 400)
})

t.test('the SDK of OpenAI lists models and retrieves one by its id, whose slash it encodes', async (t) => {
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEYS.plain, maxRetries: 0 })
  const listed = []
  for await (const model of openai.models.list()) listed.push(model)
  t.match(
    listed.find(({ id }) => id === 'acme/one'),
    { object: 'model', owned_by: 'acme', created: Date.parse('2026-09-01') / 1000 },
  )
  t.match(await openai.models.retrieve('acme/one'), { id: 'acme/one', object: 'model', owned_by: 'acme' })
  t.equal((await openai.models.retrieve('short/name')).id, 'short/name', 'an alias as well')
  await t.rejects(openai.models.retrieve('acme/none'), /404 No such model: acme\/none/)
  const plain = await gateway.get('/v1/models/acme/one', { authorization: `Bearer ${KEYS.plain}` })
  t.match(await plain.json(), { id: 'acme/one' }, 'and with the slash as it is')
  const fenced = await gateway.get('/v1/models/other/three', { authorization: `Bearer ${KEYS.fenced}` })
  t.equal(fenced.status, 404, 'only what the key may use')
})

t.test('requests with anthropic-version get the list in the form of Anthropic, in pages', async (t) => {
  const list = async (query: string): Promise<JsonObject> => {
    const reply = await gateway.get(`/v1/models${query}`, { 'x-api-key': KEYS.plain, 'anthropic-version': '2023-06-01' })
    return (await reply.json()) as JsonObject
  }
  const all = await list('')
  const one = { type: 'model', id: 'acme/one', created_at: '2026-09-01T00:00:00Z', max_input_tokens: 8000, max_tokens: 1000 }
  t.match(all, { has_more: false, first_id: 'acme/one', data: [one] })
  const ids = (page: JsonObject): string[] => (page.data as { id: string }[]).map(({ id }) => id)
  const first = await list('?limit=1')
  t.match(first, { has_more: true, last_id: 'acme/one' })
  const second = await list('?limit=1&after_id=acme/one')
  t.same(ids(second), ids(all).slice(1, 2))
  t.same(ids(await list(`?limit=1&before_id=${ids(second)[0]}`)), ['acme/one'])
  t.match(await list('?after_id=acme/none'), { error: { message: /after_id/ } })
})
