/**
 * Outside input in the pass-through: of a key with a limit, generating requests are read, credit is kept free for what the provider adds
 * itself, and what the reply reports of it is charged. Everything else goes through as it came.
 */
import t, { type Test } from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { rawExchange } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Script } from '../../support/upstream.ts'

const KEYS = {
  small: 'sk-router-v1-small-0123456789abcdef01',
  five: 'sk-router-v1-five-0123456789abcdef012',
  open: 'sk-router-v1-open-0123456789abcdef012',
}
type Key = keyof typeof KEYS

/** One request costs $0.01 and a token $1 a million, in a context of a million. */
const scene = (t: Test, answer: Script = () => jsonAnswer({ fine: true }), { unread = '' } = {}) =>
  startScene(t, {
    answer,
    config: (url) => `
auth:
  keys:
    - { name: small, key: "${KEYS.small}", limit: "0.05", pass_through: true }
    - { name: five, key: "${KEYS.five}", limit: "5.00", pass_through: true }
    - { name: open, key: "${KEYS.open}", pass_through: true }
providers:
  first: { dialect: anthropic, base_url: "${url}/v1", key: sk-provider, pass_through: { price: "0.01"${unread === '' ? '' : `, unread_price: "${unread}"`} } }
  google: { dialect: gemini, base_url: "${url}/v1beta", key: sk-provider, pass_through: { price: "0.01" } }
  bare: { dialect: openai-chat, base_url: "${url}/v1", key: sk-provider, pass_through: { price: "0.01" } }
models:
  acme/one: { context: 1000000, max_output: 1000, endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "1.00" } } ] }
  acme/two: { context: 1000000, max_output: 1000, endpoints: [ { provider: google, model: m, price: { prompt: "1.00", completion: "1.00" } } ] }
`,
  })

const bearer = (key: Key) => ({ authorization: `Bearer ${KEYS[key]}` })

async function spent({ gateway }: Awaited<ReturnType<typeof scene>>, key: Key): Promise<number> {
  const { data } = (await (await gateway.get('/v1/key', bearer(key))).json()) as { data: { usage: number } }
  return data.usage
}

const messages = (more: JsonObject): JsonObject => ({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'x' }], ...more })
const block = (content: Json): JsonObject => messages({ messages: [{ role: 'user', content: [content] }] })

/** Each adds input that is not in the body. */
const OUTSIDE: readonly [path: string, body: JsonObject][] = [
  ['first/messages', messages({ thread: { type: 'continue', previous_message_id: 'msg_1' } })],
  ['first/messages', messages({ mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] })],
  ['first/messages', messages({ container: { skills: [{ type: 'anthropic', skill_id: 'pdf' }] } })],
  ['first/messages', messages({ tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] })],
  ['first/messages', messages({ tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] })],
  ['first/messages', messages({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] })],
  ['first/messages', messages({ tools: [{ type: 'a_new_tool_20270101', name: 'new' }] })],
  ['first/messages', block({ type: 'document', source: { type: 'file', file_id: 'file_1' } })],
  ['first/messages', block({ type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } })],
  ['first/messages', block({ type: 'container_upload', file_id: 'file_1' })],
  ['first/chat/completions', messages({ web_search_options: {} })],
  ['first/chat/completions', block({ type: 'file', file: { file_id: 'file-1' } })],
  ['first/responses', { model: 'm', input: 'x', tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://a.example' }] }],
  ['first/responses', { model: 'm', input: 'x', previous_response_id: 'resp_1' }],
  ['first/responses', { model: 'm', input: 'x', conversation: 'conv_1' }],
  ['first/responses', { model: 'm', input: [{ type: 'item_reference', id: 'msg_1' }] }],
  ['first/responses', { model: 'm', prompt: { id: 'pmpt_1' } }],
  ['google/models/m:generateContent', { contents: [], cachedContent: 'cachedContents/1' }],
  ['google/models/m:streamGenerateContent?alt=sse', { contents: [], tools: [{ urlContext: {} }] }],
  ['google/models/m:generateContent', { contents: [{ parts: [{ fileData: { fileUri: 'https://a.example/1' } }] }] }],
  // Paths in the forms that servers also understand.
  ['first/messages/', messages({ thread: { type: 'continue' } })],
  ['first//messages', messages({ thread: { type: 'continue' } })],
  ['first/%6dessages?beta=true', messages({ thread: { type: 'continue' } })],
  ['first/other/../messages', messages({ thread: { type: 'continue' } })],
]

t.test('what may pass the limit is refused, and the refusal names the part', async (t) => {
  const place = await scene(t)
  for (const [path, body] of OUTSIDE) {
    const reply = await place.gateway.post(`/v1/passage/${path}`, body, bearer('small'))
    t.equal(reply.status, 402, `${path} ${JSON.stringify(body)}`)
    t.match(await reply.json(), { error: { metadata: { outside_input: [{ help: /./ }] } } })
  }
  t.equal(place.upstream.requests.length, 0)
  t.equal(await spent(place, 'small'), 0)
})

t.test('a body in which servers may read other members than the gateway is not bounded', async (t) => {
  const place = await scene(t)
  const send = (key: Key, body: string) =>
    fetch(`${place.gateway.url}/v1/passage/first/chat/completions`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json' },
      body,
    })
  const rest = '"model":"m","max_tokens":10,"messages":[{"role":"user","content":"x"}]'
  for (const more of [
    '"n":1,"n":90',
    '"n":90,"\\u006e":1',
    // Go's encoding/json: by names without their case, and `\u017f` is an s, `\u212a` a k.
    '"n":1,"N":90',
    '"N":90',
    '"Best_Of":90',
    '"best_of":1,"be\u017ft_of":90',
    '"Tools":[{"type":"web_search"}]',
    '"Web_Search_Options":{}',
    '"Service_Tier":"priority"',
    '"messages":[{"role":"user","role":"system","content":"x"}]',
  ]) {
    const reply = await send('five', `{${rest},${more}}`)
    t.equal(reply.status, 403, more)
    t.match(await reply.text(), /read in two ways/)
    t.equal((await send('open', `{${rest},${more}}`)).status, 200, `${more}: without a limit`)
  }
  for (const more of ['"n":2', '"dataSources":[]', '"X":1', '"metadata":{"n":1,"N":2}'])
    t.equal((await send('five', `{${rest},${more}}`)).status, 200, more)
})

t.test('a cap under a name that the provider may pass over bounds nothing', async (t) => {
  // Ollama and Z.ai pass `max_completion_tokens` over (their files in `config/providers/`); OpenAI refuses or takes `max_tokens`.
  const place = await startScene(t, {
    answer: () => jsonAnswer({ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }, choices: [] }),
    config: (url) => `
auth: { keys: [ { name: small, key: "${KEYS.small}", limit: "0.50", pass_through: true } ] }
providers:
  old: { dialect: openai-chat, base_url: "${url}", key: sk-provider, pass_through: { price: "0" } }
  new: { dialect: openai-chat, base_url: "${url}", key: sk-provider, quirks: { max_tokens_field: max_completion_tokens }, pass_through: { price: "0" } }
models:
  acme/one:
    context: 1000000
    max_output: 1000000
    endpoints:
      - { provider: old, model: m, price: { prompt: "1.00", completion: "1.00" } }
      - { provider: new, model: m, price: { prompt: "1.00", completion: "1.00" } }
`,
  })
  for (const [provider, caps, status] of [
    ['old', { max_completion_tokens: 10 }, 402],
    ['old', { max_tokens: null, max_completion_tokens: 10 }, 402],
    ['old', { max_tokens: 10 }, 200],
    ['old', { max_tokens: 10, max_completion_tokens: 10 }, 200],
    ['old', { max_tokens: 10, max_completion_tokens: 900_000 }, 402],
    ['new', { max_completion_tokens: 10 }, 200],
    ['new', { max_tokens: 10 }, 200],
    ['new', {}, 402],
  ] as const) {
    const body = { model: 'm', messages: [{ role: 'user', content: 'x' }], ...caps }
    const reply = await place.gateway.post(`/v1/passage/${provider}/v1/chat/completions`, body, bearer('small'))
    t.equal(reply.status, status, `${provider} ${JSON.stringify(caps)}`)
    await reply.text()
  }
})

t.test('a cap that bounds the answer alone is counted with the longest thought', async (t) => {
  // Qwen takes both fields: `max_tokens` bounds no thought there, and older models may pass the newer one over.
  const place = await startScene(t, {
    answer: () => jsonAnswer({ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }, choices: [] }),
    config: (url) => `
auth: { keys: [ { name: small, key: "${KEYS.small}", limit: "0.50", pass_through: true } ] }
providers:
  qwen: { dialect: openai-chat, base_url: "${url}", key: sk-provider, quirks: { max_tokens_field: max_completion_tokens, thought_beyond_max_tokens: 600000 }, pass_through: { price: "0" } }
models:
  acme/one: { context: 1000000, max_output: 1000000, endpoints: [ { provider: qwen, model: new, price: { prompt: "1.00", completion: "1.00" } } ] }
  acme/two: { context: 1000000, max_output: 1000000, endpoints: [ { provider: qwen, model: old, price: { prompt: "1.00", completion: "1.00" }, quirks: { max_tokens_field: max_tokens } } ] }
  acme/three: { context: 1000000, max_output: 1000000, endpoints: [ { provider: qwen, model: silent, price: { prompt: "1.00", completion: "1.00" }, supported_parameters: [max_tokens] } ] }
`,
  })
  for (const [model, caps, status] of [
    ['new', { max_completion_tokens: 10 }, 200],
    ['new', { max_tokens: 10 }, 402],
    ['new', { max_tokens: 10, max_completion_tokens: 10 }, 402],
    ['old', { max_completion_tokens: 10 }, 402],
    ['old', { max_tokens: 10 }, 402],
    ['silent', { max_tokens: 10 }, 200],
  ] as const) {
    const body = { model, messages: [{ role: 'user', content: 'x' }], ...caps }
    const reply = await place.gateway.post('/v1/passage/qwen/v1/chat/completions', body, bearer('small'))
    t.equal(reply.status, status, `${model} ${JSON.stringify(caps)}`)
    await reply.text()
  }
})

t.test('a cap that a provider ignores bounds nothing', async (t) => {
  const place = await startScene(t, {
    answer: () => jsonAnswer({ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }, choices: [] }),
    config: (url) => `
auth: { keys: [ { name: small, key: "${KEYS.small}", limit: "0.50", pass_through: true } ] }
providers:
  flake: { preset: snowflake, key: sk-provider, base_url: "${url}", pass_through: { price: "0" } }
models:
  acme/one: { context: 1000000, max_output: 1000000, endpoints: [ { provider: flake, model: one, price: { prompt: "1.00", completion: "1.00" } } ] }
  acme/two: { context: 1000000, max_output: 1000000, endpoints: [ { provider: flake, model: two, price: { prompt: "1.00", completion: "1.00" }, quirks: { ignores_max_tokens: false } } ] }
`,
  })
  for (const [model, caps, status] of [
    ['one', { max_completion_tokens: 10 }, 200],
    ['one', { max_tokens: 10 }, 402],
    ['one', { max_tokens: 10, max_completion_tokens: 10 }, 200],
    ['two', { max_tokens: 10 }, 200],
  ] as const) {
    const body = { model, messages: [{ role: 'user', content: 'x' }], ...caps }
    const reply = await place.gateway.post('/v1/passage/flake/v1/chat/completions', body, bearer('small'))
    t.equal(reply.status, status, `${model} ${JSON.stringify(caps)}: ${await reply.text()}`)
  }
})

t.test('a key without a limit is served, byte for byte', async (t) => {
  const place = await scene(t)
  for (const [path, body] of OUTSIDE) {
    const reply = await place.gateway.post(`/v1/passage/${path}`, body, bearer('open'))
    t.equal(reply.status, 200, path)
    t.equal(place.upstream.requests.at(-1)?.body, JSON.stringify(body))
  }
})

/** None adds anything beyond the body. */
const INSIDE: readonly [path: string, body: JsonObject][] = [
  ['first/messages', messages({ metadata: { user_id: 'u_1' }, tools: [{ name: 'own', input_schema: { type: 'object' } }] })],
  [
    'first/messages',
    messages({
      messages: [
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'toolu_1', name: 'own', input: { file_id: 'a', url: 'https://a.example' } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }] },
      ],
    }),
  ],
  [
    'first/messages',
    messages({
      tools: [
        { type: 'bash_20250124', name: 'bash' },
        { type: 'memory_20250818', name: 'memory' },
      ],
    }),
  ],
  [
    'first/chat/completions',
    messages({ tools: [{ type: 'function', function: { name: 'f', parameters: { properties: { file_id: {} } } } }] }),
  ],
  ['first/responses', { model: 'm', input: [{ type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' }] }],
  [
    'google/models/m:generateContent',
    { contents: [{ parts: [{ functionCall: { id: '1', name: 'f', args: {} } }] }], tools: [{ functionDeclarations: [] }] },
  ],
  ['first/files', { file_id: 'file_1', purpose: 'any' }],
]

t.test('other requests of a key with a limit are served for the price, byte for byte', async (t) => {
  const place = await scene(t)
  for (const [path, body] of INSIDE.slice(0, 4)) {
    const text = `  ${JSON.stringify(body, null, 1)}\n`
    const reply = await place.gateway.post(`/v1/passage/${path}`, text, bearer('small'))
    t.equal(reply.status, 200, `${path} ${JSON.stringify(body)}`)
    t.equal(place.upstream.requests.at(-1)?.body, text)
  }
  t.equal(await spent(place, 'small'), 0.04)
  for (const [path, body] of INSIDE.slice(4))
    t.equal((await place.gateway.post(`/v1/passage/${path}`, body, bearer('five'))).status, 200, path)
  t.equal(await spent(place, 'five'), 0.03)
})

const REPLY = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
}
const usage = (input: number, output = 10) => ({ usage: { input_tokens: input, output_tokens: output } })
const continued = messages({ thread: { type: 'continue', previous_message_id: 'msg_0' } })

t.test('ten at once: no more than the limit pays for run, and what is reported is charged', async (t) => {
  let most = 0
  let open = 0
  const place = await scene(t, async () => {
    most = Math.max(most, ++open)
    await new Promise((resolve) => setImmediate(resolve))
    open--
    return jsonAnswer({ ...REPLY, ...usage(900_000, 0) })
  })
  const statuses = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const reply = await place.gateway.post('/v1/passage/first/messages', continued, bearer('five'))
      await reply.text()
      return reply.status
    }),
  )
  t.ok(most <= 5, `${most} at a time`)
  t.ok(statuses.includes(402))
  const fine = statuses.filter((status) => status === 200).length
  t.equal(await spent(place, 'five'), Math.min(5, Math.round(fine * 90) / 100))
})

t.test('a stream is charged by its report, and comes through as it was sent', async (t) => {
  const events: readonly JsonObject[] = [
    { type: 'message_start', message: { ...REPLY, content: [], ...usage(200_000, 1) } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 100_000 } },
    { type: 'message_stop' },
  ]
  const text = events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`)
  const stream: Answer = { headers: { 'content-type': 'text/event-stream' }, body: text }
  const place = await scene(t, () => stream)
  const reply = await place.gateway.post('/v1/passage/first/messages', { ...continued, stream: true }, bearer('five'))
  t.equal(await reply.text(), text.join(''))
  await eventually('the charge', async () => (await spent(place, 'five')) === 0.3)
})

t.test('nothing that is reported costs more than a whole context, the answer and reasoning beside it; the rest is disputed', async (t) => {
  const place = await scene(t, () => jsonAnswer({ ...REPLY, ...usage(10 ** 12) }))
  const reply = await place.gateway.post('/v1/passage/first/messages', continued, bearer('five'))
  await reply.text()
  t.equal(await spent(place, 'five'), 1.131082)
  const found = await place.gateway.get(`/v1/generation?id=${reply.headers.get('x-generation-id')}`, bearer('five'))
  t.match(await found.json(), { data: { disputed_nano: 10 ** 15 + 10_000 - 1_131_082_000 } })
})

t.test('what cannot be read costs what the operator has stated for that, and is refused where nothing is stated', async (t) => {
  const closed = await scene(t)
  const open = await scene(t, undefined, { unread: '0.50' })
  const bodies = [
    [JSON.stringify(messages({ system: 'x'.repeat(5_000_000) })), {}],
    ['{"model":"m","mcp_servers":[{"type":"url"}],"messages":[],"mcp_servers":[]}', {}],
    [JSON.stringify(messages({ Model: 'dear' })), {}],
    [JSON.stringify(messages({ model: 'dear' })), {}],
    [JSON.stringify({ ...messages({}), model: undefined }), {}],
    [JSON.stringify(messages({ fallbacks: [{ model: 'dear' }] })), {}],
    [JSON.stringify(messages({ preset: 'dear' })), {}],
  ] as const
  await every(t, 'bodies', async (t) => {
    for (const [body, headers] of bodies) {
      const refused = await closed.gateway.post('/v1/passage/first/messages', body, { ...bearer('five'), ...headers })
      t.equal(refused.status, 403, body.slice(0, 40))
      t.match(await refused.text(), /providers\.first\.pass_through\.unread_price/)
      const small = await open.gateway.post('/v1/passage/first/messages', body, { ...bearer('small'), ...headers })
      t.equal(small.status, 402)
      const served = await open.gateway.post('/v1/passage/first/messages', body, { ...bearer('five'), ...headers })
      t.equal(served.status, 200)
      t.equal(open.upstream.requests.at(-1)?.body.length, body.length)
    }
  })
  t.equal(closed.upstream.requests.length, 0)
  t.equal(await spent(open, 'five'), bodies.length / 2)
  const chunked = `POST /v1/passage/first/messages HTTP/1.1\r\nHost: g\r\nConnection: close\r\nAuthorization: Bearer ${KEYS.small}\r\nTransfer-Encoding: chunked\r\n\r\n`
  const body = JSON.stringify(messages({ thread: { type: 'continue' } }))
  const url = closed.gateway.url
  t.match(await rawExchange(url, `${chunked}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`), /^HTTP\/1\.1 402 /)
  const inside = JSON.stringify(messages({}))
  t.match(await rawExchange(url, `${chunked}${inside.length.toString(16)}\r\n${inside}\r\n0\r\n\r\n`), /^HTTP\/1\.1 200 /)
  t.equal(closed.upstream.requests.at(-1)?.body, inside)
})

t.test('a million numbers are an input like any other', async (t) => {
  const { gateway } = await scene(t)
  const input = { model: 'm', input: Array.from({ length: 1_000_000 }, () => 1) }
  t.equal((await gateway.post('/v1/passage/first/embeddings', input, bearer('five'))).status, 200)
})

t.test('where no price is known, and in batches, outside input is refused in words', async (t) => {
  const { gateway, upstream } = await scene(t)
  for (const more of [{ conversation: 'conv_1' }, {}]) {
    const unpriced = await gateway.post('/v1/passage/bare/responses', { model: 'm', input: 'x', ...more }, bearer('five'))
    t.equal(unpriced.status, 403)
    t.match(await unpriced.text(), /m, of which no price is known/)
  }
  const batch = (params: JsonObject) => ({ requests: [{ custom_id: 'a', params }] })
  t.equal((await gateway.post('/v1/passage/first/messages/batches', batch(messages({})), bearer('five'))).status, 200)
  const refused = await gateway.post('/v1/passage/first/messages/batches', batch(continued), bearer('five'))
  t.equal(refused.status, 403)
  t.match(await refused.text(), /thread in a batch.*one by one/)
  t.equal(upstream.requests.length, 1)
})

t.test('a WebSocket is what cannot be read', async (t) => {
  const { gateway } = await scene(t)
  const handshake = (key: Key, path: string) =>
    `GET /v1/passage/first/${path} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${KEYS[key]}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`
  for (const path of ['responses', 'realtime?model=m', 'ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent']) {
    t.match(await rawExchange(gateway.url, handshake('five', path)), /^HTTP\/1\.1 403 [\s\S]*a WebSocket.*unread_price/)
    t.notMatch(await rawExchange(gateway.url, handshake('open', path)), /^HTTP\/1\.1 40/)
  }
})
