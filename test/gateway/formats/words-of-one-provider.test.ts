/** Parts of a conversation that one provider wrote, at another that does not know it. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { generationDropped } from '../../support/matrix/observe.ts'
import type { Client } from '../../support/providers.ts'
import { type Scene, startScene } from '../../support/scene.ts'

async function send({ ask, gateway, upstream }: Scene, more: object, client: Client = 'chat') {
  const response = await ask(more as JsonObject, client)
  const id = response.headers.get('x-generation-id')
  const found = ((await (await gateway.get(`/v1/generation?id=${id}`)).json()) as JsonObject).data
  t.equal(response.status, 200, await response.text())
  return { body: object(upstream.requests.at(-1)?.json), dropped: generationDropped(object(found)) }
}

t.test('blocks of a feature that a provider does not take are left out with it, and recorded', async (t) => {
  const messages = [
    { role: 'user', content: 'Hello' },
    {
      role: 'assistant',
      content: [
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'advisor', input: {} },
        { type: 'advisor_tool_result', tool_use_id: 'srvtoolu_1', content: { type: 'advisor_result', text: 'Ask.' } },
        { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'n', server_name: 's', input: {} },
        { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', content: [] },
        { type: 'text', text: 'Hi' },
      ],
    },
    { role: 'user', content: 'Next' },
    { role: 'assistant', content: [{ type: 'mcp_tool_use', id: 'mcptoolu_2', name: 'n', server_name: 's', input: {} }] },
    { role: 'user', content: 'Go on' },
  ]
  for (const dialect of ['anthropic', 'bedrock-anthropic']) {
    const few = await startScene(t, { dialect, provider: 'quirks: { betas: [ advisor-tool-2026-03-01, effort-2025-11-24 ] }' })
    const { body, dropped } = await send(few, { messages }, 'messages')
    const [, turn, ...rest] = list(body.messages)
    t.match(turn?.content, [{ type: 'server_tool_use' }, { type: 'advisor_tool_result' }, { type: 'text' }])
    t.equal(list(turn?.content).length, 3)
    t.match(rest, [{ content: 'Next' }, { content: 'Go on' }], 'a turn that had nothing else is none')
    t.match(dropped, ['mcp_tool_use', 'mcp_tool_result'])
  }
  const all = await send(await startScene(t, { dialect: 'anthropic' }), { messages }, 'messages')
  t.same(all.body.messages, messages, 'where no list says what the provider takes')
})

t.test('removes the fields of Gemini from messages and calls for providers that refuse them', async (t) => {
  const google = { google: { thought_signature: 'AVSoXO4A' } }
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: google }
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hi', extra_content: google, thought_signature: 'AVSoXO4A', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: 'x' },
  ]
  const strict = await startScene(t, { provider: 'quirks: { body: { drop: [ messages.extra_content, messages.thought_signature ] } }' })
  const { body, dropped } = await send(strict, { messages })
  t.notMatch(JSON.stringify(body), /extra_content|thought_signature/)
  t.match(JSON.stringify(dropped), /messages\.extra_content.*messages\.thought_signature/)
  const { body: whole } = await send(await startScene(t), { messages })
  t.same(whole.messages, messages, 'others get it as it came')
})
