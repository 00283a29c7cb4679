/** `router:tool_search` and `router:experimental__search_models` over HTTP. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { KEY } from '../../support/gateway.ts'
import { calls, formatRoutes, offered, ran, told, toolScene } from '../../support/tool-scene.ts'
import type { Seen } from '../../support/upstream.ts'
import type { Utterance } from '../../support/wire.ts'

const schema = { type: 'object', properties: { city: { type: 'string', description: 'Where it rains.' } } }

/** Functions in the form of a client format: one that is shown, and deferred ones. */
function functions(format: string, names: readonly string[]): JsonObject[] {
  return names.map((name) => {
    const deferred = name.startsWith('far_')
    const utterance = { name, description: `Does ${name}.`, ...(deferred ? { defer_loading: true } : {}) }
    return format === 'messages' ? { ...utterance, input_schema: schema } : { type: 'function', ...utterance, parameters: schema }
  })
}

const NAMES = ['near_one', 'far_rain', 'far_snow']

/** Looks for rain, then calls what was found, then is done. */
const script = (seen: Seen): Utterance =>
  ran(seen) ? { calls: calls('far_rain', { city: 'Oslo' }) } : { calls: calls('router_tool_search', { query: 'RAIN$' }) }

t.test('deferred functions are kept from the model until it has found them', async (t) => {
  await every(t, 'every dialect', async (t) => {
    for (const dialect of ['openai-chat', 'anthropic', 'openai-responses', 'gemini']) {
      const one = await toolScene(t, { script, dialect })
      for (const way of formatRoutes('responses', 'messages')) {
        const name = `${dialect} to ${way.format}${way.stream ? ', streamed' : ''}`
        const before = one.model.requests.length
        const { status, raw, output } = await one.ask(way, {
          tools: [{ type: 'router:tool_search' }, ...functions(way.format, NAMES)],
        })
        t.equal(status, 200, `${name}: ${raw}`)
        const [first, second, ...rest] = one.model.requests.slice(before)
        t.equal(rest.length, 0, `${name}: the call of the caller's own function ends the turn`)
        t.match(first.body, /router_tool_search.*near_one/, name)
        t.notMatch(first.body, /far_rain|far_snow|defer_loading/, name)
        t.match(second.body, /Does far_rain/, name)
        t.notMatch(second.body, /far_snow|defer_loading/, name)
        t.match(raw, /"name":"far_rain"/, name)
        if (way.format !== 'responses') continue
        const call = output.find(({ type }) => type === 'function_call')
        const input = [
          { role: 'user', content: 'Go.' },
          ...output,
          { type: 'function_call_output', call_id: String(call?.call_id), output: 'wet' },
        ]
        const next = await one.ask(way, { tools: [{ type: 'router:tool_search' }, ...functions(way.format, NAMES)], input })
        t.equal(next.status, 200, next.raw)
        const sent = one.model.requests.at(-1)?.body ?? ''
        t.match(sent, /Does far_rain/, `${name}: what has been found stays`)
        t.notMatch(sent, /far_snow|defer_loading/, name)
        t.match(
          output,
          [
            { type: 'router:tool_search', status: 'completed', query: 'RAIN$' },
            { type: 'function_call', name: 'far_rain', arguments: '{"city":"Oslo"}' },
          ],
          name,
        )
      }
    }
  })
})

t.test('the search: letter case, descriptions, arguments, bad patterns, limits', async (t) => {
  const many = Array.from({ length: 60 }, (_, i) => `far_${i}`)
  const cases: [query: string, parameters: JsonObject, found: number, showing: number][] = [
    ['FAR_1$', {}, 1, 1],
    ['does far_1', {}, 11, 5],
    ['where it rains', {}, 60, 5],
    ['city', { max_results: 50 }, 60, 50],
    ['city', { max_results: 1 }, 60, 1],
    ['nothing like it', {}, 0, 0],
  ]
  let query = ''
  const one = await toolScene(t, { script: (seen) => (ran(seen) ? { text: ['done'] } : { calls: calls('router_tool_search', { query }) }) })
  const ask = async (parameters: JsonObject): Promise<JsonObject> => {
    const tools = [{ type: 'router:tool_search', parameters }, ...functions('responses', many)]
    const { status, raw } = await one.ask({ format: 'responses', stream: false }, { tools })
    t.equal(status, 200, raw)
    return JSON.parse(told(one)[0]) as JsonObject
  }
  await every(t, 'every case', async (t) => {
    for (const [pattern, parameters, found, showing] of cases) {
      query = pattern
      t.match(await ask(parameters), { total_results: found, showing }, pattern)
      t.equal(offered(one.model.requests.at(-1)).length, 1 + showing, pattern)
    }
  })
  await every(t, 'every case', async (t) => {
    for (const [pattern, error] of [
      ['(', /cannot be read/],
      ['(?=x)', /cannot be read/],
      ['[a-z ]{0,999}Q9', /repeats too much/],
      ['x'.repeat(201), /longer than 200/],
      ['', /missing/],
    ] as const) {
      query = pattern
      t.match(await ask({}), { error }, pattern)
    }
  })
  query = '(a+)+$'
  t.match(await ask({}), { showing: 0 }, 'a pattern that backtracking cannot end')
})

t.test('refuses operations and choices that the tool does not go with', async (t) => {
  const one = await toolScene(t, { script })
  const search = { type: 'router:tool_search' }
  const cases: [format: 'chat' | 'responses' | 'messages', more: JsonObject, message: RegExp][] = [
    ['chat', { tools: [search] }, /^tools\[0\]\.type: /],
    ['chat', { tools: [{ type: 'tool_search' }] }, /^tools\[0\]\.type: /],
    ['responses', { tools: [{ ...search, defer_loading: true }] }, /^tools\[0\]\.defer_loading: /],
    ['responses', { tools: [{ type: 'tool_search', defer_loading: true }] }, /^tools\[0\]\.defer_loading: /],
    ['messages', { tools: [{ ...search, defer_loading: true }] }, /^tools\[0\]\.defer_loading: /],
    ['responses', { tools: [search], tool_choice: 'required' }, /^tool_choice: /],
    ['responses', { tools: [search], tool_choice: 'none' }, /^tool_choice: /],
    ['messages', { tools: [search], tool_choice: { type: 'any' } }, /^tool_choice: /],
    ['responses', { tools: [{ ...search, parameters: { max_results: 51 } }] }, /^tools\[0\]\.parameters\.max_results: .*1 to 50/],
    ['messages', { tools: [{ ...search, parameters: { max_results: 0 } }] }, /^tools\[0\]\.parameters\.max_results: /],
  ]
  await every(t, 'every case', async (t) => {
    for (const [format, more, message] of cases) {
      const asked = await one.ask({ format, stream: false }, more)
      t.equal(asked.status, 400, asked.raw)
      t.match(asked.message, message)
    }
  })
  t.equal(one.model.requests.length, 0)
  const allowed = { type: 'allowed_tools', mode: 'auto', tools: [search, { type: 'function', name: 'far_rain' }] }
  const tools = [search, ...functions('responses', NAMES)]
  await every(t, 'every choice', async (t) => {
    for (const choice of ['auto', allowed]) {
      const asked = await one.ask({ format: 'responses', stream: false }, { tools, tool_choice: choice })
      t.equal(asked.status, 200, asked.raw)
      t.match(asked.raw, /"name":"far_rain"/)
    }
  })
})

t.test("a provider's own search for tools stays where it is one, and is run by the gateway elsewhere", async (t) => {
  const own: ['responses' | 'messages', string, string][] = [
    ['responses', 'openai-responses', 'tool_search'],
    ['messages', 'anthropic', 'tool_search_tool_regex_20251119'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [format, dialect, type] of own) {
      const tool = format === 'messages' ? { type, name: 'tool_search_tool_regex' } : { type }
      const more = { tools: [tool, ...functions(format, NAMES)] }
      const native = await toolScene(t, { script: () => ({ text: ['hello'] }), dialect })
      t.equal((await native.ask({ format, stream: false }, more)).status, 200)
      t.match(native.model.requests[0].body, new RegExp(`"${type}".*"defer_loading":true`))
      const other = await toolScene(t, { script })
      const asked = await other.ask({ format, stream: false }, more)
      t.equal(asked.status, 200, asked.raw)
      t.same(offered(other.model.requests[0]), ['router_tool_search', 'near_one'])
      t.match(asked.raw, /far_rain/)
    }
  })
})

const KEYED = `auth: { keys: [ { name: test, key: "${KEY}", allowed_models: ["acme/*"] } ] }`
const MODELS = `
  acme/two: { context: 1000, description: A zebra of a model., endpoints: [ { provider: first, model: two, price: free } ] }
  other/three: { endpoints: [ { provider: first, model: three, price: free } ] }
`

t.test('models are looked for among those that the key may use', async (t) => {
  const ask: { args: JsonObject } = { args: {} }
  const one = await toolScene(t, {
    script: (seen) => (ran(seen) ? { text: ['done'] } : { calls: calls('router_experimental__search_models', ask.args) }),
    more: KEYED,
    models: MODELS,
  })
  await every(t, 'every way', async (t) => {
    for (const way of formatRoutes('responses', 'chat', 'messages')) {
      ask.args = { query: 'acme one' }
      const { status, raw, output } = await one.ask(way, { tools: [{ type: 'router:experimental__search_models' }] })
      t.equal(status, 200, raw)
      t.match(JSON.parse(told(one)[0]), {
        models: [{ id: 'acme/one', context_length: 128_000, pricing: { prompt: 1, completion: 2 } }],
        total_results: 1,
        showing: 1,
      })
      if (way.format === 'responses')
        t.match(output[0], {
          type: 'router:experimental__search_models',
          status: 'completed',
          query: 'acme one',
          arguments: '{"query":"acme one"}',
        })
    }
  })
  await every(t, 'every case', async (t) => {
    for (const [args, total] of [
      [{}, 2],
      [{ series: 'acme' }, 2],
      [{ series: 'other' }, 0],
      [{ query: 'three' }, 0],
      [{ query: 'zebra' }, 1],
      [{ input_modalities: ['text'] }, 2],
      [{ input_modalities: ['smell'] }, 0],
      [{ output_modalities: ['image'] }, 0],
      [{ min_context_length: 128_000 }, 1],
      [{ min_context_length: 128_001 }, 0],
    ] as [JsonObject, number][]) {
      ask.args = args
      await one.ask({ format: 'chat', stream: false }, { tools: [{ type: 'router:experimental__search_models' }] })
      t.match(JSON.parse(told(one)[0]), { total_results: total }, JSON.stringify(args))
    }
  })
  ask.args = { query: 5 }
  await one.ask({ format: 'chat', stream: false }, { tools: [{ type: 'router:experimental__search_models' }] })
  t.match(JSON.parse(told(one)[0]), { error: /^query: / })
  ask.args = { query: 'a '.repeat(300) }
  await one.ask({ format: 'chat', stream: false }, { tools: [{ type: 'router:experimental__search_models' }] })
  t.match(JSON.parse(told(one)[0]), { error: /^query: expected at most 500 characters/ })
  await every(t, 'every max_results', async (t) => {
    for (const max_results of [0, 21, 1.5, 'x']) {
      const asked = await one.ask(
        { format: 'chat', stream: false },
        { tools: [{ type: 'router:experimental__search_models', parameters: { max_results } }] },
      )
      t.equal(asked.status, 400)
      t.match(asked.message, /max_results: .*1 to 20/)
    }
  })
})
