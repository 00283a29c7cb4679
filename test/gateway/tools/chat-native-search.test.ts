/**
 * Searches that providers of the chat wire run themselves, each requested in the provider's own form: Perplexity, Groq's two, and Moonshot's,
 * whose calls are answered with their own arguments. The stand-ins take what the providers' documents say, and nothing else.
 */
import t, { type Test } from 'tap'
import { isObject, type JsonObject } from '../../../src/core/json.ts'
import { ASK_WAYS, askGateway, askName, type Format } from '../../support/asking.ts'
import { list, object } from '../../support/fold.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { type Answer, jsonAnswer, type Seen, sseAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'

const SEARCH: Readonly<Record<Format, JsonObject>> = {
  chat: { tools: [{ type: 'web_search' }] },
  responses: { tools: [{ type: 'web_search' }] },
  messages: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
}

interface Behind {
  preset: string
  answer: (seen: Seen, index: number) => Answer
  quirks?: string
  key?: string
}

async function behind(t: Test, { preset, answer, quirks = '', key = '' }: Behind): Promise<{ gateway: Gateway; upstream: Upstream }> {
  const upstream = await startUpstream(answer)
  t.teardown(() => upstream.close())
  const auth = key === '' ? '' : `auth: { keys: [ { name: test, key: "sk-router-v1-0123456789abcdef0123456789abcdef", ${key} } ] }\n`
  const gateway = await startGateway(`${auth}
providers: { one: { preset: ${preset}, base_url: "${upstream.url}", key: sk-provider-1 } }
models:
  acme/one: { context: 100000, endpoints: [ { provider: one, model: m, price: { prompt: "1", completion: "2", web_search: "0.005" }${quirks} } ] }
`)
  t.teardown(() => gateway.close())
  return { gateway, upstream }
}

const HEAD = { id: 'c-1', created: 1_795_000_000, model: 'm' }

/** A message as the provider writes it, whole or in two pieces of its text or its calls' arguments. */
function replies(seen: Seen, message: JsonObject, finish: string, usage: JsonObject): Answer {
  if (seen.json.stream !== true)
    return jsonAnswer({
      ...HEAD,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: '', ...message }, finish_reason: finish }],
      usage,
    })
  const chunk = (delta: JsonObject, reason: string | null = null, more: JsonObject = {}): string =>
    `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }], ...more })}\n\n`
  const calls = list(message.tool_calls ?? []).flatMap((call, index) => {
    const { arguments: args, ...named } = object(call.function)
    const [before, after] = [String(args).slice(0, 9), String(args).slice(9)]
    return [
      chunk({ tool_calls: [{ ...call, index, function: { ...named, arguments: before } }] }),
      chunk({ tool_calls: [{ index, function: { arguments: after } }] }),
    ]
  })
  const { content = '' } = message
  const texts = content === '' ? [] : [chunk({ content: String(content).slice(0, 3) }), chunk({ content: String(content).slice(3) })]
  return sseAnswer([chunk({ role: 'assistant', content: '' }), ...texts, ...calls, chunk({}, finish, { usage }), 'data: [DONE]\n\n'])
}

const within = (value: unknown, keys: readonly string[]): boolean =>
  value === undefined || (isObject(value) && Object.keys(value).every((key) => keys.includes(key)))
const refused = (message: string): Answer => jsonAnswer({ error: { message, type: 'invalid_request_error' } }, 400)
const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }

t.test('Perplexity takes options and a filter of domains', async (t) => {
  const { gateway, upstream } = await behind(t, {
    preset: 'perplexity',
    answer: (seen) => {
      const { tools, web_search_options: options, search_domain_filter: filter } = seen.json
      // npm @perplexity-ai/perplexity_ai 0.38.5, WebSearchOptions, UserLocation.
      const fits =
        tools === undefined &&
        within(options, ['search_context_size', 'user_location']) &&
        within(object(options).user_location, ['city', 'country', 'region']) &&
        (filter === undefined || (Array.isArray(filter) && filter.every((each) => typeof each === 'string')))
      return fits ? replies(seen, { content: 'It rains.' }, 'stop', USAGE) : refused('bad options')
    },
  })
  for (const way of ASK_WAYS) {
    const { status, reply } = await askGateway(gateway, way, SEARCH[way.format])
    t.equal(status, 200, askName(way))
    t.equal(reply.text, 'It rains.', askName(way))
  }
  const { status } = await askGateway(
    gateway,
    { format: 'messages', stream: false },
    {
      tools: [
        {
          ...list(SEARCH.messages.tools)[0],
          blocked_domains: ['ads.example'],
          user_location: { type: 'approximate', city: 'Oslo', country: 'NO' },
        },
      ],
    },
  )
  t.equal(status, 200)
  t.match(upstream.requests.at(-1)?.json, {
    search_domain_filter: ['-ads.example'],
    web_search_options: { user_location: { city: 'Oslo', country: 'NO' } },
  })
})

t.test('Groq takes a tool of its own, or settings', async (t) => {
  const browsing = await behind(t, {
    preset: 'groq',
    quirks: ', quirks: { web_search: true, web_search_form: browser_search }',
    answer: (seen) => {
      const types = list(seen.json.tools ?? []).map(({ type }) => type)
      return types.join() === 'browser_search' && seen.json.web_search_options === undefined
        ? replies(seen, { content: 'It rains.' }, 'stop', USAGE)
        : refused('tools')
    },
  })
  const compound = await behind(t, {
    preset: 'groq',
    quirks: ', quirks: { web_search: true, web_search_form: settings }',
    answer: (seen) => {
      const { tools, search_settings: settings } = seen.json
      return tools === undefined && within(settings, ['country', 'exclude_domains', 'include_domains', 'include_images'])
        ? replies(seen, { content: 'It rains.' }, 'stop', USAGE)
        : refused('settings')
    },
  })
  for (const way of ASK_WAYS) {
    for (const { gateway } of [browsing, compound]) {
      const { status, reply } = await askGateway(gateway, way, SEARCH[way.format])
      t.equal(status, 200, askName(way))
      t.equal(reply.text, 'It rains.', askName(way))
    }
  }
  const filters = { allowed_domains: ['yr.no'] }
  const tools = [{ type: 'web_search', filters, user_location: { type: 'approximate', country: 'DE' } }]
  const asked = await askGateway(compound.gateway, { format: 'responses', stream: false }, { tools })
  t.equal(asked.status, 200)
  t.strictSame(compound.upstream.requests.at(-1)?.json.search_settings, { include_domains: ['yr.no'], country: 'germany' })
})

/** platform.kimi.ai/docs/guide/use-web-search: what the model's call holds goes back as it is. */
const ARGUMENTS = '{"search_result":{"search_id":"s-1"},"usage":{"total_tokens":4000}}'
const CALL = { id: '$web_search:0', type: 'builtin_function', function: { name: '$web_search', arguments: ARGUMENTS } }
const SECOND = { ...CALL, id: '$web_search:1' }

/** Two searches at once, then the answer; thinking that is not off, and any other answer to a call, is refused. */
function kimi(seen: Seen): Answer {
  const { tools, messages, thinking } = seen.json
  const search = list(tools).find(({ type }) => type === 'builtin_function')
  if (!isObject(search) || Object.keys(object(search.function)).join() !== 'name') return refused('builtin_function has a name alone')
  if (object(thinking).type !== 'disabled') return refused('thinking must be disabled')
  const all = list(messages)
  const at = all.findIndex(({ tool_calls: calls }) => calls !== undefined)
  if (at === -1) return replies(seen, { tool_calls: [CALL, SECOND] }, 'tool_calls', USAGE)
  const answered = all.slice(at + 1).map(({ role, tool_call_id: id, content }) => `${role} ${id} ${content}`)
  if (answered.join('\n') !== `tool ${CALL.id} ${ARGUMENTS}\ntool ${SECOND.id} ${ARGUMENTS}`) return refused('tool messages')
  if (list(all[at]?.tool_calls).some(({ type }) => type !== 'builtin_function')) return refused('type of a call')
  return replies(seen, { content: 'It rains.' }, 'stop', { prompt_tokens: 8100, completion_tokens: 10, total_tokens: 8110 })
}

t.test('calls of Moonshot’s search are answered by the gateway', async (t) => {
  const { gateway, upstream } = await behind(t, { preset: 'moonshot', answer: kimi })
  for (const way of ASK_WAYS) {
    const before = upstream.requests.length
    const { status, raw, reply, body } = await askGateway(gateway, way, SEARCH[way.format])
    t.equal(status, 200, `${askName(way)} ${raw.slice(0, 300)}`)
    t.equal(reply.text, 'It rains.', askName(way))
    t.strictSame(reply.calls, [], `${askName(way)}: no call is left to the caller`)
    t.notMatch(raw, 'search_id', `${askName(way)}: nor shown`)
    t.equal(upstream.requests.length - before, 2, `${askName(way)}: two calls of the model`)
    // 8,200 tokens at 1 and 20 at 2 dollars for a million, and two searches.
    t.equal(object(body.usage).cost, 0.01824, `${askName(way)}: both calls and both searches are charged`)
  }
})

t.test('a caller of chat completions may answer Moonshot’s calls itself', async (t) => {
  const { gateway } = await behind(t, { preset: 'moonshot', answer: kimi })
  const tools = [{ type: 'builtin_function', function: { name: '$web_search' } }]
  const off = { tools, reasoning_effort: 'none' }
  for (const stream of [false, true]) {
    const first = await askGateway(gateway, { format: 'chat', stream }, off)
    t.equal(first.status, 200, first.raw.slice(0, 200))
    t.strictSame(
      first.reply.calls.map(({ name, args, callId }) => ({ name, args, callId })),
      [CALL, SECOND].map(({ id }) => ({ name: '$web_search', args: ARGUMENTS, callId: id })),
    )
    t.match(first.raw, '"type":"builtin_function"', 'the type of the call is the provider’s')
    t.equal(object(first.body.usage).cost, 0.01012, 'the searches are charged')
    const messages = [
      { role: 'user', content: 'Will it rain?' },
      { role: 'assistant', content: '', tool_calls: [CALL, SECOND] },
      ...[CALL, SECOND].map(({ id }) => ({ role: 'tool', tool_call_id: id, name: '$web_search', content: ARGUMENTS })),
    ]
    const second = await askGateway(gateway, { format: 'chat', stream }, { ...off, messages })
    t.equal(second.reply.text, 'It rains.', second.raw.slice(0, 200))
  }
})

t.test('tools of one provider go to endpoints that have them alone', async (t) => {
  const { gateway, upstream } = await behind(t, {
    preset: 'openai-chat',
    answer: (seen) => replies(seen, { content: 'no' }, 'stop', USAGE),
  })
  for (const type of [
    'browser_search',
    'code_interpreter',
    'mcp',
    'builtin_function',
    'connector',
    'document_library',
    'web_search_premium',
  ]) {
    const { status, raw } = await askGateway(gateway, { format: 'chat', stream: false }, { tools: [{ type, server_label: 'x' }] })
    t.equal(status, 400, type)
    t.match(raw, type)
  }
  t.equal(upstream.requests.length, 0, 'nothing is sent')
  const groq = await behind(t, { preset: 'groq', answer: (seen) => replies(seen, { content: 'yes' }, 'stop', USAGE) })
  for (const tool of [
    { type: 'browser_search' },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'mcp', server_label: 'x', server_url: 'https://mcp.example/' },
  ]) {
    const { status, raw } = await askGateway(groq.gateway, { format: 'chat', stream: true }, { tools: [tool] })
    t.equal(status, 200, raw.slice(0, 200))
    t.strictSame(groq.upstream.requests.at(-1)?.json.tools, [tool], 'as the caller wrote it')
  }
  const limited = await behind(t, {
    preset: 'groq',
    key: 'limit: "0.05"',
    answer: (seen) => replies(seen, { content: 'yes' }, 'stop', USAGE),
  })
  const { status } = await askGateway(limited.gateway, { format: 'chat', stream: false }, { tools: [{ type: 'browser_search' }] })
  t.equal(status, 402, 'what a search may add to the input is held')
})
