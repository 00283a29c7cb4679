/** Presets of the configuration, named by requests of every format. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'

const price = 'price: { prompt: "1.00", completion: "2.00" }'
const { gateway, upstream } = await startScene(t, {
  config: (url) => `
providers:
  chat: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up, data_collection: deny }
  responses: { dialect: openai-responses, base_url: "${url}/v1", key: sk-up }
  claude: { dialect: anthropic, base_url: "${url}", key: sk-up }
models:
  acme/chat: { context: 128000, endpoints: [ { provider: chat, model: chat-up, ${price} } ] }
  acme/responses: { context: 128000, endpoints: [ { provider: responses, model: responses-up, ${price} } ] }
  acme/claude: { context: 128000, max_output: 64000, endpoints: [ { provider: claude, model: claude-up, ${price} } ] }
  acme/any:
    context: 128000
    endpoints:
      - { provider: chat, model: any-up, price: { prompt: "9.00", completion: "9.00" } }
      - { provider: responses, model: any-up, ${price} }
      - { provider: chat, model: any-fast, tier: priority, ${price} }
default_model: acme/any
presets:
  chat:
    description: Everything at once
    model: acme/chat
    system_prompt: &first "First of all."
    parameters: &all
      temperature: 0.3
      top_p: 0.9
      top_k: 5
      min_p: 0.1
      top_a: 0.2
      frequency_penalty: 0.4
      presence_penalty: 0.5
      repetition_penalty: 1.1
      seed: 7
      max_tokens: 5000
  responses: { model: acme/responses, system_prompt: *first, parameters: *all }
  claude: { model: acme/claude, system_prompt: *first, parameters: { temperature: 1.7, top_p: 0.9, top_k: 5, seed: 7, max_tokens: 5000 } }
  think: { parameters: { temperature: 0.3, max_tokens: 8000, reasoning: { effort: high, exclude: true, summary: auto } } }
  narrow: { model: acme/chat, parameters: { max_tokens: 900, reasoning: { effort: high } } }
  quiet: { parameters: { reasoning: { effort: none } } }
  pair: { model: acme/chat, models: [ acme/responses, acme/any ] }
  list: { models: [ acme/responses, acme/chat ] }
  strict: { model: acme/any, provider: { only: [ chat ], data_collection: deny, sort: throughput, ignore: [ claude ] } }
  strange: { system_prompt: "Say what." }
`,
})

const CHAT = '/v1/chat/completions'
const RESPONSES = '/v1/responses'
const MESSAGES = '/v1/messages'
const HELLO: JsonObject[] = [{ role: 'user', content: 'Hello' }]

/** The least of each format, with these fields. */
const bodyFor = (path: string, fields: JsonObject): JsonObject => ({
  ...(path === RESPONSES ? { input: 'Hello' } : { messages: HELLO }),
  ...fields,
})

/** Request that the provider got. */
async function sent(path: string, fields: JsonObject): Promise<JsonObject> {
  const before = upstream.requests.length
  const reply = await gateway.post(path, bodyFor(path, fields))
  const text = await reply.text()
  if (reply.status !== 200) throw new Error(`${reply.status} ${text}`)
  if (upstream.requests.length !== before + 1) throw new Error('expected one call')
  return upstream.requests[before].json
}

async function refusal(path: string, fields: JsonObject): Promise<{ status: number; message: string; error: JsonObject }> {
  const before = upstream.requests.length
  const reply = await gateway.post(path, bodyFor(path, fields))
  const { error } = (await reply.json()) as { error: JsonObject }
  if (upstream.requests.length !== before) throw new Error('the provider was called')
  return { status: reply.status, message: String(error.message), error }
}

t.test('a preset fills in what the request does not send, in every format and lane', async (t) => {
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true]) {
      t.match(await sent(CHAT, { preset: 'chat', stream }), {
        model: 'chat-up',
        messages: [{ role: 'system', content: 'First of all.' }, ...HELLO],
        ...{ temperature: 0.3, top_p: 0.9, top_k: 5, min_p: 0.1, top_a: 0.2, frequency_penalty: 0.4, presence_penalty: 0.5 },
        ...{ repetition_penalty: 1.1, seed: 7, max_tokens: 5000, preset: undefined },
      })
      const responses = await sent(RESPONSES, { preset: 'responses', stream })
      t.match(responses, {
        model: 'responses-up',
        instructions: 'First of all.',
        ...{ temperature: 0.3, top_p: 0.9, frequency_penalty: 0.4, presence_penalty: 0.5, max_output_tokens: 5000 },
      })
      for (const name of ['seed', 'min_p', 'top_a', 'repetition_penalty', 'max_tokens', 'preset']) t.notOk(name in responses, `no ${name}`)
      const messages = await sent(MESSAGES, { preset: 'claude', stream })
      t.match(messages, { model: 'claude-up', system: 'First of all.', temperature: 1, top_k: 5, max_tokens: 5000 })
      for (const name of ['seed', 'top_p', 'preset']) t.notOk(name in messages, `no ${name}`)
      // The same presets to a provider of another dialect.
      t.match(await sent(MESSAGES, { model: 'acme/chat', preset: 'claude', stream }), {
        messages: [{ role: 'system' }, { role: 'user' }],
        ...{ temperature: 1, max_tokens: 5000 },
      })
      t.match(await sent(CHAT, { model: 'acme/claude', preset: 'chat', stream }), {
        system: 'First of all.',
        max_tokens: 5000,
      })
    }
  })
})

t.test('a preset is named by @preset/slug, by model@preset/slug or by the field preset', async (t) => {
  t.match(await sent(CHAT, { model: '@preset/chat' }), { model: 'chat-up', temperature: 0.3 })
  t.match(await sent(CHAT, { model: 'acme/responses@preset/chat' }), { model: 'responses-up', temperature: 0.3 })
  t.match(await sent(CHAT, { model: 'acme/responses', preset: 'chat' }), { model: 'responses-up', temperature: 0.3 })
  t.match(await sent(CHAT, { model: '@preset/chat', preset: 'chat' }), { model: 'chat-up' }, 'twice the same')
  t.match(await sent(CHAT, { model: '@preset/strange' }), { model: 'any-up' }, 'the default model')
  t.match(await sent(CHAT, { preset: 'strange' }), { model: 'any-up' })
  t.match(await sent(CHAT, { model: null, preset: 'chat' }), { model: 'chat-up' }, 'null is not sent')
  t.match(await sent(CHAT, { model: 'acme/chat', preset: null }), { model: 'chat-up', temperature: undefined })
})

t.test('fields of the request override those of the preset', async (t) => {
  t.match(await sent(CHAT, { preset: 'chat', temperature: 0, top_p: null, max_completion_tokens: 50 }), {
    temperature: 0,
    top_p: 0.9,
    max_tokens: 50,
  })
  t.match(await sent(RESPONSES, { preset: 'responses', temperature: 0, max_output_tokens: 50 }), { temperature: 0, max_output_tokens: 50 })
  const messages = await sent(MESSAGES, { preset: 'claude', top_p: 0.5, max_tokens: 50 })
  t.match(messages, { top_p: 0.5, max_tokens: 50 })
  t.notOk('temperature' in messages, 'the wire takes but one of the two')
})

t.test('the system prompt comes first', async (t) => {
  const system = { role: 'system', content: 'Mine.' }
  t.same((await sent(CHAT, { preset: 'chat', messages: [system, ...HELLO] })).messages, [
    { role: 'system', content: 'First of all.' },
    system,
    ...HELLO,
  ])
  t.same((await sent(CHAT, { preset: 'chat', messages: undefined, prompt: 'Hello' })).messages, [
    { role: 'system', content: 'First of all.' },
    { role: 'user', content: 'Hello' },
  ])
  t.equal((await sent(RESPONSES, { preset: 'responses', instructions: 'Mine.' })).instructions, 'First of all.\n\nMine.')
  const block = (text: string): JsonObject => ({ type: 'text', text })
  t.same((await sent(MESSAGES, { preset: 'claude', system: 'Mine.' })).system, [block('First of all.'), block('Mine.')])
  t.same((await sent(MESSAGES, { preset: 'claude', system: [block('Mine.')] })).system, [block('First of all.'), block('Mine.')])
})

t.test('reasoning in the words of each format', async (t) => {
  t.match(await sent(CHAT, { model: 'acme/chat@preset/think' }), { reasoning_effort: 'high', temperature: 0.3 })
  t.match(await sent(CHAT, { model: 'acme/chat@preset/think', reasoning_effort: 'low' }), { reasoning_effort: 'low' })
  const responses = await sent(RESPONSES, { model: 'acme/responses@preset/think' })
  t.same(responses.reasoning, { effort: 'high', summary: 'auto' })
  const thinking = await sent(MESSAGES, { model: 'acme/claude@preset/think' })
  t.match(thinking, { thinking: { type: 'enabled', budget_tokens: 6400, display: 'omitted' }, max_tokens: 8000 })
  t.notOk('temperature' in thinking, 'not with thinking')
  const forced = { tools: [{ name: 'look', input_schema: { type: 'object' } }], tool_choice: { type: 'any' } }
  for (const own of [{ temperature: 0.5 }, { top_k: 3 }, forced] as JsonObject[]) {
    const body = await sent(MESSAGES, { model: 'acme/claude@preset/think', ...own })
    t.notOk('thinking' in body, `none with ${Object.keys(own)[0]}`)
  }
  t.notOk('thinking' in (await sent(MESSAGES, { model: 'acme/claude', preset: 'narrow' })), 'no room for a budget')
  t.match(await sent(MESSAGES, { model: 'acme/claude', preset: 'quiet', max_tokens: 100 }), { thinking: { type: 'disabled' } })
  const own = { type: 'enabled', budget_tokens: 2000 }
  t.match(await sent(MESSAGES, { model: 'acme/claude', preset: 'think', thinking: own }), { thinking: own, temperature: undefined })
})

t.test('fallback models', async (t) => {
  const models = async (fields: JsonObject, path = CHAT): Promise<unknown> => {
    const reply = await gateway.post(path, bodyFor(path, { max_tokens: 50, ...fields }), { 'x-router-metadata': 'enabled' })
    const body = (await reply.json()) as { router_metadata: { endpoints: { available: { model: string }[] } } }
    return [...new Set(body.router_metadata.endpoints.available.map(({ model }) => model))]
  }
  t.same(await models({ preset: 'pair' }), ['acme/chat', 'acme/responses', 'acme/any'])
  t.same(await models({ model: 'acme/claude', preset: 'pair' }), ['acme/claude', 'acme/responses', 'acme/any'])
  t.same(await models({ model: '@preset/pair', models: ['acme/claude'] }), ['acme/chat', 'acme/claude'])
  t.same(await models({ preset: 'pair', models: ['acme/claude', 'acme/any'] }), ['acme/claude', 'acme/any'], "the request's own list")
  t.same(await models({ preset: 'list' }), ['acme/responses', 'acme/chat'])
  t.same(await models({ model: '@preset/list' }), ['acme/responses', 'acme/chat'])
  t.same(await models({ preset: 'pair', fallbacks: [{ model: 'acme/claude' }] }, MESSAGES), ['acme/chat', 'acme/claude'])
})

t.test('provider preferences combine', async (t) => {
  t.match(await sent(CHAT, { preset: 'strict' }), { model: 'any-up', messages: HELLO }, 'dearer, but the only one')
  const both = await refusal(CHAT, { preset: 'strict', provider: { only: ['responses'] } })
  t.equal(both.status, 404)
  t.match(both.message, /only of the request: \[responses\]/)
  t.match(both.message, /only of the preset: \[chat\]/)
  const looser = await refusal(CHAT, {
    model: 'acme/responses',
    preset: 'strict',
    provider: { data_collection: 'allow', only: ['responses'] },
  })
  t.equal(looser.status, 404, 'the stricter data rule holds')
  t.match(
    await sent(CHAT, { model: '@preset/strict:nitro', provider: { sort: 'price' } }),
    { model: 'any-fast' },
    'the variant admits the tier',
  )
})

t.test('metadata, reply and generation', async (t) => {
  const reply = await gateway.post(CHAT, { model: '@preset/chat', messages: HELLO }, { 'x-router-metadata': 'enabled' })
  t.match(await reply.json(), { model: 'acme/chat', router_metadata: { requested: '@preset/chat', strategy: 'direct' } })
  const named = await gateway.post(CHAT, { model: 'acme/any@preset/chat', messages: HELLO }, { 'x-router-metadata': 'enabled' })
  t.match(await named.json(), { model: 'acme/any', router_metadata: { requested: 'acme/any@preset/chat' } })
  const field = await gateway.post(CHAT, { preset: 'chat', messages: HELLO }, { 'x-router-metadata': 'enabled' })
  t.match(await field.json(), { router_metadata: { requested: '@preset/chat' } })
  const effective = await gateway.post(RESPONSES, { preset: 'responses', input: 'Hello' })
  t.match(
    await effective.json(),
    { temperature: 0.3, instructions: 'First of all.', max_output_tokens: 5000 },
    'the reply echoes what was in force',
  )
})

t.test('counting tokens takes a preset too', async (t) => {
  const count = async (fields: JsonObject): Promise<number> => {
    const reply = await gateway.post('/v1/messages/count_tokens', { messages: HELLO, ...fields })
    return ((await reply.json()) as { input_tokens: number }).input_tokens
  }
  t.ok((await count({ model: 'acme/chat', preset: 'chat' })) > (await count({ model: 'acme/chat' })))
})

t.test('GET /v1/presets and /v1/presets/{slug}', async (t) => {
  const get = async (path: string): Promise<[number, JsonObject]> => {
    const reply = await gateway.get(path)
    return [reply.status, (await reply.json()) as JsonObject]
  }
  const [status, all] = await get('/v1/presets')
  t.equal(status, 200)
  const listed = all.data as JsonObject[]
  t.equal(all.total_count, listed.length)
  t.same(
    listed.slice(0, 3).map(({ slug }) => slug),
    ['chat', 'responses', 'claude'],
    'in the order of the file',
  )
  const time = '1970-01-01T00:00:00.000Z'
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  t.match(listed[0], {
    id: uuid,
    designated_version_id: uuid,
    name: 'chat',
    slug: 'chat',
    description: 'Everything at once',
    status: 'active',
  })
  t.match(listed[0], { creator_user_id: null, workspace_id: null, created_at: time, updated_at: time, status_updated_at: null })
  t.equal(new Set(listed.flatMap(({ id, designated_version_id }) => [id, designated_version_id])).size, 2 * listed.length, 'each id once')
  t.match(listed[1], { description: null })
  const [, page] = await get('/v1/presets?offset=1&limit=2')
  t.same(page, { data: listed.slice(1, 3), total_count: listed.length })
  const [found, one] = await get('/v1/presets/strict')
  t.equal(found, 200)
  const entry = listed.find(({ slug }) => slug === 'strict') ?? {}
  t.same(one, {
    data: {
      ...entry,
      designated_version: {
        ...{ id: entry.designated_version_id, preset_id: entry.id, creator_id: 'configuration', version: 1, system_prompt: null },
        config: { model: 'acme/any', provider: { only: ['chat'], data_collection: 'deny', sort: 'throughput', ignore: ['claude'] } },
        ...{ created_at: time, updated_at: time },
      },
    },
  })
  t.match((await get('/v1/presets/chat'))[1], {
    data: { designated_version: { system_prompt: 'First of all.', config: { temperature: 0.3 } } },
  })
  t.equal((await get('/v1/presets/nobody'))[0], 404)
  for (const query of ['limit=0', 'limit=101', 'offset=-1', 'limit=x']) t.equal((await get(`/v1/presets?${query}`))[0], 400, query)
  t.equal((await fetch(`${gateway.url}/v1/presets`)).status, 401)
})

t.test('returns 400 that names the wrong field', async (t) => {
  await every(t, 'every path', async (t) => {
    for (const path of [CHAT, RESPONSES, MESSAGES]) {
      for (const model of ['@preset/nobody', 'acme/chat@preset/nobody', '@preset/nobody:nitro']) {
        const { status, message, error } = await refusal(path, { model, max_tokens: 5 })
        t.equal(status, 404, `${path} ${model}`)
        t.match(message, /No such preset: nobody/)
        if (path !== MESSAGES) t.match(error, { availability: { code: 'model_not_found', requested_models: [model] } })
      }
      const wrong: [JsonObject, RegExp][] = [
        [{ model: 'acme/chat', preset: 'nobody' }, /^preset: no preset is named nobody/],
        [{ model: 'acme/chat', preset: 'no such\nname' }, /^preset: expected the name of a preset/],
        [{ model: 'acme/chat', preset: 5 }, /^preset: /],
        [{ model: 'acme/chat', preset: '' }, /^preset: /],
        [{ model: '@preset/chat', preset: 'claude' }, /^preset: model names the preset chat/],
        [{ model: '@preset/' }, /^model: /],
        [{ model: 'a b@preset/chat' }, /^model: /],
        [{ model: 5, preset: 'chat' }, /^model: /],
        [{ model: 'acme/chat', models: ['@preset/chat'] }, /^models\[0\]: .*preset/],
        [{ preset: 'chat', temperature: 'hot' }, /^temperature: /],
        [{ preset: 'chat', models: 5 }, /^models: /],
      ]
      for (const [fields, expected] of wrong) {
        const { status, message } = await refusal(path, { max_tokens: 5, ...fields })
        t.equal(status, 400, `${path} ${JSON.stringify(fields)}`)
        t.match(message, expected)
      }
    }
  })
  t.match(await refusal(CHAT, { preset: 'chat', messages: 5 }), { status: 400, message: /^messages: / })
  t.match(await refusal(CHAT, { preset: 'chat', messages: [] }), { status: 400, message: /^messages: / })
  t.match(await refusal(RESPONSES, { preset: 'chat', instructions: 5 }), { status: 400, message: /^instructions: / })
  t.match(await refusal(RESPONSES, { preset: 'chat', input: undefined }), { status: 400, message: /^input: / })
  t.match(await refusal(MESSAGES, { preset: 'claude', system: 5 }), { status: 400, message: /system: / })
  t.match(await refusal(MESSAGES, { preset: 'strange' }), { status: 400, message: /max_tokens/ }, 'no preset names it either')
  t.equal((await gateway.post(CHAT, { model: '@preset/constructor', messages: HELLO })).status, 404)
})
