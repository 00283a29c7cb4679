/** Every list of a request is bounded, and every number: a 400 that names the field, before any provider is called. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import type { Seen } from '../../support/upstream.ts'

type Client = 'chat' | 'messages' | 'responses' | 'embeddings'

const PATHS: Readonly<Record<Client, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
}
const UTTERANCES = { role: 'user', content: 'Hello' }
const BODIES: Readonly<Record<Client, JsonObject>> = {
  chat: { model: 'acme/one', messages: [UTTERANCES] },
  messages: { model: 'acme/one', max_tokens: 100, messages: [UTTERANCES] },
  responses: { model: 'acme/one', input: 'Hello' },
  embeddings: { model: 'acme/one', input: 'Hello' },
}
const GENERATIONS: readonly Client[] = ['chat', 'messages', 'responses']
const ALL: readonly Client[] = [...GENERATIONS, 'embeddings']

/** The object with one field set; `provider.only` is set within. */
function withField(body: JsonObject, path: string, value: unknown): JsonObject {
  const [first, ...rest] = path.split('.')
  const inner = (body[first] ?? {}) as JsonObject
  return { ...body, [first]: rest.length === 0 ? (value as JsonObject) : withField(inner, rest.join('.'), value) }
}

const many = (count: number, entry: unknown): unknown[] => Array.from({ length: count }, () => entry)

/** Field, bound, entry, and the client formats that have it. */
const LISTS: readonly (readonly [field: string, most: number, entry: unknown, clients: readonly Client[]])[] = [
  ['models', 64, 'acme/one', ALL],
  ['provider.order', 64, 'first', ALL],
  ['provider.only', 64, 'first', ALL],
  ['provider.ignore', 64, 'second', ALL],
  ['provider.quantizations', 64, 'unknown', ALL],
  ['plugins', 64, { id: 'response-healing', enabled: false }, GENERATIONS],
  ['stop_server_tools_when', 64, { type: 'step_count_is', step_count: 3 }, GENERATIONS],
  ['modalities', 64, 'text', GENERATIONS],
  ['messages', 32_768, UTTERANCES, ['chat', 'messages']],
  ['input', 32_768, UTTERANCES, ['responses']],
  ['tools', 4_096, { type: 'function', name: 'look', function: { name: 'look' } }, ['chat', 'responses']],
  ['tools', 4_096, { name: 'look', input_schema: {} }, ['messages']],
  ['tool_choice.tools', 256, { type: 'function', name: 'look' }, ['responses']],
  ['tool_choice.allowed_tools.tools', 256, { type: 'function', function: { name: 'look' } }, ['chat']],
  ['include', 64, 'reasoning.encrypted_content', ['responses']],
  ['stop', 64, 'end', ['chat']],
  ['stop_sequences', 64, 'end', ['messages']],
  ['system', 8_192, { type: 'text', text: 'Be brief.' }, ['messages']],
  ['context_management.edits', 64, { type: 'clear_tool_uses_20250919' }, ['messages']],
  ['fallbacks', 3, { model: 'acme/one' }, ['messages']],
  ['mcp_servers', 64, { type: 'url', name: 'one', url: 'https://mcp.example' }, ['messages']],
  ['betas', 64, 'one-2025-01-01', ['messages']],
  ['input', 8_192, 'Hello', ['embeddings']],
]

t.test('a list with one entry more than it may have is a 400 that names it', async (t) => {
  const { gateway, upstream } = await startScene(t)
  await every(t, 'every case', async (t) => {
    for (const [field, most, entry, clients] of LISTS)
      for (const client of clients) {
        const base = field.startsWith('tool_choice')
          ? { ...BODIES[client], tool_choice: { type: 'allowed_tools', mode: 'auto' } }
          : BODIES[client]
        const reply = await gateway.post(PATHS[client], withField(base, field, many(most + 1, entry)))
        t.equal(reply.status, 400, `${client}: ${field}`)
        t.match(await reply.text(), `${field}: must have at most ${most} items`)
      }
  })
  t.equal(upstream.requests.length, 0, 'no provider is called')
})

t.test('parts of a message, of a tool result and biases are bounded as well', async (t) => {
  const { gateway } = await startScene(t)
  const text = { type: 'text', text: 'a' }
  const parts = many(8_193, text)
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: parts }] }
  const biases = Object.fromEntries(Array.from({ length: 4_097 }, (_, token) => [token, 1]))
  await every(t, 'every case', async (t) => {
    for (const [client, more, expected] of [
      ['chat', { messages: [{ role: 'user', content: parts }] }, 'messages[0].content'],
      ['messages', { messages: [{ role: 'user', content: parts }] }, 'messages[0].content'],
      ['messages', { messages: [result] }, 'messages[0].content[0].content'],
      ['responses', { input: [{ role: 'user', content: many(8_193, { type: 'input_text', text: 'a' }) }] }, 'input[0].content'],
      ['chat', { logit_bias: biases }, 'logit_bias'],
    ] as const) {
      const reply = await gateway.post(PATHS[client], { ...BODIES[client], ...more })
      t.equal(reply.status, 400, `${client}: ${expected}`)
      t.match(await reply.text(), `${expected}: must have at most`)
    }
  })
})

/** An object in JSON of so many names of its own. */
const wide = (members: number, prefix = 'n'): string => `{${Array.from({ length: members }, (_, i) => `"${prefix}${i}":0`).join(',')}}`

t.test('members of objects and elements of lists are bounded before the body is parsed', async (t) => {
  const { gateway, upstream } = await startScene(t)
  const base = JSON.stringify(BODIES.chat).slice(0, -1)
  const objects = Array.from({ length: 32 }, (_, i) => wide(16_000, `${i}_`))
  await every(t, 'every case', async (t) => {
    for (const [text, expected] of [
      [`${base},"metadata":${wide(16_385)}}`, 'at most 16384 members in each object'],
      [`${base},"logit_bias":${wide(20_000, '')}}`, 'at most 16384 members in each object'],
      [`${base},${wide(16_385).slice(1)}`, 'at most 16384 members in each object'],
      [`${base},"x":[{},${wide(16_385)},{}]}`, 'at most 16384 members in each object'],
      [`${base},"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":${wide(20_000)}}}}]}`, 'in each object'],
      [`${base},"x":[${objects.join(',')}]}`, 'at most 500000 members of objects'],
      [`${base},"x":[${'1,'.repeat(4_000_001)}1]}`, 'at most 4000000 members and elements'],
    ] as const) {
      const reply = await gateway.post(PATHS.chat, text)
      t.equal(reply.status, 400, expected)
      t.match(await reply.json(), { error: { message: new RegExp(`^body: expected .*${expected}$`) } })
    }
  })
  t.equal(upstream.requests.length, 0, 'no provider is called')
  const reply = await gateway.post(PATHS.chat, `${base},"x":${wide(16_384)},"y":${wide(16_384)}}`)
  t.equal(reply.status, 200, 'as many as there may be')
})

t.test('an error shows no more of a long name than tells it apart', async (t) => {
  const { gateway } = await startScene(t)
  const reply = await gateway.post(PATHS.chat, { ...BODIES.chat, metadata: { ['n'.repeat(100_000)]: 1 } })
  t.equal(reply.status, 400)
  const text = await reply.text()
  t.match(text, /metadata\.n{100}…/)
  t.ok(text.length < 1_000)
})

t.test('arguments of a call that hold too much stay the text that they are', async (t) => {
  const { gateway, upstream } = await startScene(t, { dialect: 'anthropic' })
  const calls = (args: string) => [{ id: 'a', type: 'function', function: { name: 'look', arguments: args } }]
  await every(t, 'every case', async (t) => {
    for (const [args, input] of [
      ['{"a":1}', { a: 1 }],
      [wide(16_385), { INVALID_JSON: wide(16_385) }],
    ] as const) {
      const messages = [
        UTTERANCES,
        { role: 'assistant', content: null, tool_calls: calls(args) },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ]
      t.equal((await gateway.post(PATHS.chat, { ...BODIES.chat, messages })).status, 200)
      const sent = upstream.requests.at(-1)?.json.messages as { content: JsonObject[] }[]
      t.match(sent[1].content[0], { type: 'tool_use', input })
    }
  })
})

t.test('a list of as many entries as it may have is served', async (t) => {
  const { gateway } = await startScene(t)
  const provider = { order: many(64, 'first'), only: many(64, 'first'), ignore: many(64, 'second') }
  const body = { ...BODIES.chat, models: many(64, 'acme/one'), provider, messages: many(2_000, UTTERANCES) }
  t.equal((await gateway.post(PATHS.chat, body)).status, 200)
})

const TOO_LARGE = [1e300, 2 ** 53, 2 ** 31]
const COUNTS: readonly (readonly [field: string, clients: readonly Client[]])[] = [
  ['max_tokens', ['chat', 'messages']],
  ['max_completion_tokens', ['chat']],
  ['max_output_tokens', ['responses']],
  ['reasoning.max_tokens', ['chat', 'responses']],
  ['thinking.budget_tokens', ['messages']],
  ['output_config.task_budget.total', ['messages']],
  ['max_tool_calls', GENERATIONS],
  ['top_k', GENERATIONS],
  ['top_logprobs', ['chat', 'responses']],
  ['n', ['chat']],
  ['dimensions', ['embeddings']],
]
const AMOUNTS: readonly (readonly [field: string, clients: readonly Client[]])[] = [
  ['temperature', GENERATIONS],
  ['top_p', GENERATIONS],
  ['min_p', ['chat']],
  ['frequency_penalty', ['chat', 'responses']],
  ['presence_penalty', ['chat', 'responses']],
  ['repetition_penalty', ['chat']],
  ['provider.max_price.prompt', ALL],
  ['provider.preferred_max_latency', ALL],
  ['provider.preferred_min_throughput', ALL],
]

/** Numbers beside others that are needed. */
const BESIDE: Readonly<Record<string, JsonObject>> = {
  'thinking.budget_tokens': { thinking: { type: 'enabled' } },
  'output_config.task_budget.total': { output_config: { task_budget: { type: 'tokens' } } },
}

t.test('a number beyond the safe range is a 400 that names the field', async (t) => {
  const { gateway, upstream } = await startScene(t)
  const cases = [
    ...COUNTS.map(([field, clients]) => ({ field, clients, values: TOO_LARGE })),
    ...AMOUNTS.map(([field, clients]) => ({ field, clients, values: [1e300] })),
    { field: 'seed', clients: ['chat'] as const, values: [1e300, 2 ** 53, -(2 ** 53)] },
  ]
  await every(t, 'every case', async (t) => {
    for (const { field, clients, values } of cases)
      for (const client of clients)
        for (const value of values) {
          const reply = await gateway.post(PATHS[client], withField({ ...BODIES[client], ...BESIDE[field] }, field, value))
          t.equal(reply.status, 400, `${client}: ${field} ${value}`)
          t.match(await reply.text(), field)
        }
  })
  await every(t, 'every condition', async (t) => {
    for (const condition of [
      { type: 'step_count_is', step_count: 1e300 },
      { type: 'max_tokens_used', max_tokens: 1e300 },
      { type: 'max_cost', max_cost_in_dollars: 1e300 },
    ]) {
      const reply = await gateway.post(PATHS.chat, { ...BODIES.chat, stop_server_tools_when: [condition] })
      t.equal(reply.status, 400, condition.type)
    }
  })
  t.equal(upstream.requests.length, 0, 'no provider is called')
})

/** Caps and sampling that a format does not name, which providers of its wire may read all the same. */
const FOREIGN: readonly (readonly [field: string, clients: readonly Client[]])[] = [
  ['seed', ['responses', 'messages', 'embeddings']],
  ['n', ['responses', 'messages']],
  ['max_tokens', ['responses', 'embeddings']],
  ['max_completion_tokens', ['responses', 'messages']],
  ['max_output_tokens', ['chat', 'messages']],
  ['thinking.budget_tokens', ['chat', 'responses']],
  ...['max_new_tokens', 'min_tokens', 'best_of', 'truncate_prompt_tokens', 'prompt_logprobs', 'some_cap_of_tomorrow'].map(
    (field) => [field, ALL] as const,
  ),
  ['chat_template_kwargs.thinking_budget', ALL],
  ['context_management', ['responses']],
  ['context_management.edits', ['messages']],
  ['options.num_predict', ['chat']],
  ['tools', GENERATIONS],
]

/** Numbers in a list. */
const LISTED: Readonly<Record<string, (value: number, client: Client) => unknown>> = {
  context_management: (value) => [{ type: 'compaction', compact_threshold: value }],
  'context_management.edits': (value) => [{ type: 'clear_tool_uses_20250919', trigger: { type: 'input_tokens', value } }],
  tools: (value, client) => [{ type: client === 'messages' ? 'web_search_20250305' : 'web_search', name: 'web_search', max_uses: value }],
}

t.test('a number beyond the safe range is a 400 in fields that the format does not name, too', async (t) => {
  const { gateway, upstream } = await startScene(t)
  await every(t, 'every case', async (t) => {
    for (const [field, clients] of FOREIGN)
      for (const client of clients)
        for (const value of [1e300, -1e300, 2 ** 53, -(2 ** 53)]) {
          const reply = await gateway.post(PATHS[client], withField(BODIES[client], field, LISTED[field]?.(value, client) ?? value))
          t.equal(reply.status, 400, `${client}: ${field} ${value}`)
          const { error } = (await reply.json()) as { error: { message: string } }
          t.match(error.message, /^[\w.[\]]+: expected a number within the safe range/, `${client}: ${field} ${value}`)
          t.ok(error.message.startsWith(field), error.message)
        }
  })
  t.equal(upstream.requests.length, 0, 'no provider is called')
  await every(t, 'every value', async (t) => {
    for (const value of [Number.MAX_SAFE_INTEGER, -1, 0.5, null, '1e300']) {
      const reply = await gateway.post(PATHS.chat, { ...BODIES.chat, max_new_tokens: value })
      t.equal(reply.status, 200, `${value}`)
      t.equal(upstream.requests.at(-1)?.json.max_new_tokens, value)
    }
  })
})

const LONG = '1'.padEnd(310, '0')

t.test('a number that parses to infinity is a 400 wherever it stands, and other large ones arrive', async (t) => {
  const { gateway, upstream } = await startScene(t)
  const schema = { type: 'object', properties: { a: { type: 'integer', maximum: 'HERE' } } }
  const places: readonly (readonly [JsonObject, string])[] = [
    [{ max_tokens: 'HERE' }, 'max_tokens'],
    [{ any: { where: [1, { deep: 'HERE' }] } }, 'any.where[1].deep'],
    [{ messages: [{ ...UTTERANCES, extra: ['HERE'] }] }, 'messages[0].extra[0]'],
    [{ tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] }, 'tools[0].function.parameters.properties.a.maximum'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [more, path] of places)
      for (const number of ['1e400', '-1e400', '1E+309', '1.5e999', LONG, `-${LONG}.5`]) {
        const text = JSON.stringify({ ...BODIES.chat, ...more }).replace('"HERE"', number)
        const reply = await gateway.post(PATHS.chat, text)
        t.equal(reply.status, 400, `${path} ${number.slice(0, 10)}`)
        t.match(await reply.text(), `"${path}: expected a number below 1.8e308"`)
      }
  })
  t.equal(upstream.requests.length, 0, 'no provider is called')
  const [, , , [bounded]] = places
  await every(t, 'every case', async (t) => {
    for (const [number, value] of [
      ['9223372036854775807', 2 ** 63],
      ['1e300', 1e300],
      ['1e-400', 0],
      [`0.${LONG}`, 0.1],
    ] as const) {
      const reply = await gateway.post(PATHS.chat, JSON.stringify({ ...BODIES.chat, ...bounded }).replace('"HERE"', number))
      t.equal(reply.status, 200, number.slice(0, 20))
      const [tool] = (upstream.requests.at(-1) as Seen).json.tools as { function: { parameters: typeof schema } }[]
      t.equal(tool.function.parameters.properties.a.maximum, value, 'bounds of a schema are the caller’s')
    }
  })
  const quoted = { ...BODIES.chat, messages: [{ role: 'user', content: '1e400 and "2e400"' }] }
  t.equal((await gateway.post(PATHS.chat, quoted)).status, 200, 'in a text it is no number')
})

t.test('an error never names the end of the exact whole numbers as a bound of a field', async (t) => {
  const { gateway } = await startScene(t)
  await every(t, 'every case', async (t) => {
    for (const [tool, field] of [
      ['web_search', 'max_uses'],
      ['web_search', 'max_total_results'],
      ['web_fetch', 'max_uses'],
      ['web_fetch', 'max_content_tokens'],
    ])
      for (const value of [0, -1, 1.5, 1e300, 'many']) {
        const tools = [{ type: `router:${tool}`, parameters: { [field]: value } }]
        const text = await (await gateway.post(PATHS.chat, { ...BODIES.chat, tools })).text()
        t.match(text, `tools[0].parameters.${field}: expected a whole number of at least 1`, `${tool} ${field} ${value}`)
      }
  })
})

t.test('the largest numbers that clients send are served', async (t) => {
  const { gateway } = await startScene(t)
  t.equal((await gateway.post(PATHS.chat, { ...BODIES.chat, seed: Number.MAX_SAFE_INTEGER, top_k: 2 ** 31 - 1 })).status, 200)
})
