/** The official SDK on /v1/chat/completions, over every upstream dialect and every lane. */
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { type FoldedReply, foldChat, foldChatChunks, list, object } from '../../support/fold.ts'
import { chosenLanes, lastLane, lastSeen, onEach, type Rig, startRigs } from '../../support/rig.ts'
import { Gate, sseAnswer } from '../../support/upstream.ts'
import { framesFor, says, type Utterance, upstreamError } from '../../support/wire.ts'

const root = t
const rigs = await startRigs(t, 'chat')
const setup = { root, rigs }

type Body = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model' | 'messages' | 'stream'> & {
  messages?: OpenAI.ChatCompletionMessageParam[]
}

const HELLO: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello' }]
const TOOLS: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'weather',
      description: 'The weather of a place',
      parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
    },
  },
]
const CALLS: Utterance = {
  calls: [
    { id: 'call_a', name: 'weather', args: ['{"place"', ':"Rome"}'] },
    { id: 'call_b', name: 'weather', args: ['{"place":"Oslo"}'] },
  ],
}

async function whole(rig: Rig, body: Body = {}): Promise<JsonObject> {
  const completion = await rig.openai.chat.completions.create({ model: 'acme/one', messages: HELLO, ...body })
  return completion as unknown as JsonObject
}

async function chunks(rig: Rig, body: Body = {}): Promise<JsonObject[]> {
  const stream = await rig.openai.chat.completions.create({ model: 'acme/one', messages: HELLO, ...body, stream: true })
  const seen: JsonObject[] = []
  for await (const chunk of stream) seen.push(chunk as unknown as JsonObject)
  return seen
}

/** Runs a saying whole and streamed in every lane: one result for all. */
async function both(t: Test, utterance: Utterance, body: Body = {}): Promise<FoldedReply> {
  const plain = await onEach({ ...setup, t }, says(utterance), async (rig) => foldChat(await whole(rig, body)))
  const streamed = await onEach({ ...setup, t }, says(utterance), async (rig) => foldChatChunks(await chunks(rig, body)))
  t.same(streamed, plain, 'stream and whole reply are equal')
  return plain
}

t.test('text, whole and streamed', async (t) => {
  const reply = await both(t, { text: ['Hel', 'lo ', 'wörld'] })
  t.match(reply, { model: 'acme/one', text: 'Hello wörld', end: 'stop', error: undefined })
  t.same(reply.usage, { input: 11, output: 7, cached: 3, reasoning: 2, cost: 0.000025 }, 'usage with its cost')
})

t.test('a whole reply has every field of its envelope', async (t) => {
  await onEach({ ...setup, t }, says({ text: ['hi'] }), async (rig, t) => {
    const { data, response } = await rig.openai.chat.completions.create({ model: 'acme/one', messages: HELLO }).withResponse()
    t.match(data, { object: 'chat.completion', model: 'acme/one', created: Number })
    t.match(data.id, /^gen-/)
    t.equal(response.headers.get('x-generation-id'), data.id, 'the id of the reply')
    t.equal((data as { _request_id?: string | null })._request_id, data.id, 'the id that the SDK shows')
    const [choice] = list((data as unknown as JsonObject).choices)
    t.match(choice, { index: 0, finish_reason: 'stop' })
    t.type(choice.native_finish_reason, 'string')
    t.notOk('router_metadata' in data, 'not without the header')
  })
})

t.test('a stream has one id, usage in its last chunk, and [DONE]', async (t) => {
  await onEach({ ...setup, t }, says({ text: ['a', 'b'] }), async (rig, t) => {
    const seen = await chunks(rig)
    t.equal(new Set(seen.map((chunk) => chunk.id)).size, 1, 'one id throughout')
    t.match(seen[0].id, /^gen-/)
    t.equal(object(list(seen[0].choices)[0].delta).role, 'assistant', 'the first delta names the role')
    t.same(
      seen.map((chunk) => chunk.model),
      seen.map(() => 'acme/one'),
      'the public slug in every chunk',
    )
    t.same(
      seen.filter((chunk) => 'usage' in chunk).map((chunk) => chunk.choices),
      [[]],
      'usage once, in a chunk without choices',
    )
    t.ok('usage' in (seen.at(-1) ?? {}), 'and that is the last one')
    const response = await rig.gateway.post('/v1/chat/completions', { model: 'acme/one', stream: true, messages: HELLO })
    t.match(response.headers.get('content-type'), /^text\/event-stream/)
    t.match(await response.text(), /\ndata: \[DONE\]\n\n$/)
  })
})

t.test('the lanes are those that were meant, and the same wire passes by default', async (t) => {
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true]) {
      await onEach({ ...setup, t }, says({ text: ['hi'] }), async (rig, t) => {
        await (await rig.gateway.post('/v1/chat/completions', { model: 'acme/one', stream, messages: HELLO })).text()
        t.equal(lastLane(rig.gateway), rig.lane, rig.name)
      })
      const chosen = await chosenLanes(says({ text: ['hi'] }), async (gateway) =>
        (await gateway.post('/v1/chat/completions', { model: 'acme/one', stream, messages: HELLO })).text(),
      )
      t.same(chosen, { 'openai-chat': 'pass', 'openai-responses': 'translate' })
    }
  })
})

t.test('tool round trip with parallel calls', async (t) => {
  const reply = await both(t, CALLS, { tools: TOOLS })
  t.equal(reply.end, 'tool_calls')
  t.same(reply.calls, [
    { name: 'weather', callId: 'call_a', args: '{"place":"Rome"}' },
    { name: 'weather', callId: 'call_b', args: '{"place":"Oslo"}' },
  ])
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    ...HELLO,
    {
      role: 'assistant',
      content: null,
      tool_calls: reply.calls.map(({ callId, name, args }) => ({ id: callId, type: 'function', function: { name, arguments: args } })),
    },
    { role: 'tool', tool_call_id: 'call_a', content: 'sun' },
    { role: 'tool', tool_call_id: 'call_b', content: 'snow' },
  ]
  const final = await both(t, { text: ['warm and cold'] }, { tools: TOOLS, messages })
  t.equal(final.text, 'warm and cold')
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs) {
      const { body, json } = lastSeen(rig)
      for (const word of ['call_a', 'call_b', 'sun', 'snow', 'Rome', 'weather']) t.ok(body.includes(word), `${rig.name} passes on ${word}`)
      t.equal(json.model, 'upstream-model')
    }
  })
})

t.test('argument deltas name the call once', async (t) => {
  await onEach({ ...setup, t }, says(CALLS), async (rig, t) => {
    const deltas = (await chunks(rig, { tools: TOOLS })).flatMap((chunk) =>
      list(chunk.choices).flatMap((choice) => list(object(choice.delta).tool_calls)),
    )
    t.ok(deltas.every((delta) => Number.isInteger(delta.index)))
    await every(t, 'every round', async (t) => {
      for (const index of [0, 1]) {
        const own = deltas.filter((delta) => delta.index === index)
        t.match(own[0], { id: String, type: 'function', function: { name: 'weather' } })
        for (const later of own.slice(1)) t.notOk(later.id ?? object(later.function).name, 'id and name only in the first')
      }
    })
  })
})

t.test('structured output', async (t) => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'], additionalProperties: false }
  const body: Body = { response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } } }
  const reply = await both(t, { text: ['{"ok":', 'true}'] }, body)
  t.same(JSON.parse(reply.text), { ok: true })
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
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: 'https://pictures.example/cat.png', detail: 'high' } },
        { type: 'image_url', image_url: { url: data } },
      ],
    },
  ]
  t.equal((await both(t, { text: ['a cat'] }, { messages })).text, 'a cat')
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs) {
      const { body } = lastSeen(rig)
      t.ok(body.includes('https://pictures.example/cat.png') && body.includes(data), rig.name)
    }
  })
})

t.test('reasoning comes before text and is counted', async (t) => {
  const reply = await both(t, { reasoning: ['let me', ' see'], text: ['so'] }, { reasoning_effort: 'high' })
  t.match(reply, { reasoning: 'let me see', text: 'so', usage: { reasoning: 2 } })
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs) t.match(lastSeen(rig).body, /high/, rig.name)
  })
})

t.test('hides reasoning on request, and counts it', async (t) => {
  await every(t, 'every hidden', async (t) => {
    for (const hidden of [{ include_reasoning: false }, { reasoning: { exclude: true } }]) {
      const reply = await both(t, { reasoning: ['secret'], text: ['so'] }, hidden as Body)
      t.match(reply, { reasoning: '', text: 'so', usage: { reasoning: 2 } }, JSON.stringify(hidden))
    }
  })
})

t.test('refusal, length, sampling', async (t) => {
  t.match(await both(t, { refusal: ['I will', ' not'] }), { refusal: 'I will not' })
  t.match(await both(t, { text: ['half'], end: 'length' }, { max_completion_tokens: 5 }), { text: 'half', end: 'length' })
  await both(t, { text: ['x'] }, { temperature: 0.25, top_p: 0.5, user: 'someone' })
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs) t.match(lastSeen(rig).json, { temperature: 0.25, top_p: 0.5 }, rig.name)
  })
})

t.test('a trailing assistant message reaches the upstream', async (t) => {
  await both(t, { text: ['day.'] }, { messages: [...HELLO, { role: 'assistant', content: 'Good ' }] })
  await every(t, 'every rig', async (t) => {
    for (const rig of rigs) t.match(lastSeen(rig).body, /Good /, rig.name)
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
      const create = (body: object): Promise<unknown> =>
        caught(rig.openai.chat.completions.create({ model: 'acme/one', messages: HELLO, ...body } as OpenAI.ChatCompletionCreateParams))
      const bad = await create({ messages: [] })
      t.ok(bad instanceof OpenAI.BadRequestError, '400')
      t.match((bad as Error).message, /messages/)
      const missing = await create({ model: 'acme/none' })
      t.ok(missing instanceof OpenAI.NotFoundError, '404')
      t.match(missing, { error: { code: 404, availability: { code: 'model_not_found' } } }, 'an unknown model')
      const limited = await create({})
      t.ok(limited instanceof OpenAI.RateLimitError, '429')
      t.match(limited, { error: { code: 429, metadata: { error_type: 'rate_limit_exceeded' } } })
      t.equal((limited as InstanceType<typeof OpenAI.RateLimitError>).headers.get('retry-after'), '7')
      const stranger = rig.openai.withOptions({ apiKey: 'sk-router-v1-wrong' })
      const refused = await caught(stranger.chat.completions.create({ model: 'acme/one', messages: HELLO }))
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
      const stream = await rig.openai.chat.completions.create({ model: 'acme/one', messages: HELLO, stream: true })
      let text = ''
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        if (text === 'one') break
      }
      const seen = await lastSeen(rig).closed
      t.equal(seen.aborted, true, rig.name)
      return text
    },
  )
})
