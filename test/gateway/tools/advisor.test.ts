/** `router:advisor` over HTTP: who is asked, what it is shown and remembers, what the caller sees. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import {
  type AskedModels,
  type AskedModelsOptions,
  ran,
  rawEvents,
  startAskedModels,
  told,
  WAYS,
  wayName,
} from '../../support/asked-models.ts'
import { every } from '../../support/every.ts'
import { inOrder } from '../../support/responses-rules.ts'
import type { Utterance, UtteranceCall } from '../../support/wire.ts'

const DONE: Utterance = { text: ['So be it.'], usage: { input: 200, output: 20 } }
const ADVICE: Utterance = { reasoning: ['Let me think.'], text: ['Do ', 'nothing.'], usage: { input: 1000, output: 50 } }
const ask = (args: JsonObject, name = 'router_advisor', id = 'call_1'): UtteranceCall => ({ id, name, args: [JSON.stringify(args)] })
const advisor = (parameters: JsonObject = {}): JsonObject => ({ type: 'router:advisor', parameters })
const asks = (...calls: UtteranceCall[]): Utterance => ({ text: ['Hm. '], calls, usage: { input: 100, output: 10 } })

function withAdvisor(t: Test, calls: UtteranceCall[], more: Partial<AskedModelsOptions> = {}): Promise<AskedModels> {
  return startAskedModels(t, {
    script: (name, seen) => (name !== 'one' || ran(seen) ? (name === 'one' ? DONE : ADVICE) : asks(...calls)),
    ...more,
  })
}

const messagesTo = (one: AskedModels, name: 'one' | 'two' | 'three', at = -1): JsonObject[] =>
  one.seen(name).at(at)?.json.messages as JsonObject[]

t.test('the model asks, is told, and the caller sees it, in every format', async (t) => {
  const one = await withAdvisor(t, [ask({ prompt: 'What now?' })])
  const tools = [
    advisor({ model: 'acme/two', instructions: 'Be brief.', temperature: 0.5, max_completion_tokens: 300, reasoning: { effort: 'low' } }),
  ]
  await every(t, 'every way', async (t) => {
    for (const way of WAYS) {
      const name = wayName(way)
      const { status, raw, reply, body } = await one.ask(way, { tools })
      t.equal(status, 200, `${name}: ${raw}`)
      t.equal(reply.text, 'Hm. So be it.', name)
      const asked = one.seen('two').at(-1)?.json
      t.same(asked?.messages, [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'What now?' },
      ])
      t.match(asked, { temperature: 0.5, max_tokens: 300, reasoning_effort: 'low' }, name)
      t.same(told(one.seen('one').at(-1)), [{ status: 'ok', model: 'acme/two', advice: 'Do nothing.' }], name)
      if (way.format === 'responses') {
        const items = (body.output as JsonObject[]).filter(({ type }) => type === 'router:advisor')
        t.match(items, [{ status: 'completed', model: 'acme/two', prompt: 'What now?', advice: 'Do nothing.' }])
        t.notOk('instance_name' in items[0], 'there is but one')
      } else t.match(raw, way.format === 'chat' ? /"tool_name":"router:advisor"/ : /"type":"router_advisor_tool_result"/, name)
    }
  })
})

t.test('whose model: the definition, the call, the one that asks', async (t) => {
  const cases: [parameters: JsonObject, args: JsonObject, model: string][] = [
    [{ model: 'acme/two' }, { prompt: 'x', model: 'acme/three' }, 'acme/two'],
    [{}, { prompt: 'x', model: 'acme/three' }, 'acme/three'],
    [{}, { prompt: 'x' }, 'acme/one'],
  ]
  for (const [parameters, args, model] of cases) {
    let calls = 0
    const one = await startAskedModels(t, { script: () => (calls++ === 0 ? asks(ask(args)) : DONE) })
    const { body } = await one.ask({ format: 'responses', stream: false }, { tools: [advisor(parameters)] })
    t.match(
      (body.output as JsonObject[]).find(({ type }) => type === 'router:advisor'),
      { model },
      JSON.stringify([parameters, args]),
    )
    t.equal(one.upstream.requests.length, 3)
  }
})

t.test('returns 400 for two advisors without a name, one name twice, and settings out of range', async (t) => {
  const one = await withAdvisor(t, [])
  const cases: [tools: JsonObject[], message: RegExp][] = [
    [[advisor(), advisor()], /^tools\[1\]\.parameters\.name: is required/],
    [[advisor({ name: 'a' }), advisor({ name: ' a ' })], /^tools\[1\]\.parameters\.name: expected a name that no other advisor/],
    [[advisor({ name: 'a.b' })], /^tools\[0\]\.parameters\.name: expected 1 to 64 letters/],
    [[advisor({ name: '' })], /parameters\.name/],
    [[advisor({ name: 'x'.repeat(65) })], /parameters\.name/],
    [[advisor({ model: 5 })], /^tools\[0\]\.parameters\.model: expected a model slug/],
    [[advisor({ instructions: ' ' })], /parameters\.instructions: expected a text/],
    [[advisor({ stream: 'yes' })], /parameters\.stream: expected true or false/],
    [[advisor({ forward_transcript: 1 })], /parameters\.forward_transcript/],
    [[advisor({ temperature: 2.1 })], /parameters\.temperature: expected a number from 0 to 2/],
    [[advisor({ max_completion_tokens: 0 })], /parameters\.max_completion_tokens/],
    [[advisor({ reasoning: { effort: 'huge' } })], /parameters\.reasoning\.effort/],
    [[advisor({ reasoning: { max_tokens: 1.5 } })], /parameters\.reasoning\.max_tokens/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [tools, message] of cases)
      for (const way of WAYS.filter(({ stream }) => !stream)) {
        const { status, body } = await one.ask(way, { tools })
        t.equal(status, 400, `${message} ${wayName(way)}`)
        t.match((body.error as JsonObject).message, message)
      }
  })
  t.equal(one.upstream.requests.length, 0)
})

t.test('several advisors at once: each under its own name, with its own memory', async (t) => {
  const one = await withAdvisor(t, [ask({ prompt: 'first?' }, 'router_advisor'), ask({ prompt: 'second?' }, 'router_advisor__1', 'call_2')])
  const tools = [advisor({ model: 'acme/two' }), advisor({ name: 'the wise', model: 'acme/three' })]
  const { body } = await one.ask({ format: 'responses', stream: false }, { tools })
  const offered = (one.seen('one')[0].json.tools as JsonObject[]).map((tool) => tool.function as JsonObject)
  t.match(offered, [{ name: 'router_advisor' }, { name: 'router_advisor__1', description: /the advisor the wise/ }])
  const output = body.output as JsonObject[]
  t.match(
    output.filter(({ type }) => type === 'router:advisor'),
    [
      { instance_name: 'router_advisor', model: 'acme/two', prompt: 'first?' },
      { instance_name: 'router_advisor__1', model: 'acme/three', prompt: 'second?' },
    ],
  )
  t.match((body.usage as JsonObject).server_tool_use_details, { tool_calls_requested: 2 })
  // The conversation goes on: what each has said is what each remembers.
  const input = [{ role: 'user', content: 'What is best?' }, ...output, { role: 'user', content: 'And now?' }]
  const again = await startAskedModels(t, {
    script: (name, seen) =>
      name === 'one' ? (seen.body.includes('call_9') ? DONE : asks(ask({ prompt: 'third?' }, 'router_advisor__1', 'call_9'))) : ADVICE,
  })
  t.equal((await again.ask({ format: 'responses', stream: false }, { input, tools })).status, 200)
  t.same(messagesTo(again, 'three'), [
    { role: 'user', content: 'second?' },
    { role: 'assistant', content: 'Do nothing.' },
    { role: 'user', content: 'third?' },
  ])
  t.equal(again.seen('two').length, 0)
  const shown = messagesTo(again, 'one', 0)
  t.same(
    shown.flatMap(({ tool_calls: calls }) => ((calls ?? []) as JsonObject[]).map((call) => call.function)),
    [
      { name: 'router_advisor', arguments: '{"prompt":"first?"}' },
      { name: 'router_advisor__1', arguments: '{"prompt":"second?"}' },
    ],
    'the model that asked sees what it had asked',
  )
  t.equal(shown.filter(({ role }) => role === 'tool').length, 2)
})

t.test('an advisor remembers in every format, and within a request', async (t) => {
  const tools = [advisor({ model: 'acme/two' })]
  await every(t, 'every way', async (t) => {
    for (const way of WAYS.filter(({ stream }) => !stream)) {
      const first = await withAdvisor(t, [ask({ prompt: 'first?' })])
      const { body } = await first.ask(way, { tools })
      const user = { role: 'user', content: 'go on' }
      const utterance = way.format === 'chat' ? (body.choices as JsonObject[])[0].message : { role: 'assistant', content: body.content }
      const history =
        way.format === 'responses' ? { input: [user, ...(body.output as JsonObject[]), user] } : { messages: [user, utterance, user] }
      const one = await startAskedModels(t, {
        script: (name, seen) =>
          name === 'two'
            ? ADVICE
            : seen.body.includes('call_9')
              ? DONE
              : asks(ask({ prompt: 'again?' }, 'router_advisor', seen.body.includes('call_8') ? 'call_9' : 'call_8')),
      })
      const { status, raw } = await one.ask(way, { ...(history as JsonObject), tools })
      t.equal(status, 200, `${wayName(way)}: ${raw}`)
      const exchange = (prompt: string): JsonObject[] => [
        { role: 'user', content: prompt },
        { role: 'assistant', content: 'Do nothing.' },
      ]
      t.same(messagesTo(one, 'two', 0), [...exchange('first?'), { role: 'user', content: 'again?' }], wayName(way))
      t.same(messagesTo(one, 'two', 1), [...exchange('first?'), ...exchange('again?'), { role: 'user', content: 'again?' }], wayName(way))
    }
  })
})

t.test('with the transcript it sees what the model sees', async (t) => {
  const one = await withAdvisor(t, [ask({})], { model: 'input: [text, image]' })
  const tools = [advisor({ model: 'acme/two', forward_transcript: true, instructions: 'Be brief.' })]
  const picture = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' }
  const input = [
    { role: 'system', content: 'You are kind.' },
    { role: 'user', content: [{ type: 'input_text', text: 'Look.' }, picture] },
    { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"at":"here"}' },
    { type: 'function_call_output', call_id: 'c1', output: 'rain' },
    { role: 'user', content: 'So?' },
  ]
  const script: AskedModelsOptions['script'] = (name, seen) =>
    name === 'two' ? ADVICE : seen.body.includes('call_1') ? DONE : asks(ask({}))
  const again = await startAskedModels(t, { script, model: 'input: [text, image]' })
  t.equal((await again.ask({ format: 'responses', stream: false }, { input, tools })).status, 200)
  const shown = JSON.stringify(messagesTo(again, 'two'))
  await every(t, 'every part', async (t) => {
    for (const part of [
      'Be brief.',
      'You are kind.',
      'Look.',
      'iVBORw0KGgo=',
      '[called the tool weather with',
      'rain',
      'So?',
      'What do you advise?',
    ])
      t.ok(shown.includes(part), part)
  })
  t.notOk(shown.includes('tool_calls'), 'calls in words: it has no such tools')
  t.equal((await one.ask({ format: 'chat', stream: true }, { tools })).status, 200, 'no prompt is needed')
  const blind = await startAskedModels(t, { script })
  const bare = input.map((item) =>
    'content' in item && Array.isArray(item.content) ? { ...item, content: item.content.slice(0, 1) } : item,
  )
  t.equal((await blind.ask({ format: 'responses', stream: false }, { input: bare, tools })).status, 200)
})

t.test('its words come as they are said, to callers of Responses streams that ask for it', async (t) => {
  const one = await withAdvisor(t, [ask({ prompt: 'What now?' })])
  for (const stream of [true, false]) {
    const { raw } = await one.ask({ format: 'responses', stream: true }, { tools: [advisor({ model: 'acme/two', stream })] })
    const events = rawEvents(raw)
    inOrder(t, events, `stream ${stream}`)
    const item = events.find((event) => event.type === 'response.output_item.done' && (event.item as JsonObject).type === 'router:advisor')
    const id = (item?.item as JsonObject | undefined)?.id
    const own = events.filter((event) => event.item_id === id)
    t.same(
      own.map(({ type, delta, text }) => [type, delta ?? text]),
      stream
        ? [
            ['response.output_text.delta', 'Do '],
            ['response.output_text.delta', 'nothing.'],
            ['response.output_text.done', 'Do nothing.'],
          ]
        : [],
    )
    t.match(item?.item, { status: 'completed', advice: 'Do nothing.' })
    const added = events.find((event) => event.type === 'response.output_item.added' && (event.item as JsonObject).id === id)
    t.match(added?.item, { type: 'router:advisor', status: 'in_progress' })
  }
})

t.test('an advisor that cannot be asked is an error to the model', async (t) => {
  const cases: [parameters: JsonObject, args: JsonObject, error: RegExp][] = [
    [{ model: 'acme/two' }, { prompt: ' ' }, /the argument prompt is missing/],
    [{ model: 'acme/none' }, { prompt: 'x' }, /No such model: acme\/none/],
    [{}, { prompt: 'x', model: 'nonsense' }, /No such model: nonsense/],
    [{}, { prompt: 'x', model: 'a/b c' }, /model slug/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [parameters, args, error] of cases) {
      const one = await withAdvisor(t, [ask(args)])
      const { status, body, reply } = await one.ask({ format: 'responses', stream: false }, { tools: [advisor(parameters)] })
      t.equal(status, 200)
      t.equal(reply.text, 'Hm. So be it.')
      t.match(told(one.seen('one').at(-1)), [{ status: 'error', error }])
      t.match(
        (body.output as JsonObject[]).find(({ type }) => type === 'router:advisor'),
        { status: 'failed', error },
      )
    }
  })
})
