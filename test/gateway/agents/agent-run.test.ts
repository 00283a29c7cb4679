/** An agent at work: search, fetch, answer. In every client format, streamed or not, over every upstream wire: one reply, the same items, exact sums. */
import t, { type Test } from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { ASK_WAYS, type AskWay, askGateway, askName, newestGeneration, streamEvents } from '../../support/asking.ts'
import { every } from '../../support/every.ts'
import { foldToMessage, messageEvents } from '../../support/fold-messages.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { jsonAnswer, type Seen, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, type Utterance, type WireName } from '../../support/wire.ts'

const DIALECTS: readonly WireName[] = ['openai-chat', 'openai-responses', 'anthropic', 'gemini']

/** Prices in nano-dollars: 1,000 per token of the prompt, 500 if cached, 2,000 of the answer, the search and the page. */
const COST = (450 - 270) * 1000 + 270 * 500 + 42 * 2000 + 5_000_000 + 2_000_000

const HTML =
  '<!doctype html><html><head><title>Rain</title></head><body><article><h1>Rain</h1><p>Rain falls on Monday, in the north and in the south, for as long as the clouds last.</p></article></body></html>'

/** The page that is found and read, and what the model makes of it. */
interface Story {
  page: { url: string; title: string; content: string }
  link: string
  text: string
  turns: readonly Utterance[]
}

function siteStory(site: string): Story {
  const page = { url: `${site}/rain`, title: 'Rain', content: 'Rain falls on Monday.' }
  const link = `[the news](${page.url})`
  return {
    page,
    link,
    text: `Let me look. And read it. It will rain: ${link}.`,
    turns: [
      {
        text: ['Let me ', 'look. '],
        calls: [{ id: 'call_a', name: 'router_web_search', args: ['{"query":', '"rain"}'] }],
        usage: { input: 100, output: 10, cached: 40, reasoning: 4 },
      },
      {
        text: ['And read it. '],
        calls: [{ id: 'call_b', name: 'router_web_fetch', args: [JSON.stringify({ url: page.url })] }],
        usage: { input: 150, output: 12, cached: 90, reasoning: 2 },
      },
      { text: ['It will rain: ', link, '.'], usage: { input: 200, output: 20, cached: 140, reasoning: 5 } },
    ],
  }
}

/** Results of tools in a request, in whichever wire. */
const results = (seen: Seen): number =>
  seen.body.match(/"role":"tool"|"type":"tool_result"|"function_call_output"|"functionResponse"/g)?.length ?? 0

interface Web {
  site: Upstream
  engine: Upstream
  story: Story
}

/** A site, and an engine that finds it. */
async function startWeb(t: Test): Promise<Web> {
  const site = await startUpstream(() => ({ headers: { 'content-type': 'text/html; charset=utf-8' }, body: [HTML] }))
  const story = siteStory(site.url)
  const engine = await startUpstream(() => jsonAnswer({ results: [story.page], unresponsive_engines: [] }))
  t.teardown(async () => {
    await engine.close()
    await site.close()
  })
  return { site, engine, story }
}

async function withWeb(t: Test, dialect: WireName, { site, engine, story }: Web): Promise<{ gateway: Gateway; model: Upstream }> {
  const model = await startUpstream((seen) => answerFor(seen, story.turns[results(seen)]))
  t.teardown(() => model.close())
  const gateway = await startGateway(`
plugins:
  defaults:
    web: { engines: { searxng: { url: "${engine.url}" } }, price: "0.005" }
    web-fetch: { price: "0.002", robots: false, allow_private: ["${new URL(site.url).host}"] }
providers:
  first: { dialect: ${dialect}, base_url: "${model.url}/v1", key: "sk-provider-secret" }
models:
  acme/one:
    endpoints:
      - { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00", cached: "0.50" } }`)
  t.teardown(() => gateway.close())
  return { gateway, model }
}

const TOOLS = { tools: [{ type: 'router:web_search' }, { type: 'router:web_fetch' }] }

/** Without what differs from run to run: identifiers, and the time of day. */
function alike(value: Json): Json {
  const text = JSON.stringify(value, (key, each) =>
    key === 'id' || key === 'tool_use_id' ? (typeof each === 'string' ? 'id' : each) : each,
  )
  return JSON.parse(text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g, 'TIME')) as Json
}

/** Answer that the caller holds in the end, whole, and the marks of a stream: one beginning, one end, nothing out of order. */
function outcome(t: Test, way: AskWay, raw: string): { items: Json; usage: JsonObject } {
  const name = askName(way)
  if (!way.stream) {
    const body = JSON.parse(raw) as JsonObject
    if (way.format === 'chat') return { items: alike((body.choices as JsonObject[])[0].message as Json), usage: body.usage as JsonObject }
    return { items: alike((way.format === 'responses' ? body.output : body.content) as Json), usage: body.usage as JsonObject }
  }
  const events = streamEvents(raw)
  const count = (...types: string[]): number => events.filter(({ type }) => types.includes(String(type))).length
  if (way.format === 'responses') {
    t.equal(count('response.created'), 1, `${name}: one created`)
    t.equal(count('response.completed', 'response.failed', 'response.incomplete', 'error'), 1, `${name}: one terminal`)
    t.equal(events.at(-1)?.type, 'response.completed', name)
    t.equal(raw.match(/^data: \[DONE\]$/gm)?.length, 1, name)
    t.same(
      events.map((event) => event.sequence_number),
      events.map((_, i) => i),
      name,
    )
    const { output, usage } = (events.at(-1)?.response ?? {}) as JsonObject
    const done = events.filter(({ type }) => type === 'response.output_item.done')
    t.same(
      done.map(({ item, output_index: index }) => [index, item]),
      (output as Json[]).map((item, i) => [i, item]),
      `${name}: each item once, in its place`,
    )
    t.equal(count('response.output_item.added'), done.length, name)
    return { items: alike(output as Json), usage: usage as JsonObject }
  }
  if (way.format === 'messages') {
    const all = messageEvents(raw)
    const types = all.map(({ type }) => type)
    t.equal(types.filter((type) => type === 'message_start').length, 1, name)
    t.equal(types.filter((type) => type === 'message_delta').length, 1, name)
    t.equal(types.filter((type) => type === 'message_stop' || type === 'error').length, 1, name)
    const message = foldToMessage(all)
    return { items: alike(message.content as Json), usage: message.usage as JsonObject }
  }
  t.equal(new Set(events.map(({ id }) => id)).size, 1, `${name}: one id`)
  const choices = events.flatMap((event) => event.choices as JsonObject[])
  t.equal(choices.filter((choice) => choice.finish_reason !== null).length, 1, `${name}: one finish`)
  t.equal(events.filter((event) => event.usage).length, 1, `${name}: one usage`)
  t.equal(raw.match(/^data: \[DONE\]$/gm)?.length, 1, name)
  return { items: alike(chatMessage(choices)), usage: events.find((event) => event.usage)?.usage as JsonObject }
}

/** The message that the deltas of a chat stream make. */
function chatMessage(choices: readonly JsonObject[]): JsonObject {
  const deltas = choices.map((choice) => choice.delta as JsonObject)
  const joined = <T>(key: string): T[] => deltas.flatMap((delta) => (delta[key] as T[] | undefined) ?? [])
  return {
    role: 'assistant',
    content: deltas.map((delta) => delta.content ?? '').join(''),
    refusal: null,
    reasoning_details: joined<JsonObject>('reasoning_details'),
    annotations: joined<JsonObject>('annotations'),
  }
}

const direct = { caller: { type: 'direct' } }
const READ = /^# Rain\n\nRain falls on Monday, in the north/

/** Items that each format shows of the run. */
function storyItems({ page, link, text }: Story): Readonly<Record<AskWay['format'], object>> {
  const source = { url: page.url, title: page.title, content: page.content }
  const start = text.indexOf('It will rain: ') + 'It will rain: '.length
  return {
    responses: [
      { type: 'message', content: [{ type: 'output_text', text: 'Let me look. ', annotations: [] }] },
      {
        type: 'router:web_search',
        status: 'completed',
        action: { type: 'search', query: 'rain', sources: [{ type: 'url', url: page.url }] },
      },
      { type: 'message', content: [{ type: 'output_text', text: 'And read it. ' }] },
      { type: 'router:web_fetch', status: 'completed', url: page.url, title: 'Rain', content: READ, httpStatus: 200 },
      {
        type: 'message',
        status: 'completed',
        content: [
          {
            type: 'output_text',
            text: `It will rain: ${link}.`,
            annotations: [{ type: 'url_citation', ...source, start_index: 14, end_index: 14 + link.length }],
          },
        ],
      },
    ],
    chat: {
      role: 'assistant',
      content: text,
      reasoning_details: [
        {
          type: 'reasoning.server_tool_call',
          tool_name: 'router:web_search',
          arguments: '{"query":"rain"}',
          tool_call_id: 'call_a',
          index: 0,
        },
        { type: 'reasoning.server_tool_call', tool_name: 'router:web_fetch', tool_call_id: 'call_b', index: 1 },
      ],
      annotations: [{ type: 'url_citation', url_citation: { ...source, start_index: start, end_index: start + link.length } }],
    },
    messages: [
      { type: 'text', text: 'Let me look. ' },
      { type: 'server_tool_use', id: 'id', name: 'web_search', input: { query: 'rain' }, ...direct },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'id',
        content: [{ type: 'web_search_result', url: page.url, title: page.title, encrypted_content: '', page_age: null }],
        ...direct,
      },
      { type: 'text', text: 'And read it. ' },
      { type: 'server_tool_use', id: 'id', name: 'web_fetch', input: { url: page.url }, ...direct },
      {
        type: 'web_fetch_tool_result',
        tool_use_id: 'id',
        content: {
          type: 'web_fetch_result',
          url: page.url,
          content: { type: 'document', title: 'Rain', source: { type: 'text', media_type: 'text/plain', data: READ }, citations: null },
          retrieved_at: 'TIME',
        },
        ...direct,
      },
      { type: 'text', text: `It will rain: ${link}.`, citations: [{ type: 'web_search_result_location', url: page.url }] },
    ],
  }
}

const ran = { tool_calls_requested: 2, tool_calls_executed: 2, web_search_requests: 1 }

const USAGE: Readonly<Record<AskWay['format'], JsonObject>> = {
  responses: {
    input_tokens: 450,
    input_tokens_details: { cached_tokens: 270 },
    output_tokens: 42,
    output_tokens_details: { reasoning_tokens: 11 },
    total_tokens: 492,
    cost: COST / 1e9,
    server_tool_use_details: ran,
  },
  chat: {
    prompt_tokens: 450,
    completion_tokens: 42,
    total_tokens: 492,
    prompt_tokens_details: { cached_tokens: 270 },
    completion_tokens_details: { reasoning_tokens: 11 },
    cost: COST / 1e9,
    server_tool_use_details: ran,
  },
  messages: {
    input_tokens: 180,
    cache_read_input_tokens: 270,
    output_tokens: 42,
    cost: COST / 1e9,
    server_tool_use: { web_search_requests: 1, web_fetch_requests: 1 },
  },
}

t.test('three turns are one reply', async (t) => {
  const web = await startWeb(t)
  const expected = storyItems(web.story)
  const first = new Map<AskWay['format'], Json>()
  await every(t, 'every dialect', async (t) => {
    for (const dialect of DIALECTS) {
      const { gateway, model } = await withWeb(t, dialect, web)
      for (const way of ASK_WAYS) {
        const name = `${dialect} to ${askName(way)}`
        const before = { model: model.requests.length, engine: web.engine.requests.length, site: web.site.requests.length }
        const { status, raw, reply } = await askGateway(gateway, way, TOOLS)
        t.equal(status, 200, `${name}: ${raw}`)
        t.equal(reply.text, web.story.text, name)
        t.equal(model.requests.length - before.model, 3, `${name}: three turns`)
        t.equal(web.engine.requests.length - before.engine, 1, name)
        t.equal(web.site.requests.length - before.site, 1, name)
        t.match(model.requests.at(-1)?.body, /Rain falls on Monday, in the north/, `${name}: the model has read it`)
        const { items, usage } = outcome(t, way, raw)
        t.match(items, expected[way.format], name)
        if (Array.isArray(items)) t.equal(items.length, (expected[way.format] as object[]).length, name)
        t.match(usage, USAGE[way.format], `${name}: exact sums`)
        const known = first.get(way.format)
        if (known === undefined) first.set(way.format, items)
        else t.same(items, known, `${name}: the same over all upstreams, streamed or not`)
        const row = [...gateway.running.store.journal.export()].at(-1)
        t.match(row?.settled, { status: 'completed', input: 450, output: 42, cost: COST, estimated: false }, name)
        t.match(await newestGeneration(gateway), { web_search_engine: 'searxng', num_search_results: 1, num_fetches: 1 }, name)
      }
    }
  })
})
