/** Input that providers add themselves: a key with a limit is never billed beyond it, and what is refused says which part it was. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { buildPdf } from '../../support/documents.ts'
import { KEY } from '../../support/gateway.ts'
import { type Client, PATHS } from '../../support/providers.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { answerFor } from '../../support/wire.ts'

const OPEN_KEY = 'sk-router-v1-abcdef0123456789abcdef'
/** Usage that the provider reports for each request, at one dollar a million. */
const REPORTED = 900_000

const config =
  (limit: string) =>
  (url: string): string =>
    `
auth: { keys: [ { name: app, key: "${KEY}", limit: "${limit}", provider_ids: [ "*" ] }, { name: open, key: "${OPEN_KEY}", provider_ids: [ "*" ] } ] }
providers:
  messages: { dialect: anthropic, base_url: "${url}/v1", key: k, quirks: { threads: true } }
  responses: { dialect: openai-responses, base_url: "${url}/v1", key: k }
  chat: { dialect: openai-chat, base_url: "${url}/v1", key: k }
  gemini: { dialect: gemini, base_url: "${url}/v1beta", key: k }
models:
${['messages', 'responses', 'chat', 'gemini']
  .map(
    (name) => `  acme/${name}:
    context: 1000000
    max_output: 4096
    input: [text, image, file]
    endpoints: [ { provider: ${name}, model: up, price: { prompt: "1.00", completion: "1.00", web_search: "0.00" } } ]`,
  )
  .join('\n')}
`

async function place(t: Test, limit: string, input = REPORTED): Promise<Scene> {
  return await startScene(t, {
    answer: (seen) => answerFor(seen, { text: ['fine'], usage: { input, output: 5 } }),
    config: config(limit),
  })
}

/** Sends a request so often; the provider answers none before all others are refused. */
async function atOnce(
  t: Test,
  count: number,
  config: (url: string) => string,
  body: JsonObject,
): Promise<{ statuses: number[]; scene: Scene }> {
  const { promise: all, resolve } = Promise.withResolvers<void>()
  let come = 0
  const one = (): void => {
    if (++come === count) resolve()
  }
  const scene = await startScene(t, {
    answer: async (seen) => {
      one()
      await all
      return answerFor(seen, { text: ['fine'], usage: { input: REPORTED, output: 5 } })
    },
    config,
  })
  const ask = async (): Promise<number> => {
    const reply = await scene.gateway.post(PATHS.messages, body)
    if (reply.status !== 200) one()
    await reply.text()
    return reply.status
  }
  const statuses = await Promise.all(Array.from({ length: count }, ask))
  return { statuses: statuses.sort(), scene }
}

const TEXT = { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }
const file = (source: JsonObject): JsonObject => ({
  ...TEXT,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'document', source },
        { type: 'text', text: 'Sum it up' },
      ],
    },
  ],
})

/** Inputs of a request that its body does not hold, by the client format and the provider's. */
const OUTSIDE: readonly [name: string, client: Client, model: string, body: JsonObject][] = [
  ['a thread', 'messages', 'messages', { ...TEXT, thread: { type: 'continue', thread_id: 'thread_01AbCdEf' } }],
  ['MCP servers', 'messages', 'messages', { ...TEXT, mcp_servers: [{ type: 'url', name: 'm', url: 'https://mcp.example.com/mcp' }] }],
  ['fetched pages', 'messages', 'messages', { ...TEXT, tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }],
  ['searches', 'messages', 'messages', { ...TEXT, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ['a tool that no table knows', 'messages', 'messages', { ...TEXT, tools: [{ type: 'archive_20270101', name: 'archive' }] }],
  ['programs', 'responses', 'responses', { input: 'Hi', max_output_tokens: 99, tools: [{ type: 'programmatic_tool_calling' }] }],
  ['code', 'messages', 'messages', { ...TEXT, tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }],
  ['skills', 'messages', 'messages', { ...TEXT, container: { skills: [{ type: 'anthropic', skill_id: 'pptx', version: 'latest' }] } }],
  [
    'a tool that the conversation adds',
    'messages',
    'messages',
    {
      ...TEXT,
      messages: [
        ...TEXT.messages,
        {
          role: 'system',
          content: [
            {
              type: 'tool_addition',
              tool: { type: 'tool_definition', definition: { type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 1 } },
            },
          ],
        },
      ],
    },
  ],
  [
    'a server in the result of a search for tools',
    'responses',
    'responses',
    {
      input: [
        {
          type: 'tool_search_output',
          call_id: 'c',
          status: 'completed',
          execution: 'client',
          tools: [{ type: 'mcp', server_label: 'm', server_url: 'https://m.example/' }],
        },
        { role: 'user', content: 'x' },
      ],
      max_output_tokens: 99,
    },
  ],
  ['a container', 'messages', 'messages', { ...TEXT, container: 'container_011CPR5CNjB747bTd36fQLFk' }],
  ['a document by its address', 'messages', 'messages', file({ type: 'url', url: 'https://example.com/a.pdf' })],
  ['an unknown field with an id', 'messages', 'messages', { ...TEXT, workspace: { memory_id: 'mem_01AbCdEf' } }],
  [
    'an unknown field with an address',
    'chat',
    'chat',
    { messages: TEXT.messages, max_tokens: 9, grounding: { from: 'https://x.example/' } },
  ],
  [
    'hosted MCP',
    'responses',
    'responses',
    { input: 'Hi', max_output_tokens: 99, tools: [{ type: 'mcp', server_label: 'm', server_url: 'https://mcp.example.com/mcp' }] },
  ],
  [
    'a connector',
    'responses',
    'responses',
    {
      input: 'Hi',
      max_output_tokens: 99,
      tools: [{ type: 'mcp', server_label: 'm', connector_id: 'connector_gmail', authorization: 'x' }],
    },
  ],
  ['searches of the Responses API', 'responses', 'responses', { input: 'Hi', max_output_tokens: 99, tools: [{ type: 'web_search' }] }],
  ['cached content', 'chat', 'gemini', { messages: TEXT.messages, max_tokens: 99, cached_content: 'cachedContents/abc123' }],
  [
    'cached content beside',
    'chat',
    'gemini',
    { messages: TEXT.messages, max_tokens: 99, extra_body: { google: { cached_content: 'cachedContents/abc123' } } },
  ],
  ['live search', 'chat', 'chat', { messages: TEXT.messages, max_tokens: 99, search_parameters: { mode: 'on', max_search_results: 60 } }],
]

t.test('ten at once never cost more than the limit of the key', async (t) => {
  const { gateway, upstream } = await place(t, '0.05')
  for (const [name, client, model, body] of OUTSIDE) {
    const billedNow = (): number => upstream.requests.filter(({ path }) => !path.includes('countTokens')).length
    const before = billedNow()
    const asked = Array.from({ length: 10 }, () => gateway.post(PATHS[client], { ...body, model: `acme/${model}` }))
    const replies = await Promise.all(asked.map(async (reply) => ({ status: (await reply).status, body: await (await reply).json() })))
    const billed = (billedNow() - before) * REPORTED * 1e-6
    t.ok(billed <= 0.05, `${name}: the provider bills $${billed}`)
    t.ok(
      replies.every(({ status }) => status === 402),
      name,
    )
  }
  const { data } = (await (await gateway.get('/v1/key')).json()) as { data: { usage: number } }
  t.equal(data.usage, 0)
})

t.test('the refusal names the part and what would help', async (t) => {
  const { gateway } = await place(t, '0.05')
  const ask = async (more: JsonObject): Promise<JsonObject> =>
    ((await (await gateway.post(PATHS.messages, { ...TEXT, model: 'acme/messages', ...more })).json()) as { error: JsonObject }).error
  const fetching = await ask({ tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] })
  t.match(fetching.message, /tools: web_fetch_20250910 \(set max_uses and max_content_tokens lower\)/)
  const server = await ask({ mcp_servers: [{ type: 'url', name: 'm', url: 'https://mcp.example.com/mcp' }] })
  t.match(server.message, /mcp_servers/)
  const capped = await gateway.post(PATHS.messages, {
    ...TEXT,
    model: 'acme/messages',
    tools: [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 2, max_content_tokens: 10_000 }],
  })
  t.equal(capped.status, 200, 'with the caps that the message names it is served')
})

t.test('tools are sent with the caps that are held, under a limit alone', async (t) => {
  const { gateway, upstream } = await place(t, '50.00')
  const tools = [
    { type: 'web_fetch_20250910', name: 'web_fetch' },
    { type: 'web_search_20250305', name: 'web_search' },
  ]
  const sent = async (headers?: Record<string, string>): Promise<unknown> => {
    const reply = await gateway.post(PATHS.messages, { ...TEXT, model: 'acme/messages', tools }, headers)
    t.equal(reply.status, 200)
    return upstream.requests.at(-1)?.json.tools
  }
  t.match(await sent(), [{ max_uses: 5, max_content_tokens: 20_000 }, { max_uses: 10 }])
  t.strictSame(await sent({ authorization: `Bearer ${OPEN_KEY}` }), tools, 'a key without a limit sends what its caller sent')
})

t.test('calls of tools of the Responses API are sent with the bound that is held, under a limit alone', async (t) => {
  const { gateway, upstream } = await place(t, '50.00', 10)
  const sent = async (body: JsonObject, headers?: Record<string, string>): Promise<unknown> => {
    const reply = await gateway.post(PATHS.responses, { input: 'Hi', max_output_tokens: 99, model: 'acme/responses', ...body }, headers)
    t.equal(reply.status, 200, await reply.text())
    return upstream.requests.at(-1)?.json.max_tool_calls
  }
  const searching = { tools: [{ type: 'web_search' }, { type: 'function', name: 'f', parameters: {} }] }
  t.equal(await sent(searching), 10)
  t.equal(await sent({ ...searching, max_tool_calls: 3 }), 3, "the caller's own")
  t.equal(await sent({ tools: [{ type: 'mcp', server_label: 'm', server_url: 'https://mcp.example.com/mcp' }] }), undefined)
  t.equal(await sent({ tools: [{ type: 'function', name: 'f', parameters: {} }] }), undefined)
  t.equal(await sent({ ...searching, max_tool_calls: 1_000 }), 1_000)
  const poor = await place(t, '0.50', 10)
  const many = { input: 'Hi', max_output_tokens: 99, model: 'acme/responses', ...searching, max_tool_calls: 1_000 }
  t.equal((await poor.gateway.post(PATHS.responses, many)).status, 402, 'so many searches are held for')
  t.equal((await poor.gateway.post(PATHS.responses, { ...many, max_tool_calls: 10 })).status, 200)
  t.equal(await sent(searching, { authorization: `Bearer ${OPEN_KEY}` }), undefined)
})

t.test('a key without a limit is served as before', async (t) => {
  const { gateway } = await place(t, '0.05')
  for (const [name, client, model, body] of OUTSIDE) {
    const reply = await gateway.post(PATHS[client], { ...body, model: `acme/${model}` }, { authorization: `Bearer ${OPEN_KEY}` })
    t.equal(reply.status, 200, name)
    await reply.text()
  }
})

t.test('a PDF is held for by its pages', async (t) => {
  const { gateway } = await place(t, '0.30')
  const ask = async (pages: number): Promise<number> => {
    const data = buildPdf(
      Array.from({ length: pages }, () => 'x'),
      { packed: true },
    ).toString('base64')
    const body = { ...file({ type: 'base64', media_type: 'application/pdf', data }), model: 'acme/messages' }
    const reply = await gateway.post(PATHS.messages, body)
    await reply.text()
    return reply.status
  }
  t.equal(await ask(200), 402, '200 pages of 5,000 tokens do not fit')
  t.equal(await ask(2), 200)
})

t.test('runs one request at a time where the credit does not pay for a whole context', async (t) => {
  // The whole context costs $1.00, of which $0.50 is there.
  const { gateway, upstream } = await place(t, '0.50')
  const body = { ...TEXT, model: 'acme/messages', mcp_servers: [{ type: 'url', name: 'm', url: 'https://mcp.example.com/mcp' }] }
  const replies = await Promise.all(Array.from({ length: 10 }, () => gateway.post(PATHS.messages, body)))
  t.strictSame(replies.map(({ status }) => status).sort(), [200, ...Array(9).fill(402)])
  t.equal(upstream.requests.length, 1)
})

t.test('PDFs that the provider fetches pass its cap on their tokens: no two such requests spend the same credit', async (t) => {
  const tools = [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 2, max_content_tokens: 3_000 }]
  const { statuses } = await atOnce(t, 10, config('2.50'), { ...TEXT, model: 'acme/messages', tools })
  // The whole context costs $1.00: two of it fit, and a third one takes all that is left.
  t.strictSame(statuses, [200, 200, 200, ...Array(7).fill(402)])
})

t.test('tools that callers run add nothing', async (t) => {
  const { gateway } = await place(t, '0.01', 10)
  for (const tool of [
    { type: 'bash_20250124', name: 'bash' },
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
    { type: 'memory_20250818', name: 'memory' },
    { type: 'browser_toolset_20260801' },
    { type: 'computer_toolset_20260801' },
  ]) {
    const reply = await gateway.post(PATHS.messages, { ...TEXT, model: 'acme/messages', tools: [tool] })
    t.equal(reply.status, 200, `${tool.type}: ${await reply.text()}`)
  }
})

t.test("the operator's bound of what a provider runs: more at once, and what is billed beyond is in the ledger", async (t) => {
  const limit = 1
  const body = { ...TEXT, model: 'acme/messages', mcp_servers: [{ type: 'url', name: 'm', url: 'https://mcp.example.com/mcp' }] }
  const bounded = (url: string): string => `provider_tool_tokens: 100000\n${config(String(limit))(url)}`
  const {
    statuses,
    scene: { rows },
  } = await atOnce(t, 12, bounded, body)
  const served = statuses.filter((status) => status === 200).length
  t.equal(served, 9, 'each keeps $0.10 beside its hold')
  const sums = rows().reduce(
    (sum, { settled }) => {
      const { unrecovered_nano: unrecovered } = JSON.parse(settled?.facts || '{}') as { unrecovered_nano?: number }
      return { charged: sum.charged + (settled?.cost ?? 0), beyond: sum.beyond + (unrecovered ?? 0) }
    },
    { charged: 0, beyond: 0 },
  )
  t.ok(sums.charged <= limit * 1e9, `charged ${sums.charged}`)
  t.equal(sums.charged + sums.beyond, served * (REPORTED + 5) * 1000, 'to the nano-dollar')
})

t.test('fields that name nothing outside are served from the last cent', async (t) => {
  const { gateway } = await place(t, '0.01', 10)
  const harmless: [Client, string, JsonObject][] = [
    ['messages', 'messages', { ...TEXT, metadata: { user_id: 'user_01' }, diagnostics: { previous_message_id: 'gen-1' } }],
    ['messages', 'messages', { ...TEXT, container: { skills: [] }, thread: { type: 'create' } }],
    ['chat', 'chat', { messages: TEXT.messages, max_tokens: 9, guided_json: { $schema: 'http://json-schema.org/x' }, top_a: 1 }],
    ['chat', 'chat', { messages: TEXT.messages, max_tokens: 9, chat_template_kwargs: { enable_thinking: false }, request_id: 'r1' }],
    ['responses', 'responses', { input: 'Hi', max_output_tokens: 99, client_metadata: { installation_id: 'i' }, prompt_cache_key: 'k' }],
  ]
  for (const [client, model, body] of harmless) {
    const reply = await gateway.post(PATHS[client], { ...body, model: `acme/${model}` })
    t.not(reply.status, 402, JSON.stringify(body))
    await reply.text()
  }
})
