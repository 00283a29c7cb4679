/** Words of prompts and answers in spans: only of keys whose operator wants them, redacted, and bounded. */
import t from 'tap'
import { type SeenSpan, startCollector } from '../support/collector.ts'
import { every } from '../support/every.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { answerFor } from '../support/wire.ts'

const SHOWN = 'sk-router-v1-shown-0123456789abcdef'
const HIDDEN = 'sk-router-v1-hidden-0123456789abcdef'
const MAIL = 'ann@example.com'

const collector = await startCollector()
let answer = ['So ', 'be it.']
/** Replies that callers were sent. */
const replies: string[] = []
const upstream = await startUpstream((seen) => answerFor(seen, { text: answer }))
t.teardown(async () => {
  await upstream.close()
  await collector.close()
})

const yaml = (more = '', telemetry = ''): string => `
telemetry: { endpoint: "${collector.url}"${telemetry} }
auth: { keys: [ { name: shown, key: "${SHOWN}", capture_content: true }, { name: hidden, key: "${HIDDEN}" } ] }
${more}
providers: { first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: sk-provider-secret } }
models: { acme/one: { endpoints: [ { provider: first, model: upstream-one, price: free } ] } }
`

interface Sent {
  key?: string
  path?: string
  body?: object
  more?: string
  telemetry?: string
}

async function fetchSpans({ key = SHOWN, path = '/v1/chat/completions', body = {}, more, telemetry }: Sent): Promise<SeenSpan[]> {
  const gateway = await startGateway(yaml(more, telemetry))
  const before = collector.spans.length
  const messages = [{ role: 'user', content: `Write to ${MAIL}` }]
  const input = path.endsWith('responses') ? { input: messages } : { messages }
  const reply = await gateway.post(path, { model: 'acme/one', max_tokens: 99, ...input, ...body }, { authorization: `Bearer ${key}` })
  const text = await reply.text()
  replies.push(text)
  await gateway.close()
  if (reply.status !== 200) throw new Error(text)
  return collector.spans.slice(before)
}

interface Content {
  input: { role: string; parts: { type: string; content: string }[] }[]
  output: { role: string; parts: { type: string; content: string }[]; finish_reason: string }[]
}

function spanContent(spans: readonly SeenSpan[]): Content | undefined {
  const attributes = spans.find(({ kind }) => kind === 'SPAN_KIND_CLIENT')?.attributes
  if (attributes?.['gen_ai.input.messages'] === undefined) return undefined
  const read = (name: string): never => JSON.parse(String(attributes[name])) as never
  return { input: read('gen_ai.input.messages'), output: read('gen_ai.output.messages') }
}

t.test('of a key that is marked, in every format, whole and streamed', async (t) => {
  await every(t, 'each way', async (t) => {
    for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages']) {
      for (const stream of [false, true]) {
        const content = spanContent(
          await fetchSpans({ path, body: { stream, ...(path.endsWith('responses') ? { max_tokens: undefined } : {}) } }),
        )
        t.match(
          content,
          {
            input: [{ role: 'user', parts: [{ type: 'text', content: `Write to ${MAIL}` }] }],
            output: [{ role: 'assistant', parts: [{ type: 'text', content: 'So be it.' }], finish_reason: 'stop' }],
          },
          `${path} ${stream}`,
        )
      }
    }
  })
})

t.test('of no other key, nor of a request that was kept for its failure alone', async (t) => {
  t.equal(spanContent(await fetchSpans({ key: HIDDEN })), undefined)
  const late = await fetchSpans({ telemetry: ', traces: { ratio: 0, slow: 1ms }' })
  t.equal(late.length, 2)
  t.equal(spanContent(late), undefined)
})

t.test('after guardrails, in both directions, and before what was hidden comes back', async (t) => {
  answer = ['Mail ', 'bob@example', '.com now, [EMAIL_1]']
  t.teardown(() => {
    answer = ['So ', 'be it.']
  })
  const more = `guardrails:
  - { name: in, restore: true, content_filter_builtins: [ { slug: email, action: redact } ] }
  - { name: out, direction: output, content_filter_builtins: [ { slug: email, action: redact } ] }`
  await every(t, 'each way', async (t) => {
    for (const stream of [false, true]) {
      const spans = await fetchSpans({ more, body: { stream } })
      t.ok(replies.at(-1)?.includes(`now, ${MAIL}`), 'which the caller gets back')
      const content = spanContent(spans)
      t.equal(content?.input[0]?.parts[0]?.content.includes(MAIL), false, 'the request')
      t.match(content?.input[0]?.parts[0]?.content, /^Write to \S+$/)
      t.equal(content?.output[0]?.parts[0]?.content.includes('bob@example.com'), false, 'the answer')
      t.match(content?.output[0]?.parts[0]?.content, /^Mail \S+ now, \[EMAIL_1\]$/)
    }
  })
  const bytes = Buffer.concat(collector.exports.slice(-2).map((each) => each.bytes))
  t.equal(bytes.indexOf(MAIL), -1)
})

t.test('up to a length, from the end of the request on', async (t) => {
  answer = ['x'.repeat(20_000)]
  t.teardown(() => {
    answer = ['So ', 'be it.']
  })
  const messages = [
    { role: 'system', content: 's'.repeat(10_000) },
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'y'.repeat(12_000) },
    { role: 'user', content: 'last' },
  ]
  const spans = await fetchSpans({ body: { messages } })
  const content = spanContent(spans)
  t.same(
    content?.input.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  )
  t.equal(content?.input.at(-1)?.parts[0]?.content, 'last')
  t.equal(content?.input[0]?.parts[0]?.content.length, 16 * 1024 - 12_000 - 'first'.length - 'last'.length)
  t.equal(content?.output[0]?.parts[0]?.content.length, 16 * 1024)
  t.equal(spans.find(({ kind }) => kind === 'SPAN_KIND_CLIENT')?.attributes['headgate.content.cut'], true)
})
