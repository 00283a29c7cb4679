/** Spans below a request: tools, calls that tools make of models, engines of guardrails, plugins. */
import t from 'tap'
import { outline, type SeenSpan, startCollector, treeProblems } from '../support/collector.ts'
import { startGateway } from '../support/gateway.ts'
import { jsonAnswer, REFUSING_URL, startUpstream } from '../support/upstream.ts'
import { answerFor, type Utterance } from '../support/wire.ts'

const PROMPT = 'What now, ann@example.com?'
const ASKS: Utterance = {
  calls: [{ id: 'call_1', name: 'router_advisor', args: [JSON.stringify({ prompt: 'the question of the model' })] }],
}

const collector = await startCollector()
const upstream = await startUpstream((seen) => {
  if (seen.path.endsWith('/moderations'))
    return jsonAnswer({ id: 'm', model: 'm', results: [{ flagged: false, categories: {}, category_scores: {} }] })
  if (seen.json.model === 'outer' && !seen.body.includes('call_1')) return answerFor(seen, ASKS)
  return answerFor(seen, { text: [seen.json.model === 'outer' ? 'So be it.' : 'Do nothing.'] })
})
t.teardown(async () => {
  await upstream.close()
  await collector.close()
})

const yaml = (more: string): string => `
telemetry: { endpoint: "${collector.url}" }
${more}
providers: { first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: sk-provider-secret, trace_context: trace } }
models:
  acme/one: { endpoints: [ { provider: first, model: outer, price: free } ] }
  acme/two: { endpoints: [ { provider: first, model: inner, price: free } ] }
`

async function fetchSpans(more: string, body: object): Promise<SeenSpan[]> {
  const gateway = await startGateway(yaml(more))
  const before = collector.spans.length
  const reply = await gateway.post('/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: PROMPT }], ...body })
  const text = await reply.text()
  await gateway.close()
  if (reply.status !== 200) throw new Error(text)
  return collector.spans.slice(before)
}

const named = (spans: readonly SeenSpan[], name: string): SeenSpan => {
  const found = spans.find((span) => span.name === name)
  if (!found) throw new Error(`no ${name} among ${spans.map((span) => span.name).join()}`)
  return found
}

t.test('a tool, and the model that it calls', async (t) => {
  const calls = upstream.requests.length
  const spans = await fetchSpans('', { tools: [{ type: 'router:advisor', parameters: { model: 'acme/two' } }] })
  t.same(outline(spans, ''), [
    {
      name: 'POST /v1/chat/completions',
      under: [
        { name: 'chat outer', under: [] },
        { name: 'execute_tool advisor', under: [{ name: 'inner_call acme/two', under: [{ name: 'chat inner', under: [] }] }] },
        { name: 'chat outer', under: [] },
      ],
    },
  ])
  t.match(named(spans, 'execute_tool advisor'), {
    kind: 'SPAN_KIND_INTERNAL',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'advisor',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': 'call_1',
    },
  })
  t.match(named(spans, 'chat inner').attributes, { 'gen_ai.usage.input_tokens': 11, 'headgate.model': 'acme/two' })
  t.same(new Set(spans.filter(({ name }) => name === 'chat outer').map(({ attributes }) => attributes['headgate.turn'])), new Set([1, 2]))
  const sent = upstream.requests.slice(calls).map(({ headers }) => String(headers.traceparent).split('-')[2])
  const clients = spans.filter(({ kind }) => kind === 'SPAN_KIND_CLIENT').map(({ spanId }) => spanId)
  t.same(new Set(sent), new Set(clients), 'each call was sent the id of its own span')
  t.same(treeProblems(spans), [])
  t.same(collector.problems, [])
})

t.test('engines of guardrails, and what guardrails found', async (t) => {
  const engine = `engine: { type: webhook, url: "${REFUSING_URL}/check", on_error: open }`
  const spans = await fetchSpans(
    `guardrails: [ { name: mail, content_filter_builtins: [ { slug: email, action: redact } ] }, { name: hook, ${engine} } ]`,
    {},
  )
  t.match(named(spans, 'guardrail hook'), {
    kind: 'SPAN_KIND_INTERNAL',
    status: 'STATUS_CODE_ERROR',
    attributes: { 'headgate.guardrail.name': 'hook', 'error.type': 'unanswered' },
  })
  t.same(named(spans, 'POST /v1/chat/completions').attributes['headgate.guardrails'], ['mail redacted input', 'hook unchecked input'])
  t.same(treeProblems(spans), [])
})

t.test('plugins that wait for something', async (t) => {
  const spans = await fetchSpans(`plugins: { defaults: { moderation: { url: "${upstream.url}/v1", key: sk-judge } } }`, {
    plugins: [{ id: 'moderation' }],
  })
  t.match(named(spans, 'plugin moderation'), {
    kind: 'SPAN_KIND_INTERNAL',
    status: 'STATUS_CODE_UNSET',
    attributes: { 'headgate.plugin.name': 'moderation' },
  })
  t.same(treeProblems(spans), [])
})

t.test('no word of them is in what is exported', async (t) => {
  const bytes = Buffer.concat(collector.exports.map((each) => each.bytes))
  for (const word of ['ann@example.com', 'the question of the model', 'Do nothing', 'So be it', 'sk-judge'])
    t.equal(bytes.indexOf(word), -1, word)
})
