/** Spans of requests, as a collector gets them: names and attributes by the conventions, parents, sampling, and what is never in them. */
import t from 'tap'
import { outline, type SeenSpan, startCollector, treeProblems } from '../support/collector.ts'
import { every } from '../support/every.ts'
import { type Gateway, KEY, startGateway } from '../support/gateway.ts'
import { type Answer, jsonAnswer, sseAnswer, startUpstream } from '../support/upstream.ts'
import { chatFrames, chatReply } from '../support/wire-chat.ts'

const CHAT = '/v1/chat/completions'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const SECRET = 'sk-provider-secret-0123456789'
const PROMPT = 'the words of the prompt'
const ANSWER = 'the words of the answer'
const UNAVAILABLE = jsonAnswer({ error: { message: 'down' } }, 503)

const collector = await startCollector()
let answer = (stream: boolean): Answer => (stream ? sseAnswer(chatFrames({ text: [ANSWER] })) : jsonAnswer(chatReply({ text: [ANSWER] })))
const plain = answer
const provider = await startUpstream((seen) => answer(seen.json.stream === true))
const second = await startUpstream((seen) => plain(seen.json.stream === true))
t.afterEach(() => {
  answer = plain
})
t.teardown(async () => {
  await provider.close()
  await second.close()
  await collector.close()
})

/** @param telemetry settings after the endpoint. @param first of the first provider. */
const yaml = (telemetry = '', first = ''): string => `
telemetry: { endpoint: "${collector.url}"${telemetry} }
providers:
  first: { dialect: openai-chat, base_url: "${provider.url}/v1", key: "${SECRET}", telemetry_name: first.ai${first} }
  second: { dialect: openai-chat, base_url: "${second.url}/v1", key: "${SECRET}" }
models:
  acme/one: { endpoints: [ { provider: first, model: upstream-one, price: { prompt: "1.00", completion: "2.00" } } ] }
  acme/two:
    endpoints:
      - { provider: first, model: upstream-one, price: { prompt: "1.00", completion: "2.00" } }
      - { provider: second, model: upstream-two, price: { prompt: "3.00", completion: "4.00" } }
`

const question = (more: object = {}): object => ({ model: 'acme/one', messages: [{ role: 'user', content: PROMPT }], ...more })

/** Sends a question, and reads the reply. */
async function send(gateway: Gateway, more: object = {}, headers: Record<string, string> = {}): Promise<Response> {
  const reply = await gateway.post(CHAT, question(more), headers)
  await reply.text()
  return reply
}

/** Ends the gateway. @returns the spans that it has left. */
async function spansAfter(gateway: Gateway): Promise<SeenSpan[]> {
  const before = collector.spans.length
  await gateway.close()
  return collector.spans.slice(before)
}

/** Records that a gateway with these settings makes of one request. */
async function fetchSpans(telemetry: string, more: object = {}, headers: Record<string, string> = {}): Promise<SeenSpan[]> {
  const gateway = await startGateway(yaml(telemetry))
  await send(gateway, more, headers)
  return spansAfter(gateway)
}

const kind = (spans: readonly SeenSpan[], word: string): SeenSpan[] => spans.filter((span) => span.kind === `SPAN_KIND_${word}`)
const only = (spans: readonly SeenSpan[], word: string): SeenSpan => {
  const [span, ...others] = kind(spans, word)
  if (!span || others.length > 0) throw new Error(`${others.length + (span ? 1 : 0)} spans of the kind ${word}`)
  return span
}

t.test('one request has a server span and a client span with the attributes of the conventions', async (t) => {
  const gateway = await startGateway(yaml(', service_name: front, resource: { deployment.environment.name: test }'))
  const reply = await send(gateway, { temperature: 1, max_tokens: 50, user: 'ann', session_id: 's-1' }, { 'x-title': 'App' })
  const spans = await spansAfter(gateway)
  const server = only(spans, 'SERVER')
  const client = only(spans, 'CLIENT')
  t.equal(spans.length, 2)
  t.equal(server.name, `POST ${CHAT}`)
  t.equal(server.parentId, '')
  t.equal(reply.headers.get('x-trace-id'), server.traceId, 'the reply names the trace')
  const line = JSON.parse(gateway.logs.find((each) => each.includes('"exchange"')) ?? '{}')
  t.equal(line.trace_id, server.traceId, 'so does the line of the log')
  t.equal(line.span_id, server.spanId)
  const generation = reply.headers.get('x-generation-id')
  t.match(server.attributes, {
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'http.route': CHAT,
    'url.path': CHAT,
    'url.scheme': 'http',
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'acme/one',
    'gen_ai.request.stream': false,
    'gen_ai.response.id': generation,
    'gen_ai.response.model': 'acme/one',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.conversation.id': 's-1',
    'session.id': 's-1',
    'user.id': 'ann',
    'headgate.generation.id': generation,
    'headgate.key.name': 'test',
    'headgate.app.title': 'App',
    'headgate.attempts': 1,
    'headgate.cost_usd': 0.000025,
  })
  t.equal(client.name, 'chat upstream-one')
  t.equal(client.parentId, server.spanId)
  t.match(client.attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'first.ai',
    'gen_ai.request.model': 'upstream-one',
    'gen_ai.request.temperature': 1,
    'gen_ai.request.max_tokens': 50,
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 11,
    'gen_ai.usage.output_tokens': 7,
    'gen_ai.usage.cache_read.input_tokens': 3,
    'gen_ai.usage.reasoning.output_tokens': 2,
    'http.response.status_code': 200,
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(provider.url).port),
  })
  t.equal(server.attributes['gen_ai.usage.input_tokens'], undefined, 'tokens stand once, at the call that used them')
  t.match(server.resource, { 'service.name': 'front', 'deployment.environment.name': 'test' })
  t.same(treeProblems(spans), [])
  t.same(collector.problems, [])
})

t.test('a stream has the time to its first chunk', async (t) => {
  const spans = await fetchSpans('', { stream: true })
  const client = only(spans, 'CLIENT')
  const time = client.attributes['gen_ai.response.time_to_first_chunk']
  t.ok(typeof time === 'number' && time > 0 && time * 1e9 <= Number(client.end - client.start), `${time} s`)
  t.equal(client.attributes['gen_ai.request.stream'], true)
})

t.test('embeddings and counts of tokens have operations of their own', async (t) => {
  const gateway = await startGateway(yaml())
  await (await gateway.post('/v1/messages/count_tokens', question())).text()
  const spans = await spansAfter(gateway)
  t.match(only(spans, 'SERVER').attributes, { 'gen_ai.operation.name': 'count_tokens', 'http.route': '/v1/messages/count_tokens' })
  const vectors = await startGateway(`
telemetry: { endpoint: "${collector.url}" }
providers: { sim: { dialect: sim } }
models: { acme/vectors: { kind: embedding, endpoints: [ { provider: sim, model: embed, price: free } ] } }
`)
  const reply = await vectors.post('/v1/embeddings', { model: 'acme/vectors', input: [PROMPT, 'more'] })
  await reply.text()
  const embedded = await spansAfter(vectors)
  t.equal(reply.status, 200)
  t.equal(only(embedded, 'SERVER').attributes['gen_ai.operation.name'], 'embeddings')
  t.match(only(embedded, 'CLIENT'), { name: 'embeddings embed', attributes: { 'gen_ai.provider.name': 'sim' } })
})

t.test('a provider that fails leaves its own span, to which the next one is linked', async (t) => {
  answer = () => UNAVAILABLE
  const spans = await fetchSpans('', { model: 'acme/two', provider: { order: ['first', 'second'] } })
  const server = only(spans, 'SERVER')
  const [failed, served] = kind(spans, 'CLIENT')
  t.match(failed, { name: 'chat upstream-one', status: 'STATUS_CODE_ERROR', attributes: { 'http.response.status_code': 503 } })
  t.type(failed?.attributes['error.type'], 'string')
  t.match(served, { name: 'chat upstream-two', status: 'STATUS_CODE_UNSET' })
  t.match(served?.links, [{ traceId: server.traceId, spanId: failed?.spanId, attributes: { 'headgate.link': 'retry' } }])
  t.equal(server.status, 'STATUS_CODE_UNSET')
  t.same(treeProblems(spans), [])
})

t.test('errors: of the gateway or its providers, and of the caller', async (t) => {
  answer = () => UNAVAILABLE
  const failed = only(await fetchSpans(''), 'SERVER')
  t.match(failed, { status: 'STATUS_CODE_ERROR', attributes: { 'http.response.status_code': 502 } })
  t.type(failed.attributes['error.type'], 'string')
  const wrong = only(await fetchSpans('', { temperature: 'hot' }), 'SERVER')
  t.match(wrong, { status: 'STATUS_CODE_UNSET', attributes: { 'http.response.status_code': 400, 'error.type': 'bad_request' } })
})

t.test('the caller’s trace goes on, through a gateway behind a gateway, to the provider', async (t) => {
  const inner = await startGateway(yaml('', ', trace_context: baggage'))
  const outer = await startGateway(`
telemetry: { endpoint: "${collector.url}", service_name: outer }
providers: { next: { dialect: openai-chat, base_url: "${inner.url}/v1", key: "${KEY}", trace_context: baggage } }
models: { acme/one: { endpoints: [ { provider: next, model: acme/one, price: free } ] } }
`)
  const before = collector.spans.length
  const sent = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'acme=1, other@acme=2', baggage: 'tenant=7;secret=no,user=ann' }
  await send(outer, {}, sent)
  await outer.close()
  await inner.close()
  const spans = collector.spans.slice(before)
  t.equal(spans.length, 4)
  t.same(new Set(spans.map(({ traceId }) => traceId)), new Set([TRACE]), 'one trace')
  const of = (name: string): SeenSpan[] => spans.filter(({ resource }) => resource['service.name'] === name)
  const [outerServer, outerClient] = [only(of('outer'), 'SERVER'), only(of('outer'), 'CLIENT')]
  const [innerServer, innerClient] = [only(of('headgate'), 'SERVER'), only(of('headgate'), 'CLIENT')]
  t.equal(outerServer.parentId, SPAN)
  t.equal(outerServer.flags, 0x301, 'sampled, of a remote parent')
  t.equal(outerServer.state, 'acme=1,other@acme=2')
  t.equal(outerClient.parentId, outerServer.spanId)
  t.equal(innerServer.parentId, outerClient.spanId)
  t.equal(innerClient.parentId, innerServer.spanId)
  const seen = provider.requests.at(-1)
  t.equal(seen?.headers.traceparent, `00-${TRACE}-${innerClient.spanId}-01`)
  t.equal(seen?.headers.tracestate, 'acme=1,other@acme=2')
  t.equal(seen?.headers.baggage, 'tenant=7;secret=no,user=ann')
  t.same(treeProblems(spans, [SPAN]), [])
})

t.test('a provider is sent nothing of a trace unless the operator says so', async (t) => {
  const headers = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'acme=1', baggage: 'tenant=7' }
  const gateway = await startGateway(yaml())
  await send(gateway, {}, headers)
  await gateway.close()
  t.match(provider.requests.at(-1)?.headers, { traceparent: undefined, tracestate: undefined, baggage: undefined })
  const some = await startGateway(yaml('', ', trace_context: trace'))
  await send(some, {}, headers)
  await some.close()
  t.match(provider.requests.at(-1)?.headers, {
    traceparent: new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`),
    tracestate: 'acme=1',
    baggage: undefined,
  })
})

t.test('where nothing is traced, the caller’s headers go on unchanged where they may', async (t) => {
  const gateway = await startGateway(yaml(', enabled: false', ', trace_context: baggage'))
  const headers = { traceparent: `00-${TRACE}-${SPAN}-00`, tracestate: 'acme=1', baggage: 'tenant=7' }
  const reply = await send(gateway, {}, headers)
  await gateway.close()
  t.match(provider.requests.at(-1)?.headers, headers)
  t.equal(reply.headers.get('x-trace-id'), null)
})

/** Headers that break the rules of W3C. */
const MALFORMED: readonly string[] = [
  '',
  'x',
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}-${SPAN}-1`,
  `00-${TRACE}-${SPAN}-01${' '.repeat(600)}x`,
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  `01-${TRACE}-${SPAN}-01.more`,
]

t.test('a malformed traceparent is ignored, and with it the tracestate', async (t) => {
  const gateway = await startGateway(yaml('', ', trace_context: trace'))
  const before = collector.spans.length
  for (const traceparent of MALFORMED) await send(gateway, {}, { traceparent, tracestate: 'acme=1' })
  await gateway.close()
  const servers = kind(collector.spans.slice(before), 'SERVER')
  t.equal(servers.length, MALFORMED.length)
  await every(t, 'each begins a trace of its own', async (t) => {
    for (const [i, { traceId, parentId, state }] of servers.entries())
      t.strictSame([traceId === TRACE, parentId, state], [false, '', ''], MALFORMED[i])
  })
  t.equal(provider.requests.at(-1)?.headers.tracestate, undefined)
})

t.test('later versions of traceparent are read as far as they are known', async (t) => {
  const spans = await fetchSpans('', {}, { traceparent: `cc-${TRACE}-${SPAN}-01-what.ever` })
  t.match(only(spans, 'SERVER'), { traceId: TRACE, parentId: SPAN })
})

t.test('a malformed tracestate or baggage is not passed on', async (t) => {
  const gateway = await startGateway(yaml('', ', trace_context: baggage'))
  const traceparent = `00-${TRACE}-${SPAN}-01`
  const wrong: readonly (readonly [string, string])[] = [
    ['tracestate', 'no value'],
    ['tracestate', 'A=1'],
    ['tracestate', 'a=1,a=2'],
    ['tracestate', Array.from({ length: 33 }, (_, i) => `k${i}=1`).join(',')],
    ['tracestate', `a=${'x'.repeat(300)}`],
    ['baggage', 'no value'],
    ['baggage', 'a=1,,b=2'],
    ['baggage', Array.from({ length: 65 }, (_, i) => `k${i}=1`).join(',')],
    ['baggage', `a=${'x'.repeat(8200)}`],
  ]
  await every(t, 'each', async (t) => {
    for (const [name, value] of wrong) {
      await send(gateway, {}, { traceparent, [name]: value })
      t.equal(provider.requests.at(-1)?.headers[name], undefined, `${name}: ${value.slice(0, 40)}`)
    }
  })
  const long = Array.from({ length: 30 }, (_, i) => `k${i}=${'v'.repeat(30)}`)
  await send(gateway, {}, { traceparent, tracestate: long.join(',') })
  await gateway.close()
  const kept = String(provider.requests.at(-1)?.headers.tracestate)
  t.ok(kept.length <= 512 && long.join(',').startsWith(`${kept},`), 'a long list loses members from its end')
})

t.test('sampling', async (t) => {
  const parent = (flag: string): Record<string, string> => ({ traceparent: `00-${TRACE}-${SPAN}-${flag}` })
  const none = ', traces: { ratio: 0 }'
  t.equal((await fetchSpans(none)).length, 0, 'a ratio of 0')
  t.equal((await fetchSpans(none, {}, parent('01'))).length, 2, 'the caller wants it traced')
  t.equal((await fetchSpans('', {}, parent('00'))).length, 0, 'the caller does not')
  t.equal((await fetchSpans(', traces: { follow_parent: false }', {}, parent('00'))).length, 2, 'whatever the caller says')
  t.equal((await fetchSpans(', traces: { ratio: 0, follow_parent: false }', {}, parent('01'))).length, 0)
  t.equal((await fetchSpans(', traces: { ratio: 0, slow: 1ms }')).length, 2, 'it takes longer than 1 ms')
  t.equal((await fetchSpans(', traces: { ratio: 0, slow: 1h }')).length, 0)
  t.equal((await fetchSpans(', traces: { enabled: false }')).length, 0)
})

t.test('a request that fails is traced although it was not drawn, and its reply names the trace', async (t) => {
  answer = () => UNAVAILABLE
  const gateway = await startGateway(yaml(', traces: { ratio: 0 }'))
  const reply = await send(gateway)
  const spans = await spansAfter(gateway)
  t.equal(reply.status, 502)
  t.equal(spans.length, 2)
  t.equal(reply.headers.get('x-trace-id'), only(spans, 'SERVER').traceId)
  t.equal((await fetchSpans(', traces: { ratio: 0, on_error: false }')).length, 0)
  answer = () => UNAVAILABLE
  t.equal(
    (await fetchSpans(', traces: { ratio: 0 }', { model: 'acme/two', provider: { order: ['first', 'second'] } })).length,
    3,
    'nor one that a fallback saved',
  )
  answer = plain
  t.equal((await fetchSpans(', traces: { ratio: 0 }', { temperature: 'hot' })).length, 0, 'a wrong request is the caller’s affair')
})

t.test('a caller without a key cannot have its requests traced', async (t) => {
  const gateway = await startGateway(yaml(', traces: { ratio: 0 }'))
  const reply = await send(gateway, {}, { authorization: 'Bearer sk-none', traceparent: `00-${TRACE}-${SPAN}-01` })
  t.equal(reply.status, 401)
  t.same(await spansAfter(gateway), [])
})

t.test('the field `trace` and `metadata` of the body go into the server span', async (t) => {
  const trace = {
    trace_id: TRACE,
    parent_span_id: SPAN,
    trace_name: 'nightly',
    step: 3,
    ok: true,
    deep: { a: 1 },
    'bad name': 'x',
    long: 'y'.repeat(1000),
  }
  const server = only(await fetchSpans('', { trace, metadata: { team: 'blue' } }), 'SERVER')
  t.match(server, { traceId: TRACE, parentId: SPAN }, 'names of the form of W3C are taken over')
  t.match(server.attributes, {
    'headgate.trace.trace_name': 'nightly',
    'headgate.trace.step': 3,
    'headgate.trace.ok': true,
    'headgate.metadata.team': 'blue',
    'headgate.trace.long': 'y'.repeat(256),
  })
  t.equal(server.attributes['headgate.trace.deep'], undefined)
  t.equal(server.attributes['headgate.trace.bad name'], undefined)
  const header = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  t.match(
    only(await fetchSpans('', { trace }, { traceparent: header }), 'SERVER'),
    { traceId: 'a'.repeat(32), parentId: 'b'.repeat(16) },
    'the header counts',
  )
  const free = only(await fetchSpans('', { trace: { trace_id: 'run 7' } }), 'SERVER')
  t.match(free.attributes, { 'headgate.trace.trace_id': 'run 7' }, 'any other name is an attribute')
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, i]))
  const names = Object.keys(only(await fetchSpans('', { trace: many }), 'SERVER').attributes).filter((name) =>
    name.startsWith('headgate.trace.'),
  )
  t.equal(names.length, 32)
})

t.test('no key, prompt or answer is in what is exported', async (t) => {
  const before = collector.exports.length
  answer = (stream) => (provider.requests.length % 2 ? UNAVAILABLE : plain(stream))
  const gateway = await startGateway(yaml(', headers: { x-backend-key: "backend-key-0123456789" }'))
  for (let i = 0; i < 4; i++) await send(gateway, { stream: i > 1, model: 'acme/two', trace: { step: i } }, { 'x-title': 'app' })
  await send(gateway, {}, { authorization: 'Bearer sk-wrong-0123456789' })
  await gateway.close()
  const exported = collector.exports.slice(before)
  t.ok(exported.length > 0)
  const bytes = Buffer.concat(exported.map((each) => each.bytes))
  await every(t, 'each', async (t) => {
    for (const secret of [SECRET, KEY, PROMPT, ANSWER, 'sk-wrong', 'backend-key', 'Bearer']) t.equal(bytes.indexOf(secret), -1, secret)
  })
  t.equal(exported[0]?.headers['x-backend-key'], 'backend-key-0123456789', 'which the collector is sent as a header')
  t.notOk(
    gateway.logs.some((line) => line.includes('backend-key')),
    'and the log does not show',
  )
  t.same(collector.problems, [])
})

t.test('a plan leaves no spans', async (t) => {
  const gateway = await startGateway(yaml())
  const reply = await gateway.post('/v1/plan', question())
  await reply.text()
  t.equal(reply.headers.get('x-trace-id'), null)
  t.same(outline(await spansAfter(gateway), ''), [])
})
