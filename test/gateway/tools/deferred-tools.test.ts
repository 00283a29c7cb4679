/**
 * Deferred tools of Messages callers at providers that defer none: as Anthropic's own, they are offered once the conversation has found
 * them (recorded: test_anthropic_explicit_tool_search_keeps_search_surface, test_anthropic_lazy_advertisement_live; Claude Code 2.1.330).
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'

const PATHS: Readonly<Record<string, string>> = { 'openai-chat': '/v1', 'openai-responses': '/v1', anthropic: '', gemini: '/v1beta' }
const { gateway, upstream } = await startScene(t, {
  config: (url) => `
providers:
${Object.entries(PATHS)
  .map(([dialect, path]) => `  ${dialect}: { dialect: ${dialect}, base_url: "${url}${path}", key: k }`)
  .join('\n')}
models:
${Object.keys(PATHS)
  .map((dialect) => `  m/${dialect}: { endpoints: [ { provider: ${dialect}, model: up, price: free } ] }`)
  .join('\n')}
`,
})

const tool = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  description: `What ${name} does.`,
  input_schema: { type: 'object', properties: {} },
  ...more,
})
const deferred = { defer_loading: true }
const TOOLS = [
  tool('ToolSearch'),
  tool('DeferredToolPlaceholder', deferred),
  tool('send_mail', deferred),
  tool('read_mail', deferred),
  tool('delete_mail', deferred),
]
const user = { role: 'user', content: 'Hello' }
const call = (id: string, name: string, input: JsonObject): JsonObject => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name, input }],
})
const reference = (name: string): JsonObject => ({ type: 'tool_reference', tool_name: name })
const result = (id: string, content: JsonObject[]): JsonObject => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content }],
})
const FOUND = [user, call('toolu_1', 'ToolSearch', { query: 'mail' }), result('toolu_1', [reference('send_mail'), reference('read_mail')])]

async function sent(
  dialect: string,
  messages: JsonObject[],
  more: JsonObject = {},
): Promise<{ names: unknown[]; body: string; dropped: string }> {
  const body = { model: `m/${dialect}`, max_tokens: 99, tools: TOOLS, messages, ...more }
  const response = await gateway.post('/v1/messages', body, { 'x-router-metadata': 'enabled' })
  const reply = (await response.json()) as JsonObject
  if (response.status !== 200) throw new Error(JSON.stringify(reply))
  const seen = upstream.requests.at(-1)
  const tools = list(seen?.json.tools).flatMap((each) =>
    each.functionDeclarations ? list(each.functionDeclarations) : [object(each.function ?? each)],
  )
  return { names: tools.map(({ name }) => name), body: seen?.body ?? '', dropped: JSON.stringify(reply.router_metadata) }
}

for (const dialect of Object.keys(PATHS).filter((each) => each !== 'anthropic'))
  await every(t, `${dialect}: a deferred tool is offered once it is found`, async (t) => {
    const first = await sent(dialect, [user])
    t.same(first.names, ['ToolSearch'], 'and the placeholder never')
    t.notMatch(first.dropped, 'defer_loading', 'nothing is lost')
    const { names, body, dropped } = await sent(dialect, FOUND)
    t.same(names, ['ToolSearch', 'send_mail', 'read_mail'])
    t.match(
      body.replaceAll('\\', ''),
      /send_mail","description":"What send_mail does\..*total_results":2/,
      'the result says what was found',
    )
    t.notMatch(body, /tool_reference|defer_loading/)
    t.notMatch(dropped, 'tool_reference')
    const later = await sent(dialect, [...FOUND, call('toolu_2', 'read_mail', {}), result('toolu_2', [{ type: 'text', text: 'none' }])])
    t.same(later.names, ['ToolSearch', 'send_mail', 'read_mail'], 'later turns offer the same')
    const chosen = await sent(dialect, [user], { tool_choice: { type: 'tool', name: 'delete_mail' } })
    t.same(chosen.names, ['ToolSearch', 'delete_mail'], 'a tool that is to be called is offered')
  })

await every(t, 'tools that the conversation offers and withdraws', async (t) => {
  const change = (type: string, of: JsonObject): JsonObject => ({ role: 'system', content: [{ type, tool: of }] })
  const named = (name: string): JsonObject => ({ type: 'tool_reference', name })
  const messages = [
    user,
    { role: 'assistant', content: 'One moment.' },
    user,
    change('tool_addition', named('send_mail')),
    change('tool_addition', { type: 'tool_definition', definition: tool('archive_mail') }),
    change('tool_removal', named('ToolSearch')),
  ]
  const { names, body } = await sent('openai-chat', messages)
  t.same(names, ['send_mail', 'archive_mail'])
  t.notMatch(body, /tool_addition|tool_removal/)
  t.same(
    list((JSON.parse(body) as JsonObject).messages).map(({ role }) => role),
    ['user', 'assistant', 'user'],
    'no empty message is left',
  )
})

await every(t, 'a provider that defers tools gets all as they came', async (t) => {
  await sent('anthropic', FOUND)
  t.same(upstream.requests.at(-1)?.json.tools, TOOLS)
  t.same(upstream.requests.at(-1)?.json.messages, FOUND)
})
