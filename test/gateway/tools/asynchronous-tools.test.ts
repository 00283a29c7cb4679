/**
 * Tools whose results may come later (`async` of functions and calls, npm openai 7.59.0: FunctionTool, CustomTool, NamespaceTool.Function,
 * ResponseFunctionToolCall), and what Anthropic says of a cache that was missed (`diagnostics`, npm @anthropic-ai/sdk 1.14.0: Diagnostics).
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object, parseStream } from '../../support/fold.ts'
import { messageEvents } from '../../support/fold-messages.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, sseAnswer } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const CALL = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'f',
  arguments: '{}',
  status: 'completed',
  async: true,
  caller: { type: 'program', caller_id: 'call_0' },
}
const { async, caller } = CALL
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'm',
  output: [CALL],
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
}
const event = (data: JsonObject): string => `event: ${String(data.type)}\ndata: ${JSON.stringify(data)}\n\n`
const STREAM = [
  { type: 'response.created', sequence_number: 0, response: { ...RESPONSE, status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...CALL, arguments: '', status: 'in_progress' } },
  { type: 'response.function_call_arguments.delta', sequence_number: 2, output_index: 0, item_id: 'fc_1', delta: '{}' },
  { type: 'response.function_call_arguments.done', sequence_number: 3, output_index: 0, item_id: 'fc_1', name: 'f', arguments: '{}' },
  { type: 'response.output_item.done', sequence_number: 4, output_index: 0, item: CALL },
  { type: 'response.completed', sequence_number: 5, response: RESPONSE },
].map((each) => event(each as unknown as JsonObject))

for (const lane of ['pass', 'observe', 'translate'] as const)
  t.test(`a call says that it runs asynchronously, and what called, to its caller, and goes back so, lane ${lane}`, async (t) => {
    const { ask, upstream } = await startScene(t, { dialect: 'openai-responses', lane, answer: () => jsonAnswer(RESPONSE) })
    const whole = (await (await ask({}, 'responses')).json()) as JsonObject
    t.match(list(whole.output), [{ type: 'function_call', async, caller }])
    upstream.script = () => sseAnswer(STREAM)
    const events = parseStream(await (await ask({ stream: true }, 'responses')).text())
    const shown = events.filter(({ type }) => /output_item/.test(String(type))).map(({ item }) => object(item))
    t.match(shown, [
      { async, caller },
      { async, caller },
    ])
    t.match(list(object(events.at(-1)?.response).output), [{ async, caller }])

    upstream.script = says({ text: ['fine'] })
    const tools = [
      { type: 'function', name: 'f', parameters: { type: 'object' }, strict: null, async: true },
      { type: 'custom', name: 'c', async: true },
      { type: 'namespace', name: 'n', description: 'n', tools: [{ type: 'function', name: 'g', async: true }] },
    ]
    const input = [{ role: 'user', content: 'Hello' }, ...list(whole.output), { role: 'user', content: 'While it runs: 2 + 2?' }]
    const response = await ask({ tools, input: input as unknown as JsonObject[] }, 'responses')
    t.equal(response.status, 200, await response.text())
    const sent = object(upstream.requests.at(-1)?.json)
    t.match(sent.tools, tools)
    t.match(list(sent.input)[1], { type: 'function_call', call_id: 'call_1', async, caller })
  })

t.test('at a provider of another format it is a call like any other', async (t) => {
  const { ask, upstream } = await startScene(t)
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'done' }
  const input = [{ role: 'user', content: 'Hello' }, CALL, output] as unknown as JsonObject[]
  const response = await ask({ input }, 'responses')
  t.equal(response.status, 200, await response.text())
  t.notMatch(JSON.stringify(upstream.requests.at(-1)?.json), /async/)
})

t.test('structural tags reach servers that take them, and are recorded where they do not go', async (t) => {
  const tags: JsonObject[] = [
    { type: 'structural_tag', structures: [{ begin: '<f>', schema: { type: 'object' }, end: '</f>' }], triggers: ['<f'] },
    // Their newer form (vLLM 0.32.0, StructuralTagResponseFormat).
    { type: 'structural_tag', format: { type: 'tag', begin: '<f>', content: { type: 'json_schema', json_schema: {} }, end: '</f>' } },
  ]
  for (const tag of tags) {
    for (const lane of ['pass', 'translate'] as const) {
      const { ask, upstream } = await startScene(t, { lane })
      for (const stream of [false, true]) {
        const reply = await ask({ response_format: tag, stream })
        t.equal(reply.status, 200, await reply.text())
        t.same(upstream.requests.at(-1)?.json.response_format, tag, `${lane}, stream ${stream}`)
      }
    }
    for (const dialect of ['anthropic', 'openai-responses', 'gemini']) {
      const other = await startScene(t, { dialect })
      const response = await other.ask({ response_format: tag })
      t.equal(response.status, 200, await response.clone().text())
      t.notMatch(other.upstream.requests.at(-1)?.body, /structural_tag/, dialect)
      const id = response.headers.get('x-generation-id') ?? ''
      t.match(await (await other.gateway.get(`/v1/generation?id=${id}`)).text(), /"dropped":\[[^\]]*"response_format"/, dialect)
    }
  }
})

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'fine' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 2 },
}

const REASONS = [
  { type: 'messages_changed', cache_missed_input_tokens: 1200 },
  { type: 'previous_message_not_found' },
  // A reason that no version of the types has yet, and one that is still being looked for.
  { type: 'moon_changed', phase: 3 },
  null,
]

t.test('why a cache was missed reaches callers of the same format, whatever the reason, and no other', async (t) => {
  const question = { diagnostics: { previous_message_id: null } }
  for (const lane of ['pass', 'observe', 'translate'] as const) for (const reason of REASONS) await missed(t, question, lane, reason)
})

async function missed(t: Test, question: JsonObject, lane: 'pass' | 'observe' | 'translate', reason: JsonObject | null): Promise<void> {
  await every(t, `${lane}: ${JSON.stringify(reason)}`, async (t) => {
    const { ask, upstream } = await startScene(t, { dialect: 'anthropic', lane })
    const diagnostics = { cache_miss_reason: reason }
    const message = { ...MESSAGE, diagnostics }
    upstream.script = () => jsonAnswer(message)
    const whole = (await (await ask(question, 'messages')).json()) as JsonObject
    t.same(whole.diagnostics, diagnostics, 'whole')
    t.notMatch(await (await ask()).text(), /cache_miss_reason/, 'chat')
    upstream.script = () =>
      sseAnswer(
        [
          { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage: { input_tokens: 3, output_tokens: 0 } } },
          { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
          { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'fine' } },
          { type: 'content_block_stop', index: 0 },
          { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
          { type: 'message_stop' },
        ].map((each) => event(each as unknown as JsonObject)),
      )
    const [begun] = messageEvents(await (await ask({ ...question, stream: true }, 'messages')).text())
    t.same(object(begun.message).diagnostics, diagnostics, 'streamed')
  })
}
