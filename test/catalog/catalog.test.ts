import fc from 'fast-check'
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { buildCatalog, type Catalog } from '../../src/routing/catalog/catalog.ts'
import { discoveredModels } from '../../src/routing/catalog/discovery.ts'
import { aliasEntry, modelEntry } from '../../src/routing/catalog/entry.ts'
import type { Endpoint } from '../../src/routing/catalog/types.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

const TEXT = `
providers:
  acme: { dialect: openai-chat, name: Acme, base_url: "http://127.0.0.1:1" }
  local: { dialect: openai-chat, name: Local, base_url: "http://127.0.0.1:2", discover: true }
  sim: { dialect: sim }
models:
  acme/big:
    name: Big
    description: A big one.
    created: "2026-01-01"
    context: 100000
    max_output: 8000
    input: [ text, image ]
    endpoints:
      - { provider: acme, model: big-1, price: { prompt: "2", completion: "8" }, quantization: fp8 }
      - { provider: acme, model: big-1-turbo, variant: turbo, max_output: 9000, price: { prompt: "1", completion: "4", cached: "0.1", cache_write: "1.25", reasoning: "5", audio: "3", request: "0.01", image: "0.002" } }
      - { provider: acme, model: big-1, tier: flex, context: 50000, price: { prompt: "0.5", completion: "2" } }
  acme/small: { max_output: 1000, endpoints: [ { provider: acme, model: small, supported_parameters: [ tools, max_tokens ] } ] }
  acme/gift: { default_max_output: 77, endpoints: [ { provider: acme, model: gift, price: free } ] }
  acme/big:free: { endpoints: [ { provider: acme, model: big-free, price: free } ] }
  sim/echo: { endpoints: [ { provider: sim, model: echo } ] }
  sim/paid: { endpoints: [ { provider: sim, model: echo, price: { prompt: "1", completion: "1" } } ] }
  "acme/*": { context: 10, endpoints: [ { provider: acme, model: "*" }, { provider: local, model: "mirror/*" } ] }
aliases: { app/one: app/two, app/two: acme/big, app/wild: acme/anything, app/nitro: "acme/big:nitro" }
`

const config = loadConfig('f.yaml', {}, { text: TEXT })
const LISTING: JsonObject = {
  object: 'list',
  data: [{ id: 'llama3:8b', created: 1_700_000_000, context_length: 8192 }, { id: 'org/model' }, { id: 'llama3:8b' }],
}
const catalog = buildCatalog(config, new Map([['local', { list: LISTING, local: true }]]))

const firstEndpoint = (from: Catalog, slug: string): Endpoint => {
  const endpoint = from.find(slug)?.model.endpoints[0]
  if (!endpoint) throw new Error(`${slug} has no endpoint`)
  return endpoint
}

t.test('endpoints', async (t) => {
  const model = catalog.find('acme/big')?.model
  t.same(
    model?.endpoints.map((endpoint) => endpoint.id),
    ['acme/big@acme', 'acme/big@acme/turbo', 'acme/big@acme/flex'],
  )
  const [plain, turbo, flex] = model?.endpoints ?? []
  t.match(plain, { upstreamModel: 'big-1', context: 100_000, maxOutput: 8000, quantization: 'fp8', variant: undefined, tier: undefined })
  t.match(turbo, { variant: 'turbo', maxOutput: 9000, quantization: 'unknown' })
  t.match(flex, { tier: 'flex', context: 50_000 })
  t.equal(plain?.model, model, 'an endpoint knows its model')
  t.equal(plain?.provider, catalog.providers.get('acme'), 'and its provider')
  t.equal(plain?.supported, undefined)
  t.same([...(firstEndpoint(catalog, 'acme/small').supported ?? [])], ['tools', 'max_tokens'])
})

t.test('prices', async (t) => {
  t.same(firstEndpoint(catalog, 'acme/big').price, {
    ...{ prompt: 2_000_000_000_000n, completion: 8_000_000_000_000n, cached: undefined, cacheWrite: undefined },
    ...{ reasoning: undefined, audio: undefined, request: undefined, image: undefined },
  })
  t.same(catalog.find('acme/big')?.model.endpoints[1].price, {
    ...{ prompt: 1_000_000_000_000n, completion: 4_000_000_000_000n, cached: 100_000_000_000n, cacheWrite: 1_250_000_000_000n },
    ...{ reasoning: 5_000_000_000_000n, audio: 3_000_000_000_000n, request: 10_000_000_000_000_000n, image: 2_000_000_000_000_000n },
  })
  t.equal(firstEndpoint(catalog, 'acme/small').price, 'unpriced')
  t.equal(firstEndpoint(catalog, 'acme/gift').price, 'free')
  t.equal(firstEndpoint(catalog, 'sim/echo').price, 'free')
  t.type(firstEndpoint(catalog, 'sim/paid').price, 'object')
  t.equal(firstEndpoint(catalog, 'local/llama3:8b').price, 'free')
  t.equal(firstEndpoint(catalog, 'acme/whatever').price, 'unpriced', 'a wildcard is not free by itself')
})

t.test('the output assumed for a hold', async (t) => {
  t.equal(catalog.find('acme/big')?.model.defaultMaxOutput, undefined, 'the credit decides')
  t.equal(catalog.find('acme/gift')?.model.defaultMaxOutput, 77)
})

t.test('lookups', async (t) => {
  const found = (slug: string): [string | undefined, string | undefined] => [catalog.find(slug)?.model.slug, catalog.find(slug)?.variant]
  t.same(found('acme/big'), ['acme/big', undefined])
  t.same(found('acme/big:nitro'), ['acme/big', 'nitro'])
  t.same(found('acme/big:floor:online'), ['acme/big', 'floor:online'])
  t.same(found('acme/big:free'), ['acme/big:free', undefined], 'a static variant has a listing of its own')
  t.same(found('acme/big:free:online'), ['acme/big:free', 'online'])
  t.same(found('app/one'), ['acme/big', undefined], 'an alias of an alias')
  t.same(found('app/one:nitro'), ['acme/big', 'nitro'])
  t.same(found('app/nitro'), ['acme/big', 'nitro'], 'an alias that holds a variant')
  t.same(found('app/nitro:online'), ['acme/big', 'nitro:online'])
  t.same(found('app/wild'), ['acme/anything', undefined], 'an alias to a wildcard')
  t.same(found('big'), ['acme/big', undefined], 'the part behind the author')
  t.same(found('big:nitro'), ['acme/big', 'nitro'])
  t.same(found('big-20261101'), ['acme/big', undefined], 'a dated release')
  t.same(found('big-1101'), [undefined, undefined])
  t.same(found('local/llama3:8b'), ['local/llama3:8b', undefined], 'a colon in a name')
  t.same(found('local/llama3:8b:nitro'), ['local/llama3:8b', 'nitro'])
  t.same(found('local/org/model'), ['local/org/model', undefined])
  await every(t, 'every slug', async (t) => {
    for (const slug of [
      '',
      'acme',
      'acme/',
      '/big',
      'nobody/big',
      'sim/none',
      'local/none',
      ':nitro',
      'sim/echo:8b',
      'acme/*',
      '__proto__',
      'constructor/x',
    ]) {
      t.equal(catalog.find(slug), undefined, `"${slug}"`)
    }
  })
})

t.test('wildcards', async (t) => {
  const model = catalog.find('acme/some/deep:8b')?.model
  t.equal(model?.slug, 'acme/some/deep:8b')
  t.same(
    model?.endpoints.map((endpoint) => endpoint.upstreamModel),
    ['some/deep:8b', 'mirror/some/deep:8b'],
  )
  t.same(
    model?.endpoints.map((endpoint) => endpoint.id),
    ['acme/some/deep:8b@acme', 'acme/some/deep:8b@local'],
  )
  t.equal(catalog.find('acme/some/deep:8b')?.model, model, 'made once')
  t.same(catalog.find('acme/x:nitro')?.variant, 'nitro')
  t.equal(catalog.find('acme/x:nitro')?.model.slug, 'acme/x')
  t.equal(catalog.find(`acme/$&`)?.model.endpoints[0].upstreamModel, '$&', 'no pattern in a tail is read')
  t.equal(catalog.find(`acme/${'x'.repeat(300)}`), undefined, 'names are bounded')
  t.notOk(
    catalog.models.some((each) => each.slug.includes('*')),
    'wildcards are not listed',
  )
  for (let index = 0; index < 1500; index++) catalog.find(`acme/m${index}`)
  t.not(catalog.find('acme/some/deep:8b')?.model, model, 'what callers name is kept in bounds')
})

t.test('the list holds declared models, then discovered ones', async (t) => {
  t.same(
    catalog.models.map((model) => model.slug),
    ['acme/big', 'acme/small', 'acme/gift', 'acme/big:free', 'sim/echo', 'sim/paid', 'local/llama3:8b', 'local/org/model'],
  )
  t.same(
    buildCatalog(config).models.filter((model) => model.slug.startsWith('local/')),
    [],
  )
  const acme = new Map([['acme', { list: LISTING, local: true }]])
  t.notOk(
    buildCatalog(config, acme).models.some((model) => model.slug.includes('llama')),
    'only providers with discover are asked',
  )
})

t.test('a declared model wins over a discovered one', async (t) => {
  const text = TEXT.replace(
    'sim/echo:',
    'local/llama3:8b: { name: Mine, endpoints: [ { provider: local, model: "llama3:8b", price: free } ] }\n  sim/echo:',
  )
  const own = buildCatalog(loadConfig('f.yaml', {}, { text }), new Map([['local', { list: LISTING, local: true }]]))
  t.equal(own.find('local/llama3:8b')?.model.name, 'Mine')
})

t.test('discovery', async (t) => {
  const provider = catalog.providers.get('local')
  if (!provider) throw new Error('no provider')
  const [llama, org, ...more] = discoveredModels(provider, { list: LISTING, local: true })
  t.same(more, [], 'each once')
  t.match(llama, { slug: 'local/llama3:8b', name: 'Local: llama3:8b', created: 1_700_000_000, context: 8192 })
  t.match(llama.endpoints, [{ id: 'local/llama3:8b@local', upstreamModel: 'llama3:8b', price: 'free', context: 8192 }])
  t.match(org, { slug: 'local/org/model', created: 0, context: undefined })
})

t.test('a listing of any shape is read without harm', async (t) => {
  const provider = catalog.providers.get('local')
  if (!provider) throw new Error('no provider')
  const wild = fc.oneof(
    fc.record({
      data: fc.array(fc.record({ id: fc.oneof(fc.string(), fc.jsonValue()), created: fc.jsonValue(), context_length: fc.jsonValue() })),
    }),
    fc.record({ data: fc.jsonValue() }),
  )
  fc.assert(
    fc.property(wild, (listing) => {
      for (const model of discoveredModels(provider, { list: listing as JsonObject, local: true })) {
        if (!/^local\/[\w.+/:-]+$/.test(model.slug)) return false
        if (!Number.isSafeInteger(model.created) || model.created < 0) return false
        if (model.context !== undefined && !(model.context > 0)) return false
      }
      return true
    }),
    property(500, 20_000),
  )
  t.equal(
    discoveredModels(provider, { list: { data: Array.from({ length: 5000 }, (_, id) => ({ id: `m${id}` })) }, local: true }).length,
    2000,
    'bounded',
  )
  t.same(discoveredModels(provider, { list: {}, local: true }), [])
})

t.test('entries of the model list', async (t) => {
  const big = catalog.find('acme/big')?.model
  if (!big) throw new Error('no model')
  const entry = modelEntry(big)
  t.match(entry, {
    id: 'acme/big',
    canonical_slug: 'acme/big',
    name: 'Big',
    description: 'A big one.',
    created: Date.UTC(2026, 0, 1) / 1000,
    context_length: 100_000,
    architecture: {
      modality: 'text+image->text',
      input_modalities: ['text', 'image'],
      output_modalities: ['text'],
      tokenizer: 'Other',
      instruct_type: null,
    },
    top_provider: { context_length: 100_000, max_completion_tokens: 9000, is_moderated: false },
    per_request_limits: null,
    default_parameters: null,
    supported_voices: null,
    links: { details: '/v1/models/acme/big/endpoints' },
  })
  t.same(
    entry.pricing,
    {
      prompt: '0.000001',
      completion: '0.000004',
      request: '0.01',
      image: '0.002',
      input_cache_read: '0.0000001',
      input_cache_write: '0.00000125',
      internal_reasoning: '0.000005',
      audio: '0.000003',
    },
    'the cheapest endpoint that is not a tier, per token',
  )
  t.same(modelEntry(firstEndpoint(catalog, 'acme/gift').model).pricing, { prompt: '0', completion: '0', request: '0', image: '0' })
  t.same(modelEntry(firstEndpoint(catalog, 'acme/small').model).pricing, { prompt: '-1', completion: '-1' }, 'no price known')
  t.same(modelEntry(firstEndpoint(catalog, 'acme/small').model).supported_parameters, ['max_tokens', 'tools'])
  t.match(aliasEntry('app/one', big), { id: 'app/one', canonical_slug: 'acme/big', alias_target: { slug: 'acme/big', name: 'Big' } })
})

t.test('strict clients find every required field of an entry, and none undefined', async (t) => {
  const required = ['id', 'canonical_slug', 'name', 'created', 'description', 'pricing', 'context_length', 'architecture', 'top_provider']
  required.push('per_request_limits', 'supported_parameters', 'default_parameters', 'supported_voices', 'links')
  await every(t, 'every model', async (t) => {
    for (const model of catalog.models) {
      const entry = modelEntry(model)
      for (const field of required) t.not(entry[field], undefined, `${model.slug}: ${field}`)
      t.ok(Array.isArray(entry.supported_parameters) && entry.supported_parameters.length > 0)
    }
  })
})

t.test('providers', async (t) => {
  t.match(catalog.providers.get('acme'), { slug: 'acme', name: 'Acme', baseUrl: 'http://127.0.0.1:1', onAbort: 'cancel', user: 'pass' })
  t.equal(catalog.providers.get('sim')?.baseUrl, undefined)
  t.same([...catalog.aliases.keys()], ['app/one', 'app/two', 'app/wild', 'app/nitro'])
})
