/**
 * Demands of Claude Code's gateway protocol on a gateway (code.claude.com/docs/en/llm-gateway-protocol, read in November 2026), as
 * `docs/agents/claude-code.md`, "Protocol", lists it; and the options of Codex's providers that change a request.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'

const { gateway, upstream } = await startScene(t, {
  config: (url) => `
providers:
  claude: { dialect: anthropic, base_url: "${url}", key: sk-provider }
  full: { dialect: openai-responses, base_url: "${url}/v1", key: sk-provider }
models:
  anthropic/claude-opus-5-5: { name: Claude Opus, endpoints: [ { provider: claude, model: claude-opus-5-5, price: free } ] }
  acme/other: { endpoints: [ { provider: full, model: other, price: free } ] }
`,
})

const SYSTEM = [
  { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.330.abc; cc_entrypoint=cli;' },
  { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } },
]
const BODY: JsonObject = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  stream: true,
  system: SYSTEM,
  messages: [{ role: 'user', content: 'Hello' }],
  context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
  output_config: { effort: 'high' },
  field_of_a_later_release: { on: true },
}
const BETAS = 'claude-code-20250219,context-management-2025-06-27,effort-2025-11-24,of-a-later-release-2027-01-01'

const send = (headers: Record<string, string>, body: JsonObject = BODY, path = '/v1/messages?beta=true') =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
    body: JSON.stringify(body),
  })

t.test('the request reaches the provider as it came, with its betas', async (t) => {
  const reply = await send({
    authorization: `Bearer ${gateway.key}`,
    'anthropic-beta': BETAS,
    'x-claude-code-session-id': 'session-1',
    'x-claude-code-agent-id': 'agent-1',
  })
  t.equal(reply.status, 200)
  t.match(reply.headers.get('content-type'), /^text\/event-stream/)
  t.match(await reply.text(), /event: message_stop/)
  const seen = upstream.requests.at(-1)
  t.same(seen?.headers['anthropic-beta'], BETAS)
  t.equal(seen?.headers['anthropic-version'], '2023-06-01')
  t.same(seen?.json.system, SYSTEM, 'the attribution block is first and unchanged')
  for (const name of ['context_management', 'output_config', 'field_of_a_later_release']) t.same(seen?.json[name], BODY[name], name)
  t.notMatch(JSON.stringify(seen?.headers), gateway.key, 'the key of the gateway stays here')
  const id = reply.headers.get('x-generation-id')
  t.match(await (await gateway.get(`/v1/generation?id=${id}`)).json(), { data: { session_id: 'session-1' } })
})

t.test('to another format no beta goes, and what is unknown is recorded', async (t) => {
  const reply = await send(
    { 'x-api-key': gateway.key, 'anthropic-beta': BETAS, 'x-router-metadata': 'enabled' },
    { ...BODY, model: 'acme/other', stream: false },
  )
  const body = (await reply.json()) as JsonObject
  t.equal(reply.status, 200)
  t.notOk(upstream.requests.at(-1)?.headers['anthropic-beta'])
  t.match(JSON.stringify(body.router_metadata), /context_management/)
})

t.test('either header has the key, or both', async (t) => {
  const { key } = gateway
  const both = { authorization: `Bearer ${key}`, 'x-api-key': key }
  for (const headers of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }, both]) {
    const reply = await send(headers, { ...BODY, stream: false })
    await reply.text()
    t.equal(reply.status, 200)
    const listed = await fetch(`${gateway.url}/v1/models?limit=1000`, {
      headers: { 'anthropic-version': '2023-06-01', ...headers },
      redirect: 'manual',
    })
    t.equal(listed.status, 200, 'no redirect')
    const { data } = (await listed.json()) as JsonObject
    t.match(list(data)[0], { id: 'anthropic/claude-opus-5-5', display_name: 'Claude Opus' })
  }
})

t.test('probes of the start are answered', async (t) => {
  const status = async (path: string): Promise<number> => (await fetch(`${gateway.url}${path}`, { method: 'HEAD' })).status
  t.equal(await status('/'), 200)
  t.equal(await status('/api/hello'), 404)
})

t.test("options of Codex's providers: headers, query parameters and tokens", async (t) => {
  const body = { model: 'acme/other', input: 'Hello', store: false, stream: true }
  await every(t, 'each', async (t) => {
    const ask = async (headers: Record<string, string>, path = '/v1/responses'): Promise<number> => {
      const reply = await send({ originator: 'codex_cli_rs', 'session-id': 'thread-1', ...headers }, body, path)
      await reply.text()
      return reply.status
    }
    const key = { authorization: `Bearer ${gateway.key}` }
    t.equal(await ask({ ...key, 'x-team': 'tools' }), 200, 'http_headers')
    t.notOk(upstream.requests.at(-1)?.headers['x-team'] ?? upstream.requests.at(-1)?.headers.originator)
    t.equal(await ask(key, '/v1/responses?api-version=2026-01-01&team=tools'), 200, 'query_params')
    t.notMatch(upstream.requests.at(-1)?.path, 'api-version')
    t.equal(await ask({ authorization: 'Bearer eyJhbGciOiJSUzI1NiJ9.e30.x', 'chatgpt-account-id': 'account' }), 401, 'requires_openai_auth')
    t.equal(await ask({ authorization: 'AWS4-HMAC-SHA256 Credential=AKIA/20261126/us-east-1/bedrock/aws4_request' }), 401, 'aws')
  })
})
