/**
 * Requests as Claude Code 2.1.330 and Codex 0.169.0 sent them in a task of four tool calls (`test/fixtures/agent-requests.json`: each text
 * of more than 40 characters is stated by its length). A key with $5 left serves each of them, and what it holds and keeps free for one is
 * at most twice what the body and the output cap alone are held at.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { usd } from '../../src/core/money.ts'
import { KEY } from '../support/gateway.ts'
import { type Client, PATHS } from '../support/providers.ts'
import { startScene } from '../support/scene.ts'
import { says } from '../support/wire.ts'

interface AgentRequest {
  readonly client: Client
  readonly headers: Record<string, string>
  readonly body: JsonObject
}

const LIMIT = 5
const requests = JSON.parse(readFileSync(new URL('../fixtures/agent-requests.json', import.meta.url), 'utf8')) as Record<
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

for (const [name, { client, headers, body }] of Object.entries(requests))
  for (const provider of Object.values(PROVIDERS))
    t.test(`${name}, at ${provider}`, async (t) => {
      let free = 0
      const scene = await startScene(t, {
        config: (url) => `
auth: { keys: [ { name: agent, key: "${KEY}", limit: "${LIMIT}" } ] }
providers: { up: { dialect: ${provider}, base_url: "${url}/v1", key: k } }
models:
  acme/one:
    context: 1000000
    max_output: 128000
    endpoints: [ { provider: up, model: up, price: { prompt: "3.00", completion: "15.00", cache_write: "3.75", web_search: "0.01" } } ]
`,
        answer: async (seen, index) => {
          const { data } = (await (await scene.gateway.get('/v1/key')).json()) as { data: { limit_remaining: number } }
          free = data.limit_remaining
          return says({ text: ['Fine.'] })(seen, index)
        },
      })
      const request = written(body) as JsonObject
      const reply = await scene.gateway.post(PATHS[client], { ...request, model: 'acme/one' }, headers)
      t.equal(reply.status, 200, await reply.text())
      const [row] = scene.rows()
      const hold = usd(row?.hold.hold ?? 0)
      const taken = LIMIT - free
      t.ok(hold > 0 && taken <= 2 * hold, `$${taken} of $${hold}`)
      t.comment(`hold $${hold.toFixed(4)}, kept free beside it $${(taken - hold).toFixed(4)}`)
    })
