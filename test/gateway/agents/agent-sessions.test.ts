/** Conversations that coding agents name in their own words: they stay where their prompt is cached, and providers get a key for their cache. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { startProviders } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'
import { answerFor } from '../../support/wire.ts'

const NAMES = ['aye', 'bee', 'sea']
/** As Claude Code 2.1.330 writes it. */
const claudeUser = (session: string): JsonObject => ({
  user_id: JSON.stringify({ device_id: 'd'.repeat(64), account_uuid: '', session_id: session }),
})

type Naming = (session: string) => { body?: JsonObject; headers?: Record<string, string> }

const AGENTS: Readonly<Record<string, { client: 'chat' | 'responses' | 'messages'; name: Naming }>> = {
  'Claude Code, header': { client: 'messages', name: (session) => ({ headers: { 'X-Claude-Code-Session-Id': session } }) },
  'Claude Code, user_id': { client: 'messages', name: (session) => ({ body: { metadata: claudeUser(session) } }) },
  'Claude Code, user_id of earlier versions': {
    client: 'messages',
    name: (session) => ({ body: { metadata: { user_id: `user_${'a'.repeat(64)}_account__session_${session}` } } }),
  },
  'Codex, header': { client: 'responses', name: (session) => ({ headers: { 'session-id': session } }) },
  'pi, header': { client: 'responses', name: (session) => ({ headers: { session_id: session } }) },
  'opencode, headers': { client: 'chat', name: (session) => ({ headers: { 'x-session-affinity': session, 'X-Session-Id': session } }) },
}

const uuid = (at: number): string => `0b9a4a5e-0d68-4b6c-8f65-${String(at).padStart(12, '0')}`

t.test("an agent's conversation stays where it was served, by the agent's own id", async (t) => {
  const scene = await startProviders(t, { providers: NAMES })
  await every(t, 'every agent', async (t) => {
    for (const [agent, { client, name }] of Object.entries(AGENTS)) {
      const homes = new Set<string>()
      for (let at = 0; at < 5; at++) {
        const { body = {}, headers = {} } = name(uuid(at))
        const seen = new Set<string>()
        for (let turn = 0; turn < 4; turn++) seen.add(await scene.server(client, body, headers))
        t.equal(seen.size, 1, `${agent}: one conversation, one provider`)
        for (const home of seen) homes.add(home)
      }
      t.ok(homes.size > 1, `${agent}: conversations spread`)
    }
  })
})

t.test('session_id and x-session-id come before the id of an agent, and a name of another kind is none', async (t) => {
  const scene = await startProviders(t, { providers: NAMES })
  const agent = (at: number) => ({ 'x-claude-code-session-id': uuid(at) })
  const home = await scene.server('messages', { session_id: 'mine' }, agent(0))
  for (let at = 1; at < 8; at++) t.equal(await scene.server('messages', { session_id: 'mine' }, agent(at)), home)
  const seen = new Set<string>()
  for (let at = 0; at < 12; at++) seen.add(await scene.server('messages', { metadata: { user_id: 'user-1' } }))
  t.ok(seen.size > 1, 'a plain user is no conversation')
  t.ok(await scene.server('messages', {}, { 'x-claude-code-session-id': 'x'.repeat(300) }), 'one that is too long is not read')
})

t.test('Claude Code at a Responses provider: a key for the cache, and a summary of the thinking', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    answer: (seen) => answerFor(seen, { reasoning: ['I look.'], text: ['fine'] }),
    config: (url) => `
providers: { full: { dialect: openai-responses, base_url: "${url}/v1", key: sk-up } }
models: { acme/one: { endpoints: [ { provider: full, model: m, price: free } ] } }
`,
  })
  const messages = [{ role: 'user', content: 'Hello' }]
  const send = async (body: JsonObject, headers: Record<string, string> = {}, path = '/v1/messages') => {
    const response = await gateway.post(
      path,
      { model: 'acme/one', max_tokens: 4000, messages, ...body },
      { 'x-router-metadata': 'enabled', ...headers },
    )
    const reply = (await response.json()) as JsonObject
    t.equal(response.status, 200)
    t.notMatch(JSON.stringify(object(reply.router_metadata).attempts), /prompt_cache_key/, 'what the caller has not sent is not lost')
    const id = response.headers.get('x-generation-id')
    const { data } = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }
    return { sent: upstream.requests.at(-1)?.json ?? {}, session: data.session_id }
  }
  const first = await send({ metadata: claudeUser(uuid(1)), thinking: { type: 'adaptive' } })
  t.match(first.sent, { prompt_cache_key: /^[0-9a-f]{64}$/, reasoning: { summary: 'auto' } })
  t.equal(first.session, uuid(1), 'the ledger has the session')
  t.equal(
    (await send({}, { 'x-claude-code-session-id': uuid(1) })).sent.prompt_cache_key,
    first.sent.prompt_cache_key,
    'each turn has the same',
  )
  t.not(
    (await send({ metadata: claudeUser(uuid(2)) })).sent.prompt_cache_key,
    first.sent.prompt_cache_key,
    'another conversation has its own',
  )
  t.match((await send({ thinking: { type: 'enabled', budget_tokens: 2000 } })).sent.reasoning, { summary: 'auto' })
  t.equal(object((await send({ thinking: { type: 'adaptive', display: 'omitted' } })).sent.reasoning ?? {}).summary, undefined)
  const plain = (await send({})).sent
  t.same([plain.prompt_cache_key, plain.reasoning], [undefined, undefined], 'without a session and without thinking neither')
  t.equal((await send({ prompt_cache_key: 'own' }, { 'x-claude-code-session-id': uuid(1) })).sent.prompt_cache_key, 'own')
})
