/** `external_web_access` of a search at a provider that refuses the member (preset of xAI). */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'

t.test('leaves out external_web_access: true for a provider that lacks the field, and the whole search with false', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `
providers: { grok: { dialect: openai-responses, base_url: "${url}/v1", key: k, quirks: { external_web_access: false, functions_only: true } } }
models: { x/one: { endpoints: [ { provider: grok, model: up, price: free } ] } }
`,
  })
  const sent = async (tools: JsonObject[], more: JsonObject = {}): Promise<{ body: JsonObject; dropped: unknown }> => {
    const response = await gateway.post(
      '/v1/responses',
      { model: 'x/one', input: 'Hello', tools, ...more },
      { 'x-router-metadata': 'enabled' },
    )
    const reply = (await response.json()) as JsonObject
    t.equal(response.status, 200, JSON.stringify(reply))
    return { body: upstream.requests.at(-1)?.json ?? {}, dropped: list(object(reply.router_metadata).attempts)[0]?.dropped }
  }
  const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }
  const custom = { type: 'custom', name: 'patch' }
  for (const tools of [[look], [look, custom]]) {
    const live = await sent([...tools, { type: 'web_search', external_web_access: true }])
    t.match(list(live.body.tools).at(-1), { type: 'web_search' })
    t.notOk(JSON.stringify(live.body).includes('external_web_access'))
    const cached = await sent([...tools, { type: 'web_search', external_web_access: false }])
    t.notOk(JSON.stringify(cached.body.tools).includes('web_search'), 'it must not search live')
    t.match(cached.dropped, /tools\.web_search/)
  }
  const alone = await sent([{ type: 'web_search', external_web_access: false }], { tool_choice: 'auto' })
  t.notOk('tools' in alone.body || 'tool_choice' in alone.body)
})
