import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../../src/core/faults.ts'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { quote } from '../../../src/core/quote.ts'
import type { StreamEvent } from '../../../src/dialects/canon/events.ts'
import { chatClient, openaiChat } from '../../../src/dialects/chat/index.ts'
import { decodeUsage } from '../../../src/dialects/chat/usage.ts'
import { every } from '../../support/every.ts'
import { fold } from '../../support/fold-events.ts'
import { property } from '../../support/seed.ts'
import { buildFinal, byteChunks, context, decode, decodeWhole, pass, pieces, throughPass, throughTranslate, utterance } from './rig.ts'

const EVENTS: StreamEvent[] = [
  { type: 'start', model: 'up' },
  { type: 'block-start', block: 0, kind: 'summary', item: 'rs_1' },
  { type: 'block-delta', block: 0, text: 'Sum' },
  { type: 'block-note', block: 0, note: 'format', data: { format: 'openai-responses-v1' } },
  { type: 'block-delta', block: 0, text: 'mary' },
  { type: 'block-note', block: 0, note: 'encrypted', data: { data: 'c2VhbA', id: 'rs_1' } },
  { type: 'block-end', block: 0 },
  {
    type: 'block-start',
    block: 1,
    kind: 'server',
    of: {
      dialect: 'gateway',
      type: 'router:datetime',
      data: {
        status: 'completed',
        call: { tool_call_id: 'c9', tool_name: 'router:datetime', arguments: '{}', result: '{"datetime":"x"}' },
      },
    },
  },
  { type: 'block-end', block: 1 },
  { type: 'block-start', block: 2, kind: 'text' },
  { type: 'block-delta', block: 2, text: 'It "is"\n' },
  { type: 'block-note', block: 2, note: 'logprobs', data: { content: [{ token: 'It', logprob: -1, bytes: null, top_logprobs: [] }] } },
  { type: 'block-delta', block: 2, text: '' },
  {
    type: 'block-note',
    block: 2,
    note: 'annotation',
    data: { type: 'url_citation', url: 'https://x', title: 'X', start_index: 0, end_index: 2 },
  },
  { type: 'block-start', block: 3, kind: 'call', call: { id: 'call_1', name: 'f' } },
  { type: 'block-start', block: 4, kind: 'call', call: { id: 'call_2', name: 'g' } },
  { type: 'block-delta', block: 4, text: '{}' },
  { type: 'block-delta', block: 3, text: '{"a":1}' },
  { type: 'block-end', block: 2 },
  { type: 'block-end', block: 3 },
  { type: 'block-end', block: 4 },
  { type: 'usage', usage: { input: 9, output: 8, cached: 3, cacheWrite: 2, reasoning: 5, audioInput: 0, audioOutput: 0, imageOutput: 0 } },
  { type: 'end', reason: 'tool_calls', raw: 'completed' },
]

const encode = (body: JsonObject, more = {}): JsonObject[] => {
  const encoder = chatClient.streamEncoder(context(body))
  const out = encoder.push(EVENTS)
  return byteChunks(Buffer.from(out + encoder.finish(buildFinal(fold(EVENTS), more))))
}
const deltas = (chunks: JsonObject[]): Json[] =>
  chunks.flatMap((chunk) => (chunk.choices as JsonObject[]).map(({ delta }) => delta as Json))

t.test('events of any dialect become chunks', async (t) => {
  const chunks = encode({})
  t.same(deltas(chunks), [
    { role: 'assistant', reasoning: 'Sum', reasoning_details: [{ type: 'reasoning.summary', summary: 'Sum', id: 'rs_1', index: 0 }] },
    {
      reasoning: 'mary',
      reasoning_details: [{ type: 'reasoning.summary', summary: 'mary', id: 'rs_1', format: 'openai-responses-v1', index: 0 }],
    },
    { reasoning_details: [{ type: 'reasoning.encrypted', data: 'c2VhbA', id: 'rs_1', format: 'openai-responses-v1', index: 1 }] },
    {
      reasoning_details: [
        {
          type: 'reasoning.server_tool_call',
          tool_name: 'router:datetime',
          arguments: '{}',
          result: '{"datetime":"x"}',
          tool_call_id: 'c9',
          index: 2,
        },
      ],
    },
    { content: 'It "is"\n' },
    { annotations: [{ type: 'url_citation', url_citation: { url: 'https://x', title: 'X', start_index: 0, end_index: 2 } }] },
    { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }] },
    { tool_calls: [{ index: 1, id: 'call_2', type: 'function', function: { name: 'g', arguments: '' } }] },
    { tool_calls: [{ index: 1, function: { arguments: '{}' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] },
    {},
  ])
  t.match((chunks[4].choices as JsonObject[])[0].logprobs, { content: [{ token: 'It' }] }, 'log probabilities come with their text')
  t.match((chunks[chunks.length - 2].choices as JsonObject[])[0], { finish_reason: 'tool_calls', native_finish_reason: 'completed' })
})

t.test('the whole reply of the same events', async (t) => {
  const reply = JSON.parse(chatClient.encodeResult(fold(EVENTS), context(), buildFinal(fold(EVENTS)))) as JsonObject
  const [choice] = reply.choices as JsonObject[]
  t.match(choice.message, { role: 'assistant', content: 'It "is"\n', reasoning: 'Summary', refusal: null })
  const details = (choice.message as JsonObject).reasoning_details as JsonObject[]
  t.same(
    details.map(({ type, index }) => [type, index]),
    [
      ['reasoning.summary', 0],
      ['reasoning.encrypted', 1],
      ['reasoning.server_tool_call', 2],
    ],
  )
  t.match(choice, { finish_reason: 'tool_calls', native_finish_reason: 'completed', logprobs: { content: [{ token: 'It' }] } })
})

t.test('reasoning that the caller asked not to see', async (t) => {
  await every(t, 'every body', async (t) => {
    for (const body of [{ reasoning: { exclude: true } }, { include_reasoning: false }]) {
      const chunks = encode(body)
      const text = JSON.stringify(chunks)
      t.notMatch(text, /"reasoning"|reasoning\.(text|summary|encrypted)/)
      t.match(text, /reasoning.server_tool_call/, 'what tools did is no reasoning')
      t.match(chunks.at(-1)?.usage, { completion_tokens_details: { reasoning_tokens: 5 } }, 'its tokens count')
      t.notMatch(chatClient.encodeResult(fold(EVENTS), context(body), buildFinal(fold(EVENTS))), /"reasoning"|c2VhbA/)
      t.equal(pass().admits(body, { model: 'm', stream: true, quirks: {}, user: 'pass' }), false)
    }
  })
  t.equal(pass().admits({ reasoning: { effort: 'low' } }, { model: 'm', stream: true, quirks: {}, user: 'pass' }), true)
})

t.test('the last chunk', async (t) => {
  const serverTools = { requested: 2, executed: 1 }
  const last = encode({}, { metadata: { attempt: 1 }, end: { reason: 'stop', tier: 'flex' }, serverTools }).at(-1)
  t.same(last, {
    id: 'gen-abc-tag',
    object: 'chat.completion.chunk',
    created: 1_763_999_999,
    model: 'acme/möbius',
    provider: 'Acme',
    choices: [],
    usage: {
      prompt_tokens: 9,
      completion_tokens: 8,
      total_tokens: 17,
      prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2, audio_tokens: 0, video_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 5, audio_tokens: 0, image_tokens: 0 },
      cost: 0.0000015,
      cost_details: {
        upstream_inference_cost: 0.0000015,
        upstream_inference_prompt_cost: 5e-7,
        upstream_inference_completions_cost: 0.000001,
      },
      is_byok: false,
      server_tool_use_details: { tool_calls_requested: 2, tool_calls_executed: 1 },
    },
    service_tier: 'flex',
    router_metadata: { attempt: 1 },
  })
})

t.test('a fault after content', async (t) => {
  const fault = new Fault('upstream_cut', { availability: { code: 'x' } })
  const last = encode({}, { fault }).at(-1)
  t.match(last, {
    error: { code: 502, metadata: { error_type: 'provider_unavailable' }, availability: { code: 'x' } },
    choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
  })
  const final = buildFinal(fold(EVENTS), { fault })
  for (const text of [chatClient.encodeResult(fold(EVENTS), context(), final), pass().result({ choices: 3 }, context()).finish(final)]) {
    const reply = JSON.parse(text) as JsonObject
    t.match((reply.choices as JsonObject[])[0], { finish_reason: 'error', error: { code: 502 } })
  }
})

t.test('a whole reply in parts, with calls that lack an id and a type', async (t) => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
    { type: 'text', text: 'Yes' },
  ]
  const tool_calls = [{ id: '', function: { name: 'f', arguments: '{}' } }]
  const { finish } = pass().result({ choices: [{ index: 0, message: { role: 'assistant', content, tool_calls } }] }, context())
  const reply = JSON.parse(finish(buildFinal({}))) as JsonObject
  t.match((reply.choices as JsonObject[])[0].message, {
    content: 'Yes',
    reasoning: 'Hm',
    reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }],
    tool_calls: [{ id: /^call_./, type: 'function', function: { name: 'f' } }],
  })
  const image = [
    { type: 'text', text: 'Look' },
    { type: 'image_url', image_url: { url: 'data:' } },
  ]
  const other = pass().result({ choices: [{ index: 0, message: { role: 'assistant', content: image } }] }, context())
  t.match(JSON.parse(other.finish(buildFinal({}))), { choices: [{ message: { content: image } }] }, 'other parts stay')
})

t.test('the debug chunk', async (t) => {
  const text = chatClient.debug(context(), { model: 'up', messages: [] })
  t.equal(chatClient.open, undefined)
  t.match(JSON.parse(text.slice(6)), { id: 'gen-abc-tag', choices: [], debug: { echo_upstream_body: { model: 'up', messages: [] } } })
})

t.test('usage is normalised', async (t) => {
  const cases: [JsonObject, object | undefined][] = [
    [
      { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 },
      { input: 10, output: 0 },
    ],
    [
      { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 99, cache_write_tokens: 4 } },
      { input: 10, cached: 10, cacheWrite: 0 },
    ],
    [{ prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 4 }, { cached: 4 }],
    [{ prompt_tokens: 10, completion_tokens: 5, num_cached_tokens: 4 }, { cached: 4 }],
    [
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 35, completion_tokens_details: { reasoning_tokens: 20 } },
      { output: 25, reasoning: 20 },
    ],
    [
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 22 },
      { output: 12, reasoning: 7 },
    ],
    [
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 115, prompt_tokens_details: { cached_tokens: 100 } },
      { input: 110, output: 5, cached: 100 },
    ],
    [
      { prompt_tokens: 10, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 20 } },
      { output: 25, reasoning: 20 },
    ],
    [
      { prompt_tokens: 9.1, completion_tokens: 2.7 },
      { input: 10, output: 3, inputUnknown: undefined, outputUnknown: undefined },
    ],
    [
      { prompt_tokens: -3, completion_tokens: 2.7 },
      { input: 0, inputUnknown: true, output: 3, outputUnknown: undefined },
    ],
    [
      { prompt_tokens: 9, completion_tokens: -3 },
      { input: 9, inputUnknown: undefined, output: 0, outputUnknown: true },
    ],
    [{ prompt_tokens: -3, completion_tokens: -2.7 }, undefined],
    [
      { prompt_tokens: 10, completion_tokens: 5, completion_tokens_details: { image_tokens: 4, audio_tokens: 1 } },
      { imageOutput: 4, audioOutput: 1 },
    ],
    [{ queue_time: 3 }, undefined],
  ]
  await every(t, 'every case', async (t) => {
    for (const [raw, expected] of cases) {
      if (expected === undefined) t.equal(decodeUsage(raw), undefined)
      else t.match(decodeUsage(raw), expected, JSON.stringify(raw))
    }
  })
})

t.test('errors of providers', async (t) => {
  const cases: [number, Json | undefined, string][] = [
    [400, { error: { message: 'bad', param: 'temperature', code: 'invalid_value' } }, 'upstream_rejected'],
    [
      400,
      { error: { message: "This model's maximum context length is 8192 tokens", code: 'context_length_exceeded' } },
      'upstream_context',
    ],
    [400, { error: { message: 'x', code: 'content_policy_violation' } }, 'upstream_policy'],
    [422, { detail: [{ loc: ['body'], msg: 'x' }] }, 'upstream_unprocessable'],
    [409, { message: 'x' }, 'upstream_conflict'],
    [400, { object: 'error', message: 'Invalid model: x', type: 'invalid_model', code: '1500' }, 'upstream_missing'],
    [400, { error: { message: 'Model Not Exist', type: 'invalid_request_error' } }, 'upstream_missing'],
    [400, { error: { message: 'x', code: 'model_not_found' } }, 'upstream_missing'],
    [401, { error: { message: 'Incorrect API key provided: sk-proj-123' } }, 'upstream_auth'],
    [402, undefined, 'upstream_credit'],
    [403, 'nope', 'upstream_rights'],
    [403, { error: { message: 'flagged', code: 403, metadata: {} } }, 'upstream_policy'],
    [404, { error: { message: 'no such model' } }, 'upstream_missing'],
    [413, undefined, 'upstream_too_large'],
    [429, { error: { message: 'slow down', type: 'requests' } }, 'upstream_limited'],
    [429, { error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } }, 'upstream_credit'],
    [408, undefined, 'upstream_silent'],
    [504, undefined, 'upstream_silent'],
    [500, { error: 'boom' }, 'upstream_error'],
    [503, { error: { message: 'The engine is currently overloaded' } }, 'upstream_overloaded'],
    [503, '<html>', 'upstream_error'],
    [529, undefined, 'upstream_overloaded'],
    [200, { error: { message: 'x', code: 429 } }, 'upstream_limited'],
    [200, { error: { message: 'x', type: 'overloaded_error' } }, 'upstream_overloaded'],
    [200, { error: { message: 'x', type: 'rate_limit_error' } }, 'upstream_limited'],
    [200, { error: { message: 'x', code: 'invalid_api_key' } }, 'upstream_auth'],
    [200, { error: { message: 'x', type: 'permission_error' } }, 'upstream_rights'],
    [200, { error: { message: 'x', type: 'not_found_error' } }, 'upstream_missing'],
    [200, { error: { message: 'x', type: 'invalid_request_error' } }, 'upstream_rejected'],
    [200, { object: 'error', message: 'bad', code: 400 }, 'upstream_rejected'],
    [200, { error: { message: 'x', code: '503' } }, 'upstream_error'],
    [200, { error: 'whatever' }, 'upstream_error'],
    [200, [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: 'x' } }], 'upstream_rejected'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [status, body, code] of cases) {
      const fault = openaiChat.decodeFault(status, body)
      t.equal(fault.code, code, `${status} ${JSON.stringify(body)}`)
      t.notMatch(`${fault.message} ${JSON.stringify(fault.metadata)}`, /sk-proj|boom|html|slow down|quota\b.*exceeded your/)
      t.type(fault.metadata?.provider_code, 'string')
    }
  })
  t.match(openaiChat.decodeFault(400, cases[0][1]), {
    message: /temperature/,
    metadata: { provider_code: 'invalid_value', field: 'temperature' },
  })
  t.same(openaiChat.auth('k'), ['authorization', 'Bearer k'])
})

t.test('whole replies that cannot be read', async (t) => {
  const cases: [JsonObject, string][] = [
    [{}, 'upstream_garbled'],
    [{ choices: [] }, 'upstream_empty'],
    [{ choices: [{ index: 0 }] }, 'upstream_garbled'],
    [{ error: { code: 429 } }, 'upstream_limited'],
    [{ choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'error' }] }, 'upstream_error'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [body, code] of cases) {
      const events: StreamEvent[] = []
      openaiChat.decodeResult(body, events)
      t.equal(fold(events).fault?.code, code, JSON.stringify(body))
      t.equal(pass().result(structuredClone(body), context()).fault?.code, code)
    }
  })
})

t.test('the quick quoting writes what JSON.stringify writes', async (t) => {
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary', minLength: 60 }), fc.constant('\ud800 lone')),
        (text) => {
          t.equal(quote(text), JSON.stringify(text))
        },
      ),
      property(100, 1_000),
    )
  })
})

const words = fc.string({ unit: 'binary', maxLength: 12 })
/** JSON however they are put together. */
const digits = fc.string({ unit: fc.constantFrom('1', '2', '7'), maxLength: 12 })
const delta = fc.oneof(
  { weight: 6, arbitrary: fc.record({ content: words }) },
  { weight: 2, arbitrary: fc.record({ reasoning: words }) },
  { weight: 1, arbitrary: fc.record({ reasoning_content: words, content: fc.constant(null) }) },
  { weight: 1, arbitrary: fc.record({ refusal: words }) },
  {
    weight: 4,
    arbitrary: fc.record({
      tool_calls: fc.array(
        fc.oneof(
          fc.record({ index: fc.nat(2), function: fc.record({ arguments: digits }) }),
          fc.record({
            index: fc.nat(2),
            id: fc.constantFrom('a', 'b', 'c'),
            type: fc.constant('function'),
            function: fc.record({ name: fc.constant('f'), arguments: digits }),
          }),
        ),
        { maxLength: 2 },
      ),
    }),
  },
)
/** As Python's serialiser writes: a blank behind each colon and comma. */
const spaced = (value: unknown): string =>
  JSON.stringify(value).replace(/"(?:[^"\\]|\\.)*"|[:,]/g, (token) => (token === ':' || token === ',' ? `${token} ` : token))

t.test('pass and translate agree on streams that nobody recorded', async (t) => {
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(
        fc.array(delta, { minLength: 1, maxLength: 30 }),
        fc.boolean(),
        fc.constantFrom('none', 'null', 'each'),
        fc.nat(400),
        (list, wide, usage, size) => {
          const write = wide ? spaced : JSON.stringify
          const chunk = (fields: object, finish: string | null = null): string => {
            const body = { id: 'u-1', created: 7, model: 'm', choices: [{ index: 0, delta: fields, finish_reason: finish }] }
            const extra = usage === 'none' ? {} : { usage: usage === 'null' ? null : { prompt_tokens: 1, completion_tokens: 2 } }
            return `data: ${write({ ...body, ...extra })}\n\n`
          }
          const named = [
            {
              tool_calls: [0, 1, 2].map((index) => ({ index, id: 'abc'[index], type: 'function', function: { name: 'f', arguments: '' } })),
            },
          ]
          const text = [...named, ...list].map((each) => chunk(each)).join('') + chunk({}, 'stop')
          const bytes = Buffer.from(`${text}data: [DONE]\n\n`)
          const expected = utterance(fold(decode([bytes])))
          const cut = pieces(bytes, size + 1)
          for (const through of [throughPass, throughTranslate]) {
            const { bytes: out } = through(cut)
            t.same(utterance(fold(decode([out]))), usage === 'each' ? expected : withUsage(expected))
            t.ok(byteChunks(out).every((each) => each.id === 'gen-abc-tag' && each.model === 'acme/möbius'))
          }
        },
      ),
      property(150, 1_500),
    )
  })
})

/** Ours always report usage, even where the provider did not. */
function withUsage(expected: unknown): unknown {
  const usage = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, audioInput: 0, audioOutput: 0, imageOutput: 0 }
  return { ...(expected as object), usage }
}

t.test('no bytes make the decoders throw', async (t) => {
  const json = fc.oneof(
    fc.json({ maxDepth: 4 }),
    fc
      .record(
        { choices: fc.array(fc.record({ delta: fc.object({ maxDepth: 2 }), finish_reason: fc.anything() }, { requiredKeys: [] })) },
        { requiredKeys: [] },
      )
      .map((value) => JSON.stringify(value)),
  )
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(fc.array(fc.oneof(json, fc.string()), { maxLength: 6 }), (list) => {
        const bytes = Buffer.from(list.map((each) => `data: ${each.replaceAll('\n', ' ')}\n\n`).join(''))
        t.doesNotThrow(() => decode([bytes]))
        t.doesNotThrow(() => throughPass([bytes]))
      }),
      property(200, 2_000),
    )
  })
})

t.test('members that hold nothing are none: a call without a name, sound without data', async (t) => {
  const nothing = { function_call: { name: '', arguments: '' }, audio: { id: '', data: '', expires_at: 0, transcript: '' } }
  const message = { role: 'assistant', content: 'Fine.', ...nothing }
  const body = (): JsonObject => ({ choices: [{ index: 0, message: structuredClone(message), finish_reason: 'stop' }] })
  t.match(
    decodeWhole(body()).blocks.map(({ kind, text }) => [kind, text]),
    [['text', 'Fine.']],
  )
  const passed = pass().result(body(), context())
  const { choices } = JSON.parse(passed.finish(buildFinal(passed))) as { choices: { message: JsonObject; finish_reason: string }[] }
  t.same([choices[0].message.function_call, choices[0].message.audio, choices[0].finish_reason], [undefined, undefined, 'stop'])
  const called = { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } }
  t.match(decodeWhole({ choices: [{ index: 0, message: called, finish_reason: 'function_call' }] }).blocks, [{ call: { name: 'look' } }])
})

t.test('an empty call in every chunk is left out of each', async (t) => {
  const chunk = (delta: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'u', created: 3, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const empty = { function_call: { name: '', arguments: '' } }
  const words = Array.from({ length: 40 }, (_, index) => chunk({ content: `w${index} `, ...empty }))
  const bytes = Buffer.from([...words, chunk({ content: '', ...empty }, 'stop')].join(''))
  await every(t, 'both lanes, whole and in pieces', async (t) => {
    for (const through of [throughPass, throughTranslate])
      for (const size of [bytes.length, 400]) {
        const { bytes: out } = through(pieces(bytes, size))
        t.notMatch(out.toString(), 'function_call')
        t.equal(byteChunks(out).filter(({ choices }) => JSON.stringify(choices).includes('"w')).length, 40)
        t.match(out.toString(), '"finish_reason":"stop"')
      }
  })
})

t.test('usage that stands in another place is read (npm groq-sdk 1.6.0, ChatCompletionChunk.XGroq.usage)', async (t) => {
  const finish = {
    id: 'u',
    model: 'm',
    choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }],
    x_groq: { id: 'req_1', usage: { prompt_tokens: 9, completion_tokens: 0 } },
  }
  const bytes = [Buffer.from(`data: ${JSON.stringify(finish)}\n\ndata: [DONE]\n\n`)]
  for (const { facts } of [throughPass(bytes), throughTranslate(bytes)])
    t.match(facts.usage, { input: 9, output: 0, outputUnknown: undefined }, 'a 0 is a count')
  t.match(throughPass(bytes).bytes.toString(), '"x_groq":{"id":"req_1"')
})
