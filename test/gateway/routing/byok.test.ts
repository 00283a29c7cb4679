/** Keys of providers that teams bring: which account a request is sent with, who pays, and what its caller reads. */
import OpenAI from 'openai'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { byokScene, OPERATOR, refuses, SECOND, TEAM } from '../../support/byok-scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const usage = (body: JsonObject): JsonObject => body.usage as JsonObject
const message = (body: JsonObject): string => String((body.error as JsonObject).message)

t.test("a team's key is sent first, in every format, and the gateway charges nothing by default", async (t) => {
  const scene = await byokScene(t)
  t.match(usage((await scene.ask()).body), { is_byok: false, cost: 0.000015 }, 'before there is one')
  await scene.add(TEAM)
  for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages']) {
    const { status, body } = await scene.ask({}, path)
    t.equal(status, 200, path)
    t.match(usage(body), { is_byok: true, cost: 0, cost_details: { upstream_inference_cost: 0.000015 } }, path)
  }
  const streamed = await scene.ask({ stream: true })
  t.match(streamed.text, /"cost":0,"cost_details":\{"upstream_inference_cost":0.000015,.*"is_byok":true/)
  t.same(scene.arrived, [OPERATOR, TEAM, TEAM, TEAM, TEAM], 'exactly one key in each call')
  const [, row] = scene.scene.rows()
  t.equal(row?.settled?.cost, 0)
  const own = await fetch(`${scene.url}/v1/generation?id=${row?.id}`, { headers: { authorization: `Bearer ${scene.key}` } })
  t.match(await own.json(), { data: { is_byok: true, usage: 0, total_cost: 0, upstream_inference_cost: 0.000015 } })
  const key = await fetch(`${scene.url}/v1/key`, { headers: { authorization: `Bearer ${scene.key}` } })
  t.match(await key.json(), { data: { usage: 0.000015, byok_usage: 0.00006, byok_usage_daily: 0.00006, byok_usage_monthly: 0.00006 } })
})

t.test('a fallback comes after the account of the operator, several keys come by age, and lists say who may use them', async (t) => {
  const scene = await byokScene(t)
  const fallback = await scene.add(SECOND, { is_fallback: true })
  await scene.ask()
  t.same(scene.arrived.splice(0), [OPERATOR])
  scene.answers.set(OPERATOR, refuses(503, 'overloaded'))
  t.match(usage((await scene.ask()).body), { is_byok: true })
  t.same(scene.arrived.splice(0), [OPERATOR, SECOND])
  scene.answers.clear()
  await scene.manage('PATCH', `/v1/byok/${fallback}`, { is_fallback: false })
  await scene.scene.clock.advance(1)
  await scene.add(TEAM)
  await scene.ask()
  t.same(scene.arrived.splice(0), [SECOND], 'the oldest')
  const stranger = (await scene.manage('POST', '/v1/keys', { name: 'stranger', creator_user_id: 'ann' })).body as { key: string }
  const may = async (terms: JsonObject): Promise<string[]> => {
    t.equal((await scene.manage('PATCH', `/v1/byok/${fallback}`, terms)).status, 200, JSON.stringify(terms))
    for (const [model, key] of [
      ['acme/one', scene.key],
      ['acme/other', scene.key],
      ['acme/one', stranger.key],
    ])
      await scene.ask({ model }, undefined, key)
    return scene.arrived.splice(0)
  }
  t.same(await may({ allowed_models: ['acme/other'] }), [TEAM, SECOND, TEAM])
  t.same(await may({ allowed_models: null, allowed_api_key_hashes: [scene.hash] }), [SECOND, SECOND, TEAM])
  t.same(await may({ allowed_api_key_hashes: null, allowed_user_ids: ['ann'] }), [TEAM, TEAM, SECOND])
  t.same(await may({ allowed_user_ids: [] }), [TEAM, TEAM, TEAM], 'an empty list')
  t.same(await may({ allowed_user_ids: null, disabled: true }), [TEAM, TEAM, TEAM])
})

t.test('a refused key of a team concerns that entry alone, and its caller reads whose account it was', async (t) => {
  const scene = await byokScene(t, {
    byok: `{ encryption_keys: [ "${Buffer.alloc(32, 7).toString('base64')}" ], operator_fallback: false }`,
  })
  const id = await scene.add(TEAM, { name: 'Ours', allowed_api_key_hashes: [scene.hash] })
  const other = ((await scene.manage('POST', '/v1/keys', { name: 'other' })).body as { key: string }).key
  for (const [status, words, shown] of [
    [401, 'Incorrect API key provided', /^Your own key "Ours" at OpenAI was refused: Incorrect API key provided/],
    [402, 'You have run out of credits', /^Your own key "Ours" at OpenAI belongs to an account that is out of credit/],
    [429, 'Rate limit reached for your organization', /^Your own key "Ours" at OpenAI has reached its rate limit/],
  ] as const) {
    scene.answers.set(TEAM, refuses(status, words))
    const { body } = await scene.ask()
    t.match(message(body), shown)
    t.same(scene.arrived.splice(0), [TEAM], 'and the operator pays for nothing')
    t.equal((await scene.ask({}, undefined, other)).status, 200, 'others are served')
    t.same(scene.arrived.splice(0), [OPERATOR])
  }
  scene.answers.set(TEAM, refuses(401, `Incorrect API key provided: ${TEAM}`))
  const { text } = await scene.ask()
  t.notMatch(text, TEAM, 'a provider that quotes the key')
  t.notMatch(scene.logs.join('\n'), TEAM)
  t.match(scene.logs.join('\n'), new RegExp(`"byok":"${id}".*a provider refused a key that a team brought`))
  scene.answers.clear()
  t.equal((await scene.ask()).status, 200, 'a key that is right again')
})

t.test('with the fallback to the operator a failing key of a team is followed by it, charged in full', async (t) => {
  const scene = await byokScene(t)
  await scene.add(TEAM)
  scene.answers.set(TEAM, refuses(401, 'no'))
  t.match(usage((await scene.ask()).body), { is_byok: false, cost: 0.000015 })
  t.same(scene.arrived.splice(0), [TEAM, OPERATOR])
  await scene.ask()
  t.same(scene.arrived.splice(0), [OPERATOR], 'a refused one is left alone for a while')
  await scene.scene.clock.advance(61_000)
  scene.answers.clear()
  t.match(usage((await scene.ask()).body), { is_byok: true })
})

t.test('an entry that is removed while a tool loop runs makes no further call', async (t) => {
  const scene = await byokScene(t)
  const id = await scene.add(TEAM)
  let calls = 0
  scene.answers.set(TEAM, async (request) => {
    if (calls++ > 0) return answerFor(request, { text: ['late'] })
    await scene.manage('DELETE', `/v1/byok/${id}`)
    return answerFor(request, { calls: [{ id: 'c1', name: 'datetime', args: ['{}'] }] })
  })
  const { status } = await scene.ask({ tools: [{ type: 'router:datetime' }] })
  t.equal(status, 200)
  t.equal(scene.arrived.filter((key) => key === TEAM).length, 1, JSON.stringify(scene.arrived))
})

t.test('the official SDK of OpenAI reads who paid, and is sent to the account of the team', async (t) => {
  const scene = await byokScene(t)
  await scene.add(TEAM, { name: 'Ours' })
  const sdk = new OpenAI({ apiKey: scene.key, baseURL: `${scene.url}/v1`, maxRetries: 0 })
  const body = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'Hello' }] }
  t.match(await sdk.chat.completions.create(body), { usage: { is_byok: true, cost: 0 } })
  t.match(await sdk.responses.create({ model: 'acme/one', input: 'Hello' }), { usage: { is_byok: true, cost: 0 } })
  const stream = await sdk.chat.completions.create({ ...body, stream: true, stream_options: { include_usage: true } })
  let last: unknown
  for await (const chunk of stream) last = chunk
  t.match(last, { usage: { is_byok: true } })
  t.same(new Set(scene.arrived), new Set([TEAM]))
})

t.test('an id that an account of the team gave goes back to that account, and to no other', async (t) => {
  const message = {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'up', content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn' },
    ...{ container: { id: 'container_011CPR5CNjB747bTd36fQLFk', expires_at: '2026-12-01T00:00:00Z' } },
    usage: { input_tokens: 10, output_tokens: 5 },
  }
  const scene = await byokScene(t, {
    providers: (url) => `  claude: { name: Claude, dialect: anthropic, base_url: "${url}", key: "${OPERATOR}" }`,
    models: '  acme/claude: { endpoints: [ { provider: claude, model: up, price: free } ] }',
  })
  for (const key of [TEAM, SECOND, OPERATOR]) scene.answers.set(key, () => jsonAnswer(message))
  const id = await scene.add(TEAM, { provider: 'claude' })
  const ask = (container?: string) =>
    scene.ask(
      { model: 'acme/claude', tools: [{ type: 'code_execution_20250825', name: 'code_execution' }], ...(container && { container }) },
      '/v1/messages',
    )
  const given = String(((await ask()).body.container as JsonObject).id)
  t.match(given, /^container_011CPR5CNjB747bTd36fQLFk~hg1\./)
  await scene.manage('PATCH', `/v1/byok/${id}`, { is_fallback: true })
  await scene.add(SECOND, { provider: 'claude' })
  scene.arrived.length = 0
  t.equal((await ask(given)).status, 200)
  t.same(scene.arrived.splice(0), [TEAM], 'not the entry that comes first, nor the operator')
  await scene.manage('PATCH', `/v1/byok/${id}`, { disabled: true })
  t.equal((await ask(given)).status, 404)
  t.same(scene.arrived, [], 'another account does not get it')
})

t.test('plans show the accounts in their order, and embeddings use them too', async (t) => {
  const scene = await byokScene(t, {
    models: '  acme/vector: { kind: embedding, endpoints: [ { provider: openai, model: v, price: { prompt: "1", completion: "0" } } ] }',
  })
  await scene.add(TEAM)
  scene.answers.set(TEAM, () =>
    jsonAnswer({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
      usage: { prompt_tokens: 4, total_tokens: 4 },
    }),
  )
  t.match(usage((await scene.ask({ model: 'acme/vector' }, '/v1/embeddings')).body), { is_byok: true, cost: 0 })
  t.same(scene.arrived.splice(0), [TEAM])
  const { status, body } = await scene.ask({}, '/v1/plan')
  t.equal(status, 200)
  t.match(body.candidates, [
    { endpoint: 'openai', is_byok: true, price: { prompt: '0' } },
    { endpoint: 'openai', is_byok: undefined, price: { prompt: '1' } },
  ])
  t.same(scene.arrived, [], 'nothing is sent')
})
