/** Slugs that stand for a choice among models: the newest of a family, router models, and what variants make of them. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { Gate, sseAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'
import { framesFor, says, upstreamError } from '../../support/wire.ts'

const FREE_KEY = 'sk-router-v1-aaaaaaaaaaaaaaaa'
const NARROW_KEY = 'sk-router-v1-bbbbbbbbbbbbbbbb'
const POOR_KEY = 'sk-router-v1-cccccccccccccccc'
const CHAT = '/v1/chat/completions'

const yaml = (url: string, brand: string): string => `
${brand === 'router' ? '' : `brand: { word: ${brand} }`}
auth:
  keys:
    - { name: free, key: "${FREE_KEY}" }
    - { name: narrow, key: "${NARROW_KEY}", allowed_models: [ "acme/coder-*" ] }
    - { name: poor, key: "${POOR_KEY}", limit: "5.00" }
providers:
  one: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up, data_collection: deny }
  two: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
models:
  acme/brain-4:
    created: "2025-03-01"
    context: 100000
    scores: { general: 0.5, coding: 0.3 }
    endpoints: [ { provider: one, model: brain-4, price: { prompt: "1.00", completion: "4.00" } } ]
  acme/brain-4.5:
    created: "2025-09-01"
    context: 100000
    scores: { general: 0.9, coding: 0.5 }
    endpoints:
      - { provider: one, model: brain-4.5, price: { prompt: "5.00", completion: "20.00" } }
      - { provider: two, model: brain-4.5, price: { prompt: "3.00", completion: "9.00" } }
      - { provider: two, tier: priority, model: brain-4.5-fast, price: { prompt: "30.00", completion: "90.00" } }
  acme/brain-4.5:free:
    created: "2026-09-01"
    context: 100000
    endpoints: [ { provider: two, model: brain-free, price: free } ]
  acme/brain-4.5:thinking:
    context: 100000
    endpoints: [ { provider: one, model: brain-thinking, price: { prompt: "6.00", completion: "30.00" } } ]
  acme/brain-4.5:extended:
    context: 900000
    endpoints: [ { provider: one, model: brain-extended, price: { prompt: "7.00", completion: "30.00" } } ]
  acme/coder-1:
    context: 100000
    scores: { coding: 0.7 }
    endpoints: [ { provider: one, model: coder-1, price: { prompt: "2.00", completion: "2.00" } } ]
  acme/coder-2:
    context: 100000
    scores: { coding: 0.9 }
    endpoints: [ { provider: two, model: coder-2, price: { prompt: "3.00", completion: "3.00" } } ]
  acme/tiny:
    context: 60
    scores: { coding: 0.8 }
    endpoints: [ { provider: one, model: tiny, price: { prompt: "0.10", completion: "0.10" } } ]
  acme/gift:
    context: 100000
    endpoints: [ { provider: one, model: gift, price: free, supported_parameters: [ tools, max_tokens ] } ]
  acme/unpriced: { context: 100000, scores: { coding: 1 }, endpoints: [ { provider: one, model: unpriced } ] }
aliases: { app/best: "${brand}/auto", app/nitro: "${brand}/pareto-code:nitro", app/newest: "~acme/brain-latest" }
default_model: app/best
plugins:
  defaults:
    auto-router: { excluded_models: [ acme/gift, "*:free", acme/tiny, acme/unpriced ], cost_quality_tradeoff: 0 }
presets: { routed: { model: "${brand}/pareto-code", parameters: { temperature: 0.1 } } }
`

interface Routed {
  clock: FakeClock
  upstream: Upstream
  gateway: Gateway
  ask(fields: JsonObject, key?: string): Promise<Asked>
}

interface Asked {
  status: number
  /** Model of the reply. */
  model: string
  message: string
  metadata: JsonObject
  body: JsonObject
  id: string
}

async function withRouter(body: (scene: Routed) => Promise<void>, brand = 'router'): Promise<void> {
  const clock = new FakeClock(11)
  const upstream = await startUpstream(says({ text: ['fine'] }))
  const gateway = await startGateway(yaml(upstream.url, brand), { clock })
  const ask: Routed['ask'] = async (fields, key = FREE_KEY) => {
    const reply = await gateway.post(
      CHAT,
      { messages: [{ role: 'user', content: 'Hello' }], ...fields },
      { authorization: `Bearer ${key}`, [`x-${brand}-metadata`]: 'enabled' },
    )
    const json = (await reply.json()) as JsonObject
    return {
      status: reply.status,
      model: String(json.model),
      message: String((json.error as JsonObject | undefined)?.message),
      metadata: (json[`${brand}_metadata`] ?? {}) as JsonObject,
      body: json,
      id: reply.headers.get('x-generation-id') ?? '',
    }
  }
  try {
    await body({ clock, upstream, gateway, ask })
  } finally {
    await gateway.close()
    await upstream.close()
  }
}

const available = ({ metadata }: Asked): string[] => {
  const { available } = metadata.endpoints as { available: { model: string }[] }
  return [...new Set(available.map(({ model }) => model))]
}

t.test('~author/family-latest is the newest model, and the reply names it', async (t) => {
  await withRouter(async ({ gateway, upstream, ask }) => {
    await every(t, 'every model', async (t) => {
      for (const model of ['~acme/brain-latest', 'app/newest']) {
        const asked = await ask({ model })
        t.equal(asked.model, 'acme/brain-4.5')
        t.match(asked.metadata, { requested: model, strategy: 'latest' })
        const generation = await gateway.get(`/v1/generation?id=${asked.id}`)
        t.match(await generation.json(), { data: { model: 'acme/brain-4.5', router: model } })
      }
    })
    const streamed = await gateway.post(CHAT, { model: '~acme/brain-latest', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
    t.match(await streamed.text(), /"model":"acme\/brain-4\.5"/)
    t.equal((await ask({ model: 'acme/brain-4', models: ['~acme/brain-latest'] })).status, 200, 'also to fall back on')
    const before = upstream.requests.length
    await every(t, 'every model', async (t) => {
      for (const model of ['~acme/nothing-latest', '~nobody/brain-latest', '~acme/latest']) {
        t.match(await ask({ model }), {
          status: 404,
          body: { error: { availability: { code: 'model_not_found', requested_models: [model] } } },
        })
      }
    })
    t.equal((await ask({ model: '~acme/brain-latest' }, NARROW_KEY)).status, 403, 'not for this key')
    t.equal(upstream.requests.length, before)
  })
})

t.test('variants sort, and static ones are listings of their own', async (t) => {
  await withRouter(async ({ clock, gateway, upstream, ask }) => {
    const served = async (model: string): Promise<unknown> => {
      const { status } = await ask({ model })
      return status === 200 ? upstream.requests.at(-1)?.json.model : status
    }
    const chosen = async (model: string): Promise<string> => {
      const { available } = (await ask({ model })).metadata.endpoints as { available: { provider: string; selected: boolean }[] }
      return available.find(({ selected }) => selected)?.provider ?? 'nobody'
    }
    for (const [provider, ms] of [
      ['one', 200],
      ['two', 5000],
    ] as const) {
      for (let i = 0; i < 6; i++)
        await streamed({ gateway, upstream, clock }, { model: 'acme/brain-4.5', provider: { order: [provider] } }, ms)
    }
    upstream.script = says({ text: ['fine'] })
    await every(t, 'every round', async (t) => {
      for (let i = 0; i < 8; i++) {
        t.equal(await chosen('acme/brain-4.5:floor'), 'two', 'the cheaper one')
        t.equal(await chosen('acme/brain-4.5:nitro'), 'one', 'the faster one')
      }
    })
    const nitro = await ask({ model: '~acme/brain-latest:nitro' })
    t.equal((nitro.metadata.endpoints as JsonObject).total, 3, 'nitro admits the priority tier')
    t.equal(((await ask({ model: 'acme/brain-4.5' })).metadata.endpoints as JsonObject).total, 2)
    t.equal(await served('acme/brain-4.5:free'), 'brain-free')
    t.equal(await served('acme/brain-4.5:thinking'), 'brain-thinking')
    t.equal(await served('acme/brain-4.5:extended'), 'brain-extended')
    t.equal(await served('acme/brain-4.5:extended:nitro'), 'brain-extended', 'chained')
    t.equal(await served('acme/brain-4:free'), 404, 'no listing')
    t.equal(await served('acme/brain-4:thinking:floor'), 404)
  })
})

t.test('the auto router chooses a model, reports it, and keeps to the lists', async (t) => {
  await withRouter(async ({ gateway, ask }) => {
    await every(t, 'every model', async (t) => {
      for (const model of ['router/auto', 'app/best', undefined]) {
        const asked = await ask(model === undefined ? {} : { model })
        t.equal(asked.status, 200, asked.message)
        t.match(asked.metadata, {
          requested: model ?? 'app/best',
          strategy: 'auto',
          pipeline: [{ type: 'plugin', name: 'auto-router', summary: String, data: { task_type: 'general' } }],
        })
        t.equal(available(asked)[0], asked.model, 'the reply names the concrete model')
        t.notOk(
          available(asked).some((slug) => ['acme/gift', 'acme/tiny', 'acme/unpriced'].includes(slug)),
          "the operator's exclusions hold",
        )
        const generation = await gateway.get(`/v1/generation?id=${asked.id}`)
        t.match(await generation.json(), { data: { model: asked.model, router: model ?? 'app/best' } })
      }
    })
    const only = (patterns: string[]): JsonObject => ({ model: 'router/auto', plugins: [{ id: 'auto-router', allowed_models: patterns }] })
    t.same(available(await ask(only(['acme/coder-*']))).sort(), ['acme/coder-1', 'acme/coder-2'])
    t.equal((await ask(only(['*brain-4']))).model, 'acme/brain-4')
    const none = await ask(only(['nobody/*']))
    t.match(none, { status: 404, message: /no models match/, metadata: { attempt: 0, strategy: 'auto' } })
    t.same((await ask({ model: 'router/auto' }, NARROW_KEY)).status, 200)
    await every(t, 'every slug', async (t) => {
      for (const slug of available(await ask({ model: 'router/auto' }, NARROW_KEY)))
        t.match(slug, /^acme\/coder-/, "the key's own list holds")
    })
  })
})

t.test('a router sees what the hard filters leave', async (t) => {
  await withRouter(async ({ ask }) => {
    const pareto = async (fields: JsonObject = {}, key = FREE_KEY): Promise<string> => {
      const asked = await ask({ model: 'router/pareto-code', max_tokens: 10, ...fields }, key)
      return asked.status === 200 ? asked.model : `${asked.status} ${asked.message}`
    }
    t.equal(await pareto(), 'acme/tiny', 'the cheapest of its tier')
    const long = [{ role: 'user', content: 'word '.repeat(100) }]
    t.equal(await pareto({ messages: long }), 'acme/coder-1', 'too long for the cheapest')
    t.equal(await pareto({ messages: long, provider: { ignore: ['one'] } }), 'acme/coder-2')
    t.match(await pareto({ provider: { only: ['nobody'] } }), /^404 No endpoint can serve router\/pareto-code: .* removed by only/)
    t.equal(await pareto({ messages: long, provider: { only: ['one'], data_collection: 'deny' } }, NARROW_KEY), 'acme/coder-1')
    const prices = { plugins: [{ id: 'pareto-router', max_price: 0.05 }] }
    t.notMatch(await pareto(prices, POOR_KEY), /unpriced/)
    const seen = await ask({ model: 'router/pareto-code', messages: long }, POOR_KEY)
    t.notOk(available(seen).includes('acme/unpriced'), 'a key with a limit is not sent where no price is known')
    t.equal((await ask({ model: 'router/free', max_tokens: 10, tools: [tool] })).model, 'acme/gift')
  })
})

const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }

/** One stream that takes so long from its first content to its end. */
async function streamed(
  { gateway, upstream, clock }: Pick<Routed, 'gateway' | 'upstream' | 'clock'>,
  fields: JsonObject,
  ms: number,
): Promise<void> {
  const gate = new Gate()
  const frames = framesFor(CHAT, { text: ['first', 'second'] })
  upstream.script = () => sseAnswer([...frames.slice(0, 2), gate.step, ...frames.slice(2)])
  const reply = await gateway.post(
    CHAT,
    { ...fields, stream: true, messages: [{ role: 'user', content: 'Hello' }] },
    { authorization: `Bearer ${FREE_KEY}` },
  )
  await clock.advance(ms)
  gate.open()
  await reply.text()
}

t.test('variants, aliases and presets of a router; strategy and stage of each', async (t) => {
  await withRouter(async ({ clock, gateway, upstream, ask }) => {
    const words = [{ role: 'user', content: 'word '.repeat(100) }]
    for (const [model, ms] of [
      ['acme/coder-1', 5000],
      ['acme/coder-2', 200],
    ] as const) {
      for (let i = 0; i < 6; i++) await streamed({ gateway, upstream, clock }, { model }, ms)
    }
    upstream.script = says({ text: ['fine'] })
    const plain = await ask({ model: 'router/pareto-code', messages: words })
    t.match(plain, { model: 'acme/coder-1', metadata: { strategy: 'pareto', pipeline: [{ type: 'plugin', name: 'pareto-router' }] } })
    const aliased = await ask({ model: 'app/nitro', messages: words })
    t.match(aliased, { model: 'acme/coder-2', metadata: { requested: 'app/nitro', strategy: 'pareto' } }, 'the faster one')
    const preset = await ask({ model: '@preset/routed', messages: words })
    t.match(preset, { model: 'acme/coder-1', metadata: { requested: '@preset/routed', strategy: 'pareto' } })
    t.match(upstream.requests.at(-1)?.json, { temperature: 0.1 })
    t.match((await ask({ model: 'router/free' })).metadata, { strategy: 'free', pipeline: [{ name: 'free-router' }] })
  })
})

t.test('fallbacks of the request come behind those of the router', async (t) => {
  await withRouter(async ({ upstream, ask }) => {
    const fine = says({ text: ['fine'] })
    upstream.script = (request, index) => (request.json.model === 'brain-4' ? fine(request, index) : upstreamError(500))
    const asked = await ask({ model: 'router/free', models: ['acme/brain-4'] })
    t.equal(asked.model, 'acme/brain-4')
    t.equal(available(asked).at(-1), 'acme/brain-4')
    const attempts = asked.metadata.attempts as { status: number }[]
    t.ok(attempts.length > 1)
    t.equal(attempts.at(-1)?.status, 200)
  })
})

t.test('a conversation stays with the model that it was given', async (t) => {
  await withRouter(async ({ clock, upstream, ask }) => {
    const free = (session?: string) => ask({ model: 'router/free', ...(session ? { session_id: session } : {}) })
    const drawn = new Set<string>()
    for (let i = 0; i < 20; i++) drawn.add((await free()).model)
    t.equal(drawn.size, 2, 'without a session both free models serve')
    const homes = new Map<string, string>()
    for (const session of ['a', 'b', 'c', 'd', 'e', 'f']) homes.set(session, (await free(session)).model)
    t.equal(new Set(homes.values()).size, 2, 'sessions spread')
    await every(t, 'every case', async (t) => {
      for (const [session, home] of homes) for (let i = 0; i < 5; i++) t.equal((await free(session)).model, home)
    })
    const [[session, home]] = homes
    const away = home === 'acme/gift' ? 'brain-free' : 'gift'
    const fine = says({ text: ['fine'] })
    upstream.script = (request, index) => (request.json.model === away ? fine(request, index) : upstreamError(500))
    t.not((await free(session)).model, home, 'an error falls through')
    upstream.script = fine
    const other = await ask({ model: 'router/free', session_id: session }, NARROW_KEY)
    t.equal(other.status, 404, 'a session belongs to its key')
    await clock.advance(600_001)
    const later = new Set<string>()
    for (let i = 0; i < 12; i++) {
      later.add((await free(session)).model)
      await clock.advance(600_001)
    }
    t.equal(later.size, 2, 'ten idle minutes end it')
  })
})

t.test('checks the settings of a router, whatever the model', async (t) => {
  await withRouter(async ({ upstream, ask }) => {
    const wrong: [JsonObject, string][] = [
      [{ id: 'auto-router', cost_quality_tradeoff: 11 }, 'plugins[0].cost_quality_tradeoff'],
      [{ id: 'auto-router', cost_quality_tradeoff: 3.5 }, 'plugins[0].cost_quality_tradeoff'],
      [{ id: 'auto-router', allowed_models: 'acme/*' }, 'plugins[0].allowed_models'],
      [{ id: 'pareto-router', min_coding_score: 1.1 }, 'plugins[0].min_coding_score'],
      [{ id: 'pareto-router', min_coding_score: -0.1 }, 'plugins[0].min_coding_score'],
    ]
    await every(t, 'every case', async (t) => {
      for (const [plugin, field] of wrong) {
        const name = plugin.id === 'auto-router' ? 'router/auto' : 'router/pareto-code'
        for (const model of [name, 'acme/brain-4']) {
          const asked = await ask({ model, plugins: [plugin] })
          t.equal(asked.status, 400, `${model} ${JSON.stringify(plugin)}`)
          t.ok(asked.message.startsWith(field), asked.message)
        }
      }
    })
    t.equal(upstream.requests.length, 0)
    t.equal(
      (await ask({ model: 'acme/brain-4', plugins: [{ id: 'auto-router', cost_quality_tradeoff: 3 }] })).status,
      200,
      'it does nothing there',
    )
    t.notOk((await ask({ model: 'acme/brain-4', plugins: [{ id: 'auto-router' }] })).metadata.pipeline, 'no stage')
  })
})

t.test('a router model stands only in model', async (t) => {
  await withRouter(async ({ upstream, ask }) => {
    t.match(await ask({ model: 'acme/brain-4', models: ['acme/coder-1', 'router/auto'] }), { status: 400, message: /^models\[1\]: / })
    t.match(await ask({ models: ['router/auto'] }), { status: 400, message: /^models\[0\]: / })
    t.match(await ask({ models: ['acme/brain-4', 'app/best'] }), { status: 400, message: /^models\[1\]: / })
    t.match(await ask({ model: 'router/free', models: ['router/auto'] }), { status: 400, message: /^models\[0\]: / })
    t.match(await ask({ model: 'router/nobody' }), { status: 404, message: /No such model: router\/nobody/ })
    t.match(await ask({ model: 'router/auto:free' }), { status: 404 })
    t.equal(upstream.requests.length, 0)
  })
})

t.test('the brand word stands in the slug', async (t) => {
  await withRouter(async ({ ask }) => {
    t.match(await ask({ model: 'zebra/free' }), { status: 200, metadata: { requested: 'zebra/free', strategy: 'free' } })
    t.match(await ask({}), { status: 200, metadata: { requested: 'app/best', strategy: 'auto' } })
    t.equal((await ask({ model: 'router/free' })).status, 404)
  }, 'zebra')
})

t.test('counting tokens for a router model', async (t) => {
  await withRouter(async ({ gateway }) => {
    const reply = await gateway.post('/v1/messages/count_tokens', { model: 'router/auto', messages: [{ role: 'user', content: 'Hello' }] })
    t.equal(reply.status, 200)
    t.ok(((await reply.json()) as { input_tokens: number }).input_tokens > 0)
  })
})
