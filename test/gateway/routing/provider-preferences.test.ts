/** Preferences of callers and operators decide which provider is called (docs/contract.md#provider-preferences). */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import { Gate, type Seen, sseAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'
import { framesFor, says, upstreamError } from '../../support/wire.ts'

const PROVIDERS = ['aye', 'bee', 'cee', 'dee'] as const
type Name = (typeof PROVIDERS)[number]

/** Everything that the rows choose between. Provider dee serves a model of its own alone. */
const MODELS = `
models:
  acme/one:
    context: 128000
    endpoints:
      - { provider: aye, model: one, price: { prompt: "1", completion: "1" }, quantization: mxfp8, supported_parameters: [ temperature, top_p ] }
      - { provider: bee, model: one, price: { prompt: "2", completion: "2", image: "0.02" }, quantization: bf16 }
      - { provider: cee, model: one, price: { prompt: "3", completion: "3", request: "0.01", image: "0.01" }, quantization: fp16 }
  acme/two: { context: 128000, distillable: true, endpoints: [ { provider: bee, model: two, price: { prompt: "0.5", completion: "0.5" } } ] }
  acme/tags:
    context: 128000
    endpoints:
      - { provider: aye, model: base, price: free }
      - { provider: cee, model: base, price: free }
      - { provider: cee, model: turbo, variant: turbo, price: free }
      - { provider: cee, model: flex, tier: flex, price: free }
  acme/else: { endpoints: [ { provider: dee, model: other, price: free } ] }
`

const PRIVACY: Record<Name, string> = {
  aye: '',
  bee: 'zdr: true, data_collection: deny',
  cee: 'data_collection: deny',
  dee: '',
}

interface Preferring {
  clock: FakeClock
  gateway: Gateway
  upstreams: Record<Name, Upstream>
  /** Requests of each provider since the last look: `aye one`. */
  asked(): string[]
  /** Every provider fails: who is asked after whom, and the status in the end. */
  tour(fields?: JsonObject): Promise<{ status: number; body: JsonObject; asked: string[] }>
  /** The bodies that a provider has seen. */
  seen(name: Name): JsonObject[]
}

interface Defaults {
  key?: JsonObject
  account?: JsonObject
}

const flow = (value: JsonObject | undefined): string => JSON.stringify(value ?? {})

async function preferring(t: Test, defaults: Defaults = {}): Promise<Preferring> {
  const clock = new FakeClock(11)
  const log: string[] = []
  const upstreams = {} as Record<Name, Upstream>
  for (const name of PROVIDERS) {
    upstreams[name] = await startUpstream((seen) => {
      log.push(`${name} ${seen.json.model}`)
      return upstreamError(500)
    })
  }
  t.teardown(() => Promise.all(Object.values(upstreams).map((upstream) => upstream.close())))
  const providers = PROVIDERS.map((name) => `  ${name}: { dialect: openai-chat, base_url: "${upstreams[name].url}/v1", ${PRIVACY[name]} }`)
  const gateway = await startGateway(
    `auth: { keys: [ { name: test, key: "${KEY}", provider: ${flow(defaults.key)} } ] }
provider: ${flow(defaults.account)}
providers:\n${providers.join('\n')}${MODELS}`,
    { clock },
  )
  t.teardown(() => gateway.close())
  const asked = (): string[] => log.splice(0)
  return {
    clock,
    gateway,
    upstreams,
    asked,
    tour: async (fields = {}) => {
      const response = await gateway.post('/v1/chat/completions', question(fields))
      return { status: response.status, body: (await response.json()) as JsonObject, asked: asked() }
    },
    seen: (name) => upstreams[name].requests.map(({ json }) => json),
  }
}

const question = (fields: JsonObject): JsonObject => ({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], ...fields })

/** Seconds to the first token, and to the rest of seven tokens: three providers, the dearest is the fastest. */
const SPEEDS: readonly (readonly [Name, number, number])[] = [
  ['aye', 3, 4],
  ['bee', 2, 2],
  ['cee', 1, 1],
]

/** Gives each provider one served request of a known speed. */
async function warm({ clock, gateway, upstreams }: Preferring): Promise<void> {
  for (const [name, first, rest] of SPEEDS) {
    const upstream = upstreams[name]
    const { script } = upstream
    const begun = new Gate()
    upstream.script = async (seen: Seen) => {
      await clock.advance(first * 1000)
      const [head, content, ...tail] = framesFor(seen.path, { text: ['one', ' two'] })
      return sseAnswer([head, content, begun.step, ...tail])
    }
    const response = await gateway.post('/v1/chat/completions', question({ stream: true, provider: { only: [name] } }))
    const reader = response.body?.getReader()
    await reader?.read()
    await clock.advance(rest * 1000)
    begun.open()
    while (!(await reader?.read())?.done);
    upstream.script = script
  }
}

interface Row {
  name: string
  preferences: JsonObject
  fields?: JsonObject
  /** In this order, or in any. */
  order?: readonly string[]
  any?: readonly string[]
  warm?: boolean
  /** Other forms of the request's own preferences. */
  also?: JsonObject
  check?: (scene: Preferring, t: Test) => void
}

const ALL = ['aye one', 'bee one', 'cee one']
const BY_SPEED = ['cee one', 'bee one', 'aye one']
const TOOLS = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]
const FALLBACK = { models: ['acme/two'] }
const TAGS = { model: 'acme/tags' }

const ROWS: readonly Row[] = [
  { name: 'order, then the others', preferences: { order: ['cee', 'bee'] }, order: BY_SPEED },
  { name: 'order skips a provider that does not serve', preferences: { order: ['dee', 'bee'] }, order: ['bee one', 'aye one', 'cee one'] },
  { name: 'only', preferences: { only: ['bee', 'cee', 'dee'] }, any: ['bee one', 'cee one'] },
  { name: 'ignore', preferences: { ignore: ['aye', 'dee'] }, any: ['bee one', 'cee one'] },
  { name: 'a base slug names variants, no tiers', preferences: { only: ['cee'] }, fields: TAGS, any: ['cee base', 'cee turbo'] },
  { name: 'a variant by its tag', preferences: { only: ['cee/turbo'] }, fields: TAGS, any: ['cee turbo'] },
  { name: 'a tier by its tag', preferences: { only: ['cee/flex'] }, fields: TAGS, any: ['cee flex'] },
  {
    name: 'a tier in the order',
    preferences: { order: ['cee/flex', 'aye'], allow_fallbacks: false },
    fields: TAGS,
    order: ['cee flex', 'aye base'],
  },
  {
    name: 'allow_fallbacks false: the order is all',
    preferences: { order: ['cee', 'bee'], allow_fallbacks: false },
    order: ['cee one', 'bee one'],
  },
  {
    name: 'allow_fallbacks false: the top endpoint is all',
    preferences: { sort: 'price', allow_fallbacks: false },
    order: ['aye one'],
  },
  { name: 'allow_fallbacks true', preferences: { sort: 'price', allow_fallbacks: true }, order: ALL },
  { name: 'sort price', preferences: { sort: 'price' }, also: { sort: { by: 'price' } }, order: ALL },
  { name: 'sort latency', preferences: { sort: 'latency' }, warm: true, order: BY_SPEED },
  { name: 'sort throughput', preferences: { sort: 'throughput' }, warm: true, order: BY_SPEED },
  { name: 'sort exacto', preferences: { sort: 'exacto' }, warm: true, order: BY_SPEED },
  {
    name: 'partition none: the endpoints of all models together',
    preferences: { sort: { by: 'price', partition: 'none' } },
    fields: FALLBACK,
    order: ['bee two', ...ALL],
  },
  { name: 'partition model', preferences: { sort: { by: 'price', partition: 'model' } }, fields: FALLBACK, order: [...ALL, 'bee two'] },
  { name: 'quantizations: fp8 takes mxfp8 too', preferences: { quantizations: ['fp8'] }, any: ['aye one'] },
  { name: 'quantizations', preferences: { quantizations: ['bf16', 'fp16'] }, any: ['bee one', 'cee one'] },
  {
    name: 'preferred_max_latency moves endpoints, and removes none',
    preferences: { preferred_max_latency: 2.5, sort: 'price' },
    also: { preferred_max_latency: { p50: 2.5, p90: null }, sort: 'price' },
    warm: true,
    order: ['bee one', 'cee one', 'aye one'],
  },
  {
    name: 'all cutoffs of preferred_max_latency must hold',
    preferences: { preferred_max_latency: { p50: 2.5, p90: 1.5 }, sort: 'price' },
    warm: true,
    order: ['cee one', 'aye one', 'bee one'],
  },
  {
    name: 'preferred_min_throughput',
    preferences: { preferred_min_throughput: 3, sort: 'price' },
    also: { preferred_min_throughput: { p50: 3, p99: 3 }, sort: 'price' },
    warm: true,
    order: ['bee one', 'cee one', 'aye one'],
  },
  {
    name: 'max_price prompt',
    preferences: { max_price: { prompt: '2' } },
    also: { max_price: { prompt: 2 } },
    any: ['aye one', 'bee one'],
  },
  {
    name: 'max_price completion',
    preferences: { max_price: { completion: '1.999' } },
    also: { max_price: { completion: 1.999 } },
    any: ['aye one'],
  },
  { name: 'max_price request', preferences: { max_price: { request: '0.009' } }, any: ['aye one', 'bee one'] },
  { name: 'max_price image', preferences: { max_price: { image: '0.01' } }, any: ['aye one', 'cee one'] },
  { name: 'max_price audio, by the token', preferences: { max_price: { audio: '0.0000015' } }, any: ['aye one'] },
  {
    name: 'require_parameters',
    preferences: { require_parameters: true },
    fields: { seed: 7, top_p: 0.5 },
    any: ['bee one', 'cee one'],
  },
  {
    name: 'without require_parameters a parameter that is not taken is left out',
    preferences: { require_parameters: false },
    fields: { seed: 7, top_p: 0.5 },
    any: ALL,
    check: ({ seen }, t) => {
      t.match(seen('aye'), [{ top_p: 0.5, seed: undefined }])
      t.match(seen('bee'), [{ top_p: 0.5, seed: 7 }])
    },
  },
  { name: 'tools filter softly', preferences: { require_parameters: false }, fields: { tools: TOOLS }, any: ['bee one', 'cee one'] },
  {
    name: 'tools filter softly: nobody else is left',
    preferences: { only: ['aye'] },
    fields: { tools: TOOLS },
    any: ['aye one'],
    check: ({ seen }, t) => t.match(seen('aye'), [{ tools: undefined }]),
  },
  { name: 'data_collection deny', preferences: { data_collection: 'deny' }, any: ['bee one', 'cee one'] },
  { name: 'zdr', preferences: { zdr: true }, any: ['bee one'] },
  { name: 'enforce_distillable_text', preferences: { enforce_distillable_text: true }, fields: FALLBACK, any: ['bee two'] },
]

t.test('every row of the table: in the request, as the default of a key, as the default of the account', async (t) => {
  for (const row of ROWS)
    await t.test(row.name, async (t) => {
      const { preferences, fields = {} } = row
      const sides: [string, Defaults, JsonObject][] = [
        ['request', {}, { ...fields, provider: preferences }],
        ['key', { key: preferences }, fields],
        ['account', { account: preferences }, fields],
      ]
      if (row.also) sides.push(['request in another form', {}, { ...fields, provider: row.also }])
      await every(t, 'every case', async (t) => {
        for (const [side, defaults, body] of sides) {
          const scene = await preferring(t, defaults)
          if (row.warm) await warm(scene)
          const { status, asked } = await scene.tour(body)
          t.equal(status, 502, `${side}: the last failure is returned`)
          if (row.order) t.same(asked, row.order, side)
          else t.same([...asked].sort(), row.any, side)
          row.check?.(scene, t)
        }
      })
    })
})

t.test('without preferences uses all endpoints, and no tier', async (t) => {
  const scene = await preferring(t)
  t.same((await scene.tour()).asked.sort(), ALL)
  t.same((await scene.tour(TAGS)).asked.sort(), ['aye base', 'cee base', 'cee turbo'])
})

/** A request that no endpoint may serve: the status and body of section 8, and nobody is asked. */
async function refused(t: Test, scene: Preferring, fields: JsonObject, expected: object): Promise<JsonObject> {
  const { status, body, asked } = await scene.tour(fields)
  t.equal(status, 404)
  t.same(asked, [])
  t.match(body, { error: { code: 404, message: /removed by/, metadata: { error_type: 'not_found' }, ...expected } })
  return body.error as JsonObject
}

t.test('returns 404 where none is left, and names each endpoint and its filter', async (t) => {
  const scene = await preferring(t)
  const one = (filter: string) =>
    (['aye', 'bee', 'cee'] as const).map((endpoint) => ({ model: 'acme/one', provider: endpoint, endpoint, filter, detail: String }))
  const cases: [JsonObject, object, string][] = [
    [
      { only: ['nobody', 'dee'] },
      { code: 'constraint_filtered', excluded_by: ['allowed_providers'], constraint: { field: 'provider.only' } },
      'only',
    ],
    [{ ignore: ['aye', 'bee', 'cee'] }, { code: 'constraint_filtered', constraint: { field: 'provider.ignore' } }, 'ignore'],
    [{ order: ['nobody'], allow_fallbacks: false }, { code: 'constraint_filtered', constraint: { field: 'provider.order' } }, 'order'],
    [
      { max_price: { prompt: '0.99' } },
      { code: 'constraint_filtered', excluded_by: ['max_price'], constraint: { field: 'provider.max_price' } },
      'max_price',
    ],
    [{ max_price: { prompt: 0.99 } }, { code: 'constraint_filtered', excluded_by: ['max_price'] }, 'max_price'],
    [{ quantizations: ['int4'] }, { code: 'constraint_filtered', excluded_by: ['quantization'] }, 'quantization'],
    [{ enforce_distillable_text: true }, { code: 'constraint_filtered' }, 'distillable'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [provider, availability, filter] of cases) {
      const error = await refused(
        t,
        scene,
        { provider },
        { availability: { ...availability, retryable: false, requested_models: ['acme/one'] } },
      )
      t.match(error.metadata, { excluded: one(filter) })
      for (const name of ['aye', 'bee', 'cee']) t.match(error.message, `acme/one at ${name} removed by ${filter}`)
    }
  })
  const privacy = await refused(
    t,
    scene,
    { provider: { only: ['aye'], zdr: true } },
    { availability: { code: 'privacy_restricted', excluded_by: ['data_policy:zdr', 'allowed_providers'] } },
  )
  t.match(privacy.metadata, { excluded: [{ filter: 'zdr' }, { filter: 'only', from: 'request' }, { filter: 'only' }] })
  await refused(
    t,
    scene,
    { provider: { only: ['aye'], data_collection: 'deny' } },
    { availability: { code: 'privacy_restricted', affected_providers: ['aye', 'bee', 'cee'] } },
  )
  const long = await scene.tour({ messages: [{ role: 'user', content: 'x'.repeat(1_300_000) }] })
  t.equal(long.status, 400)
  t.match(long.body, { error: { metadata: { error_type: 'context_length_exceeded', excluded: one('context') } } })
  const stream = await scene.gateway.post('/v1/responses', {
    model: 'acme/one',
    input: 'Hello',
    stream: true,
    provider: { only: ['nobody'] },
  })
  t.equal(stream.status, 404)
  t.match(await stream.json(), { error: { metadata: { excluded: one('only') } } }, 'the other formats say it too')
})

t.test('only of two sides: both apply, and the error names both', async (t) => {
  const scene = await preferring(t, { account: { only: ['aye', 'bee'], ignore: ['cee/turbo'] }, key: { ignore: ['aye'] } })
  t.same((await scene.tour({ provider: { only: ['bee', 'cee'] } })).asked, ['bee one'])
  t.same((await scene.tour({ provider: { only: ['bee'], ignore: [] } })).asked, ['bee one'])
  const error = await refused(t, scene, { provider: { only: ['cee'] } }, { availability: { constraint: { field: String } } })
  t.match(error.message, 'acme/one at aye removed by only (only of the request: [cee] and ignore of the key: [aye])')
  t.match(error.message, 'only of the account: [aye, bee]')
  const both = await refused(t, scene, { model: 'acme/tags', provider: { only: ['aye'] } }, {})
  t.match(both.message, 'acme/tags at cee removed by only (only of the request: [aye] and only of the account: [aye, bee])')
  t.match(error.metadata, { excluded: [{ from: 'request and key' }, { from: 'request' }, { from: 'account' }] })
})

t.test('a request cannot loosen what protects data', async (t) => {
  for (const side of ['account', 'key'] as const) {
    const strict = await preferring(t, { [side]: { zdr: true } })
    t.same((await strict.tour({ provider: { zdr: false } })).asked, ['bee one'], side)
    await refused(t, strict, { provider: { zdr: false, only: ['aye'] } }, { availability: { code: 'privacy_restricted' } })
    const denying = await preferring(t, { [side]: { data_collection: 'deny' } })
    t.same((await denying.tour({ provider: { data_collection: 'allow' } })).asked.sort(), ['bee one', 'cee one'], side)
    const distilling = await preferring(t, { [side]: { enforce_distillable_text: true } })
    t.same((await distilling.tour({ ...FALLBACK, provider: { enforce_distillable_text: false } })).asked, ['bee two'], side)
  }
  const open = await preferring(t, { account: { zdr: false }, key: { zdr: false } })
  t.same((await open.tour({ provider: { zdr: true } })).asked, ['bee one'], 'a request may always be stricter')
})

t.test('of the rest the stronger side decides: request, key, account', async (t) => {
  const scene = await preferring(t, {
    key: { sort: 'price', quantizations: ['bf16', 'fp16'] },
    account: { order: ['cee'], quantizations: ['fp8'], allow_fallbacks: false, max_price: { prompt: '2' } },
  })
  t.same((await scene.tour()).asked, ['bee one'], 'the sort of the key before the order of the account')
  t.same((await scene.tour({ provider: { allow_fallbacks: true, max_price: { completion: 9 } } })).asked, ['bee one', 'cee one'])
  t.same((await scene.tour({ provider: { order: ['cee'], max_price: { prompt: 9 } } })).asked, ['cee one'])
  const blank = {
    order: [],
    only: null,
    sort: null,
    quantizations: [],
    max_price: {},
    allow_fallbacks: null,
    preferred_max_latency: { p50: null },
  }
  t.same((await scene.tour({ provider: blank })).asked, ['bee one'], 'what is left blank is not said')
  const loud = { provider: { quantizations: ['fp8', 'bf16', 'fp16', 'unknown'], allow_fallbacks: true, max_price: { prompt: 9 } } }
  t.same((await scene.tour(loud)).asked, ALL)
  t.same((await scene.tour({ ...loud, model: 'acme/one:floor', models: ['acme/two'], route: 'sort' })).asked, ['bee two', ...ALL])
})

t.test('route, the old name of the partition', async (t) => {
  const scene = await preferring(t)
  const provider = { sort: 'price' }
  t.same((await scene.tour({ ...FALLBACK, provider, route: 'sort' })).asked, ['bee two', ...ALL])
  t.same((await scene.tour({ ...FALLBACK, provider, route: 'fallback' })).asked, [...ALL, 'bee two'])
  t.same((await scene.tour({ ...FALLBACK, provider: { sort: { by: 'price', partition: 'model' } }, route: 'sort' })).asked, [
    ...ALL,
    'bee two',
  ])
  const sorting = await preferring(t, { account: { sort: { by: 'price', partition: 'none' } } })
  t.same((await sorting.tour({ ...FALLBACK })).asked, ['bee two', ...ALL])
  t.same((await sorting.tour({ ...FALLBACK, route: 'fallback' })).asked, [...ALL, 'bee two'], 'the request before the account')
})

t.test('sorted by price the cheapest is always first; an unknown order is refused', async (t) => {
  const scene = await preferring(t)
  for (const name of PROVIDERS) scene.upstreams[name].script = says({ text: [name] })
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 20; i++) {
      const response = await scene.gateway.post('/v1/chat/completions', question({ provider: { sort: 'price' } }))
      t.match(await response.json(), { choices: [{ message: { content: 'aye' } }] })
    }
  })
  const calls = PROVIDERS.map((name) => scene.upstreams[name].requests.length)
  await every(t, 'every provider', async (t) => {
    for (const provider of [
      { prefer: 'aye' },
      { max_price: { tokens: 1 } },
      { sort: { by: 'price', also: 'latency' } },
      { quantizations: ['fp2'] },
    ]) {
      const response = await scene.gateway.post('/v1/chat/completions', question({ provider } as JsonObject))
      t.equal(response.status, 400)
      t.match(await response.json(), { error: { message: /^provider/ } })
    }
  })
  const ignoring = await scene.gateway.post('/v1/chat/completions', question({ provider: { ignore: ['nobody'], sort: 'price' } }))
  t.equal(ignoring.status, 200, 'an unknown provider matches nothing')
  t.same(
    PROVIDERS.map((name) => scene.upstreams[name].requests.length),
    calls.map((count, at) => count + (at === 0 ? 1 : 0)),
  )
})

t.test('a parameter counts as accepted where it reaches the model: by format, by list, by quirk', async (t) => {
  const asked: string[] = []
  const upstreams: Upstream[] = []
  for (const name of ['chat', 'messages', 'quirky']) {
    upstreams.push(
      await startUpstream(() => {
        asked.push(name)
        return upstreamError(500)
      }),
    )
  }
  t.teardown(() => Promise.all(upstreams.map((upstream) => upstream.close())))
  const [chat, messages, quirky] = upstreams.map(({ url }) => url)
  const gateway = await startGateway(`
providers:
  chat: { dialect: openai-chat, base_url: "${chat}/v1" }
  messages: { dialect: anthropic, base_url: "${messages}" }
  quirky: { dialect: openai-chat, base_url: "${quirky}/v1", quirks: { body: { drop: [ seed ] } } }
models:
  acme/one:
    endpoints: [ { provider: chat, model: m, price: free }, { provider: messages, model: m, price: free }, { provider: quirky, model: m, price: free } ]
  acme/two:
    endpoints: [ { provider: chat, model: m, price: free }, { provider: messages, model: m, price: free } ]
`)
  t.teardown(() => gateway.close())
  const tour = async (fields: JsonObject): Promise<string[]> => {
    asked.length = 0
    await gateway.post('/v1/chat/completions', question(fields))
    return asked.toSorted()
  }
  const required = { provider: { require_parameters: true } }
  t.same(await tour({ seed: 7 }), ['chat', 'messages', 'quirky'])
  t.same(await tour({ ...required, seed: 7 }), ['chat'], 'one wire has no field for it, one provider never gets it')
  t.same(await tour({ ...required, temperature: 1, max_completion_tokens: 9 }), ['chat', 'messages', 'quirky'])
  t.same(await tour({ model: 'acme/two', verbosity: 'low' }), ['chat'], 'verbosity filters softly')
  t.same(await tour({ model: 'acme/two', verbosity: 'low', provider: { only: ['messages'] } }), ['messages'])
})
