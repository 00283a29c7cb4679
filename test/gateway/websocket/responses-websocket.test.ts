/** Responses over WebSocket: the same events as messages, in lanes, each of which may continue a response before it. */
import t, { type Test } from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { parseStream } from '../../support/fold.ts'
import { type Gateway, oneModel } from '../../support/gateway.ts'
import { lastEvent, openSocket, type ResponsesSocket, refusedSocket, responseId } from '../../support/responses-socket.ts'
import { startScene } from '../../support/scene.ts'
import { Gate, sseAnswer, type Upstream } from '../../support/upstream.ts'
import { answerFor, framesFor, type Utterance } from '../../support/wire.ts'

interface WithSocket {
  gateway: Gateway
  upstream: Upstream
  /** The provider says these, one after the other. */
  says(...utterance: Utterance[]): void
  open(headers?: Record<string, string>): Promise<ResponsesSocket>
}

async function withSocket(t: Test, dialect = 'openai-responses', yaml = ''): Promise<WithSocket> {
  let saying: Utterance[] = []
  const { gateway, upstream } = await startScene(t, {
    answer: (seen) => answerFor(seen, saying.shift() ?? { text: ['fine'] }),
    config: (url) => yaml + oneModel(url, dialect),
  })
  return {
    gateway,
    upstream,
    says: (...utterance) => {
      saying = utterance
    },
    open: (headers) => openSocket({ url: gateway.url, key: gateway.key, headers }),
  }
}

const user = (text: string): JsonObject => ({ role: 'user', content: text })
const model = 'acme/one'

/** Members that differ between two replies to the same request. */
const plain = (events: readonly JsonObject[]): string =>
  JSON.stringify(events)
    .replaceAll(/gen-[\w-]+/g, 'gen')
    .replaceAll(/"(created_at|completed_at)":\d+/g, '"$1":0')
    .replaceAll(/"id":"(msg|rs|fc)_[\w-]+"/g, '"id":"$1"')
    .replaceAll(/"item_id":"[\w-]+"/g, '"item_id":""')

t.test('the messages are the events of HTTP, in every lane', async (t) => {
  for (const dialect of ['openai-responses', 'openai-chat', 'anthropic', 'gemini']) {
    const { gateway, says, open } = await withSocket(t, dialect)
    const utterance: Utterance = {
      reasoning: ['hm'],
      text: ['fine\n\n', 'ünd 日本 🦊', '"data: x"'],
      calls: [{ id: 'call_1', name: 'f', args: ['{"a":', '1}'] }],
    }
    says(utterance, utterance)
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }]
    const over = await (await gateway.post('/v1/responses', { model, input: 'Hello', tools, stream: true })).text()
    const client = await open()
    const reply = await client.respond({ model, input: 'Hello', tools })
    t.equal(plain(reply), plain(parseStream(over) as JsonObject[]), dialect)
    t.equal(lastEvent(reply).type, 'response.completed')
    client.ws.close()
  }
})

t.test('a response continues the last one: the provider gets the whole conversation', async (t) => {
  const { upstream, says, open } = await withSocket(t)
  says({ calls: [{ id: 'call_1', name: 'f', args: ['{}'] }] }, { text: ['done'] }, { text: ['again'] })
  const client = await open()
  const first = await client.respond({ model, input: 'Hello', instructions: 'Be short.' })
  const output = { type: 'function_call_output', call_id: 'call_1', output: '7' }
  const second = await client.respond({ model, previous_response_id: responseId(first), input: [output] })
  t.equal((lastEvent(second).response as JsonObject).previous_response_id, responseId(first), 'the reply names it')
  const third = await client.respond({ model, previous_response_id: responseId(second), input: 'More' })
  t.equal(lastEvent(third).type, 'response.completed')
  const inputs = upstream.requests.map(({ json }) => (json.input as JsonObject[]).map(({ type, role }) => type ?? role))
  t.same(inputs, [
    ['user'],
    ['user', 'function_call', 'function_call_output'],
    ['user', 'function_call', 'function_call_output', 'message', 'user'],
  ])
  await every(t, 'nothing of the envelope reaches the provider', (t) => {
    for (const { json } of upstream.requests) {
      for (const name of ['type', 'previous_response_id', 'generate']) t.notOk(name in json, name)
      t.equal(json.stream, true)
    }
  })
  t.notOk('instructions' in (upstream.requests[1]?.json ?? {}), 'instructions are not carried over')
})

t.test('no other response can be continued', async (t) => {
  const { gateway, says, open } = await withSocket(t)
  const client = await open()
  const other = await open()
  const first = await client.respond({ model, input: 'Hello' })
  const second = await client.respond({ model, input: 'Hello' })
  const refused = async (client: ResponsesSocket, id: string): Promise<Json> => {
    const [failure] = await client.respond({ model, previous_response_id: id, input: 'More' })
    t.match(failure, {
      type: 'error',
      status: 400,
      error: { code: 'previous_response_not_found', param: 'previous_response_id', type: 'invalid_request_error' },
    })
    return failure
  }
  await refused(other, responseId(second))
  await refused(client, responseId(first))
  await refused(client, 'resp_unknown')
  const { error } = (await (
    await gateway.post('/v1/responses', { model, previous_response_id: responseId(second), input: 'x' })
  ).json()) as JsonObject
  t.match(error, { param: 'previous_response_id', code: 400 }, 'HTTP has none to continue')
  t.equal(
    lastEvent(await client.respond({ model, previous_response_id: responseId(second), input: 'x' })).type,
    'response.completed',
    'the last one',
  )
  says({ text: ['fine'] })
  const [failure] = await client.respond({ model: 'acme/none', previous_response_id: 'x', input: 'x' })
  t.match(failure, { status: 400 })
})

t.test('a response whose continuation fails is forgotten', async (t) => {
  const { open } = await withSocket(t)
  const client = await open()
  const first = await client.respond({ model, input: 'Hello' })
  const [failure] = await client.respond({ model: 'acme/none', previous_response_id: responseId(first), input: 'x' })
  t.match(failure, { type: 'error', status: 404, error: { code: 'model_not_found' }, headers: { 'X-Generation-Id': /^gen-/ } })
  const [again] = await client.respond({ model, previous_response_id: responseId(first), input: 'x' })
  t.match(again, { error: { code: 'previous_response_not_found' } })
})

t.test('generate: false calls no provider, and can be continued', async (t) => {
  const { gateway, upstream, open } = await withSocket(t)
  const client = await open()
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }]
  const warm = await client.respond({ model, generate: false, input: [user('First')], tools })
  t.same(
    warm.map(({ type }) => type),
    ['response.created', 'response.in_progress', 'response.completed'],
  )
  t.match(lastEvent(warm).response, { status: 'completed', output: [], model, usage: { input_tokens: 0, output_tokens: 0 } })
  t.equal(upstream.requests.length, 0)
  const next = await client.respond({ model, previous_response_id: responseId(warm), input: [user('Second')] })
  t.equal(lastEvent(next).type, 'response.completed')
  t.match(upstream.requests[0]?.json.input, [user('First'), user('Second')])
  const bare = await client.respond({ model, generate: false, instructions: 'Be short.' })
  const later = await client.respond({ model, previous_response_id: responseId(bare), input: 'Third' })
  t.equal(lastEvent(later).type, 'response.completed', 'without input, too')
  const [failure] = await client.respond({ model: 'acme/none', generate: false, input: 'x' })
  t.match(failure, { status: 404 }, 'an unknown model')
  t.equal([...gateway.running.store.journal.export()].length, 2, 'only what was generated is in the journal')
})

t.test('refuses a message that is no request, and keeps the connection', async (t) => {
  const { upstream, open } = await withSocket(t)
  const client = await open()
  const cases: [string, RegExp][] = [
    ['no json', /JSON object/],
    ['[]', /JSON object/],
    ['{"type":"response.create"', /JSON object/],
    ['{"type":"response.append"}', /type: expected response.create/],
    ['{}', /type: expected response.create/],
    [`{"type":"response.create","model":"${model}"}`, /input: is required/],
    [`{"type":"response.create","model":"${model}","input":7}`, /input: expected/],
    [`{"type":"response.create","model":"${model}","input":"x","background":true}`, /background/],
    [`{"type":"response.create","model":"${model}","input":"x","store":true}`, /store/],
    [`{"type":"response.create","model":"${model}","input":"x","previous_response_id":7}`, /previous_response_id: expected/],
    [`{"type":"response.create","model":"${model}","input":[{"a":}]}`, /valid JSON/],
    [`{"type":"response.create","model":"${model}","input":"x","temperature":"hot"}`, /temperature/],
  ]
  await every(t, 'each names what was expected', async (t) => {
    for (const [text, expected] of cases) {
      client.ws.send(text)
      const [failure] = await client.reply()
      t.match(failure, { type: 'error', status: 400, error: { message: expected, type: 'invalid_request_error', code: null } }, text)
    }
  })
  client.send({ type: 'response.processed', response_id: 'resp_1' })
  t.equal(lastEvent(await client.respond({ model, input: 'Hello' })).type, 'response.completed', 'an acknowledgement wants no reply')
  t.equal(upstream.requests.length, 1)
  client.ws.send(Buffer.from('{}'), { binary: true })
  t.match(await client.ended(), { code: 1003 })
})

/** The messages of one lane, without the mark of the lane. */
const ofLane = (client: ResponsesSocket, lane: string): JsonObject[] =>
  client.messages.filter(({ stream_id: id }) => id === lane).map(({ stream_id: _, ...event }) => event)

t.test('lanes run at the same time, requests of one lane one after the other', async (t) => {
  const { upstream, open } = await withSocket(t)
  const gate = new Gate()
  upstream.script = (seen) => {
    const frames = framesFor(seen.path, { text: ['first ', 'last'] })
    const cut = frames.findIndex((frame) => frame.includes('last'))
    return sseAnswer(seen.body.includes('"wait"') ? [...frames.slice(0, cut), gate.step, ...frames.slice(cut)] : frames)
  }
  const client = await open()
  client.send({ type: 'response.create', model, input: 'wait', stream_id: 'planner' })
  client.send({ type: 'response.create', model, input: 'Behind', stream_id: 'planner' })
  client.send({ type: 'response.create', model, input: 'Hello', stream_id: 're.search-1' })
  client.send({ type: 'response.create', model, input: 'wait' })
  client.send({ type: 'response.create', model, input: 'Behind', stream_id: null })
  const ended = (lane: string) => ofLane(client, lane).filter(({ type }) => type === 'response.completed').length
  const own = () => client.messages.filter((event) => !('stream_id' in event))
  await eventually('the lane that does not wait', () => ended('re.search-1') === 1)
  await eventually('the others have begun', () => ofLane(client, 'planner').length > 2 && own().length > 2)
  t.equal(ended('planner') + own().filter(({ type }) => type === 'response.completed').length, 0)
  t.equal(upstream.requests.length, 3, 'what stands behind a response waits')
  gate.open()
  await eventually('all', () => ended('planner') === 2 && own().filter(({ type }) => type === 'response.completed').length === 2)
  const inOrder = (events: readonly JsonObject[]): unknown[] =>
    events.filter(({ type }) => type === 'response.created' || type === 'response.completed').map(({ type }) => type)
  for (const events of [ofLane(client, 'planner'), own()])
    t.same(inOrder(events), ['response.created', 'response.completed', 'response.created', 'response.completed'])
  t.same(
    ofLane(client, 're.search-1').map(({ sequence_number: number }) => number),
    ofLane(client, 're.search-1').map((_, at) => at),
    'events of a lane are whole and in order',
  )
})

t.test('any lane may continue the last response of another one, and a failure there leaves it', async (t) => {
  const { upstream, says, open } = await withSocket(t)
  says({ text: ['plan'] }, { text: ['critique'] }, { text: ['more'] })
  const client = await open()
  const first = await client.respond({ model, input: 'Plan it', stream_id: 'main' })
  t.equal(lastEvent(first).stream_id, 'main')
  const failed = lastEvent(
    await client.respond({ model: 'acme/none', previous_response_id: responseId(first), input: 'x', stream_id: 'other' }),
  )
  t.match(failed, { type: 'error', status: 404, stream_id: 'other', error: { code: 'model_not_found' } })
  const fork = await client.respond({ model, previous_response_id: responseId(first), input: 'Criticise it', stream_id: 'critic' })
  t.match(lastEvent(fork), { type: 'response.completed', stream_id: 'critic', response: { previous_response_id: responseId(first) } })
  const onward = await client.respond({ model, previous_response_id: responseId(first), input: 'Go on', stream_id: 'main' })
  t.match(lastEvent(onward), { type: 'response.completed', stream_id: 'main' })
  t.match(
    upstream.requests.map(({ json }) => (json.input as JsonObject[]).length),
    [1, 3, 3],
  )
  const gone = lastEvent(await client.respond({ model, previous_response_id: responseId(first), input: 'x' }))
  t.match(gone, { error: { code: 'previous_response_not_found' } }, 'no lane has it any more')
  const again = lastEvent(
    await client.respond({ model: 'acme/none', previous_response_id: responseId(fork), input: 'x', stream_id: 'critic' }),
  )
  t.match(again, { status: 404, stream_id: 'critic' })
  const dropped = lastEvent(await client.respond({ model, previous_response_id: responseId(fork), input: 'x', stream_id: 'critic' }))
  t.match(dropped, { stream_id: 'critic', error: { code: 'previous_response_not_found' } }, 'its own lane forgets it')
})

t.test('names of lanes are checked and bounded', async (t) => {
  const { open } = await withSocket(t)
  const client = await open()
  for (const name of ['', 'a b', 'é', '"', 7, 'x'.repeat(257)]) {
    const failure = lastEvent(await client.respond({ model, input: 'x', stream_id: name }))
    t.match(failure, { type: 'error', status: 400, error: { code: 'invalid_stream_id', param: 'stream_id' } }, JSON.stringify(name))
    t.notOk('stream_id' in failure)
  }
  for (let at = 0; at < 32; at++) await client.respond({ model, input: 'x', generate: false, stream_id: `agent_${at}` })
  t.match(lastEvent(await client.respond({ model, input: 'x', stream_id: 'agent_32' })), {
    type: 'error',
    status: 400,
    stream_id: 'agent_32',
    error: { code: 'websocket_stream_limit_reached', param: 'stream_id' },
  })
  t.match(lastEvent(await client.respond({ model, input: 'x', stream_id: 'agent_3' })), {
    type: 'response.completed',
    stream_id: 'agent_3',
  })
  t.equal(lastEvent(await client.respond({ model, input: 'x' })).type, 'response.completed', 'its own lane is none of them')
})

t.test('input for a response in flight comes back', async (t) => {
  const { open } = await withSocket(t)
  const client = await open()
  const steer = async (message: JsonObject): Promise<JsonObject> => {
    const before = client.messages.length
    client.send({ type: 'response.steer', ...message })
    await eventually('the reply', () => client.messages.length > before)
    return client.messages.at(-1) ?? {}
  }
  const input = [{ role: 'user', content: 'Stop {"}' }]
  t.match(await steer({ previous_response_id: 'resp_1', input }), {
    type: 'response.steer.failed',
    sequence_number: 0,
    error: { code: 'steering_not_supported', type: 'invalid_request_error', message: String },
    steer: { previous_response_id: 'resp_1', input },
  })
  t.match(await steer({ input }), { type: 'response.steer.failed', error: { code: 'invalid_input' }, steer: { input } })
  t.match(await steer({ previous_response_id: 'resp_1' }), { type: 'response.steer.failed', error: { code: 'invalid_input' } })
  client.send({ type: 'response.create', model, input: 'Hello' })
  await eventually('the connection stays', () => client.messages.some(({ type }) => type === 'response.completed'))
})

t.test('handshakes are refused as requests are', async (t) => {
  const { gateway, open } = await withSocket(t)
  const { url, key } = gateway
  t.match(await refusedSocket({ url }), { status: 401, body: { error: { code: 401 } } }, 'without a key')
  t.match(await refusedSocket({ url, key: 'sk-router-v1-wrong' }), { status: 401 }, 'with a wrong key')
  const unknown = { 'openai-beta': 'responses_websockets=2031-01-01' }
  t.match(await refusedSocket({ url, key, headers: unknown }), { status: 426, headers: { upgrade: 'websocket' } }, 'an unknown version')
  t.match(await refusedSocket({ url, key, path: '/v1/chat/completions' }), { status: 400 }, 'a path without one')
  t.equal((await gateway.get('/v1/responses')).status, 405, 'a plain GET')
  const known = await open({ 'openai-beta': 'other=1, responses_websockets=2026-02-06' })
  t.equal(lastEvent(await known.respond({ model, input: 'Hello' })).type, 'response.completed')
  t.equal(known.ws.extensions, '', 'no compression')
  const slash = await openSocket({ url, key, path: '/v1/responses/?x=1' })
  t.equal(lastEvent(await slash.respond({ model, input: 'Hello' })).type, 'response.completed', 'a slash at the end')
})

t.test('switched off, a handshake gets 426', async (t) => {
  const server = 'server: { host: 127.0.0.1, port: 0, responses_websocket: { enabled: false } }\n'
  const { gateway } = await withSocket(t, 'openai-responses', server)
  t.match(await refusedSocket({ url: gateway.url, key: gateway.key }), { status: 426, headers: { upgrade: 'websocket' } })
  t.equal((await gateway.post('/v1/responses', { model, input: 'Hello' })).status, 200)
})

t.test('each response is held, settled and logged by itself, and passes the guardrails with its conversation', async (t) => {
  const yaml = `auth: { keys: [ { name: app, key: "sk-router-v1-0123456789abcdef", limit: "0.005" } ] }
guardrails: [ { name: words, content_filters: [ { pattern: "forbidden word", action: block } ] } ]
`
  const { gateway, upstream, says, open } = await withSocket(t, 'openai-responses', yaml)
  says({ text: ['fine'], usage: { input: 100, output: 50 } }, { text: ['fine'], usage: { input: 100, output: 50 } })
  const client = await open()
  const first = await client.respond({ model, input: 'Hello', max_output_tokens: 100 })
  const [blocked] = await client.respond({ model, input: 'A forbidden word', max_output_tokens: 100 })
  t.match(blocked, { type: 'error', status: 403, error: { message: /content filter/ } })
  const warm = await client.respond({ model, generate: false, input: 'A forbidden word' })
  t.match(lastEvent(warm), { type: 'error', status: 403 }, 'nor may it be prepared')
  const second = await client.respond({ model, previous_response_id: responseId(first), input: 'More', max_output_tokens: 100 })
  t.equal(lastEvent(second).type, 'response.completed')
  const [dear] = await client.respond({ model, previous_response_id: responseId(second), input: 'More', max_output_tokens: 4_096 })
  t.match(dear, { type: 'error', status: 402, error: { code: 'insufficient_quota' } }, 'what is left does not pay for it')
  t.equal(upstream.requests.length, 2)
  const entries = [...gateway.running.store.journal.export()]
  t.same(
    entries.map(({ id, settled }) => [id, settled?.cost]),
    [first, second].map((reply) => [responseId(reply), 200_000]),
  )
  const lines = gateway.logs.filter((line) => line.includes('"exchange"')).map((line) => (JSON.parse(line) as { status: number }).status)
  t.same(lines, [200, 403, 403, 200, 402])
})
