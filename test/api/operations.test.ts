import t from 'tap'
import { readGeneration, readKey } from '../../src/api/index.ts'
import { catalogFor, type KeyRestrictions } from '../../src/api/key-catalog.ts'
import { weekOfUse } from '../../src/api/model-use.ts'
import { countModels, listEmbeddingModels, listKeyModels, listModels, oneModel } from '../../src/api/models.ts'
import type { ApiReply } from '../../src/api/reply.ts'
import { Fault } from '../../src/core/faults.ts'
import type { Role } from '../../src/core/roles.ts'
import type { ProviderPreferences } from '../../src/dialects/canon/request-fields.ts'
import { Credit } from '../../src/ledger/credit.ts'
import { LedgerScans } from '../../src/ledger/scans.ts'
import type { GenerationRecord, SettleRow } from '../../src/ledger/types.ts'
import type { ApiKey } from '../../src/plugin-api/key.ts'
import type { Model } from '../../src/routing/catalog/types.ts'
import { health, model, provider, usdPerMillion } from '../routing/catalogue.ts'
import { FakeClock } from '../support/clock.ts'
import { holds, recorded } from '../support/holding.ts'
import { ledgerOfRows } from '../support/memory/ledger.ts'

const DAY = 86_400
const NOW = Date.UTC(2026, 10, 21, 12)
const seconds = NOW / 1000

const MODELS: readonly Model[] = [
  model('acme/small', [{ price: usdPerMillion('0.25', '2'), supported: new Set(['tools', 'seed']) }], {
    name: 'Acme Small',
    context: 8000,
    created: seconds - 10 * DAY,
  }),
  model('acme/large', [{ provider: provider('hosted', { zdr: false }), price: usdPerMillion('5', '10'), supported: new Set(['tools']) }], {
    name: 'Great One',
    context: 200_000,
    created: seconds - 100 * DAY,
    input: ['text', 'image'],
  }),
  model('open/riddle', [{ provider: provider('local', { zdr: false }), price: 'unpriced' }]),
  model('open/gift', [{ provider: provider('local', { zdr: false }), price: 'free' }], { context: 32_000 }),
  model('acme/draw', ['acme'], { output: ['image'] }),
  model('acme/embed', ['acme'], { kind: 'embedding', output: ['embeddings'] }),
]

const catalog = {
  models: MODELS,
  aliases: new Map([['~acme/small-latest', 'acme/small']]),
  find: (slug: string) => {
    const bare = slug === '~acme/small-latest' ? 'acme/small' : slug.replace(/:nitro$/, '')
    const found = MODELS.find((one) => one.slug === bare)
    return found && { model: found }
  },
}
const source = { catalog, now: NOW }
const ids = (reply: ApiReply) => (reply.body.data as { id: string }[]).map((entry) => entry.id)
const list = (query: string) => ids(listModels(new URLSearchParams(query), source))

t.test('GET /v1/models: text models by default, each entry of the shared shape', (t) => {
  const reply = listModels(new URLSearchParams(), source)
  t.equal(reply.status, 200)
  t.match(reply.body, { total_count: 4, links: { next: null } })
  t.same(ids(reply), ['acme/small', 'acme/large', 'open/riddle', 'open/gift'])
  t.match((reply.body.data as object[])[0], { id: 'acme/small', context_length: 8000, pricing: { prompt: '0.00000025' } })
  t.end()
})

t.test('filters', (t) => {
  const cases: [string, string[]][] = [
    ['q=GREAT', ['acme/large']],
    ['q=open/', ['open/riddle', 'open/gift']],
    ['output_modalities=all', MODELS.map((one) => one.slug)],
    ['output_modalities=image', ['acme/draw']],
    ['input_modalities=text,image', ['acme/large']],
    ['supported_parameters=tools,seed', ['acme/small', 'open/riddle', 'open/gift']],
    ['context=32000', ['acme/large', 'open/gift']],
    ['max_price=0.25', ['acme/small', 'open/gift']],
    ['min_price=0.25', ['acme/small', 'acme/large']],
    ['min_output_price=3&max_output_price=10', ['acme/large']],
    ['model_authors=Open', ['open/riddle', 'open/gift']],
    ['providers=HOSTED,acme', ['acme/small', 'acme/large']],
    ['zdr=true', ['acme/small']],
    ['max_age_days=10', ['acme/small']],
    ['min_age_days=11', ['acme/large']],
    ['q=&max_price=', ['acme/small', 'acme/large', 'open/riddle', 'open/gift']],
  ]
  for (const [query, expected] of cases) t.same(list(query), expected, query)
  t.end()
})

t.test('orders, with unknown figures last', (t) => {
  t.same(list('sort=newest'), ['acme/small', 'acme/large', 'open/riddle', 'open/gift'])
  t.same(list('sort=pricing-low-to-high'), ['open/gift', 'acme/small', 'acme/large', 'open/riddle'])
  t.same(list('sort=pricing-high-to-low'), ['acme/large', 'acme/small', 'open/gift', 'open/riddle'])
  t.same(list('sort=context-high-to-low'), ['acme/large', 'open/gift', 'acme/small', 'open/riddle'])
  const known = health({ latency: { hosted: 1, local: 0.5 }, throughput: { acme: 9, local: 80 } })
  const sorted = (sort: string) => ids(listModels(new URLSearchParams({ sort }), { ...source, health: known }))
  t.same(sorted('latency-low-to-high'), ['open/riddle', 'open/gift', 'acme/large', 'acme/small'])
  t.same(sorted('throughput-high-to-low'), ['open/riddle', 'open/gift', 'acme/small', 'acme/large'])
  const use = new Map([
    ['open/gift', { requests: 9, tokens: 10 }],
    ['acme/large', { requests: 2, tokens: 5000 }],
    ['gone/model', { requests: 99, tokens: 9999 }],
  ])
  const used = (sort: string) => ids(listModels(new URLSearchParams({ sort }), { ...source, use }))
  t.same(used('most-popular'), ['open/gift', 'acme/large', 'acme/small', 'open/riddle'])
  t.same(used('top-weekly'), ['acme/large', 'open/gift', 'acme/small', 'open/riddle'])
  const scored = [0.5, undefined, 0.9].map((score, i) =>
    model(`acme/m${i}`, ['acme'], { scores: score === undefined ? {} : { general: score, coding: 1 - score, tools: score } }),
  )
  const judged = (sort: string) =>
    ids(listModels(new URLSearchParams({ sort }), { ...source, catalog: { ...catalog, models: scored } })).map((id) => id.slice(-1))
  t.same(judged('intelligence-high-to-low'), ['2', '0', '1'])
  t.same(judged('coding-high-to-low'), ['0', '2', '1'])
  t.same(judged('agentic-high-to-low'), ['2', '0', '1'])
  t.end()
})

t.test('pages', (t) => {
  const first = listModels(new URLSearchParams('limit=3&q=e'), source)
  t.equal((first.body.data as unknown[]).length, 3)
  t.match(first.body, { total_count: 4 })
  const { next } = first.body.links as { next: string }
  const url = new URL(next, 'http://gateway')
  t.equal(url.pathname, '/v1/models')
  const second = listModels(url.searchParams, source)
  t.same([...ids(first), ...ids(second)], list('q=e'))
  t.match(second.body, { links: { next: null } })
  t.same(list('offset=99'), [])
  t.end()
})

t.test('what cannot be answered is a 400 that names the parameter', (t) => {
  const wrong = [
    'limit=0',
    'limit=1001',
    'limit=x',
    'offset=-1',
    'context=0',
    'max_price=-1',
    'max_price=cheap',
    'sort=best',
    'sort=design-arena-elo-high-to-low',
  ]
  for (const query of [...wrong, 'zdr=maybe', 'category=legal', 'region=eu', 'min_age_days=1.5']) {
    const [name] = query.split('=')
    t.throws(() => list(query), { code: 'bad_request', metadata: { field: name } }, query)
  }
  t.throws(() => listEmbeddingModels(new URLSearchParams('limit=0'), source), { message: /^limit: / }, 'a limit of 0')
  t.end()
})

t.test('count, embeddings, the models of a key, one model', (t) => {
  t.same(countModels(new URLSearchParams(), source).body, { data: { count: 4 } })
  t.same(countModels(new URLSearchParams('output_modalities=all'), source).body, { data: { count: 6 } })
  t.match(listEmbeddingModels(new URLSearchParams(), source).body, { data: [{ id: 'acme/embed' }], total_count: 1, links: { next: null } })
  t.equal(ids(listKeyModels(new URLSearchParams(), source)).length, MODELS.length)
  t.match(oneModel('acme/small:nitro', source).body, { data: { id: 'acme/small' } })
  t.match(oneModel('~acme/small-latest', source).body, { data: { id: '~acme/small-latest', alias_target: { slug: 'acme/small' } } })
  t.throws(() => oneModel('acme/none', source), { code: 'model_not_found', message: /acme\/none/ })
  t.end()
})

t.test('what no request of a key can reach is not in its lists', (t) => {
  const seen = (key: Partial<KeyRestrictions>, account?: ProviderPreferences) => {
    const { models } = catalogFor(catalog, { allowedModels: undefined, provider: undefined, ...key }, account)
    return models.map(({ slug }) => slug)
  }
  const all = MODELS.map(({ slug }) => slug)
  t.same(seen({}), all)
  t.equal(
    catalogFor(catalog, { allowedModels: undefined, provider: { sort: 'price' } }, {}),
    catalog,
    'nothing is built where nothing is hidden',
  )
  t.same(seen({ allowedModels: ['open/g*', 'gone/model'] }), ['open/gift'])
  t.same(seen({ provider: { only: ['hosted', 'local'] } }), ['acme/large', 'open/riddle', 'open/gift'])
  t.same(seen({ provider: { only: ['hosted', 'local'] } }, { ignore: ['local'] }), ['acme/large'], 'lists of key and account both bind')
  t.same(seen({ provider: { zdr: true } }), ['acme/small', 'acme/draw', 'acme/embed'])
  t.same(seen({}, { zdr: true }), ['acme/small', 'acme/draw', 'acme/embed'])
  t.same(seen({ allowedModels: ['acme/*'], provider: { only: ['hosted'] } }), ['acme/large'])
  t.same(
    seen({ provider: { quantizations: ['fp4'], max_price: { prompt: '0.01' }, order: ['hosted'] } }),
    all,
    'a request may say otherwise',
  )
  const restricted = catalogFor(catalog, { allowedModels: ['open/*'], provider: undefined }, undefined)
  t.throws(() => oneModel('~acme/small-latest', { catalog: restricted }), { code: 'model_not_found' }, 'nor by another name')
  t.match(oneModel('open/gift', { catalog: restricted }).body, { data: { id: 'open/gift' } })
  t.end()
})

t.test('an entry shows the endpoints that are left', (t) => {
  const two = model('acme/two', [
    { provider: provider('dear'), price: usdPerMillion('9', '9'), context: 200_000 },
    { provider: provider('cheap'), price: usdPerMillion('1', '1'), context: 8000 },
  ])
  const whole = { models: [two], aliases: new Map<string, string>(), find: () => ({ model: two }) }
  const entry = (only: string[]) =>
    oneModel('acme/two', { catalog: catalogFor(whole, { allowedModels: undefined, provider: { only } }, undefined) })
  t.match(entry(['dear']).body, { data: { context_length: 200_000, pricing: { prompt: '0.000009' } } })
  t.match(entry(['cheap']).body, { data: { context_length: 8000, pricing: { prompt: '0.000001' } } })
  t.end()
})

const SETTLED: SettleRow = {
  seq: 1,
  status: 'completed',
  cost: 1_500_000,
  at: 0,
  input: 10,
  output: 20,
  cached: 0,
  cacheWrite: 0,
  reasoning: 0,
  estimated: false,
  facts: '{}',
}
const record = (key: string, at: number, cost: number): GenerationRecord => ({
  id: `gen-${at}`,
  at,
  hold: { seq: 1, tag: 't', key, model: 'acme/small', endpoint: 'acme/small@acme', hold: 5, floor: 1 },
  settled: { ...SETTLED, cost },
})

t.test('GET /v1/generation: only for its own key and for management', async (t) => {
  const journal = { find: async (id: string) => (id === 'gen-1' ? record('mine', 1, SETTLED.cost) : undefined) }
  const read = (query: string, identity: string, role: Role = 'member') =>
    readGeneration(new URLSearchParams(query), { identity, role }, journal)
  t.match(await read('id=gen-1', 'mine'), { status: 200, body: { data: { id: 'gen-1', total_cost: 0.0015 } } })
  t.match((await read('id=gen-1', 'boss', 'owner')).body, { data: { id: 'gen-1' } })
  t.match((await read('id=gen-1', 'reader', 'viewer')).body, { data: { id: 'gen-1' } })
  await t.rejects(read('id=gen-1', 'finance', 'billing'), { code: 'not_found' }, 'billing reads no requests')
  t.match((await read('id=gen-1', 'mine', 'billing')).body, { data: { id: 'gen-1' } }, 'but what is its own')
  const refusals = await Promise.all(['id=gen-1', 'id=gen-2'].map((query) => read(query, 'other').catch((fault: unknown) => fault)))
  t.match(refusals[0], { status: 404 })
  t.equal((refusals[0] as Error).message, (refusals[1] as Error).message, 'a stranger cannot tell that it exists')
  await t.rejects(read('', 'mine'), { code: 'bad_request', message: /^id: / })
  await t.rejects(read('id=', 'mine'), { code: 'bad_request' })
})

const KEY: ApiKey = {
  identity: 'dev',
  hash: 'aa'.repeat(32),
  label: 'sk-router-v1-abc...xyz',
  name: 'dev',
  role: 'member',
  disabled: false,
  limit: 10_000_000_000,
  limitReset: null,
  expiresAt: NOW,
  allowedModels: undefined,
  provider: undefined,
  limits: {},
  passThrough: false,
}

t.test('GET /v1/key: amounts in USD, holds counted, no secret', async (t) => {
  const days = [
    { key: KEY.identity, cost: 1_000_000_000, day: Date.UTC(2026, 10, 1) },
    { key: KEY.identity, cost: 500_000_000, day: Date.UTC(2026, 10, 20) },
  ]
  const credit = new Credit({ now: () => NOW }, recorded({ [KEY.identity]: 1_500_000_000 }, days))
  const account = credit.account(KEY.identity)
  account.settle(0, 1_000_000_000)
  holds(account, 500_000_000, KEY)
  const reply = await readKey(KEY, { credit, clock: new FakeClock() })
  t.match(reply.body.data, {
    label: KEY.label,
    limit: 10,
    limit_remaining: 7,
    usage: 2.5,
    usage_daily: 1,
    usage_weekly: 1.5,
    usage_monthly: 2.5,
    is_management_key: false,
    expires_at: '2026-11-21T12:00:00.000Z',
    rate_limit: { requests: -1, interval: '1m' },
  })
  t.notMatch(JSON.stringify(reply.body), KEY.hash)
  t.match((await readKey({ ...KEY, limitReset: 'daily' }, { credit, clock: new FakeClock() })).body.data, {
    limit: 10,
    limit_reset: 'daily',
    limit_remaining: 8.5,
  })
  const free = await readKey(
    { ...KEY, limit: null, expiresAt: null, role: 'owner', limits: { requests: 60 } },
    { credit, clock: new FakeClock() },
  )
  t.match(free.body.data, { limit: null, limit_remaining: null, expires_at: null, is_management_key: true, rate_limit: { requests: 60 } })
})

t.test('the use of a week: what was answered, by model, each day read once', async (t) => {
  const clock = new FakeClock(1, NOW)
  let walked: number[] = []
  const records: GenerationRecord[] = []
  const settled = (more: Partial<SettleRow> = {}): SettleRow => ({ ...SETTLED, ...more })
  const happened = (daysAgo: number, served: SettleRow | undefined, slug = 'acme/small'): void => {
    const at = NOW - daysAgo * 86_400_000
    records.push({
      id: 'gen',
      at,
      hold: { seq: 1, tag: 't', key: 'dev', model: slug, endpoint: `${slug}@acme`, hold: 5, floor: 1 },
      settled: served,
    })
    records.sort((a, b) => a.at - b.at)
  }
  const ledger = ledgerOfRows({
    export: (since = 0) => {
      walked.push(since)
      return records.filter(({ at }) => at >= since)
    },
  })
  const scans = new LedgerScans(ledger, clock)
  const figures = () => weekOfUse(scans, clock)
  happened(8, settled())
  happened(6, settled())
  happened(1, settled({ status: 'aborted' }))
  happened(1, settled({ status: 'failed' }))
  happened(1, settled({ status: 'unknown' }))
  happened(0, undefined)
  happened(0, settled({ facts: JSON.stringify({ model: 'acme/large' }) }))
  const both = { requests: 2, tokens: 2 * (SETTLED.input + SETTLED.output) }
  const one = { requests: 1, tokens: SETTLED.input + SETTLED.output }
  const [first, second] = await Promise.all([figures(), figures()])
  t.same([...first].sort(), [
    ['acme/large', one],
    ['acme/small', both],
  ])
  t.same(first, second)
  t.equal(walked.length, 1, 'two who ask at once share one walk')
  happened(0, settled())
  await figures()
  t.equal(walked.length, 1, 'what is fresh is not read again')
  await clock.advance(300_000)
  walked = []
  t.same((await figures()).get('acme/small'), { requests: 3, tokens: 3 * one.tokens })
  t.same(walked, [Date.UTC(2026, 10, 19)], 'the running day, and two before it that late rows may change')
  await clock.advance(86_400_000)
  walked = []
  t.same((await figures()).get('acme/small'), both, 'the oldest day is gone')
  t.same(walked, [Date.UTC(2026, 10, 19)], 'the day that was recent when it was read, and those behind it')
  const refusing = () => {
    throw new Fault('unavailable')
  }
  await t.rejects(weekOfUse(new LedgerScans(ledgerOfRows({ export: refusing }), clock), clock), { code: 'unavailable' })
})
