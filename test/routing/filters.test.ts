import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../src/core/faults.ts'
import { present } from '../../src/core/json.ts'
import type { ProviderPreferences } from '../../src/dialects/canon/request-fields.ts'
import type { FilterName } from '../../src/routing/criteria/index.ts'
import { filterEndpoints, noEndpointFault, type RouteNeeds } from '../../src/routing/filters.ts'
import { allowsModel, namesModel } from '../../src/routing/index.ts'
import { mergePreferences, NO_PREFERENCES, requestSides } from '../../src/routing/merge.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'
import type { EndpointFacts } from './catalogue.ts'
import { model, provider, slugs, usdPerMillion } from './catalogue.ts'

const asked = (preferences: ProviderPreferences, more: Partial<RouteNeeds> = {}): RouteNeeds => ({
  provider: mergePreferences([{ from: 'request', preferences }]),
  ...more,
})
const tags = (entries: readonly (string | EndpointFacts)[], needs: RouteNeeds): string[] =>
  filterEndpoints(model('a/m', entries).endpoints, needs).kept.map((endpoint) => endpoint.id.slice('a/m@'.length))

t.test('nothing asked keeps everything but tier endpoints', async (t) => {
  const acme = provider('acme')
  const entries = ['beta', { provider: acme }, { provider: acme, variant: 'turbo' }, { provider: acme, tier: 'flex' as const }]
  t.same(tags(entries, { provider: NO_PREFERENCES }), ['beta', 'acme', 'acme/turbo'])
})

t.test('null and empty lists ask nothing', async (t) => {
  await every(t, 'every blank', async (t) => {
    for (const blank of [null, []]) {
      const needs = asked({ only: blank, ignore: blank, order: blank, quantizations: blank, allow_fallbacks: false })
      t.same(tags(['a', 'b'], needs), ['a', 'b'])
    }
  })
})

t.test('a base slug names variants and no tiers, a full tag names one', async (t) => {
  const acme = provider('acme')
  const entries: (string | EndpointFacts)[] = [
    'acme2',
    { provider: acme },
    { provider: acme, variant: 'turbo' },
    { provider: acme, tier: 'flex' },
    { provider: acme, tier: 'priority', variant: 'turbo' },
  ]
  t.same(tags(entries, asked({ only: ['acme'] })), ['acme', 'acme/turbo'])
  t.same(tags(entries, asked({ only: ['acme/turbo'] })), ['acme/turbo'])
  t.same(tags(entries, asked({ only: ['acme/flex'] })), ['acme/flex'])
  t.same(tags(entries, asked({ only: ['acme/turbo/priority'] })), ['acme/turbo/priority'])
  t.same(
    filterEndpoints(model('a/m', entries).endpoints, {
      provider: mergePreferences([
        { from: 'request', preferences: { only: ['acme/flex'] } },
        { from: 'account', preferences: { only: ['acme'] } },
      ]),
    }).kept.map((endpoint) => endpoint.tier),
    ['flex'],
    'a tier that one side opens is one of the provider to the other',
  )
  t.same(tags(entries, asked({ order: ['acme/flex'] })), ['acme2', 'acme', 'acme/turbo', 'acme/flex'], 'order opens a tier by its tag')
  t.same(tags(entries, asked({ ignore: ['acme/turbo'] })), ['acme2', 'acme'])
  t.same(tags(entries, asked({ ignore: ['acme'] }, { tiers: new Set(['flex']) })), ['acme2'], 'an ignored provider is ignored whole')
  t.same(tags(entries, asked({}, { tiers: new Set(['priority']) })), ['acme2', 'acme', 'acme/turbo', 'acme/turbo/priority'])
  t.same(tags(entries, asked({ only: ['acme'] }, { serviceTier: 'priority' })), ['acme', 'acme/turbo', 'acme/turbo/priority'])
  t.same(tags(entries, asked({}, { serviceTier: 'flex' })), ['acme/flex'], 'flex goes nowhere else where it exists')
  t.same(tags(['beta'], asked({}, { serviceTier: 'flex' })), ['beta'], 'and falls to normal routing where it does not')
  t.same(tags(entries, asked({ only: ['nobody', 'acm', 'acme/'] })), [], 'unknown slugs match nothing')
})

t.test('a quantization includes its family', async (t) => {
  const entries = ['mxfp4', 'nvfp4', 'fp4', 'mxfp8', 'fp8', 'bf16', 'unknown'].map((quantization) => ({
    provider: provider(quantization),
    quantization,
  }))
  t.same(tags(entries, asked({ quantizations: ['fp8'] })), ['mxfp8', 'fp8'])
  t.same(tags(entries, asked({ quantizations: ['fp4', 'bf16'] })), ['mxfp4', 'nvfp4', 'fp4', 'bf16'])
  t.same(tags(entries, asked({ quantizations: ['mxfp4'] })), ['mxfp4'])
  t.same(tags(entries, asked({ quantizations: ['unknown'] })), ['unknown'])
})

t.test('max_price reads strings and numbers alike', async (t) => {
  const entries: EndpointFacts[] = [
    { provider: provider('cheap'), price: usdPerMillion('0.25', '2') },
    { provider: provider('dear'), price: usdPerMillion('0.3', '2') },
    { provider: provider('gift'), price: 'free' },
    { provider: provider('riddle'), price: 'unpriced' },
    { provider: provider('toll'), price: { ...usdPerMillion('0'), request: 1_000_000_000_000_000n } },
  ]
  await every(t, 'every prompt', async (t) => {
    for (const prompt of ['0.25', 0.25, '0.250', '2.5e-1']) {
      t.same(tags(entries, asked({ max_price: { prompt } })), ['cheap', 'gift', 'toll'], `prompt ${prompt}`)
    }
  })
  t.same(tags(entries, asked({ max_price: { prompt: 0.1 + 0.2, completion: 2 } })), ['cheap', 'dear', 'gift', 'toll'])
  t.same(tags(entries, asked({ max_price: { completion: '1.99' } })), ['gift', 'toll'])
  t.same(tags(entries, asked({ max_price: { request: 0.0009 } })), ['cheap', 'dear', 'gift'])
  t.same(tags(entries, asked({ max_price: { request: 0.001 } })), ['cheap', 'dear', 'gift', 'toll'])
  t.same(tags(entries, asked({ max_price: { audio: '0.00000025' } })), ['cheap', 'gift', 'toll'], 'audio is priced by its token')
  await every(t, 'every case', async (t) => {
    for (const [text, fits] of [
      ['0.25', true],
      ['0.249999999999', false],
      ['0.2499999999999999999', false],
      ['0.25000000000000001', true],
      ['25e-2', true],
      ['2.5E-1', true],
      ['0.00025e3', true],
      ['249e-3', false],
      ['1e-400', false],
      ['0e400', false],
      ['1e400', true],
    ] as const) {
      t.equal(tags(entries, asked({ max_price: { prompt: text } })).includes('cheap'), fits, `prompt ${text}`)
    }
  })
  t.same(tags(entries, asked({ max_price: { prompt: 1e30 } })), ['cheap', 'dear', 'gift', 'riddle', 'toll'])
  await every(t, 'every prompt', async (t) => {
    for (const prompt of ['', 'cheap', '-1', -1, Number.NaN, '0x10', 'Infinity']) {
      t.throws(() => tags(entries, asked({ max_price: { prompt } })), { status: 400, message: /provider\.max_price\.prompt/ })
    }
  })
})

t.test('parameters remove endpoints, hard and soft', async (t) => {
  const entries: EndpointFacts[] = [
    { provider: provider('bare'), supported: new Set(['temperature']) },
    { provider: provider('full'), supported: new Set(['temperature', 'tools', 'seed']) },
    { provider: provider('any') },
  ]
  t.same(tags(entries, asked({ require_parameters: true }, { used: new Set(['seed']) })), ['full', 'any'])
  t.same(tags(entries, asked({}, { used: new Set(['seed']) })), ['bare', 'full', 'any'])
  t.same(tags(entries, asked({}, { used: new Set(['tools', 'temperature']) })), ['full', 'any'], 'tools filter softly')
  t.same(tags(entries.slice(0, 1), asked({}, { used: new Set(['tools']) })), ['bare'], 'but never empty the list')
  const required = (supported: string[] | undefined, used: string[], quirks = {}) =>
    tags([{ supported: supported && new Set(supported), quirks }], asked({ require_parameters: true }, { used: new Set(used) })).length ===
    1
  t.ok(required(['max_completion_tokens', 'reasoning_effort'], ['max_tokens', 'reasoning']), 'by whichever name it is listed')
  t.notOk(required(['response_format'], ['response_format', 'structured_outputs']), 'a JSON mode is no schema')
  const efforts = [{ provider: provider('few', { quirks: { efforts: ['low', 'high'] } }) }, { provider: provider('all') }]
  const named = (effort: string, require: boolean) =>
    tags(efforts, asked({ require_parameters: require }, { used: new Set(['reasoning']), effort }))
  t.same(
    [named('none', true), named('none', false), named('high', true)],
    [['all'], ['few', 'all'], ['few', 'all']],
    'an effort is a value',
  )
  t.ok(required(['temperature'], ['user', 'metadata']), 'no list tells of what names the caller')
  t.notOk(required(undefined, ['seed'], { body: { drop: ['seed'] } }), 'what is never sent does not arrive')
  const sent = (endpoint: { provider: { slug: string } }) => new Set(endpoint.provider.slug === 'bare' ? ['seed'] : [])
  t.same(
    tags(['bare', 'any'], asked({ require_parameters: true }, { used: new Set(['seed']), sent })),
    ['bare'],
    'by what the dialect sends',
  )
})

t.test('lengths, modalities, status, privacy', async (t) => {
  const entries: EndpointFacts[] = [
    { provider: provider('small', { dataCollection: 'allow' }), context: 1000, maxOutput: 100 },
    { provider: provider('large', { zdr: false }), context: 9000 },
  ]
  t.same(tags(entries, asked({}, { contextTokens: 1000 })), ['small', 'large'])
  t.same(tags(entries, asked({}, { contextTokens: 1001 })), ['large'])
  t.same(tags(entries, asked({}, { maxOutput: 101 })), ['large'], 'another endpoint of the model writes as much')
  t.same(tags(entries.slice(0, 1), asked({}, { maxOutput: 101 })), ['small'], 'the cap is lowered')
  t.same(tags(entries.slice(0, 1), asked({ require_parameters: true }, { maxOutput: 101 })), [])
  t.same(tags(entries, asked({}, { contextTokens: 900, maxOutput: 5000 })), ['large'], 'after the filters of the context')
  t.same(tags(entries.slice(0, 1), asked({}, { contextTokens: 900, maxOutput: 5000 })), ['small'], 'a lowered cap needs less context')
  t.same(tags(entries.slice(0, 1), asked({}, { contextTokens: 901, maxOutput: 5000 })), ['small'], 'the cap is lowered to what is left')
  t.same(tags(entries.slice(0, 1), asked({}, { contextTokens: 901, maxOutput: 5000, wholeCap: true })), [])
  t.same(tags(entries.slice(0, 1), asked({}, { contextTokens: 2997 })), ['small'], 'the estimate is high: it may fit')
  t.same(tags(entries.slice(0, 1), asked({}, { contextTokens: 3000 })), [])
  t.same(tags(entries, asked({ data_collection: 'deny' })), ['large'])
  t.same(tags(entries, asked({ data_collection: 'allow', zdr: true })), ['small'])
  t.same(tags(entries, asked({}, { unavailable: (endpoint) => endpoint.provider.slug === 'small' })), ['large'])
  t.same(tags(entries, asked({}, { input: ['text', 'image'] })), [])
  t.same(tags(entries, asked({}, { output: ['image'] })), [])
  t.same(tags(entries, asked({ enforce_distillable_text: true })), [])
  t.same(
    slugs(
      filterEndpoints(model('a/m', ['acme'], { flags: new Set(['distillable']) }).endpoints, asked({ enforce_distillable_text: true }))
        .kept,
    ),
    ['acme'],
  )
  const limited = model('a/m', ['acme', { provider: provider('own'), context: 50 }], { context: 10, maxOutput: 5 })
  t.same(
    slugs(filterEndpoints(limited.endpoints, asked({}, { contextTokens: 31 })).kept),
    ['own'],
    "the model's context unless the endpoint has its own",
  )
})

t.test('merging: only intersects, ignore adds up, the strict side wins, the request decides the rest', async (t) => {
  const merged = mergePreferences([
    { from: 'request', preferences: { only: ['a', 'b'], ignore: ['x'], zdr: false, data_collection: 'allow', order: null } },
    { from: 'key', preferences: { only: ['b', 'c'], ignore: ['y'], zdr: true, sort: 'latency', order: ['b'], allow_fallbacks: false } },
    { from: 'account', preferences: { data_collection: 'deny', sort: 'price', require_parameters: true } },
    { from: 'guardrail', preferences: undefined },
  ])
  t.same(tags(['a', 'b', 'c', 'x'], { provider: merged }), ['b'])
  t.same(tags(['a', 'b', 'x', 'y'], { provider: { ...merged, only: [], allow_fallbacks: true } }), ['a', 'b'])
  t.same(tags(['a', 'b'], { provider: { ...merged, only: [] } }), ['b'], 'without fallbacks the order list is all')
  t.match(merged, { zdr: true, data_collection: 'deny', sort: 'latency', allow_fallbacks: false, order: ['b'], require_parameters: true })
  t.equal(mergePreferences([{ from: 'request', preferences: null }]), NO_PREFERENCES)
})

t.test('merging: what is blank is unset, and sort is two fields', async (t) => {
  const merge = (...sides: ProviderPreferences[]) => mergePreferences(sides.map((preferences, at) => ({ from: `side ${at}`, preferences })))
  const blank: ProviderPreferences = {
    order: [],
    quantizations: [],
    only: [],
    max_price: {},
    sort: { by: null },
    preferred_max_latency: { p50: undefined },
  }
  const full: ProviderPreferences = {
    order: ['a'],
    quantizations: ['fp8'],
    only: ['a'],
    max_price: { prompt: 1 },
    preferred_max_latency: 2,
  }
  t.same(merge(blank, full), { ...full, only: [{ from: 'side 1', slugs: ['a'] }], ignore: [] })
  t.same(merge({ preferred_max_latency: { p50: null, p90: 3 } } as unknown as ProviderPreferences).preferred_max_latency, { p90: 3 })
  t.same(merge({ sort: { partition: 'none' } }, { sort: 'price' }).sort, { by: 'price', partition: 'none' })
  t.same(merge({ sort: 'latency' }, { sort: { by: 'price', partition: 'none' } }).sort, { by: 'latency', partition: 'none' })
  t.same(merge({ sort: { by: null, partition: null } }, { sort: 'price' }).sort, 'price')
  t.match(merge({ sort: 'price' }, { order: ['a'], allow_fallbacks: false }), { sort: 'price', order: undefined, allow_fallbacks: false })
  t.match(merge({ order: ['a'] }, { sort: 'price' }), { order: ['a'] }, 'an order that is stronger stays')
  t.match(merge({ order: ['a'], sort: 'price' }), { order: ['a'] })
  t.match(merge({ sort: { partition: 'none' } }, { order: ['a'] }), { order: ['a'] }, 'a partition sorts nothing')
})

t.test('the sides of a request: provider before route before the variant', async (t) => {
  const sorted = (demands: Parameters<typeof requestSides>[0], account: ProviderPreferences = {}) =>
    mergePreferences([...requestSides(demands), { from: 'account', preferences: account }]).sort
  t.same(sorted({ route: 'sort' }), { partition: 'none' })
  t.same(sorted({ route: 'fallback' }, { sort: { by: 'price', partition: 'none' } }), { by: 'price', partition: 'model' })
  t.same(sorted({ route: 'sort', provider: { sort: { by: 'price', partition: 'model' } } }), { by: 'price', partition: 'model' })
  t.same(sorted({ variantSort: 'throughput' }, { sort: 'price' }), 'throughput')
  t.same(sorted({ variantSort: 'exacto', provider: { sort: 'price' } }), 'price', 'an explicit sort beats :exacto')
  t.same(sorted({ variantSort: 'price', provider: { sort: { partition: 'none' } } }), { by: 'price', partition: 'none' })
  t.same(requestSides({ provider: null, route: null }), [])
})

t.test('the fault names filters, sides, and what the wire calls them', async (t) => {
  const cases: [ProviderPreferences, EndpointFacts, FilterName, object][] = [
    [
      { only: ['zeta'] },
      {},
      'only',
      { code: 'constraint_filtered', excluded_by: ['allowed_providers'], constraint: { field: 'provider.only' } },
    ],
    [{ ignore: ['acme'] }, {}, 'ignore', { code: 'constraint_filtered', constraint: { field: 'provider.ignore' } }],
    [{ order: ['zeta'], allow_fallbacks: false }, {}, 'order', { code: 'constraint_filtered', constraint: { field: 'provider.order' } }],
    [{ max_price: { prompt: 0.1 } }, {}, 'max_price', { code: 'constraint_filtered', excluded_by: ['max_price'] }],
    [{ quantizations: ['fp8'] }, {}, 'quantization', { code: 'constraint_filtered', excluded_by: ['quantization'] }],
    [
      { zdr: true },
      { provider: provider('acme', { zdr: false }) },
      'zdr',
      { code: 'privacy_restricted', excluded_by: ['data_policy:zdr'] },
    ],
    [
      { data_collection: 'deny' },
      { provider: provider('acme', { dataCollection: 'allow' }) },
      'data_collection',
      { code: 'privacy_restricted', excluded_by: ['data_policy:training'] },
    ],
  ]
  await every(t, 'every case', async (t) => {
    for (const [preferences, facts, filter, availability] of cases) {
      const { kept, removed } = filterEndpoints(model('a/m', [facts]).endpoints, asked(preferences))
      t.equal(kept.length, 0)
      const fault = noEndpointFault(['a/m'], removed)
      t.equal(fault.status, 404)
      t.equal(fault.code, 'no_endpoints')
      t.match(fault.message, `a/m at acme removed by ${filter}`)
      t.match(fault.metadata, { excluded: [{ model: 'a/m', endpoint: 'acme', filter, detail: String }] })
      t.match(fault.availability, { ...availability, retryable: false, requested_models: ['a/m'], docs_url: String })
    }
  })
  const none = noEndpointFault(['a/m', 'a/n'], [])
  t.strictSame(Object.keys(none.availability ?? {}), ['code', 'retryable', 'requested_models', 'docs_url'])
  t.match(none.availability, { code: 'no_endpoints', requested_models: ['a/m', 'a/n'] })
})

t.test('both sides of a list that left nothing are named; context alone is a 400', async (t) => {
  const provider_ = mergePreferences([
    { from: 'request', preferences: { only: ['beta'] } },
    { from: 'account', preferences: { only: ['acme'] } },
  ])
  const lists = filterEndpoints(model('a/m', ['acme', 'beta']).endpoints, { provider: provider_ })
  const fault = noEndpointFault(['a/m'], lists.removed)
  t.match(fault.message, 'only of the request: [beta]')
  t.match(fault.message, 'only of the account: [acme]')
  const one = noEndpointFault(['a/m'], filterEndpoints(model('a/m', ['zeta']).endpoints, { provider: provider_ }).removed)
  t.match(one.message, 'only of the request: [beta] and only of the account: [acme]')
  t.same(one.metadata, {
    excluded: [
      {
        model: 'a/m',
        provider: 'ZETA',
        endpoint: 'zeta',
        filter: 'only',
        detail: 'only of the request: [beta] and only of the account: [acme]',
        from: 'request and account',
      },
    ],
  })
  const long = filterEndpoints(model('a/m', ['acme'], { context: 10 }).endpoints, asked({}, { contextTokens: 31 }))
  const tooLong = noEndpointFault(['a/m'], long.removed)
  t.match(tooLong, { status: 400, type: 'context_length_exceeded' })
  t.match(tooLong.message, '10 tokens')
})

t.test('model patterns', async (t) => {
  const named = (entry: string) => ['openai/gpt', 'openai/gpt-mini', 'acme/gpt', 'openai'].filter((slug) => namesModel(entry, slug))
  t.same(named('openai/gpt'), ['openai/gpt'])
  t.same(named('openai/*'), ['openai/gpt', 'openai/gpt-mini'])
  t.same(named('*/gpt'), ['openai/gpt', 'acme/gpt'])
  t.same(named('*n*/*-*'), ['openai/gpt-mini'])
  t.same(named('*'), ['openai/gpt', 'openai/gpt-mini', 'acme/gpt', 'openai'])
  t.equal(namesModel('ab*ba', 'aba'), false, 'head and tail do not share a character')
  t.equal(allowsModel(undefined, 'a/b'), true)
  t.equal(allowsModel([], 'a/b'), false)
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'b', '*'), { maxLength: 6 }),
      fc.array(fc.constantFrom('a', 'b'), { maxLength: 8 }),
      (entry, slug) => {
        const pattern = new RegExp(`^${entry.join('').replaceAll('*', '.*')}$`)
        return namesModel(entry.join(''), slug.join('')) === pattern.test(slug.join(''))
      },
    ),
    property(2000, 20_000),
  )
})

t.test('property: whatever is kept meets every demand, and whatever is removed is told once', async (t) => {
  const names = ['a', 'b', 'c', 'd']
  const list = fc.option(fc.subarray(names), { nil: null })
  const price = fc.integer({ min: 0, max: 5 })
  const entry = fc.record({ slug: fc.constantFrom(...names), price, zdr: fc.boolean(), deny: fc.boolean() })
  const demand = fc.record({ only: list, ignore: list, accountOnly: list, max: fc.option(price), zdr: fc.boolean(), deny: fc.boolean() })
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 8 }), demand, (entries, wanted) => {
      const { endpoints } = model(
        'a/m',
        entries.map((facts, at) => ({
          provider: provider(facts.slug, { zdr: facts.zdr, dataCollection: facts.deny ? 'deny' : 'allow' }),
          price: usdPerMillion(String(facts.price)),
          variant: `v${at}`,
        })),
      )
      const merged = mergePreferences([
        {
          from: 'request',
          preferences: present({
            only: wanted.only,
            ignore: wanted.ignore,
            zdr: wanted.zdr,
            data_collection: wanted.deny ? ('deny' as const) : ('allow' as const),
            max_price: wanted.max === null ? undefined : { prompt: wanted.max },
          }),
        },
        { from: 'account', preferences: { only: wanted.accountOnly } },
      ])
      const { kept, removed } = filterEndpoints(endpoints, { provider: merged })
      const meets = entries.map(
        (facts) =>
          (!wanted.only?.length || wanted.only.includes(facts.slug)) &&
          (!wanted.accountOnly?.length || wanted.accountOnly.includes(facts.slug)) &&
          !wanted.ignore?.includes(facts.slug) &&
          (wanted.max === null || facts.price <= wanted.max) &&
          (!wanted.zdr || facts.zdr) &&
          (!wanted.deny || facts.deny),
      )
      const expected = endpoints.filter((_, at) => meets[at])
      if (JSON.stringify(kept.map((e) => e.id)) !== JSON.stringify(expected.map((e) => e.id))) return false
      if (removed.length + kept.length !== endpoints.length) return false
      const fault = noEndpointFault(['a/m'], removed)
      return fault instanceof Fault && removed.slice(0, 8).every((gone) => fault.message.includes(`removed by ${gone.filter}`))
    }),
    property(500, 5_000),
  )
  t.pass('500 catalogues')
})
