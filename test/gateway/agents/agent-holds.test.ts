/**
 * Requests as Claude Code 2.1.330 and Codex 0.169.0 sent them in a task of four tool calls (`test/fixtures/agent-requests.json`: each text
 * of more than 40 characters is stated by its length). A key with $5 left serves each of them, and what it holds and keeps free for one is
 * at most twice what the body and the output cap alone are held at.
 */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { asObjects, isObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { usd } from '../../../src/core/money.ts'
import { KEY } from '../../support/gateway.ts'
import { type Client, PATHS } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'
import { says } from '../../support/wire.ts'

interface AgentRequest {
  readonly client: Client
  readonly headers: Record<string, string>
  readonly body: JsonObject
}

const LIMIT = 5
const requests = JSON.parse(readFileSync(new URL('../../fixtures/agent-requests.json', import.meta.url), 'utf8')) as Record<
  string,
  AgentRequest
>

function written(value: Json): Json {
  if (Array.isArray(value)) return value.map(written)
  if (!isObject(value)) return value
  const { characters } = value
  if (typeof characters === 'number') return 'word '.repeat(Math.ceil(characters / 5)).slice(0, characters)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, written(member ?? null)]))
}

const PROVIDERS: Readonly<Partial<Record<Client, string>>> = { messages: 'anthropic', responses: 'openai-responses', chat: 'openai-chat' }

const CONTEXT = 1_000_000

interface Taken {
  readonly status: number
  readonly hold: number
  /** Of the limit, while the request ran. */
  readonly taken: number
}

async function send(t: Test, { client, headers, body }: AgentRequest, provider: string, setting = ''): Promise<Taken> {
  let free = LIMIT
  const scene = await startScene(t, {
    config: (url) => `
${setting}
auth: { keys: [ { name: agent, key: "${KEY}", limit: "${LIMIT}" } ] }
providers: { up: { dialect: ${provider}, base_url: "${url}/v1", key: k } }
models:
  acme/one:
    context: ${CONTEXT}
    max_output: 128000
    endpoints: [ { provider: up, model: up, price: { prompt: "3.00", completion: "15.00", cache_write: "3.75", web_search: "0.01" } } ]
`,
    answer: async (seen, index) => {
      const { data } = (await (await scene.gateway.get('/v1/key')).json()) as { data: { limit_remaining: number } }
      free = data.limit_remaining
      return says({ text: ['Fine.'] })(seen, index)
    },
  })
  const reply = await scene.gateway.post(PATHS[client], { ...(written(body) as JsonObject), model: 'acme/one' }, headers)
  await reply.text()
  const hold = usd(scene.rows()[0]?.hold.hold ?? 0)
  t.comment(`hold $${hold.toFixed(4)}, kept free beside it $${(LIMIT - free - hold).toFixed(4)}`)
  return { status: reply.status, hold, taken: LIMIT - free }
}

for (const [name, request] of Object.entries(requests))
  for (const provider of Object.values(PROVIDERS))
    t.test(`${name}, at ${provider}`, async (t) => {
      const { status, hold, taken } = await send(t, request, provider)
      t.equal(status, 200)
      t.ok(hold > 0 && taken <= 2 * hold, `$${taken} of $${hold}`)
    })

/** The same requests with what an SDK adds to have the provider run tools whose results nothing caps. */
const RUN_BY_PROVIDERS: readonly { readonly client: Client; readonly what: string; readonly add: (body: JsonObject) => JsonObject }[] = [
  {
    client: 'messages',
    what: 'an MCP server',
    add: (body) => ({ ...body, mcp_servers: [{ type: 'url', name: 'deepwiki', url: 'https://mcp.deepwiki.com/mcp' }] }),
  },
  {
    client: 'messages',
    what: 'code execution',
    add: (body) => ({ ...body, tools: [...asObjects(body.tools), { type: 'code_execution_20260120', name: 'code_execution' }] }),
  },
  {
    client: 'responses',
    what: 'an MCP server',
    add: (body) => ({
      ...body,
      tools: [
        ...asObjects(body.tools),
        { type: 'mcp', server_label: 'deepwiki', server_url: 'https://mcp.deepwiki.com/mcp', require_approval: 'never' },
      ],
    }),
  },
]

for (const { client, what, add } of RUN_BY_PROVIDERS)
  for (const [name, request] of Object.entries(requests).filter(([, each]) => each.client === client)) {
    const provider = PROVIDERS[client] ?? ''
    t.test(`${name} with ${what}: all that is left is kept free, or what the operator's bound costs`, async (t) => {
      const body = add(request.body)
      const strict = await send(t, { ...request, body }, provider)
      t.equal(strict.status, 200, 'one at a time is served')
      t.ok(strict.taken > LIMIT - 0.01, `all of the limit: $${strict.taken}`)
      const bounded = await send(t, { ...request, body }, provider, 'provider_tool_tokens: 50000')
      t.equal(bounded.status, 200)
      t.equal(bounded.hold, strict.hold, 'the hold is the same')
      t.ok(bounded.taken > bounded.hold && bounded.taken <= 2 * bounded.hold, `$${bounded.taken} of $${bounded.hold}`)
    })
  }
