/** Rules of the wire by their numbers: keys, envelopes, bad input, metadata, debug, money. */
import t, { type Test } from 'tap'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { eventsOf, foldChat, list, object } from '../support/fold.ts'
import { startGateway } from '../support/gateway.ts'
import { jsonAnswer, sseAnswer, startUpstream } from '../support/upstream.ts'
import { answerFor, framesFor, responsesReplyWith, says, upstreamError } from '../support/wire.ts'

const KEY = 'sk-router-v1-0123456789abcdef'
const OPS = 'sk-router-v1-fedcba9876543210'
const POOR = 'sk-router-v1-00112233445566'
const DISABLED = 'sk-router-v1-66554433221100'

const first = await startUpstream(says({ text: ['fine'] }))
const second = await startUpstream(says({ text: ['second'] }))
const gateway = await startGateway(`
auth:
  keys:
    - { name: app, key: "${KEY}" }
    - { name: ops, key: "${OPS}", management: true }
    - { name: poor, key: "${POOR}", limit: "0.000001" }
    - { name: disabled, key: "${DISABLED}", disabled: true }
providers:
  first: { name: First, dialect: openai-responses, base_url: "${first.url}/v1", key: "sk-first-secret" }
  second: { name: Second, dialect: openai-chat, base_url: "${second.url}/v1", key: "sk-second-secret" }
models:
  acme/one:
    context: 128000
    endpoints:
      - { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } }
      - { provider: second, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } }
`)
t.teardown(async () => {
  await gateway.close()
  await Promise.all([first.close(), second.close()])
})

const ORDER = { order: ['first', 'second'] }
const RESPONSES = '/v1/responses'
const CHAT = '/v1/chat/completions'
const question = (path: string): JsonObject =>
  path === RESPONSES
    ? { model: 'acme/one', input: 'Hello', provider: ORDER }
    : { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], provider: ORDER }

const ask = (path: string, more: JsonObject = {}, headers: Record<string, string> = {}): Promise<Response> =>
  gateway.post(path, { ...question(path), ...more }, headers)
const calls = (): number => first.requests.length + second.requests.length

async function json(response: Response): Promise<JsonObject> {
  return (await response.json()) as JsonObject
}

/** A refusal: status, standard body, JSON whatever was asked for, nothing upstream. @returns the error. */
async function refused(t: Test, name: string, asked: Promise<Response>, status: number): Promise<JsonObject> {
  const before = calls()
  const response = await asked
  const body = await json(response)
  t.equal(response.status, status, name)
  t.match(body, { error: { code: status, message: String, metadata: { error_type: String } } }, `C-007: ${name}`)
  t.match(response.headers.get('content-type'), /^application\/json/, `C-008: ${name}`)
  t.equal(calls(), before, `${name}: the upstream never sees it`)
  return object(body.error)
}

/** As `refused` with 400; the message names the field. */
async function names(t: Test, path: string, more: JsonObject, field: string): Promise<void> {
  const { message } = await refused(t, `${path} ${JSON.stringify(more).slice(0, 80)}`, ask(path, { stream: true, ...more }), 400)
  t.ok(String(message).includes(field), `${message} names ${field}`)
}

t.test('C-001 to C-006: keys', async (t) => {
  const withAuth = (value: string | undefined, path = RESPONSES): Promise<Response> =>
    fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(value === undefined ? {} : { authorization: value }) },
      body: JSON.stringify({ ...question(path), stream: true }),
    })
  for (const path of [RESPONSES, CHAT]) {
    const error = await refused(t, 'C-001', withAuth(undefined, path), 401)
    t.match(error.message, /authentication/i)
    await refused(t, 'C-002 unknown', withAuth('Bearer sk-router-v1-unknown', path), 401)
    await refused(t, 'C-002 disabled', withAuth(`Bearer ${DISABLED}`, path), 401)
    await refused(t, 'C-003', withAuth(`Basic ${KEY}`, path), 401)
    const management = await refused(t, 'C-005', withAuth(`Bearer ${OPS}`, path), 403)
    t.equal(object(management.metadata).error_type, 'permission_denied')
  }
  const bare = await fetch(`${gateway.url}/v1/models`)
  t.equal(bare.status, 401, 'lists need a key too')
})

t.test('C-009 C-010 C-012 C-013: what is no request', async (t) => {
  for (const path of [RESPONSES, CHAT]) {
    for (const body of [
      '{"model":',
      '{"model":"acme/one",}',
      "{'model':'acme/one'}",
      '\u0000',
      'null',
      '[]',
      '"text"',
      '5',
      `${'['.repeat(5000)}${']'.repeat(5000)}`,
    ])
      await refused(t, `C-009 ${path} ${body.slice(0, 20)}`, gateway.post(path, body), 400)
    await refused(t, `C-010 ${path}`, gateway.post(path, ''), 400)
    const deep = `{"model":"acme/one","metadata":${'{"a":'.repeat(6000)}1${'}'.repeat(6000)}}`
    await refused(t, `${path}: too deep`, gateway.post(path, deep), 400)
    const response = await gateway.get(path)
    t.ok(response.status === 405 || response.status === 404, 'C-013')
    t.match(await json(response), { error: { code: response.status } })
  }
  for (const path of ['/', '/v1', '/v1/nothing', '/v1/responses/x', '/v2/responses', '/v1/../admin', '/%00']) {
    const response = await gateway.post(path, '{}')
    t.equal(response.status, 404, `C-012 ${path}`)
    t.match(await json(response), { error: { code: 404, message: String } })
  }
  t.ok((await fetch(`${gateway.url}/`, { method: 'HEAD' })).status < 500, 'HEAD / is a habit of clients')
})

t.test('a byte order mark, spaces and escapes are JSON all the same', async (t) => {
  const response = await gateway.post(
    RESPONSES,
    ` \n\t{"model":"acme/one","input":"\\u0048i \\ud83d\\ude00","provider":{"order":["first"]}}\r\n`,
  )
  t.equal(response.status, 200)
  t.match(first.requests.at(-1)?.body, /Hi (😀|\\ud83d\\ude00)/)
})

t.test('C-029 to C-039: bad fields of responses', async (t) => {
  const without = async (field: string): Promise<void> => {
    const body = question(RESPONSES)
    delete body[field]
    const error = await refused(t, `no ${field}`, gateway.post(RESPONSES, body), 400)
    t.ok(String(error.message).includes(field), String(error.message))
  }
  await without('input')
  await without('model')
  await names(t, RESPONSES, { store: true }, 'store')
  await names(t, RESPONSES, { previous_response_id: 'resp_1' }, 'previous_response_id')
  await names(t, RESPONSES, { background: true }, 'background')
  await names(t, RESPONSES, { user: 'x'.repeat(257) }, 'user')
  await names(t, RESPONSES, { session_id: 'x'.repeat(257) }, 'session_id')
  await refused(t, 'C-035 header', ask(RESPONSES, {}, { 'x-session-id': 'x'.repeat(257) }), 400)
  await names(t, RESPONSES, { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])) }, 'metadata')
  await names(t, RESPONSES, { metadata: { [`k${'x'.repeat(64)}`]: 'v' } }, 'metadata')
  await names(t, RESPONSES, { metadata: { k: 'x'.repeat(513) } }, 'metadata')
  await names(t, RESPONSES, { metadata: { 'k[0]': 'v' } }, 'metadata')
  await names(t, RESPONSES, { metadata: { k: 1 } }, 'metadata')
  await names(t, RESPONSES, { provider: { orders: ['first'] } }, 'provider')
  await names(t, RESPONSES, { stop_server_tools_when: [] }, 'stop_server_tools_when')
  await names(t, RESPONSES, { cache_control: { type: 'forever' } }, 'cache_control')
  t.equal((await ask(RESPONSES, { store: false, previous_response_id: null })).status, 200, 'C-031 C-032')
})

t.test('wrong types in responses', async (t) => {
  const wrong: readonly [JsonObject, string][] = [
    [{ input: 5 }, 'input'],
    [{ input: [5] }, 'input'],
    [{ input: [{ type: 'function_call_output', output: 'x' }] }, 'input'],
    [{ model: 5 }, 'model'],
    [{ model: '' }, 'model'],
    [{ models: 'acme/one' }, 'models'],
    [{ stream: 'yes' }, 'stream'],
    [{ temperature: 'hot' }, 'temperature'],
    [{ temperature: 3 }, 'temperature'],
    [{ max_output_tokens: -1 }, 'max_output_tokens'],
    [{ tools: {} }, 'tools'],
    [{ tools: [{ type: 'function' }] }, 'tools'],
    [{ tool_choice: 'sometimes' }, 'tool_choice'],
    [{ instructions: 5 }, 'instructions'],
    [{ reasoning: { effort: 'extreme' } }, 'reasoning'],
    [{ text: { format: { type: 'json_schema' } } }, 'text'],
    [{ provider: { order: 'first' } }, 'provider'],
    [{ provider: { max_price: { prompt: 'cheap' } } }, 'provider'],
    [{ plugins: [{ id: 5 }] }, 'plugins'],
    [{ metadata: [] }, 'metadata'],
    [{ max_tool_calls: 0.5 }, 'max_tool_calls'],
    [{ parallel_tool_calls: 'yes' }, 'parallel_tool_calls'],
  ]
  for (const [more, field] of wrong) await names(t, RESPONSES, more, field)
})

t.test('C-089 C-100 C-103: bad fields of chat', async (t) => {
  const wrong: readonly [JsonObject, string][] = [
    [{ messages: [] }, 'messages'],
    [{ messages: 'Hello' }, 'messages'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages'],
    [{ messages: [{ role: 'user' }] }, 'messages'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages'],
    [{ reasoning_effort: 'low', reasoning: { effort: 'high' } }, 'reasoning'],
    [{ tools: [{ type: 'router:shell' }] }, 'tools'],
    [{ tools: [{ type: 'router:tool_search' }] }, 'tools'],
    [{ tools: [{ type: 'router:apply_patch' }] }, 'tools'],
    [{ temperature: 2.5 }, 'temperature'],
    [{ top_logprobs: 5 }, 'top_logprobs'],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
    [{ response_format: { type: 'json_schema' } }, 'response_format'],
    [{ user: 'x'.repeat(257) }, 'user'],
    [{ session_id: 'x'.repeat(257) }, 'session_id'],
    [{ provider: { unknown: 1 } }, 'provider'],
    [{ max_tokens: 'many' }, 'max_tokens'],
    [{ logit_bias: { 5: 200 } }, 'logit_bias'],
  ]
  for (const [more, field] of wrong) await names(t, CHAT, more, field)
  const error = await refused(t, 'no messages', gateway.post(CHAT, { model: 'acme/one' }), 400)
  t.match(error.message, /messages/)
})

t.test('C-186: unknown and malformed models', async (t) => {
  for (const path of [RESPONSES, CHAT]) {
    const error = await refused(t, `${path} unknown`, ask(path, { model: 'acme/none', stream: true }), 404)
    t.match(error, { availability: { code: 'model_not_found', requested_models: ['acme/none'] } })
    for (const model of ['acme', 'acme/', '/one', 'acme/one two', 'acme//one']) {
      const malformed = await refused(t, `${path} ${model}`, ask(path, { model }), 400)
      t.match(malformed.message, /model/)
    }
  }
})

t.test('C-121 C-122: filters that leave nothing', async (t) => {
  for (const provider of [
    { only: ['nobody'] },
    { ignore: ['first', 'second'] },
    { max_price: { prompt: '0.5' } },
    { max_price: { prompt: 0.5 } },
    { zdr: true },
  ]) {
    const error = await refused(t, JSON.stringify(provider), ask(RESPONSES, { provider }), 404)
    t.match(error, { availability: { code: String, retryable: Boolean } })
  }
  const only = await json(await ask(RESPONSES, { provider: { only: ['second'] } }))
  t.equal(list(list(only.output)[0].content)[0].text, 'second', 'only')
})

t.test('C-018 C-019: every completion has its own id, and titles change nothing', async (t) => {
  const seen = new Set<string | null>()
  for (const path of [RESPONSES, CHAT])
    for (const stream of [false, true]) {
      const response = await ask(path, { stream }, { 'HTTP-Referer': 'https://app.example', 'X-Router-Title': 'App' })
      t.equal(response.status, 200)
      seen.add(response.headers.get('x-generation-id'))
      await response.text()
    }
  t.equal(seen.size, 4)
  t.ok([...seen].every((id) => id?.startsWith('gen-')))
})

t.test('C-014 C-015: money', async (t) => {
  const poor = { authorization: `Bearer ${POOR}` }
  for (const path of [RESPONSES, CHAT]) {
    const error = await refused(t, 'C-014', ask(path, { stream: true }, poor), 402)
    t.match(error.message, /\$/, 'it says what was needed and what is left')
  }
  const before = object((await json(await gateway.get('/v1/key'))).data)
  t.match(before, { limit: null, usage: Number, label: String })
  t.notMatch(JSON.stringify(before), KEY)
  const response = await ask(CHAT)
  const id = response.headers.get('x-generation-id')
  const { cost } = object((await json(response)).usage)
  t.equal(cost, 0.000025)
  const after = object((await json(await gateway.get('/v1/key'))).data)
  t.equal(Math.round((Number(after.usage) - Number(before.usage)) * 1e9), 25000, 'C-015: it rises by what the reply says')
  const generation = object((await json(await gateway.get(`/v1/generation?id=${id}`))).data)
  t.match(generation, {
    id,
    model: 'acme/one',
    provider_name: 'First',
    total_cost: cost,
    tokens_prompt: 11,
    tokens_completion: 7,
    streamed: false,
    finish_reason: 'stop',
  })
  t.equal((await gateway.get(`/v1/generation?id=${id}`, poor)).status, 404, 'K06: not for another key')
  t.equal((await gateway.get('/v1/generation')).status, 400)
  t.equal((await gateway.get('/v1/generation?id=gen-unknown')).status, 404)
  const limits = object((await json(await gateway.get('/v1/key', poor))).data)
  t.match(limits, { limit: 0.000001, limit_remaining: 0.000001, usage: 0 })
})

t.test('C-049 C-050: sealed reasoning', async (t) => {
  const sealed = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'c2VhbGVk' }
  first.script = () => jsonAnswer(responsesReplyWith({ text: ['so'] }, [sealed]))
  const output = list((await json(await ask(RESPONSES, { include: ['reasoning.encrypted_content'] }))).output)
  t.match(output[0], { type: 'reasoning', encrypted_content: 'c2VhbGVk' })
  t.match(first.requests.at(-1)?.json, { include: ['reasoning.encrypted_content'] })
  first.script = says({ text: ['fine'] })
  const input: Json = [
    { role: 'user', content: 'Hi' },
    { ...sealed, signature: 'sig' },
    { role: 'user', content: 'Go on' },
  ]
  t.equal((await ask(RESPONSES, { input })).status, 200)
  t.match(first.requests.at(-1)?.body, /c2VhbGVk/, 'C-050')
})

t.test('C-072 C-102: citations', async (t) => {
  const annotation = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 2 }
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  first.script = (seen) => {
    if (seen.json.stream !== true) {
      const reply = responsesReplyWith({ text: ['so'] }, [])
      list(list(reply.output)[0].content)[0].annotations = [annotation]
      return jsonAnswer(reply)
    }
    const frames = framesFor(seen.path, { text: ['so'] })
    const done = frames.findIndex((frame) => frame.includes('"type":"response.output_text.done"'))
    const added = { type: 'response.output_text.annotation.added', sequence_number: done, ...place, annotation_index: 0, annotation }
    const later = frames
      .slice(done)
      .map((frame) =>
        frame
          .replace(/"sequence_number":(\d+)/, (_, n) => `"sequence_number":${Number(n) + 1}`)
          .replaceAll('"annotations":[]', `"annotations":[${JSON.stringify(annotation)}]`),
      )
    return sseAnswer([...frames.slice(0, done), `event: ${added.type}\ndata: ${JSON.stringify(added)}\n\n`, ...later])
  }
  const events = eventsOf(await (await ask(RESPONSES, { stream: true })).text())
  t.match(
    events.find((event) => event.type === 'response.output_text.annotation.added'),
    { annotation_index: 0, annotation },
  )
  const whole = await json(await ask(RESPONSES))
  t.match(list(list(whole.output)[0].content)[0].annotations, [annotation])
  const chat = foldChat(await json(await ask(CHAT)))
  t.match(chat.annotations, [{ type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } }], 'C-102')
  first.script = says({ text: ['fine'] })
})

t.test('C-079 to C-081 C-104: debug', async (t) => {
  const debug = { echo_upstream_body: true }
  first.script = () => upstreamError(500)
  for (const path of [RESPONSES, CHAT]) {
    const text = await (await ask(path, { stream: true, debug })).text()
    const events = eventsOf(text)
    const echoes = events.filter((event) => 'debug' in event)
    t.equal(echoes.length, 2, `C-081 ${path}: one per attempt`)
    t.same(events.slice(0, 2), echoes, 'C-079: they come first')
    t.match(echoes[1], { debug: { echo_upstream_body: { model: 'upstream-model' } } }, 'C-080')
    t.notMatch(text, /secret/)
    if (path === CHAT) t.same(echoes[0].choices, [], 'C-104')
    else
      t.same(
        events.map((event) => event.sequence_number),
        [...events.keys()],
      )
  }
  first.script = says({ text: ['fine'] })
})

t.test('C-146 to C-153: metadata', async (t) => {
  const on = { 'X-Router-Metadata': 'enabled' }
  const whole = object((await json(await ask(RESPONSES, {}, on))).router_metadata)
  t.match(whole, {
    requested: 'acme/one',
    strategy: 'direct',
    region: null,
    attempt: 1,
    is_byok: false,
    summary: 'available=2, selected=First',
  })
  t.match(whole.endpoints, {
    total: 2,
    available: [
      { provider: 'First', model: 'acme/one', selected: true },
      { provider: 'Second', selected: false },
    ],
  })
  for (const headers of [{ 'X-Router-Metadata': 'ENABLED' }, { 'X-Router-Experimental-Metadata': 'enabled' }] as Record<string, string>[])
    t.ok('router_metadata' in (await json(await ask(CHAT, {}, headers))), `C-149 C-150 ${JSON.stringify(headers)}`)
  t.notOk('router_metadata' in (await json(await ask(CHAT, {}, { 'X-Router-Metadata': 'yes' }))), 'C-150')
  first.script = () => upstreamError(500)
  const fallen = object((await json(await ask(RESPONSES, {}, on))).router_metadata)
  t.match(
    fallen,
    {
      attempt: 2,
      attempts: [
        { provider: 'First', status: 502 },
        { provider: 'Second', status: 200 },
      ],
    },
    'C-148',
  )
  second.script = () => upstreamError(503)
  const failed = await json(await ask(RESPONSES, { stream: true }, on))
  t.match(failed, { error: { code: 502 }, router_metadata: { attempt: 2, endpoints: { total: 2 } } })
  t.notOk(
    list(object(object(failed.router_metadata).endpoints).available).some((endpoint) => endpoint.selected),
    'none is selected',
  )
  first.script = says({ text: ['fine'] })
  second.script = says({ text: ['second'] })
  for (const path of [RESPONSES, CHAT]) {
    const events = eventsOf(await (await ask(path, { stream: true }, on)).text())
    const holders = events.filter((event) => 'router_metadata' in event || 'router_metadata' in object(event.response))
    t.same(holders, events.slice(-1), `C-151 ${path}: only in the last`)
  }
  const none = await json(await ask(RESPONSES, { provider: { only: ['nobody'] } }, on))
  t.match(none, { router_metadata: { attempt: 0 } }, 'C-153')
  const stranger = await json(await ask(RESPONSES, {}, { ...on, authorization: 'Bearer wrong' }))
  t.notOk('router_metadata' in stranger, 'C-152')
})

t.test('C-085: a slow reader holds the provider back', async (t) => {
  const piece = 'x'.repeat(64 * 1024)
  const words = 1500
  first.script = (seen) => {
    const frames = framesFor(seen.path, { text: ['marker'] })
    const at = frames.findIndex((frame) => frame.includes('"delta":"marker"'))
    const many = Array.from({ length: words }, () => frames[at].replace('marker', piece))
    return sseAnswer([...frames.slice(0, at), ...many, ...frames.slice(at + 1)])
  }
  const response = await ask(RESPONSES, { stream: true })
  const reader = response.body?.getReader()
  await reader?.read()
  const seen = first.requests.at(-1)
  let last = -1
  for (let still = 0; still < 200; ) {
    still = seen?.sentBytes === last ? still + 1 : 0
    last = seen?.sentBytes ?? 0
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.ok(
    last < (words * piece.length) / 3,
    `the provider waits after ${Math.round(last / 1e6)} MB of ${Math.round((words * piece.length) / 1e6)} MB`,
  )
  let received = 0
  for (;;) {
    const chunk = await reader?.read()
    if (!chunk || chunk.done) break
    received += chunk.value.length
  }
  t.ok(received > words * piece.length, 'and everything arrives once it is read')
  first.script = says({ text: ['fine'] })
})

t.test('C-185: nothing of a provider’s words or keys leaks', async (t) => {
  const leak = 'internal host 10.1.2.3, key sk-first-secret, stack at line 5'
  first.script = () => upstreamError(500, leak)
  second.script = () => upstreamError(401, leak)
  for (const path of [RESPONSES, CHAT]) t.notMatch(await (await ask(path)).text(), /10\.1\.2\.3|secret|stack/)
  t.notMatch(gateway.logs.join('\n'), /sk-first-secret|sk-router-v1-0123/)
  first.script = (seen) => answerFor(seen, { text: ['fine'] })
  second.script = says({ text: ['second'] })
})
