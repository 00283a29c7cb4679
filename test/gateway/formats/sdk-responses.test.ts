/** The official SDK on /v1/responses, over every upstream dialect and every lane. */
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { type FoldedReply, foldResponse, foldResponseEvents, list, object, parseStream } from '../../support/fold.ts'
import { eventType, inOrder, wellFormed } from '../../support/responses-rules.ts'
import { chosenLanes, lastLane, lastSeen, onEach, type Rig, startRigs } from '../../support/rig.ts'
import { Gate, sseAnswer } from '../../support/upstream.ts'
import { framesFor, says, type Utterance, upstreamError } from '../../support/wire.ts'

const root = t
const rigs = await startRigs(t, 'responses')
const setup = { root, rigs }

type Body = Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>

const TOOLS: OpenAI.Responses.Tool[] = [
  {
    type: 'function',
    name: 'weather',
    description: 'The weather of a place',
    parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'], additionalProperties: false },
    strict: true,
  },
]
const CALLS: Utterance = {
  calls: [
    { id: 'call_a', name: 'weather', args: ['{"place"', ':"Rome"}'] },
    { id: 'call_b', name: 'weather', args: ['{"place":"Oslo"}'] },
  ],
}

async function whole(rig: Rig, body: Body = {}): Promise<JsonObject> {
  return (await rig.openai.responses.create({ model: 'acme/one', input: 'Hello', ...body })) as unknown as JsonObject
}

async function events(rig: Rig, body: Body = {}): Promise<JsonObject[]> {
  const stream = await rig.openai.responses.create({ model: 'acme/one', input: 'Hello', ...body, stream: true })
  const seen: JsonObject[] = []
  for await (const event of stream) seen.push(event as unknown as JsonObject)
  return seen
}

/** Runs a saying whole and streamed in every lane: one result for all. */
async function both(t: Test, utterance: Utterance, body: Body = {}): Promise<FoldedReply> {
  const plain = await onEach({ ...setup, t }, says(utterance), async (rig, t) => {
    const response = await whole(rig, body)
    wellFormed(t, response, rig.name)
    return foldResponse(response)
  })
  const streamed = await onEach({ ...setup, t }, says(utterance), async (rig, t) => {
    const seen = await events(rig, body)
    inOrder(t, seen, rig.name)
    return foldResponseEvents(seen)
  })
  t.same(streamed, plain, 'stream and whole reply are equal')
  return plain
}

t.test('text is the same whole and streamed', async (t) => {
  const reply = await both(t, { text: ['Hel', 'lo ', 'wörld'] })
  t.match(reply, { model: 'acme/one', text: 'Hello wörld', end: 'completed', error: undefined })
  t.same(reply.usage, { input: 11, output: 7, cached: 3, reasoning: 2, cost: 0.000025 })
})

t.test('a whole reply has every field of its envelope', async (t) => {
  await onEach({ ...setup, t }, says({ text: ['hi'] }), async (rig, t) => {
    const { data, response } = await rig.openai.responses.create({ model: 'acme/one', input: 'Hello' }).withResponse()
    t.equal(response.headers.get('x-generation-id'), data.id, 'the id of the reply')
    t.match(data, {
      object: 'response',
      status: 'completed',
      model: 'acme/one',
      error: null,
      incomplete_details: null,
      temperature: 1,
      top_p: 1,
      tool_choice: 'auto',
      tools: [],
      instructions: null,
      metadata: null,
      service_tier: 'default',
      store: false,
      background: false,
      truncation: 'disabled',
      top_logprobs: 0,
      parallel_tool_calls: true,
    })
    t.ok((data.completed_at ?? 0) >= data.created_at && data.created_at > 1_700_000_000 && data.created_at < 100_000_000_000, 'in seconds')
    t.match(
      data.output,
      [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi', annotations: [] }] }],
      'the item',
    )
    t.match(data.usage, { total_tokens: 18, is_byok: false, cost: Number }, 'the usage')
    t.notOk('router_metadata' in data, 'not without the header')
  })
})

t.test('the lanes are those that were meant, and the same wire passes by default', async (t) => {
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true]) {
      await onEach({ ...setup, t }, says({ text: ['hi'] }), async (rig, t) => {
        await (await rig.gateway.post('/v1/responses', { model: 'acme/one', stream, input: 'Hello' })).text()
        t.equal(lastLane(rig.gateway), rig.lane, rig.name)
      })
      const chosen = await chosenLanes(says({ text: ['hi'] }), async (gateway) =>
        (await gateway.post('/v1/responses', { model: 'acme/one', stream, input: 'Hello' })).text(),
      )
      t.same(chosen, { 'openai-responses': 'pass', 'openai-chat': 'translate' })
    }
  })
})

t.test('echoes what the request set', async (t) => {
  const body: Body = { instructions: 'Be brief.', temperature: 0.5, top_p: 0.25, metadata: { a: 'b' }, max_output_tokens: 99 }
  await onEach({ ...setup, t }, says({ text: ['hi'] }), async (rig, t) => {
    t.match(await whole(rig, body), body)
    t.match(object((await events(rig, body)).at(-1)?.response), body)
    t.match(lastSeen(rig).body, /Be brief\./, 'and sent')
  })
})

t.test('accepts messages with a role only, and the habits of real clients', async (t) => {
  const input = [
    { role: 'developer', content: 'Be kind.' },
    { role: 'user', content: [{ type: 'input_text', text: 'One' }] },
    { role: 'assistant', content: 'Two', phase: 'commentary' },
    { role: 'user', content: 'Three' },
  ] as unknown as OpenAI.Responses.ResponseInput
  const body = { input, text: {}, client_metadata: { a: 1 } } as Body
  t.equal((await both(t, { text: ['ok'] }, body)).text, 'ok')
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs)
      for (const word of ['Be kind.', 'One', 'Two', 'Three']) t.ok(lastSeen(rig).body.includes(word), `${rig.name} ${word}`)
  })
})

t.test('parallel tool calls and their results make a round trip', async (t) => {
  const reply = await both(t, CALLS, { tools: TOOLS })
  t.same(reply.calls, [
    { name: 'weather', callId: 'call_a', args: '{"place":"Rome"}' },
    { name: 'weather', callId: 'call_b', args: '{"place":"Oslo"}' },
  ])
  await onEach({ ...setup, t }, says(CALLS), async (rig) => {
    const done = (await events(rig, { tools: TOOLS })).filter((event) => event.type === 'response.function_call_arguments.done')
    return done.map(({ name, arguments: args, output_index }) => ({ name, args, output_index }))
  })
  const input: OpenAI.Responses.ResponseInput = [
    { role: 'user', content: 'Hello' },
    ...reply.calls.map(({ callId, name, args }) => ({ type: 'function_call' as const, call_id: callId, name, arguments: args })),
    { type: 'function_call_output', call_id: 'call_a', output: 'sun' },
    { type: 'function_call_output', call_id: 'call_b', output: 'snow' },
  ]
  t.equal((await both(t, { text: ['warm and cold'] }, { tools: TOOLS, input })).text, 'warm and cold')
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs)
      for (const word of ['call_a', 'call_b', 'sun', 'snow', 'Rome'])
        t.ok(lastSeen(rig).body.includes(word), `${rig.name} passes on ${word}`)
  })
})

t.test('the tool choice reaches the upstream', async (t) => {
  await both(t, { text: ['no tools'] }, { tools: TOOLS, tool_choice: 'none' })
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs) t.equal(lastSeen(rig).json.tool_choice, 'none', rig.name)
  })
  await both(t, CALLS, { tools: TOOLS, tool_choice: { type: 'function', name: 'weather' } })
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs) t.match(JSON.stringify(lastSeen(rig).json.tool_choice), /"weather"/, rig.name)
  })
})

t.test('structured output reaches the upstream and parses', async (t) => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'], additionalProperties: false }
  const body: Body = { text: { format: { type: 'json_schema', name: 'answer', strict: true, schema } } }
  t.same(JSON.parse((await both(t, { text: ['{"ok":', 'true}'] }, body)).text), { ok: true })
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs) {
      const { json } = lastSeen(rig)
      const format = rig.dialect === 'openai-chat' ? object(json.response_format).json_schema : object(json.text).format
      t.match(format, { name: 'answer', strict: true, schema }, rig.name)
    }
  })
})

t.test('images by address and as data', async (t) => {
  const data = 'data:image/png;base64,iVBORw0KGgo='
  const input = [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is it?' },
        { type: 'input_image', image_url: 'https://pictures.example/cat.png', detail: 'high' },
        { type: 'input_image', image_url: data },
      ],
    },
  ] as OpenAI.Responses.ResponseInput
  t.equal((await both(t, { text: ['a cat'] }, { input })).text, 'a cat')
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs) {
      const { body } = lastSeen(rig)
      t.ok(body.includes('https://pictures.example/cat.png') && body.includes(data), rig.name)
    }
  })
})

t.test('reasoning comes before the message', async (t) => {
  const utterance: Utterance = { reasoning: ['let me', ' see'], text: ['so'] }
  const body: Body = { reasoning: { effort: 'high', summary: 'auto' } }
  t.match(await both(t, utterance, body), { reasoning: 'let me see', text: 'so', usage: { reasoning: 2 } })
  await onEach({ ...setup, t }, says(utterance), async (rig, t) => {
    const output = list((await whole(rig, body)).output)
    t.same(
      output.map((item) => item.type),
      ['reasoning', 'message'],
      rig.name,
    )
    const types = (await events(rig, body)).map(eventType)
    t.ok(types.findLastIndex((type) => type.startsWith('response.reasoning')) < types.indexOf('response.output_text.delta'), rig.name)
    t.match(lastSeen(rig).body, /high/)
  })
})

t.test('cut and filtered answers are incomplete, refused ones are completed', async (t) => {
  const cut = await both(t, { text: ['half'], end: 'length' }, { max_output_tokens: 16 })
  t.match(cut, { text: 'half', end: 'incomplete: max_output_tokens' })
  t.match(await both(t, { text: ['half'], end: 'content_filter' }), { end: 'incomplete: content_filter' }, 'filtered')
  t.match(await both(t, { refusal: ['I will', ' not'] }), { refusal: 'I will not', end: 'completed' })
})

t.test('a text stream has its events in order, and forwards each at once', async (t) => {
  const gates = new Map(rigs.map((rig) => [rig.upstream.url, new Gate()]))
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs) {
      const gate = gates.get(rig.upstream.url) as Gate
      const frames = (path: string): string[] => framesFor(path, { text: ['one', 'two'] })
      rig.upstream.script = (seen) => {
        const all = frames(seen.path)
        const cut = all.findIndex((frame) => frame.includes('two'))
        return sseAnswer([...all.slice(0, cut), gate.step, ...all.slice(cut)])
      }
      const response = await rig.gateway.post('/v1/responses', { model: 'acme/one', input: 'Hello', stream: true })
      t.match(response.headers.get('content-type'), /^text\/event-stream/, rig.name)
      let text = ''
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk
        // The upstream waits: what came so far came before its end.
        if (text.includes('"delta":"one"')) gate.open()
      }
      const types = parseStream(text).map(eventType)
      t.same(
        types,
        [
          'response.created',
          'response.in_progress',
          'response.output_item.added',
          'response.content_part.added',
          'response.output_text.delta',
          'response.output_text.delta',
          'response.output_text.done',
          'response.content_part.done',
          'response.output_item.done',
          'response.completed',
        ],
        rig.name,
      )
    }
  })
})

t.test('numbers events by itself, whatever the upstream counts', async (t) => {
  const counted: readonly [string, (frames: string[]) => string[]][] = [
    ['from 7', (frames) => frames.map((frame) => frame.replace(/"sequence_number":(\d+)/, (_, n) => `"sequence_number":${Number(n) + 7}`))],
    ['not at all', (frames) => frames.map((frame) => frame.replace(/"sequence_number":\d+,/, ''))],
    [
      'in another place',
      (frames) => frames.map((frame) => frame.replace(/"sequence_number":(\d+),(.*)\}\n/, '$2,"sequence_number":1$1}\n')),
    ],
  ]
  await every(t, 'every case', async (t) => {
    for (const [name, change] of counted)
      await onEach(
        { ...setup, t },
        (seen) => sseAnswer(change(framesFor(seen.path, { reasoning: ['hm'], text: ['a "sequence_number":5, b', 'c'] }))),
        async (rig, t) => {
          const seen = await events(rig)
          inOrder(t, seen, `${rig.name}, ${name}`)
          return foldResponseEvents(seen)
        },
      )
  })
  const debug = { echo_upstream_body: true }
  await onEach({ ...setup, t }, says({ text: ['a', 'b'] }), async (rig, t) => {
    const [echo, ...rest] = await events(rig, { debug } as Body)
    t.match(echo, { type: 'response.debug', sequence_number: 0, debug: { echo_upstream_body: { model: 'upstream-model' } } })
    t.same(
      rest.map((event) => event.sequence_number),
      rest.map((_, index) => index + 1),
      rig.name,
    )
  })
})

t.test('the SDK’s stream helper accumulates the same', async (t) => {
  await onEach({ ...setup, t }, says({ reasoning: ['hm'], text: ['Hel', 'lo'] }), async (rig, t) => {
    const stream = rig.openai.responses.stream({ model: 'acme/one', input: 'Hello' })
    const final = await stream.finalResponse()
    t.equal(final.output_text, 'Hello', rig.name)
    return foldResponse(final as unknown as JsonObject)
  })
})

t.test('calls share nothing, and a reply without stream is JSON', async (t) => {
  await onEach({ ...setup, t }, says({ text: ['hi'] }), async (rig, t) => {
    const ids = [await whole(rig), await whole(rig)].map((response) => response.id)
    t.not(ids[0], ids[1])
    const response = await rig.gateway.post('/v1/responses', { model: 'acme/one', input: 'Hello', debug: { echo_upstream_body: true } })
    t.match(response.headers.get('content-type'), /^application\/json/)
    t.match(await response.json(), { object: 'response' }, 'debug is ignored')
  })
})

t.test('errors are the SDK’s own types', async (t) => {
  const caught = async (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => t.fail('no error'),
      (error: unknown) => error,
    )
  await onEach(
    { ...setup, t },
    () => upstreamError(429, 'slow down', { 'retry-after': '7' }),
    async (rig, t) => {
      const create = (body: object): Promise<unknown> => caught(whole(rig, body as Body))
      const bad = await create({ user: 'x'.repeat(257) })
      t.ok(bad instanceof OpenAI.BadRequestError, '400')
      t.match((bad as Error).message, /user/)
      const missing = await create({ model: 'acme/none' })
      t.ok(missing instanceof OpenAI.NotFoundError, '404')
      t.match(missing, { error: { code: 404, availability: { code: 'model_not_found' } } }, 'an unknown model')
      const limited = await create({})
      t.ok(limited instanceof OpenAI.RateLimitError, '429')
      t.match(limited, { error: { code: 429, metadata: { error_type: 'rate_limit_exceeded' } } })
      const stranger = rig.openai.withOptions({ apiKey: 'sk-router-v1-wrong' })
      const refused = await caught(stranger.responses.create({ model: 'acme/one', input: 'Hello' }))
      t.ok(refused instanceof OpenAI.AuthenticationError, '401')
    },
  )
})

t.test('an abort closes the upstream', async (t) => {
  await onEach(
    { ...setup, t },
    (seen) => {
      const all = framesFor(seen.path, { text: ['one', 'two'] })
      return sseAnswer([
        ...all.slice(
          0,
          all.findIndex((frame) => frame.includes('two')),
        ),
        new Gate().step,
      ])
    },
    async (rig, t) => {
      const stream = await rig.openai.responses.create({ model: 'acme/one', input: 'Hello', stream: true })
      for await (const event of stream) if (event.type === 'response.output_text.delta') break
      t.equal((await lastSeen(rig).closed).aborted, true, rig.name)
    },
  )
})
