/** A wildcard at a hosted provider, priced from the snapshot: what a key with a limit may use, and what is recorded of the rest. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

const [LIMITED, UNLIMITED] = ['sk-limited-0123456789abcdef0123', 'sk-unlimited-0123456789abcdef01']

const REPLY = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010, prompt_tokens_details: { cached_tokens: 400 } },
}

t.test('openai/* with the prices of the snapshot', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    answer: () => jsonAnswer(REPLY),
    config: (url) => `
auth: { keys: [ { name: limited, key: ${LIMITED}, limit: "1.00" }, { name: unlimited, key: ${UNLIMITED} } ] }
providers: { hosted: { dialect: openai-chat, base_url: "${url}/v1", snapshot_url: "https://api.openai.com/v1", key: sk-provider-1 } }
models: { "openai/*": { endpoints: [{ provider: hosted, model: "*", price: snapshot }] } }
`,
  })
  const call = async (model: string, key: string): Promise<{ status: number; body: JsonObject; generation: JsonObject }> => {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await gateway.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] }, headers)
    const body = (await answer.json()) as JsonObject
    const record = await gateway.get(`/v1/generation?id=${answer.headers.get('x-generation-id')}`, headers)
    return { status: answer.status, body, generation: ((await record.json()) as { data: JsonObject }).data }
  }

  const known = await call('openai/gpt-5.5', LIMITED)
  t.match(known, { status: 200, body: { usage: { cost: (600 * 5000 + 400 * 500 + 10 * 30_000) / 1e9 } } })
  t.match(known.generation, { price_unknown: false, total_cost: 0.0035 })

  const refused = await call('openai/gpt-99', LIMITED)
  t.match(refused, { status: 403, body: { error: { message: 'openai/gpt-99 has no known price: a key with a limit cannot use it' } } })
  t.equal(upstream.requests.length, 1, 'nothing was sent')

  const served = await call('openai/gpt-99', UNLIMITED)
  t.match(served, { status: 200, generation: { price_unknown: true, total_cost: 0, tokens_prompt: 1000 } })
  const exported = await (
    await fetch(`${gateway.admin}/ledger/export`, {
      headers: { authorization: `Bearer ${(await import('../../support/admin.ts')).ADMIN_TOKEN}` },
    })
  ).text()
  const rows = exported
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject)
  t.same(
    rows.filter(({ price_unknown: unknown }) => unknown === true).map(({ model }) => model),
    ['openai/gpt-99'],
  )
})
