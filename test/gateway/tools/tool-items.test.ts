/** Server tools as callers see them: what stops the loop, how failures look, what may be sent back, what the ledger tell afterwards. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import {
  ASK_WAYS,
  type Asked,
  type AskWay,
  askGateway,
  askName,
  type Format,
  newestGeneration,
  streamEvents,
} from '../../support/asking.ts'
import { every } from '../../support/every.ts'
import { foldToMessage, messageEvents } from '../../support/fold-messages.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, type Utterance, type UtteranceCall, type WireName } from '../../support/wire.ts'

const DIALECTS: readonly WireName[] = ['openai-chat', 'openai-responses', 'anthropic', 'gemini']

const PAGES = ['a', 'b', 'c'].map((name) => ({ url: `https://${name}.example/x`, title: name, content: `Words of ${name}.` }))
const ANSWER: Utterance = { text: ['So it is.'], usage: { input: 20, output: 2 } }

interface WithTools {
  gateway: Gateway
  model: Upstream
  engine: Upstream
  ask(way: AskWay, more?: JsonObject): Promise<Asked>
}

async function withTools(t: Test, dialect: WireName, script: (seen: Seen) => Utterance, answer?: () => Answer): Promise<WithTools> {
  const model = await startUpstream((seen) => answerFor(seen, script(seen)))
  const engine = await startUpstream(() => answer?.() ?? jsonAnswer({ results: PAGES, unresponsive_engines: [] }))
  t.teardown(async () => {
    await engine.close()
    await model.close()
  })
  const gateway = await startGateway(`
plugins: { defaults: { web: { engines: { searxng: { url: "${engine.url}" } }, price: "0.005" } } }
providers:
  first: { dialect: ${dialect}, base_url: "${model.url}/v1", key: "sk-provider-secret" }
models:
  acme/one:
    endpoints:
      - { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } }`)
  t.teardown(() => gateway.close())
  return { gateway, model, engine, ask: (way, more = {}) => askGateway(gateway, way, more) }
}

const time: UtteranceCall = { id: 'call_t', name: 'router_datetime', args: ['{}'] }
const search = (id: string, query: string): UtteranceCall => ({ id, name: 'router_web_search', args: [JSON.stringify({ query })] })
const ran = (seen: Seen): boolean => /"role":"tool"|"type":"tool_result"|"function_call_output"|"functionResponse"/.test(seen.body)
const offers = (seen: Seen): boolean => /router_/.test(JSON.stringify(seen.json.tools ?? []))
const TOOLS = { tools: [{ type: 'router:web_search' }, { type: 'router:datetime', parameters: { timezone: 'Asia/Tokyo' } }] }

/** Content of the message that a caller of this format holds. */
function replyItems({ format, stream }: AskWay, { raw, body }: Asked): JsonObject[] {
  if (format === 'responses') return body.output as JsonObject[]
  if (format === 'messages') return (stream ? foldToMessage(messageEvents(raw)) : body).content as JsonObject[]
  if (!stream) return [(body.choices as JsonObject[])[0].message as JsonObject]
  const deltas = streamEvents(raw).flatMap((event) => (event.choices as JsonObject[]).map((choice) => choice.delta as JsonObject))
  const all = (key: string): JsonObject[] => deltas.flatMap((delta) => (delta[key] as JsonObject[] | undefined) ?? [])
  const content = deltas.map((delta) => delta.content ?? '').join('')
  return [{ role: 'assistant', content, reasoning_details: all('reasoning_details'), annotations: all('annotations') }]
}

t.test('returns the time in the requested zone, in every format', async (t) => {
  await every(t, 'every dialect', async (t) => {
    for (const dialect of DIALECTS) {
      const one = await withTools(t, dialect, (seen) => (ran(seen) ? ANSWER : { calls: [time] }))
      for (const way of ASK_WAYS) {
        const asked = await one.ask(way, TOOLS)
        const name = `${dialect} to ${askName(way)}`
        t.equal(asked.status, 200, `${name}: ${asked.raw}`)
        t.match(JSON.stringify(replyItems(way, asked)), /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+09:00/, name)
        t.match(JSON.stringify(replyItems(way, asked)), /Asia\/Tokyo/, name)
      }
    }
  })
})

t.test('each of the five conditions ends the loop with a last turn without tools', async (t) => {
  // Two calls in a turn: what is called for when a condition fires is run.
  const calls: Utterance = { text: ['Look. '], calls: [search('call_1', 'a'), time], usage: { input: 100, output: 10 } }
  const conditions: [condition: JsonObject, turns: number][] = [
    [{ type: 'step_count_is', step_count: 1 }, 1],
    [{ type: 'step_count_is', step_count: 3 }, 2],
    [{ type: 'has_tool_call', tool_name: 'router:datetime' }, 1],
    [{ type: 'has_tool_call', tool_name: 'web_search' }, 1],
    [{ type: 'max_tokens_used', max_tokens: 220 }, 2],
    [{ type: 'max_cost', max_cost_in_dollars: 0.0102 }, 2],
    [{ type: 'finish_reason_is', reason: 'tool_calls' }, 1],
  ]
  await every(t, 'every dialect', async (t) => {
    for (const dialect of DIALECTS) {
      const one = await withTools(t, dialect, (seen) => (offers(seen) ? calls : ANSWER))
      for (const [condition, turns] of conditions) {
        for (const way of ASK_WAYS) {
          const name = `${dialect} to ${askName(way)}: ${JSON.stringify(condition)}`
          const before = { model: one.model.requests.length, engine: one.engine.requests.length }
          const never = { type: 'has_tool_call', tool_name: 'none' }
          const { status, raw, reply } = await one.ask(way, { ...TOOLS, stop_server_tools_when: [never, condition] })
          t.equal(status, 200, `${name}: ${raw}`)
          t.equal(reply.text, `${'Look. '.repeat(turns)}So it is.`, name)
          t.equal(one.model.requests.length - before.model, turns + 1, name)
          t.equal(one.engine.requests.length - before.engine, turns, `${name}: what was pending is run`)
          t.notMatch(one.model.requests.at(-1)?.body ?? '', /"tools":|"functionDeclarations"/, `${name}: the last turn has no tools`)
        }
      }
    }
  })
})

t.test('a call of a client function ends the turn, beside calls that the gateway runs', async (t) => {
  const mine = { type: 'object', properties: {} }
  const own: Readonly<Record<Format, JsonObject>> = {
    chat: { type: 'function', function: { name: 'mine', parameters: mine } },
    responses: { type: 'function', name: 'mine', parameters: mine },
    messages: { name: 'mine', input_schema: mine },
  }
  await every(t, 'every dialect', async (t) => {
    for (const dialect of DIALECTS) {
      const one = await withTools(t, dialect, () => ({ calls: [search('call_1', 'a'), { id: 'call_9', name: 'mine', args: ['{}'] }] }))
      for (const way of ASK_WAYS) {
        const name = `${dialect} to ${askName(way)}`
        const before = { model: one.model.requests.length, engine: one.engine.requests.length }
        const { reply } = await one.ask(way, { tools: [...TOOLS.tools, own[way.format]] })
        t.match(reply.calls, [{ name: 'mine', callId: 'call_9', args: '{}' }], name)
        t.equal(reply.calls.length, 1, name)
        t.equal(one.model.requests.length - before.model, 1, name)
        t.equal(one.engine.requests.length - before.engine, 1, name)
      }
    }
  })
})

t.test('items have the type of the brand, are counted, and shown by /v1/generation', async (t) => {
  const twice: Utterance = { calls: [search('call_1', 'a'), search('call_2', 'b'), time] }
  await every(t, 'every dialect', async (t) => {
    for (const dialect of DIALECTS) {
      const one = await withTools(t, dialect, (seen) => (ran(seen) ? ANSWER : twice))
      for (const way of ASK_WAYS) {
        const name = `${dialect} to ${askName(way)}`
        const asked = await one.ask(way, TOOLS)
        const items = replyItems(way, asked)
        const use = asked.body.usage as JsonObject
        if (way.format === 'responses')
          t.same(
            items.map(({ type }) => type),
            ['router:web_search', 'router:web_search', 'router:datetime', 'message'],
            name,
          )
        else if (way.format === 'chat')
          t.same(
            (items[0].reasoning_details as JsonObject[]).map((detail) => [detail.type, detail.tool_name, detail.tool_call_id]),
            [
              ['reasoning.server_tool_call', 'router:web_search', 'call_1'],
              ['reasoning.server_tool_call', 'router:web_search', 'call_2'],
              ['reasoning.server_tool_call', 'router:datetime', 'call_t'],
            ],
            name,
          )
        else
          t.same(
            items.map(({ type, name: tool }) => tool ?? type),
            [
              'web_search',
              'web_search_tool_result',
              'web_search',
              'web_search_tool_result',
              'router:datetime',
              'router_datetime_tool_result',
              'text',
            ],
            name,
          )
        t.same(use.server_tool_use_details, { tool_calls_requested: 3, tool_calls_executed: 3, web_search_requests: 2 }, name)
        if (way.format === 'messages') t.same(use.server_tool_use, { web_search_requests: 2, web_fetch_requests: 0 }, name)
        t.match(await newestGeneration(one.gateway), { web_search_engine: 'searxng', num_search_results: 6, num_fetches: null }, name)
      }
      await one.ask({ format: 'chat', stream: false }, { plugins: [{ id: 'web', max_results: 2 }] })
      t.match(await newestGeneration(one.gateway), { web_search_engine: 'searxng', num_search_results: 2 }, 'the plugin')
      await one.ask({ format: 'chat', stream: false })
      t.match(await newestGeneration(one.gateway), { web_search_engine: null, num_search_results: null, num_fetches: null }, 'no search')
    }
  })
})

t.test('failures have the codes of the messages format', async (t) => {
  const cases: [name: string, calls: UtteranceCall[], answer: Answer | undefined, code: string][] = [
    ['the engine fails', [search('call_1', 'a')], jsonAnswer({}, 500), 'unavailable'],
    ['too many', [search('call_1', 'a'), search('call_2', 'b')], undefined, 'max_uses_exceeded'],
    ['no query', [{ id: 'call_1', name: 'router_web_search', args: ['{}'] }], undefined, 'invalid_tool_input'],
    ['no JSON', [{ id: 'call_1', name: 'router_web_search', args: ['{"query"'] }], undefined, 'unavailable'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [name, calls, answer, code] of cases) {
      const one = await withTools(t, 'openai-chat', (seen) => (ran(seen) ? ANSWER : { calls }), answer && (() => answer))
      for (const stream of [false, true]) {
        const way = { format: 'messages', stream } as const
        const asked = await one.ask(way, { tools: [{ type: 'router:web_search', parameters: { max_uses: 1 } }] })
        const results = replyItems(way, asked).filter(({ type }) => type === 'web_search_tool_result')
        t.equal(results.length, calls.length, name)
        const error = { type: 'web_search_tool_result_error', error_code: code }
        t.same(results.at(-1)?.content, error, name)
        t.equal(asked.reply.text, 'So it is.', name)
      }
    }
  })
})

t.test('accepts returned items of server tools, and sends none of them to the provider', async (t) => {
  const turns = { text: ['Look. '], calls: [search('call_1', 'a'), time] }
  await every(t, 'every dialect', async (t) => {
    for (const dialect of DIALECTS) {
      const one = await withTools(t, dialect, (seen) => (offers(seen) && !ran(seen) ? turns : ANSWER))
      for (const way of ASK_WAYS) {
        const name = `${dialect} to ${askName(way)}`
        const items = replyItems(way, await one.ask(way, TOOLS))
        const utterance = { role: 'user', content: 'Will it rain?' }
        const again = { role: 'user', content: 'And then?' }
        const history: Readonly<Record<Format, JsonObject>> = {
          responses: { input: [utterance, ...items, again] },
          chat: { messages: [utterance, ...items, again] },
          messages: { messages: [utterance, { role: 'assistant', content: items }, again] },
        }
        for (const more of [
          {},
          { tools: [{ type: 'router:datetime' }], tool_choice: way.format === 'messages' ? { type: 'none' } : 'none' },
        ] as JsonObject[]) {
          const { status, raw, reply } = await one.ask(way, { ...history[way.format], ...more })
          t.equal(status, 200, `${name}: ${raw}`)
          t.equal(reply.error, undefined, name)
          const sent = one.model.requests.at(-1)?.body ?? ''
          t.match(sent, /Look\. .*So it is\..*And then\?/, `${name}: the words are there`)
          t.notMatch(sent, /srvtoolu|server_tool|tool_result|router:|encrypted_content/, name)
        }
      }
    }
  })
})

t.test('a request has only so many tools that are more than functions', async (t) => {
  const one = await withTools(t, 'openai-chat', () => ANSWER)
  const some = (count: number): JsonObject => ({ tools: Array.from({ length: count }, () => ({ type: 'router:datetime' })) })
  await every(t, 'every way', async (t) => {
    for (const way of ASK_WAYS) {
      const { status, raw } = await one.ask(way, some(129))
      t.equal(status, 400, askName(way))
      t.match(raw, /tools: expected at most 128 tools that are no functions, found 129/, askName(way))
    }
  })
  t.equal(one.model.requests.length, 0)
  t.equal((await one.ask({ format: 'chat', stream: false }, some(128))).status, 200)
})
