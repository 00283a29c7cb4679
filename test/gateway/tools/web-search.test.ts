/** Search of the web over HTTP: the server tool, the plugin and `:online`, in every client format, with stand-ins for the engines. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { type Asked, askGateway, FORMATS, type Format, ASK_WAYS as WAYS } from '../../support/asking.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import type { FoldedReply } from '../../support/fold.ts'
import { foldToMessage, messageEvents } from '../../support/fold-messages.ts'
import { type Gateway, KEY, oneModel, startGateway } from '../../support/gateway.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, type Utterance, type UtteranceCall } from '../../support/wire.ts'

const PAGES = [
  { url: 'https://news.example.com/rain', title: 'Rain', content: 'Rain falls on <strong>Monday</strong>.', engine: 'one' },
  { url: 'https://blog.example.org/sun', title: 'Sun', content: 'The sun is out.', engine: 'one', publishedDate: '2026-01-02T00:00:00' },
  { url: 'https://spam.test/x', title: 'Spam', content: 'Buy.', engine: 'one' },
]
const LINK = '[news.example.com](https://news.example.com/rain)'
const ANSWER: Utterance = { text: ['It will rain: ', LINK, '.'], usage: { input: 200, output: 20 } }
const PRICE = 5_000_000

interface WebSearch {
  gateway: Gateway
  model: Upstream
  engine: Upstream
  ask(way: { format: Format; stream: boolean }, more?: JsonObject): Promise<Asked>
}

interface WebSearchOptions {
  /** Settings of the plugin web; `ENGINE` stands for the stand-in's address. */
  web?: string
  script?: (seen: Seen) => Utterance
  answers?: (seen: Seen) => Answer
  key?: string
  dialect?: string
  brand?: string
}

const SEARXNG = 'engines: { searxng: { url: "ENGINE" } }, price: "0.005"'

async function webSearch(t: Test, options: WebSearchOptions = {}): Promise<WebSearch> {
  const { web = SEARXNG, script = () => ANSWER, key = '', dialect = 'openai-chat', brand = 'router' } = options
  const model = await startUpstream((seen) => answerFor(seen, script(seen)))
  const engine = await startUpstream(
    (seen) => options.answers?.(seen) ?? jsonAnswer({ query: 'x', results: PAGES, unresponsive_engines: [] }),
  )
  t.teardown(async () => {
    await engine.close()
    await model.close()
  })
  const gateway = await startGateway(`
brand: { word: ${brand} }
auth: { keys: [ { name: test, key: "${KEY}"${key} } ] }
plugins: { defaults: { web: { ${web.replaceAll('ENGINE', engine.url)} } } }
${oneModel(model.url, dialect)}`)
  t.teardown(() => gateway.close())
  return {
    gateway,
    model,
    engine,
    ask: (way, more) => askGateway(gateway, way, more),
  }
}

const ran = (seen: Seen): boolean => /"role":"tool"|tool_result|function_call_output|functionResponse/.test(seen.body)

const searches = (...queries: string[]): UtteranceCall[] =>
  queries.map((query, i) => ({ id: `call_${i}`, name: 'router_web_search', args: [JSON.stringify({ query })] }))

/** Searches once, then answers. */
const once = (seen: Seen): Utterance =>
  ran(seen) ? ANSWER : { text: ['Let me look. '], calls: searches('rain monday'), usage: { input: 100, output: 10 } }

const tool = (parameters: JsonObject = {}): JsonObject => ({ tools: [{ type: 'router:web_search', parameters }] })

/** Results of the tool for the model, one text per call. */
function told({ model }: WebSearch): JsonObject[] {
  const messages = model.requests.at(-1)?.json.messages as JsonObject[]
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.parse(String(content)) as JsonObject)
}

function settled({ gateway }: WebSearch) {
  return [...gateway.running.store.journal.export()].at(-1)
}

function free({ gateway }: WebSearch): number {
  const { hold } = [...gateway.running.store.journal.export()][0]
  return gateway.running.runtime.dependencies.credit.account(hold.key).held
}

/** Citations as this format shows them: flat facts. */
function citations(format: Format, { annotations }: FoldedReply): JsonObject[] {
  return (annotations as JsonObject[]).map((annotation) => (format === 'chat' ? (annotation.url_citation as JsonObject) : annotation))
}

t.test('the model searches: what it is told, what the caller sees, what it costs', async (t) => {
  await every(t, 'every dialect', async (t) => {
    for (const dialect of ['openai-chat', 'anthropic', 'openai-responses'] as const) {
      const one = await webSearch(t, { script: once, dialect })
      for (const way of WAYS) {
        const { format, stream } = way
        const name = `${dialect} to ${format}${stream ? ', streamed' : ''}`
        const before = one.engine.requests.length
        const { status, raw, reply, body } = await one.ask(way, tool({ excluded_domains: ['*.test', 'spam.test'], max_results: 3 }))
        t.equal(status, 200, `${name}: ${raw}`)
        t.equal(reply.text, `Let me look. It will rain: ${LINK}.`, name)
        t.equal(one.engine.requests.length, before + 1, name)
        const asked = new URL(one.engine.requests[before].path, 'http://engine')
        t.equal(asked.pathname, '/search')
        t.equal(asked.searchParams.get('format'), 'json')
        t.equal(asked.searchParams.get('q'), 'rain monday -site:test -site:spam.test')
        if (dialect === 'openai-chat')
          t.same(told(one), [
            {
              query: 'rain monday',
              results: [
                { url: 'https://news.example.com/rain', title: 'Rain', content: 'Rain falls on Monday.' },
                { url: 'https://blog.example.org/sun', title: 'Sun', content: 'The sun is out.', published: '2026-01-02T00:00:00' },
              ],
            },
          ])
        const cited = citations(format, reply)
        t.same(
          cited.map(({ url, title }) => [url, title]),
          [
            ['https://news.example.com/rain', 'Rain'],
            ['https://blog.example.org/sun', 'Sun'],
          ],
          name,
        )
        if (format === 'messages') t.match(cited[0], { type: 'web_search_result_location', cited_text: 'Rain falls on Monday.' }, name)
        else {
          const whole = format === 'chat' ? reply.text : `It will rain: ${LINK}.`
          t.equal(whole.slice(Number(cited[0].start_index), Number(cited[0].end_index)), LINK, `${name}: the place of the link`)
          t.match(cited[1], { start_index: 0, end_index: 0, content: 'The sun is out.' }, name)
        }
        const use = (body.usage as JsonObject).server_tool_use_details
        t.same(use, { tool_calls_requested: 1, tool_calls_executed: 1, web_search_requests: 1 }, `${name}: the calls are counted`)
        const cost = 300_000 + 60_000 + PRICE
        t.equal(settled(one)?.settled?.cost, cost, name)
        t.equal((body.usage as JsonObject).cost, cost / 1e9, name)
        if (format === 'responses') {
          const items = (body.output as JsonObject[]).filter(({ type }) => type === 'router:web_search')
          t.match(items, [
            {
              status: 'completed',
              action: {
                type: 'search',
                query: 'rain monday',
                sources: [
                  { type: 'url', url: 'https://news.example.com/rain' },
                  { type: 'url', url: 'https://blog.example.org/sun' },
                ],
              },
            },
          ])
          t.equal(typeof items[0].id, 'string')
        } else if (format === 'chat') t.match(raw, /"type":"reasoning.server_tool_call","tool_name":"router:web_search"/, name)
        else {
          const message = stream ? foldToMessage(messageEvents(raw)) : body
          const ran = (message.content as JsonObject[]).filter(({ type }) => /^(server_tool_use|.*_tool_result)$/.test(String(type)))
          const direct = { type: 'direct' }
          t.same(
            ran,
            [
              { type: 'server_tool_use', id: 'srvtoolu_hg_call_0', name: 'web_search', input: { query: 'rain monday' }, caller: direct },
              {
                type: 'web_search_tool_result',
                tool_use_id: 'srvtoolu_hg_call_0',
                content: [
                  { type: 'web_search_result', url: 'https://news.example.com/rain', title: 'Rain', encrypted_content: '', page_age: null },
                  {
                    type: 'web_search_result',
                    url: 'https://blog.example.org/sun',
                    title: 'Sun',
                    encrypted_content: '',
                    page_age: '2026-01-02T00:00:00',
                  },
                ],
                caller: direct,
              },
            ],
            name,
          )
          t.match((body.usage as JsonObject).server_tool_use, { web_search_requests: 1 }, name)
        }
      }
      t.equal(free(one), 0)
    }
  })
})

t.test('the limits of the caller: a message instead of a search, calls of one turn side by side', async (t) => {
  const cases: [parameters: JsonObject, calls: number, searched: number, results: number[]][] = [
    [{ max_uses: 2 }, 4, 2, [3, 3]],
    [{ max_total_results: 5, max_results: 3 }, 3, 2, [3, 2]],
    [{ max_total_results: 3 }, 2, 1, [3]],
    [{ max_results: 1 }, 2, 2, [1, 1]],
  ]
  await every(t, 'every case', async (t) => {
    for (const [parameters, calls, searched, results] of cases) {
      const queries = Array.from({ length: calls }, (_, i) => `q${i}`)
      const one = await webSearch(t, { script: (seen) => (ran(seen) ? ANSWER : { calls: searches(...queries) }) })
      const { body, reply } = await one.ask({ format: 'chat', stream: false }, tool(parameters))
      const name = JSON.stringify(parameters)
      t.equal(reply.text, `It will rain: ${LINK}.`, name)
      t.equal(one.engine.requests.length, searched, name)
      const answers = told(one)
      t.same(
        answers.flatMap((answer) => (answer.results ? [(answer.results as JsonObject[]).length] : [])),
        results,
        name,
      )
      for (const { error } of answers.slice(searched)) t.match(error, /^the limit of \d (searches|results) is reached/, name)
      t.match((body.usage as JsonObject).server_tool_use_details, { tool_calls_requested: calls, web_search_requests: searched }, name)
      t.equal(settled(one)?.settled?.cost, Math.round(Number((body.usage as JsonObject).cost) * 1e9))
      t.ok(Number(settled(one)?.settled?.cost) >= searched * PRICE && Number(settled(one)?.settled?.cost) < (searched + 1) * PRICE, name)
    }
  })
})

t.test('an engine that fails is an error to the model and free, and the answer goes on', async (t) => {
  const failures: Record<string, () => Answer> = {
    'status 500': () => jsonAnswer({ error: 'secret words of the engine' }, 500),
    'status 302': () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } }),
    unreadable: () => ({ headers: { 'content-type': 'text/html' }, body: ['<html>'] }),
    'not an object': () => jsonAnswer([1]),
    reset: () => ({ before: 'reset' }),
    cut: () => ({ body: ['{"results":['], after: 'close' }),
    'nobody behind it': () => jsonAnswer({ results: [], unresponsive_engines: [['one', 'CAPTCHA']] }),
  }
  let fail: () => Answer = () => ({})
  const one = await webSearch(t, { script: once, answers: () => fail() })
  await every(t, 'every case', async (t) => {
    for (const [name, answer] of Object.entries(failures)) {
      fail = answer
      for (const way of WAYS) {
        const { status, reply, raw, body } = await one.ask(way, tool())
        t.equal(status, 200, name)
        t.match(reply.text, /It will rain/, name)
        t.same(reply.annotations, [], name)
        t.same(told(one), [{ error_code: 'unavailable', error: 'the search engine did not answer' }], name)
        t.notMatch(raw, /secret words/)
        t.match(one.gateway.logs.join('\n'), /"plugin":"web_search".*EngineError \(searxng: /)
        t.notMatch(one.gateway.logs.join('\n'), /secret words|rain monday/)
        if (way.format === 'responses')
          t.match(
            (body.output as JsonObject[]).find(({ type }) => type === 'router:web_search'),
            { status: 'incomplete' },
            name,
          )
        t.equal(settled(one)?.settled?.cost, 360_000, `${name}: not paid`)
      }
    }
  })
  fail = () => jsonAnswer({ results: [] })
  const { reply } = await one.ask({ format: 'chat', stream: true }, tool())
  t.match(reply.text, /It will rain/)
  t.same(told(one), [{ query: 'rain monday', results: [] }], 'nothing found is an answer')
  t.equal(free(one), 0)
})

t.test('holds the possible cost of searches before, and returns 402 with too little credit', async (t) => {
  const one = await webSearch(t, { script: once, key: ', limit: "0.10"' })
  const { status, body } = await one.ask({ format: 'chat', stream: false }, tool({ max_uses: 21 }))
  t.equal(status, 402, JSON.stringify(body))
  t.match((body.error as JsonObject).message, /the tools of this request may cost up to \$0\.105/)
  t.equal(one.model.requests.length, 0)
  t.equal((await one.ask({ format: 'chat', stream: false }, tool({ max_uses: 2 }))).status, 200)
  t.ok(Number(settled(one)?.hold.hold) >= 2 * PRICE)
  const plan = async (more: JsonObject): Promise<number> => {
    const asked = { model: 'acme/one', messages: [{ role: 'user', content: 'x' }], max_tokens: 10, ...more }
    const told = (await (await one.gateway.post('/v1/plan', asked)).json()) as { hold?: { usd: string } }
    return Number(told.hold?.usd)
  }
  t.ok(Math.abs((await plan(tool({ max_uses: 5 }))) - (await plan(tool({ max_uses: 3 }))) - 0.01) < 1e-9)
  t.ok(Math.abs((await plan({ plugins: [{ id: 'web' }] })) - (await plan({ plugins: [{ id: 'web', enabled: false }] })) - 0.005) < 1e-4)
  t.equal(one.engine.requests.length, 1, 'a plan searches nothing')
  const open = await webSearch(t, { web: 'enabled: true, engines: { searxng: { url: "ENGINE" } }' })
  await open.gateway.post('/v1/plan', { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] })
  t.equal(open.engine.requests.length, 0, 'not even for nothing')
  t.equal((await open.ask({ format: 'chat', stream: false })).status, 200)
  t.equal(open.engine.requests.length, 1)
  t.equal(free(one), 0)
})

t.test('a cost limit ends the loop, and a call of a client function ends the turn', async (t) => {
  const always = (seen: Seen): Utterance =>
    /"router_web_search"/.test(JSON.stringify(seen.json.tools ?? [])) ? { calls: searches('again') } : ANSWER
  const one = await webSearch(t, { script: always })
  const stop = [{ type: 'max_cost', max_cost_in_dollars: 0.012 }]
  const { reply } = await one.ask({ format: 'responses', stream: true }, { ...tool(), stop_server_tools_when: stop })
  t.equal(one.engine.requests.length, 3)
  t.equal(reply.text, `It will rain: ${LINK}.`)
  const own = { type: 'function', function: { name: 'mine', parameters: { type: 'object' } } }
  const both = await webSearch(t, { script: () => ({ calls: [...searches('rain'), { id: 'call_9', name: 'mine', args: ['{}'] }] }) })
  const asked = await both.ask({ format: 'chat', stream: false }, { tools: [{ type: 'router:web_search' }, own] })
  t.same(
    asked.reply.calls.map(({ name }) => name),
    ['mine'],
  )
  t.equal(both.engine.requests.length, 1)
  t.equal(both.model.requests.length, 1)
})

t.test('parameters that do not fit are named by their path', async (t) => {
  const one = await webSearch(t)
  const cases: [parameters: JsonObject, field: string, message: RegExp][] = [
    [{ max_results: 0 }, 'max_results', /from 1 to 25/],
    [{ max_results: 26 }, 'max_results', /from 1 to 25/],
    [{ max_results: 1.5 }, 'max_results', /whole number/],
    [{ max_uses: 0 }, 'max_uses', /whole number/],
    [{ max_total_results: '5' }, 'max_total_results', /whole number/],
    [{ max_characters: 100_001 }, 'max_characters', /from 1 to 100000/],
    [{ search_context_size: 'huge' }, 'search_context_size', /'low', 'medium' or 'high'/],
    [{ allowed_domains: 'a.example' }, 'allowed_domains', /a list/],
    [{ allowed_domains: ['a b'] }, 'allowed_domains[0]', /expected a domain/],
    [{ excluded_domains: new Array(1001).fill('a.com') }, 'excluded_domains', /at most 1000 domains/],
    [{ allowed_domains: ['a.example'], excluded_domains: ['b.example'] }, 'excluded_domains', /either/],
    [{ user_location: { type: 'exact' } }, 'user_location.type', /approximate/],
    [{ mode: 'psychic' }, 'mode', /expected one of/],
    [{ engine: 'google' }, 'engine', /expected auto, searxng/],
    [{ engine: 'native' }, 'engine', /native: acme\/one at first has no web search of its own/],
    [{ engine: 'exa' }, 'engine', /under plugins\.defaults\.web\.engines\.exa/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [parameters, field, message] of cases) {
      for (const format of ['chat', 'responses', 'messages'] as const) {
        const { status, body } = await one.ask({ format, stream: false }, tool(parameters))
        const name = `${format} ${field}`
        t.equal(status, 400, name)
        t.match((body.error as JsonObject).message, new RegExp(`^tools\\[0\\]\\.parameters\\.${field.replace(/[[\]]/g, '\\$&')}: `), name)
        t.match((body.error as JsonObject).message, message, name)
      }
    }
  })
  t.equal(one.model.requests.length, 0)
})

t.test('without an engine tool, plugin and suffix are refused with what is to be configured', async (t) => {
  const one = await webSearch(t, { web: 'max_results: 3' })
  const cases: [more: JsonObject, field: RegExp][] = [
    [tool(), /^tools\[0\]\.type: /],
    [{ plugins: [{ id: 'web' }] }, /^plugins\[0\]\.id: /],
    [{ model: 'acme/one:online' }, /^plugins\[0\]\.id: /],
  ]
  await every(t, 'every case', async (t) => {
    for (const [more, field] of cases) {
      for (const format of ['chat', 'responses', 'messages'] as const) {
        const { status, body } = await one.ask({ format, stream: false }, more)
        t.equal(status, 400, String(field))
        t.match((body.error as JsonObject).message, field)
        t.match((body.error as JsonObject).message, /the operator has to configure one under plugins\.defaults\.web\.engines/)
      }
    }
  })
  t.equal((await one.ask({ format: 'chat', stream: false }, { plugins: [{ id: 'web', enabled: false }] })).status, 200)
  t.equal((await one.ask({ format: 'chat', stream: false })).status, 200)
  await t.rejects(webSearch(t, { web: 'enabled: true' }), /plugins\.defaults\.web/)
  await t.rejects(webSearch(t, { web: 'engine: exa, engines: { searxng: { url: "ENGINE" } }' }), /exa is not configured/)
  await t.rejects(webSearch(t, { web: 'engines: { brave: { } }' }), /key/)
})

t.test('the plugin searches once with the last words of the user; :online is the same', async (t) => {
  const one = await webSearch(t)
  await every(t, 'every way', async (t) => {
    for (const way of WAYS) {
      for (const more of [{ plugins: [{ id: 'web' }] }, { model: 'acme/one:online' }] as JsonObject[]) {
        const name = `${way.format}${way.stream ? ', streamed' : ''} ${JSON.stringify(more)}`
        const before = one.engine.requests.length
        const { status, reply, raw } = await one.ask(way, { ...more })
        t.equal(status, 200, `${name}: ${raw}`)
        t.equal(one.engine.requests.length, before + 1, name)
        t.equal(new URL(one.engine.requests[before].path, 'http://x').searchParams.get('q'), 'Will it rain?', name)
        const messages = one.model.requests.at(-1)?.json.messages as { role: string; content: string | { text: string }[] }[]
        t.equal(messages.length, 1, name)
        const content = JSON.stringify(messages[0].content)
        t.match(content, /found on the web on \d{4}-\d\d-\d\d/, name)
        t.match(content, /https:\/\/news\.example\.com\/rain/, name)
        t.ok(content.indexOf('Will it rain?') > content.indexOf('news.example.com'), `${name}: the question comes last`)
        t.same(
          citations(way.format, reply).map(({ url }) => url),
          ['https://news.example.com/rain', 'https://blog.example.org/sun', 'https://spam.test/x'],
          name,
        )
        t.equal(settled(one)?.settled?.cost, 240_000 + PRICE, name)
      }
    }
  })
  t.equal(free(one), 0)
})

t.test("the plugin's fields: scope, lead-in, what is the operator's alone, and switching off", async (t) => {
  const one = await webSearch(t)
  const ask = (entry: JsonObject, more: JsonObject = {}): Promise<Asked> =>
    one.ask({ format: 'chat', stream: false }, { plugins: [{ id: 'web', ...entry }], ...more })
  const { reply } = await ask({ max_results: 1, exclude_domains: ['example.com'], search_prompt: 'READ THIS' })
  t.match(JSON.stringify(one.model.requests.at(-1)?.json.messages), /READ THIS\\n\\n1\. Sun/)
  t.same(
    citations('chat', reply).map(({ url }) => url),
    ['https://blog.example.org/sun'],
  )
  await ask({ include_domains: ['*.example.org/sun', 'example.com/other'] })
  t.match(JSON.stringify(one.model.requests.at(-1)?.json.messages), /1\. Sun(?!.*2\. )/)
  const searched = one.engine.requests.length
  await ask({ enabled: false }, { model: 'acme/one:online' })
  t.equal(one.engine.requests.length, searched, 'an entry of its own stands over the suffix')
  const cases: [entry: JsonObject, field: string, message: RegExp][] = [
    [{ engines: { searxng: { url: 'http://169.254.169.254' } } }, 'engines', /by the operator alone/],
    [{ price: '0' }, 'price', /by the operator alone/],
    [{ max_results: 26 }, 'max_results', /from 1 to 25/],
    [{ max_uses: 0 }, 'max_uses', /whole number/],
    [{ search_prompt: 5 }, 'search_prompt', /a text/],
    [{ include_domains: ['a.example'], exclude_domains: ['b.example'] }, 'exclude_domains', /either/],
    [{ engine: 'native' }, 'engine', /native: no provider of acme\/one has a web search of its own/],
    [{ user_location: { city: 'Oslo' } }, 'user_location.type', /approximate/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [entry, field, message] of cases) {
      const { status, body } = await ask(entry)
      t.equal(status, 400, `names ${field}`)
      t.match((body.error as JsonObject).message, message, field)
      t.equal(((body.error as JsonObject).metadata as JsonObject).field, `plugins[0].${field}`)
    }
  })
  t.equal(one.engine.requests.length, searched)
  await every(t, 'every policy', async (t) => {
    for (const policy of ['enabled: false', 'locked: true']) {
      const set = await webSearch(t, { web: `${policy}, ${SEARXNG}` })
      await set.ask({ format: 'chat', stream: false })
      t.equal(set.engine.requests.length, 0, policy)
      await set.ask({ format: 'chat', stream: false }, { plugins: [{ id: 'web' }] })
      await set.ask({ format: 'chat', stream: false }, { model: 'acme/one:online' })
      t.equal(set.engine.requests.length, 2, `${policy}: to name it is to switch it on`)
    }
  })
  const never = await webSearch(t, { web: `enabled: false, locked: true, ${SEARXNG}` })
  t.equal((await never.ask({ format: 'chat', stream: false }, { model: 'acme/one:online' })).status, 400)
})

t.test('answers without the plugin where the engine fails, unless the operator wants an error', async (t) => {
  const answers = (): Answer => jsonAnswer({}, 503)
  const asked = { plugins: [{ id: 'web' }] }
  const skip = await webSearch(t, { answers })
  const response = await skip.gateway.post(
    FORMATS.chat,
    { model: 'acme/one', messages: [{ role: 'user', content: 'x' }], ...asked },
    { 'X-Router-Metadata': 'enabled' },
  )
  const body = (await response.json()) as { router_metadata: JsonObject; usage: JsonObject }
  t.equal(response.status, 200)
  t.match(body.router_metadata.pipeline, [{ name: 'web', summary: /^skipped/ }])
  t.equal(body.usage.cost, 240_000 / 1e9)
  const fail = await webSearch(t, { answers, web: `${SEARXNG}, on_error: fail` })
  t.equal((await fail.ask({ format: 'chat', stream: true }, asked)).status, 500)
  t.equal(fail.model.requests.length, 0)
  t.equal(free(skip), 0)
})

t.test('plugin and tool in one request, another brand, and the engine that is asked for', async (t) => {
  const brave = (seen: Seen): Answer =>
    seen.path.startsWith('/res/v1/web/search')
      ? jsonAnswer({ web: { results: [{ url: 'https://brave.example/a', title: 'Brave', description: 'b' }] } })
      : jsonAnswer({ results: PAGES })
  const one = await webSearch(t, {
    brand: 'acme',
    answers: brave,
    web: 'engine: brave, engines: { searxng: { url: "ENGINE", price: "0.001" }, brave: { key: "brave-key", url: "ENGINE" } }, price: "0.005"',
    script: (seen) => (ran(seen) ? { text: ['done'] } : { calls: [{ id: 'call_1', name: 'acme_web_search', args: ['{"query":"a"}'] }] }),
  })
  const way = { format: 'responses', stream: true } as const
  const asked = await one.ask(way, {
    tools: [{ type: 'acme:web_search', parameters: { engine: 'searxng' } }],
    plugins: [{ id: 'web' }],
  })
  t.equal(asked.status, 200, asked.raw)
  t.equal(one.engine.requests[0].headers['x-subscription-token'], 'brave-key')
  t.match(one.engine.requests[1].path, /^\/search\?/)
  t.match(asked.raw, /"type":"acme:web_search"/)
  t.notMatch(asked.raw, /router|brave-key/)
  t.match(JSON.stringify(asked.reply.annotations), /brave\.example.*news\.example/)
  t.ok(Number(settled(one)?.settled?.cost) >= 6_000_000)
  t.notMatch(one.gateway.logs.join('\n'), /brave-key|Will it rain/)
})

t.test('cancels a search when its caller leaves, who pays for what was used', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const more of [tool(), { plugins: [{ id: 'web' }] }]) {
      const one = await webSearch(t, { script: once, answers: () => ({ body: ['{'], after: 'stall' }) })
      const leaving = new AbortController()
      const left = fetch(`${one.gateway.url}${FORMATS.chat}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'x' }], ...more }),
        signal: leaving.signal,
      })
      const seen = await one.engine.request(0)
      leaving.abort()
      await t.rejects(left)
      t.equal((await seen.closed).aborted, true)
      await eventually('the settlement', () => settled(one)?.settled)
      t.ok(Number(settled(one)?.settled?.cost) < PRICE, 'not for a search without results')
      t.equal(free(one), 0)
    }
  })
})

t.test("a provider's own search tool is run by the gateway where no endpoint has it, and left alone where one has", async (t) => {
  const filters = { allowed_domains: ['example.com'] }
  const asks: [format: Format, tool: JsonObject, choice: JsonObject][] = [
    [
      'responses',
      { type: 'web_search', filters, max_results: 2, user_location: { type: 'approximate', country: 'NO' } },
      { type: 'web_search_preview' },
    ],
    ['responses', { type: 'web_search_preview', filters, search_context_size: 'low' }, { type: 'web_search_preview' }],
    ['messages', { type: 'web_search_20250305', name: 'web_search', max_uses: 1, ...filters }, { type: 'tool', name: 'web_search' }],
  ]
  const one = await webSearch(t, { script: once })
  await every(t, 'every case', async (t) => {
    for (const [format, own, choice] of asks) {
      for (const stream of [false, true]) {
        const name = `${String(own.type)}${stream ? ', streamed' : ''}`
        const before = one.engine.requests.length
        const asked = await one.ask({ format, stream }, { tools: [own], tool_choice: choice })
        t.equal(asked.status, 200, `${name}: ${asked.raw}`)
        t.equal(one.engine.requests.length, before + 1, name)
        t.match(one.engine.requests.at(-1)?.path, /site%3Aexample\.com/, name)
        const first = one.model.requests.at(-2)?.json
        t.match(first?.tools, [{ type: 'function', function: { name: 'router_web_search' } }], name)
        t.match(first?.tool_choice, { function: { name: 'router_web_search' } }, name)
        t.same(
          citations(format, asked.reply).map(({ url }) => url),
          ['https://news.example.com/rain'],
          name,
        )
        t.match((asked.body.usage as JsonObject).server_tool_use_details, { web_search_requests: 1 }, name)
      }
    }
  })
  const bad = await one.ask({ format: 'responses', stream: false }, { tools: [{ type: 'web_search', max_results: 99 }] })
  t.equal(bad.status, 400)
  t.match((bad.body.error as JsonObject).message, /max_results/)
  const native = await webSearch(t, { dialect: 'openai-responses' })
  t.equal((await native.ask({ format: 'responses', stream: false }, { tools: [{ type: 'web_search' }] })).status, 200)
  t.match(native.model.requests.at(-1)?.json.tools, [{ type: 'web_search' }])
  const without = await webSearch(t, { web: 'max_results: 3' })
  const refused = await without.ask({ format: 'responses', stream: false }, { tools: [{ type: 'web_search' }] })
  t.equal(refused.status, 400)
  t.match((refused.body.error as JsonObject).message, /^tools\[0\]\.type: web_search runs at the provider/)
})
