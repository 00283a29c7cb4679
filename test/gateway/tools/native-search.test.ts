/** Search of the web by the provider of the model: the tool, the plugin and the suffix, over upstreams that check what they are sent. */
import t, { type Test } from 'tap'
import { isObject, type JsonObject } from '../../../src/core/json.ts'
import { ASK_WAYS, type Asked, type AskWay, askGateway, askName, type Format, newestGeneration } from '../../support/asking.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, pathWire, type Utterance, upstreamError, type WireName } from '../../support/wire.ts'

const DIALECTS = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const

const PAGE = { url: 'https://news.example.com/rain', title: 'Rain' }
const ANSWER: Utterance = {
  text: ['It will ', 'rain.'],
  searches: ['rain oslo', 'rain norway'],
  citations: [PAGE],
  usage: { input: 100, output: 10 },
}
/** Nano-dollars: tokens of the answer, and a search of the provider's. */
const TOKENS = 120_000
const PRICE = 10_000_000

const within = (value: unknown, keys: readonly string[]): boolean =>
  isObject(value) && Object.keys(value).every((key) => keys.includes(key))
const PLACE = ['type', 'city', 'country', 'region', 'timezone']

/** True for a search as the provider takes it: what it does not know it refuses, as the real one does. */
const TAKES: Readonly<Record<WireName, (body: JsonObject) => boolean>> = {
  'openai-responses': ({ tools, max_tool_calls: most }) =>
    (most === undefined || typeof most === 'number') &&
    (tools as JsonObject[]).every(
      (tool) =>
        tool.type === 'function' ||
        (tool.type === 'web_search' &&
          within(tool, ['type', 'filters', 'search_context_size', 'user_location']) &&
          (tool.filters === undefined || within(tool.filters, ['allowed_domains'])) &&
          (tool.user_location === undefined || within(tool.user_location, PLACE))),
    ),
  anthropic: ({ tools }) =>
    (tools as JsonObject[]).every(
      (tool) =>
        tool.type === undefined ||
        (/^web_search_20\d{6}$/.test(String(tool.type)) &&
          tool.name === 'web_search' &&
          within(tool, ['type', 'name', 'max_uses', 'allowed_domains', 'blocked_domains', 'user_location']) &&
          !(tool.allowed_domains && tool.blocked_domains) &&
          (tool.user_location === undefined || within(tool.user_location, PLACE))),
    ),
  gemini: ({ tools, toolConfig }) =>
    (tools as JsonObject[]).length === 1 && within((tools as JsonObject[])[0], ['googleSearch']) && toolConfig === undefined,
  'openai-chat': ({ tools, web_search_options: options, tool_choice: choice }) =>
    (tools === undefined || (tools as JsonObject[]).every((tool) => tool.type === 'function')) &&
    (tools !== undefined || choice === undefined) &&
    within(options, ['search_context_size', 'user_location']) &&
    ((options as JsonObject).user_location === undefined || within((options as JsonObject).user_location, ['type', 'approximate'])),
}

interface NativeSearch {
  gateway: Gateway
  model: Upstream
  engine: Upstream
  ask(way: AskWay, more: JsonObject): Promise<Asked>
}

interface NativeSearchOptions {
  script?: (seen: Seen) => Answer
  /** Settings of the plugin web; without any none. */
  web?: string
  quirks?: string
  /** More of the endpoint. */
  endpoint?: string
  /** A second endpoint of the model. */
  second?: string
  key?: string
}

const SEARXNG = 'engines: { searxng: { url: "ENGINE" } }, price: "0.005"'
const QUIRKS = 'web_search: true'

function searching(seen: Seen): Answer {
  return TAKES[pathWire(seen.path)](seen.json) ? answerFor(seen, ANSWER) : upstreamError(400, `no such search: ${seen.body}`)
}

async function nativeSearch(t: Test, dialect: WireName, options: NativeSearchOptions = {}): Promise<NativeSearch> {
  const { web, quirks = QUIRKS, script = searching, second, endpoint, key = '' } = options
  const model = await startUpstream(script)
  const engine = await startUpstream(() => jsonAnswer({ results: [{ ...PAGE, content: 'c' }], unresponsive_engines: [] }))
  t.teardown(async () => {
    await engine.close()
    await model.close()
  })
  const gateway = await startGateway(`
auth: { keys: [ { name: test, key: "sk-router-v1-0123456789abcdef0123456789abcdef"${key} } ] }
${web === undefined ? '' : `plugins: { defaults: { web: { ${web.replaceAll('ENGINE', engine.url)} } } }`}
providers:
  first: { dialect: ${dialect}, base_url: "${model.url}/v1", key: "sk-provider-secret", quirks: { ${quirks} } }
${second === undefined ? '' : `  other: { dialect: openai-chat, base_url: "${model.url}/v1", key: "sk-other-secret" }`}
models:
  acme/one:
    endpoints:
      - { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00", web_search: "0.01" }${endpoint === undefined ? '' : `, ${endpoint}`} }
${second ?? ''}`)
  t.teardown(() => gateway.close())
  return {
    gateway,
    model,
    engine,
    ask: (way, more) => askGateway(gateway, way, more),
  }
}

const settled = ({ gateway }: NativeSearch) => [...gateway.running.store.journal.export()].at(-1)

const SENT: Readonly<Record<WireName, JsonObject>> = {
  'openai-responses': { tools: [{ type: 'web_search' }] },
  anthropic: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
  gemini: { tools: [{ googleSearch: {} }] },
  'openai-chat': { web_search_options: {} },
}

const tool = (parameters: JsonObject = {}): JsonObject => ({ tools: [{ type: 'router:web_search', parameters }] })

t.test('tool, plugin and suffix become the search of the provider; sources, counts and costs come back in every format', async (t) => {
  await every(t, 'every dialect', async (t) => {
    for (const dialect of DIALECTS) {
      const one = await nativeSearch(t, dialect, { web: SEARXNG })
      const asks: [name: string, more: JsonObject][] = [
        ['tool', tool({ engine: 'native' })],
        ['tool, unset', tool()],
        ['plugin', { plugins: [{ id: 'web', engine: 'native' }] }],
        ['plugin, unset', { plugins: [{ id: 'web' }] }],
        ['suffix', { model: 'acme/one:online' }],
      ]
      for (const [asked, more] of asks) {
        for (const way of ASK_WAYS) {
          const { format } = way
          const name = `${dialect} to ${format}${way.stream ? ', streamed' : ''}, ${asked}`
          const { status, raw, reply, body } = await one.ask(way, more)
          t.equal(status, 200, `${name}: ${raw}`)
          t.equal(reply.text, 'It will rain.', name)
          t.same(
            Object.fromEntries(Object.keys(SENT[dialect]).map((key) => [key, one.model.requests.at(-1)?.json[key]])),
            SENT[dialect],
            name,
          )
          const cited = (reply.annotations as JsonObject[]).map((each) => (format === 'chat' ? (each.url_citation as JsonObject) : each))
          t.match(cited, [PAGE], name)
          t.equal(cited.length, 1, name)
          // The chat wire tells no number of searches.
          const searches = dialect === 'openai-chat' ? 0 : 2
          const use = (body.usage as JsonObject).server_tool_use_details
          if (searches > 0 && format !== 'messages') t.same(use, { web_search_requests: 2 }, `${name}: the searches are counted`)
          if (format === 'messages')
            t.match((body.usage as JsonObject).server_tool_use, searches > 0 ? { web_search_requests: 2 } : null, name)
          t.equal(settled(one)?.settled?.cost, TOKENS + searches * PRICE, name)
          t.match(await newestGeneration(one.gateway), { web_search_engine: 'native' }, name)
        }
      }
      t.equal(one.engine.requests.length, 0, dialect)
    }
  })
})

t.test("sends the provider the caller's search settings in its own fields", async (t) => {
  const parameters = {
    max_uses: 3,
    search_context_size: 'low',
    user_location: { city: 'Oslo', country: 'no' },
    max_results: 4,
    mode: 'deep',
  }
  const place = { type: 'approximate', city: 'Oslo', country: 'NO' }
  const cases: [dialect: WireName, parameters: JsonObject, sent: JsonObject][] = [
    [
      'openai-responses',
      parameters,
      { tools: [{ type: 'web_search', search_context_size: 'low', user_location: place }], max_tool_calls: 3 },
    ],
    [
      'openai-responses',
      { allowed_domains: ['https://example.com/', 'b.example'] },
      { tools: [{ type: 'web_search', filters: { allowed_domains: ['example.com', 'b.example'] } }] },
    ],
    ['anthropic', parameters, { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3, user_location: place }] }],
    ['anthropic', { allowed_domains: ['example.com/blog'] }, { tools: [{ allowed_domains: ['example.com/blog'] }] }],
    ['anthropic', { excluded_domains: ['spam.example'] }, { tools: [{ blocked_domains: ['spam.example'] }] }],
    ['gemini', parameters, { tools: [{ googleSearch: {} }] }],
    [
      'openai-chat',
      parameters,
      {
        web_search_options: {
          search_context_size: 'low',
          user_location: { type: 'approximate', approximate: { city: 'Oslo', country: 'NO' } },
        },
      },
    ],
  ]
  await every(t, 'every case', async (t) => {
    for (const [dialect, asked, sent] of cases) {
      const one = await nativeSearch(t, dialect)
      for (const engine of ['native', 'auto']) {
        const { status, raw } = await one.ask({ format: 'chat', stream: false }, tool({ ...asked, engine }))
        t.equal(status, 200, `${dialect}: ${raw}`)
        t.match(one.model.requests.at(-1)?.json, sent, dialect)
      }
    }
  })
  const newer = await nativeSearch(t, 'anthropic', { quirks: 'web_search: true, web_search_tool: web_search_20260209' })
  await newer.ask({ format: 'responses', stream: true }, tool())
  t.match(newer.model.requests.at(-1)?.json.tools, [{ type: 'web_search_20260209' }])
  const plugin = await nativeSearch(t, 'anthropic')
  await plugin.ask({ format: 'chat', stream: false }, { plugins: [{ id: 'web', include_domains: ['example.com'], max_uses: 2 }] })
  t.match(plugin.model.requests.at(-1)?.json.tools, [{ allowed_domains: ['example.com'], max_uses: 2 }])
})

t.test('domain rules that the provider cannot keep to: auto asks an engine, native is a 400', async (t) => {
  const cases: [dialect: WireName, parameters: JsonObject][] = [
    ['gemini', { allowed_domains: ['example.com'] }],
    ['gemini', { excluded_domains: ['example.com'] }],
    ['openai-chat', { allowed_domains: ['example.com'] }],
    ['openai-responses', { excluded_domains: ['spam.example'] }],
    ['openai-responses', { allowed_domains: ['*.example.com'] }],
    ['openai-responses', { allowed_domains: ['news.example.com/rain'] }],
    ['anthropic', { allowed_domains: ['*.example.com'] }],
  ]
  await every(t, 'every case', async (t) => {
    for (const [dialect, parameters] of cases) {
      const name = `${dialect} ${JSON.stringify(parameters)}`
      const one = await nativeSearch(t, dialect, { web: SEARXNG, script: (seen) => answerFor(seen, { text: ['done'] }) })
      for (const format of ['chat', 'responses', 'messages'] as const) {
        const way = { format, stream: false }
        const refused = await one.ask(way, tool({ ...parameters, engine: 'native' }))
        t.equal(refused.status, 400, name)
        t.match(
          (refused.body.error as JsonObject).message,
          /^tools\[0\]\.parameters\.engine: native: acme\/one at .* cannot keep to these domains/,
        )
        const lists = { include_domains: parameters.allowed_domains ?? [], exclude_domains: parameters.excluded_domains ?? [] }
        const entry = await one.ask(way, { plugins: [{ id: 'web', engine: 'native', ...lists }] })
        t.equal(entry.status, 400, name)
        t.match((entry.body.error as JsonObject).message, /^plugins\[0\]\.engine: native: no provider of acme\/one/)
        t.equal(one.engine.requests.length, 0)
      }
      const before = one.model.requests.length
      t.equal((await one.ask({ format: 'chat', stream: false }, tool({ ...parameters, engine: 'auto' }))).status, 200, name)
      t.match(JSON.stringify(one.model.requests[before].json.tools), /router_web_search/, `${name}: the tool of the gateway`)
      t.equal(
        (await one.ask({ format: 'chat', stream: false }, { plugins: [{ id: 'web', include_domains: ['example.com/x'] }] })).status,
        200,
      )
      t.equal(one.engine.requests.length, dialect === 'anthropic' ? 0 : 1, `${name}: the plugin`)
    }
  })
})

t.test('who searches where nobody says: the operator, else the provider where all can, else an engine', async (t) => {
  const second = '      - { provider: other, model: upstream-model, price: free }'
  const searched = async (one: NativeSearch, more: JsonObject): Promise<string> => {
    const before = one.engine.requests.length
    const { status } = await one.ask({ format: 'chat', stream: false }, more)
    if (status !== 200) return String(status)
    if (one.engine.requests.length > before) return 'engine'
    return /web_search_2025/.test(one.model.requests.at(-1)?.body ?? '') ? 'provider' : 'tool'
  }
  const plain = (seen: Seen): Answer => answerFor(seen, { text: ['done'] })
  const plugin = (more: JsonObject = {}): JsonObject => ({ plugins: [{ id: 'web', ...more }] })
  const cases: [name: string, options: NativeSearchOptions, unset: string, native: string][] = [
    ['the provider can, an engine is there', { web: SEARXNG }, 'provider', 'provider'],
    ['the provider can, no engine', {}, 'provider', 'provider'],
    ['the operator wants the engine', { web: `engine: searxng, ${SEARXNG}` }, 'engine', 'provider'],
    ['one of two can, an engine is there', { web: SEARXNG, second }, 'engine', 'provider'],
    ['one of two can, no engine', { second }, 'provider', 'provider'],
    ['nobody can', { web: SEARXNG, quirks: '' }, 'engine', '400'],
    ['nobody can, no engine', { quirks: '' }, '400', '400'],
    ['the operator wants the provider', { web: 'engine: native' }, 'provider', 'provider'],
    ['the operator wants the provider, who cannot', { web: `engine: native, ${SEARXNG}`, quirks: '' }, '400', '400'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [name, options, unset, native] of cases) {
      const one = await nativeSearch(t, 'anthropic', { script: plain, ...options })
      t.equal(await searched(one, plugin()), unset, `${name}: plugin`)
      t.equal(await searched(one, plugin({ engine: 'native' })), native, `${name}: plugin, native`)
      t.equal(await searched(one, tool()), unset === 'engine' ? 'tool' : unset, `${name}: tool`)
      t.equal(await searched(one, tool({ engine: 'auto' })), unset === 'engine' ? 'tool' : unset, `${name}: tool, auto`)
      t.equal(await searched(one, tool({ engine: 'native' })), native, `${name}: tool, native`)
    }
  })
  const none = await nativeSearch(t, 'anthropic', { web: SEARXNG, endpoint: 'supported_parameters: [max_tokens]', script: plain })
  t.equal(await searched(none, plugin()), 'engine', 'an endpoint that takes no tools')
  t.equal(await searched(none, plugin({ engine: 'native' })), '400')
  const always = await nativeSearch(t, 'anthropic', { web: 'engine: native, enabled: true', quirks: '', script: plain })
  const { status, body } = await always.ask({ format: 'chat', stream: false }, {})
  t.equal(status, 200, 'what nobody asked for ends no request')
  t.match((body.router_metadata as JsonObject).pipeline, [{ type: 'plugin', name: 'web-search', summary: /^skipped/ }])
})

t.test('other tools beside the search, and a choice of it', async (t) => {
  const own = { type: 'function', function: { name: 'mine', parameters: { type: 'object', properties: {} } } }
  const asked = { tools: [{ type: 'router:web_search' }, own, { type: 'router:datetime' }] }
  await every(t, 'every dialect', async (t) => {
    for (const dialect of ['openai-responses', 'anthropic', 'openai-chat'] as const) {
      const one = await nativeSearch(t, dialect)
      const { status, raw } = await one.ask({ format: 'chat', stream: true }, asked)
      t.equal(status, 200, `${dialect}: ${raw}`)
      t.match(one.model.requests.at(-1)?.body, /"mine".*router_datetime/)
      t.match(one.model.requests.at(-1)?.json, SENT[dialect] as object)
      for (const choice of [{ type: 'router:web_search' }, 'required'] as const) {
        const chosen = await one.ask({ format: 'chat', stream: false }, { ...tool(), tool_choice: choice })
        t.equal(chosen.status, 200, `${dialect}: ${chosen.raw}`)
      }
      const choices = {
        'openai-responses': { type: 'web_search' },
        anthropic: { type: 'tool', name: 'web_search' },
        'openai-chat': undefined,
      }
      t.same(one.model.requests.at(-2)?.json.tool_choice, choices[dialect], dialect)
    }
  })
  const gemini = await nativeSearch(t, 'gemini', { web: SEARXNG, script: (seen) => answerFor(seen, { text: ['done'] }) })
  t.equal((await gemini.ask({ format: 'chat', stream: false }, asked)).status, 200)
  t.match(gemini.model.requests.at(-1)?.body, /router_web_search/, 'beside functions an engine searches')
  const refused = await gemini.ask(
    { format: 'chat', stream: false },
    { tools: [own, { type: 'router:web_search', parameters: { engine: 'native' } }] },
  )
  t.equal(refused.status, 400)
  t.match((refused.body.error as JsonObject).message, /^tools\[1\]\.parameters\.engine: native: acme\/one .* takes no other tools/)
  const alone = await nativeSearch(t, 'gemini')
  t.equal((await alone.ask({ format: 'chat', stream: false }, { ...tool(), tool_choice: { type: 'router:web_search' } })).status, 200)
})

t.test("another provider's search tool becomes the one of the provider that serves", async (t) => {
  const asks: [format: Format, tool: JsonObject][] = [
    ['responses', { type: 'web_search', filters: { allowed_domains: ['example.com'] } }],
    ['responses', { type: 'web_search_preview', filters: { allowed_domains: ['example.com'] } }],
    ['chat', { type: 'web_search', filters: { allowed_domains: ['example.com'] } }],
  ]
  for (const [format, own] of asks) {
    const one = await nativeSearch(t, 'anthropic')
    const { status, raw } = await one.ask({ format, stream: false }, { tools: [own] })
    t.equal(status, 200, raw)
    t.match(one.model.requests.at(-1)?.json.tools, [{ type: 'web_search_20250305', allowed_domains: ['example.com'] }])
  }
  const messages = { type: 'web_search_20250305', name: 'web_search', max_uses: 2 }
  const one = await nativeSearch(t, 'openai-responses')
  t.equal((await one.ask({ format: 'messages', stream: true }, { tools: [messages] })).status, 200)
  t.match(one.model.requests.at(-1)?.json, { tools: [{ type: 'web_search' }], max_tool_calls: 2 })
  const more = { type: 'web_search', max_results: 3, max_uses: 2, search_context_size: 'high', engine: 'native' }
  t.equal((await one.ask({ format: 'responses', stream: false }, { tools: [more] })).status, 200, 'fields that the provider would refuse')
  t.same(one.model.requests.at(-1)?.json.tools, [{ type: 'web_search', search_context_size: 'high' }])
  t.equal(one.model.requests.at(-1)?.json.max_tool_calls, 2)
  const none = await one.ask({ format: 'responses', stream: false }, { tools: [{ type: 'web_search', engine: 'exa' }] })
  t.equal(none.status, 400)
  t.match((none.body.error as JsonObject).message, /the operator has to configure one/)
  const named = await nativeSearch(t, 'openai-responses', { web: SEARXNG, script: (seen) => answerFor(seen, { text: ['done'] }) })
  for (const format of ['responses', 'chat'] as const) {
    await named.ask({ format, stream: false }, { tools: [{ type: 'web_search', engine: 'searxng' }] })
    t.match(named.model.requests.at(-1)?.body, /router_web_search/, `${format}: the engine that is asked for`)
  }
  const chat = await nativeSearch(t, 'openai-chat', { web: SEARXNG, quirks: '', script: (seen) => answerFor(seen, { text: ['done'] }) })
  t.equal((await chat.ask({ format: 'chat', stream: false }, { tools: [{ type: 'web_search' }] })).status, 200)
  t.match(chat.model.requests.at(-1)?.body, /router_web_search/, 'no provider of the chat wire has a tool of this name')
})

t.test('holds the possible fees for searches before', async (t) => {
  const one = await nativeSearch(t, 'anthropic', { key: ', limit: "0.13"' })
  const ask = (parameters: JsonObject): Promise<Asked> =>
    one.ask({ format: 'chat', stream: false }, { ...tool(parameters), max_tokens: 10 })
  t.equal((await ask({ max_uses: 7 })).status, 402)
  t.equal((await ask({})).status, 402, 'ten where nothing is said')
  t.equal(one.model.requests.length, 0)
  t.equal((await ask({ max_uses: 3 })).status, 200)
  const plan = async (more: JsonObject): Promise<number> => {
    const asked = { model: 'acme/one', messages: [{ role: 'user', content: 'x' }], max_tokens: 10, ...more }
    const told = (await (await one.gateway.post('/v1/plan', asked)).json()) as { hold?: { usd: string } }
    return Number(told.hold?.usd)
  }
  t.ok(Math.abs((await plan(tool({ max_uses: 3 }))) - (await plan(tool({ max_uses: 1 }))) - 0.02) < 1e-9, 'a plan tells it')
  t.ok(Math.abs((await plan({ plugins: [{ id: 'web', max_uses: 3 }] })) - (await plan({})) - 0.03) < 1e-3, 'of the plugin, too')
  const { hold } = settled(one) ?? {}
  t.ok(Number(hold?.hold) >= 3 * PRICE && Number(hold?.hold) < 4 * PRICE, String(hold?.hold))
})

t.test('a provider that pauses in the middle of its searches has not said all: no format shows it as a whole answer', async (t) => {
  const one = await nativeSearch(t, 'anthropic', {
    script: (seen) => {
      const answer = searching(seen)
      return { ...answer, body: answer.body?.map((step) => String(step).replaceAll('"end_turn"', '"pause_turn"')) }
    },
  })
  await every(t, 'every way', async (t) => {
    for (const way of ASK_WAYS) {
      const { status, raw } = await one.ask(way, tool())
      t.equal(status, 200, `${askName(way)}: ${raw}`)
      if (way.format === 'chat') t.match(raw, /"finish_reason":"length","native_finish_reason":"pause_turn"/, askName(way))
      else if (way.format === 'messages') t.match(raw, /"stop_reason":"pause_turn"/, askName(way))
      else t.match(raw, /"incomplete_details":\{"reason":"max_output_tokens"\}/, askName(way))
      t.match(settled(one), { settled: { status: 'incomplete' } }, askName(way))
    }
  })
})
