/** `router:subagent` over HTTP: what the worker sees and may do, what comes of it, and work that waits for the caller. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import {
  type AskedModels,
  type AskedModelsOptions,
  type Name,
  PRICES,
  ran,
  rawEvents,
  startAskedModels,
  told,
  WAYS,
  wayName,
} from '../../support/asked-models.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { eventType, wellFormed } from '../../support/responses-rules.ts'
import { type Answer, Gate, jsonAnswer, type Seen } from '../../support/upstream.ts'
import { answerFor, type Utterance, type UtteranceCall } from '../../support/wire.ts'

const TASK = { task_name: 'sum', task_description: 'Add two and two.' }
const call = (name: string, args: JsonObject, id: string): UtteranceCall => ({ id, name, args: [JSON.stringify(args)] })
const DELEGATES: Utterance = { text: ['One moment. '], calls: [call('router_subagent', TASK, 'call_1')], usage: { input: 100, output: 10 } }
const DONE: Utterance = { text: ['It is four.'], usage: { input: 200, output: 20 } }
const WORK: Utterance = { text: ['Four.'], usage: { input: 1000, output: 50 } }
const subagent = (parameters: JsonObject = {}): JsonObject => ({
  type: 'router:subagent',
  parameters: { model: 'acme/two', ...parameters },
})
const usual: AskedModelsOptions['script'] = (name, seen) => (name === 'two' ? WORK : ran(seen) ? DONE : DELEGATES)
const withSubagent = (
  t: Test,
  script: AskedModelsOptions['script'] = usual,
  more: Partial<AskedModelsOptions> = {},
): Promise<AskedModels> => startAskedModels(t, { script, ...more })
const subagentItems = (body: JsonObject): JsonObject[] => (body.output as JsonObject[]).filter(({ type }) => type === 'router:subagent')

t.test('a task is handed over: the worker sees nothing else, the model hears the outcome', async (t) => {
  const one = await withSubagent(t)
  await every(t, 'every way', async (t) => {
    for (const way of WAYS) {
      const name = wayName(way)
      const tools = [
        subagent({ name: 'adder', instructions: 'Compute.', temperature: 0, max_completion_tokens: 64, reasoning: { max_tokens: 1024 } }),
      ]
      const { status, raw, reply, body } = await one.ask(way, { tools })
      t.equal(status, 200, `${name}: ${raw}`)
      t.equal(reply.text, 'One moment. It is four.', name)
      t.same(one.seen('two').at(-1)?.json.messages, [
        { role: 'system', content: 'Compute.' },
        { role: 'user', content: 'Add two and two.' },
      ])
      t.match(one.seen('two').at(-1)?.json, { temperature: 0, max_tokens: 64 })
      t.same(told(one.seen('one').at(-1)), [{ status: 'ok', model: 'acme/two', task_name: 'sum', outcome: 'Four.' }], name)
      t.match(reply.usage, { input: 1300, output: 80 }, name)
      t.equal(one.last().settled?.cost, 300 * PRICES.one[0] * 1000 + 30 * PRICES.one[1] * 1000 + 1000 * 3000 + 50 * 4000, name)
      t.equal(one.held(), 0)
      const item = { status: 'completed', call_id: 'call_1', model: 'acme/two', name: 'adder', ...TASK, outcome: 'Four.' }
      if (way.format === 'responses') {
        t.match(subagentItems(body), [item])
        t.notOk('instance_name' in subagentItems(body)[0], 'the first has no number')
      } else t.match(raw, way.format === 'chat' ? /"tool_name":"router:subagent"/ : /"type":"router_subagent_tool_result"/, name)
    }
  })
})

t.test('policies over the names that a caller gives its request hold for the worker too', async (t) => {
  const yaml = `policies:
  - { name: secret, when: 'has(request.metadata.secret) && model.slug == "acme/two"', deny: { message: "not for secrets" } }
  - { name: eve, when: 'request.user == "eve" && request.tools.size() > 0', limit: { max_cost: "0.01" } }`
  const one = await withSubagent(t, usual, { yaml })
  const way = WAYS[0] as (typeof WAYS)[number]
  const plain = await one.ask(way, { tools: [subagent()] })
  t.equal(plain.status, 200, plain.raw)
  t.equal(one.seen('two').length, 1)
  const secret = await one.ask(way, { tools: [subagent()], metadata: { secret: 'yes' } })
  t.equal(secret.status, 200, secret.raw)
  t.equal(one.seen('two').length, 1, 'the worker has not seen it')
  const dear = await one.ask(way, { tools: [subagent()], user: 'eve', max_tokens: 10, max_output_tokens: 10 })
  t.equal(dear.status, 200, dear.raw)
  t.equal(one.seen('two').length, 1, 'the worker may cost more than the limit')
})

t.test('returns 400 for functions, for itself and for settings out of range', async (t) => {
  const one = await withSubagent(t)
  const own = { type: 'function', name: 'mine', parameters: { type: 'object' } }
  const cases: [tools: JsonObject[], message: RegExp][] = [
    [[subagent({ tools: [own] })], /^tools\[0\]\.parameters\.tools\[0\]\.type: expected one of the server tools/],
    [[subagent({ tools: [{ type: 'router:subagent' }] })], /tools\[0\]\.type: a subagent cannot have subagents/],
    [[subagent({ tools: [{ type: 'router:nothing' }] })], /nothing is no server tool that runs here/],
    [[subagent({ tools: 'all' })], /parameters\.tools: expected a list/],
    [[subagent({ max_tool_calls: 26 })], /max_tool_calls: expected a whole number from 1 to 25/],
    [[subagent({ max_tool_calls: 0 })], /max_tool_calls/],
    [[subagent(), subagent()], /^tools\[1\]\.parameters\.name: is required/],
    [[subagent({ name: 'a' }), subagent({ name: 'a' })], /no other subagent/],
    [[subagent({ inherited_function_names: [' '] }), own], /inherited_function_names\[0\]: expected the name of a function/],
    [[subagent({ inherit_functions: 'yes' })], /inherit_functions: expected true or false/],
    [
      [subagent({ inherited_function_names: ['other'] }), own],
      /inherited_function_names\[0\]: expected the name of a function of the request, which has no other/,
    ],
  ]
  await every(t, 'every case', async (t) => {
    for (const [tools, message] of cases) {
      const { status, body } = await one.ask({ format: 'responses', stream: false }, { tools })
      t.equal(status, 400, String(message))
      t.match((body.error as JsonObject).message, message)
    }
  })
  await every(t, 'every parameters', async (t) => {
    for (const parameters of [{ inherit_functions: true }, { inherited_function_names: ['mine'] }])
      for (const format of ['chat', 'messages'] as const) {
        const { status, body } = await one.ask({ format, stream: false }, { tools: [subagent(parameters)] })
        t.equal(status, 400)
        t.match((body.error as JsonObject).message, /can be inherited on \/v1\/responses only/)
      }
  })
  const stranger = { type: 'function_call', call_id: 'c', name: 'mine', arguments: '{}', subagent_id: 'nobody', subagent_items: [] }
  const input = [{ role: 'user', content: 'x' }, stranger, { type: 'function_call_output', call_id: 'c', output: '1' }]
  const { status, body } = await one.ask({ format: 'responses', stream: false }, { input, tools: [subagent()] })
  t.equal(status, 400)
  t.match((body.error as JsonObject).message, /the subagent_id of the call c is that of no subagent/)
  t.equal(one.upstream.requests.length, 0)
})

t.test('a worker has tools of its own, and a second turn that fails costs nothing of it', async (t) => {
  let works = true
  const working = (seen: Seen): ReturnType<AskedModelsOptions['script']> => {
    if (!ran(seen)) return { calls: [call('router_datetime', {}, 'd1')], usage: { input: 500, output: 5 } }
    return works ? WORK : jsonAnswer({ error: { message: 'no' } }, 500)
  }
  const one = await withSubagent(t, (name, seen) => (name === 'two' ? working(seen) : usual(name, seen)))
  const tools = [subagent({ tools: [{ type: 'router:datetime', parameters: { timezone: 'UTC' } }], max_tool_calls: 2 })]
  await every(t, 'every way', async (t) => {
    for (const way of WAYS) {
      works = true
      const good = await one.ask(way, { tools })
      t.match(good.reply.usage, { input: 1800, output: 85 }, wayName(way))
      t.match((good.body.usage as JsonObject).server_tool_use_details, { tool_calls_requested: 2, tool_calls_executed: 2 })
      works = false
      const bad = await one.ask(way, { tools })
      t.equal(bad.status, 200)
      t.equal(bad.reply.text, 'One moment. It is four.', 'a failed worker never fails the response')
      t.match(told(one.seen('one').at(-1)), [{ status: 'error', error: String }])
      t.match(one.last().settled, { input: 300, output: 30, cost: 300 * PRICES.one[0] * 1000 + 30 * PRICES.one[1] * 1000 })
      if (way.format === 'responses') t.match(subagentItems(bad.body), [{ status: 'failed', error: String }])
      t.equal(one.held(), 0)
    }
  })
})

const LOOKUP = {
  type: 'function',
  name: 'lookup',
  description: 'Looks up.',
  parameters: { type: 'object', properties: { key: { type: 'string' } } },
}
const OTHER = { type: 'function', name: 'other', parameters: { type: 'object' } }
const LOOKS: Utterance = {
  text: ['I look. '],
  calls: [call('lookup', { key: 'a' }, 'l1'), call('lookup', { key: 'b' }, 'l2')],
  usage: { input: 500, output: 5 },
}
const worker = (seen: Seen): Utterance => {
  const results = told(seen).length
  if (results === 0) return LOOKS
  return results === 2 ? { calls: [call('lookup', { key: 'c' }, 'l3')], usage: { input: 600, output: 6 } } : WORK
}
const output = (callId: string, value: number): JsonObject => ({
  type: 'function_call_output',
  call_id: callId,
  output: JSON.stringify({ value }),
})

t.test('a worker calls functions of the caller, and goes on in the requests that bring their outputs', async (t) => {
  const one = await withSubagent(t, (name, seen) => (name === 'two' ? worker(seen) : usual(name, seen)))
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true])
      for (const parameters of [{ inherited_function_names: ['lookup'] }, { inherit_functions: true }]) {
        const way = { format: 'responses' as const, stream }
        const tools = [subagent(parameters), LOOKUP, OTHER]
        const from = one.upstream.requests.length
        const first = await one.ask(way, { tools })
        t.equal(first.status, 200, first.raw)
        wellFormed(t, first.body, 'first')
        t.equal(first.body.status, 'completed')
        const sent = ((one.seen('two').at(-1)?.json.tools ?? []) as JsonObject[]).map((tool) => (tool.function as JsonObject).name)
        t.same(sent, 'inherit_functions' in parameters ? ['lookup', 'other'] : ['lookup'])
        const [work, ...calls] = (first.body.output as JsonObject[]).filter(({ type }) => type !== 'message')
        t.match(work, { type: 'router:subagent', status: 'in_progress', call_id: 'call_1', ...TASK })
        t.match(calls, [
          { type: 'function_call', call_id: 'l1', name: 'lookup', arguments: '{"key":"a"}', subagent_id: 'call_1', subagent_items: Array },
          { type: 'function_call', call_id: 'l2', name: 'lookup', arguments: '{"key":"b"}', subagent_id: 'call_1' },
        ])
        t.notOk('subagent_items' in calls[1], 'the first alone carries the work')
        t.match(first.body.usage, { input_tokens: 600, output_tokens: 15 })
        if (stream) streamed(t, first.raw)

        const asked = { role: 'user', content: 'What is best?' }
        const history = [asked, ...(first.body.output as JsonObject[]), output('l1', 1), output('l2', 2)]
        const second = await one.ask(way, { tools, input: history })
        t.equal(second.status, 200, second.raw)
        const again = second.body.output as JsonObject[]
        t.match(
          again,
          [{ type: 'function_call', call_id: 'l3', subagent_id: 'call_1', subagent_items: Array }],
          'it waits again, and the work is not shown twice',
        )
        t.equal(again.length, 1)
        t.equal(one.upstream.requests.length, from + 3, 'the model that gave the task is not asked while it waits')
        t.match(second.body.usage, { input_tokens: 600, output_tokens: 6 })
        t.match(one.last(), { hold: { model: 'acme/two' }, settled: { cost: 600 * 3000 + 6 * 4000, status: 'completed' } })

        const third = await one.ask(way, { tools, input: [...history, ...again, output('l3', 3), { role: 'user', content: 'Quick.' }] })
        t.equal(third.status, 200, third.raw)
        t.match(third.body.output, [
          { type: 'router:subagent', status: 'completed', call_id: 'call_1', outcome: 'Four.', ...TASK },
          { type: 'message', content: [{ text: 'It is four.' }] },
        ])
        const generation = (await (await one.gateway.get(`/v1/generation?id=${third.body.id}`)).json()) as JsonObject
        t.match(generation.data, { model: 'acme/one', tokens_prompt: 1200 }, 'the model that gave the answer')
        t.match(one.last().settled, { cost: 1000 * 3000 + 50 * 4000 + 200 * 1000 + 20 * 2000 })
        t.equal(one.held(), 0)
        const seen = one.seen('two').at(-1)?.json.messages as JsonObject[]
        t.match(seen, [
          { role: 'user', content: 'Add two and two.' },
          { role: 'assistant', content: 'I look. ', tool_calls: [{ id: 'l1' }, { id: 'l2' }] },
          { role: 'tool', tool_call_id: 'l1', content: '{"value":1}' },
          { role: 'tool', tool_call_id: 'l2', content: '{"value":2}' },
          { role: 'assistant', tool_calls: [{ id: 'l3' }] },
          { role: 'tool', tool_call_id: 'l3', content: '{"value":3}' },
        ])
        t.equal(seen.length, 6, 'nothing of the conversation around it')
        const outer = one.seen('one').at(-1)?.json.messages as JsonObject[]
        t.match(outer, [
          { role: 'user' },
          { role: 'assistant', content: 'One moment. ', tool_calls: [{ id: 'call_1', function: { name: 'router_subagent' } }] },
          { role: 'tool', tool_call_id: 'call_1' },
          { role: 'user', content: 'Quick.' },
        ])
        t.equal(outer.length, 4, 'and nothing of the work within')
        // Later on the work that has ended is there once.
        const later = [...history, ...again, output('l3', 3), ...(third.body.output as JsonObject[]), { role: 'user', content: 'Thanks.' }]
        const asks = one.seen('two').length
        t.equal((await one.ask(way, { tools, input: later })).status, 200)
        t.equal(one.seen('two').length, asks, 'and is not taken up again')
        const told1 = ((one.seen('one').at(-1)?.json.messages ?? []) as JsonObject[]).filter(({ role }) => role === 'tool')
        t.match(told1, [{ tool_call_id: 'call_1', content: /"outcome":"Four\."/ }])
        t.equal(told1.length, 1)
      }
  })
})

/** The work is announced and not closed; what it has done comes with the finished call alone. */
function streamed(t: Test, raw: string): void {
  const events = rawEvents(raw)
  t.same(
    events.map(({ sequence_number: number }) => number),
    [...events.keys()],
  )
  const of = (type: string, itemType: string): JsonObject[] =>
    events.flatMap((event) => (eventType(event) === type && (event.item as JsonObject).type === itemType ? [event.item as JsonObject] : []))
  t.match(of('response.output_item.added', 'router:subagent'), [{ status: 'in_progress' }])
  t.same(of('response.output_item.done', 'router:subagent'), [])
  const added = of('response.output_item.added', 'function_call')
  t.match(added, [{ subagent_id: 'call_1' }, { subagent_id: 'call_1' }])
  for (const item of added) t.notOk('subagent_items' in item)
  t.match(of('response.output_item.done', 'function_call')[0], { subagent_items: Array })
  const args = events.filter((event) => event.type === 'response.function_call_arguments.done')
  t.same(
    args.map((event) => event.arguments),
    ['{"key":"a"}', '{"key":"b"}'],
  )
}

t.test('of two that go on, one waits again and one is refused: the one that waits is told all the same', async (t) => {
  const OTHER_TASK = { task_name: 'product', task_description: 'Multiply.' }
  const both: Utterance = { ...DELEGATES, calls: [...(DELEGATES.calls ?? []), call('router_subagent', OTHER_TASK, 'call_2')] }
  const first = new Gate()
  const one = await withSubagent(
    t,
    async (name, seen) => {
      if (name === 'one') return answerFor(seen, ran(seen) ? DONE : both)
      const other = seen.body.includes('Multiply')
      if (told(seen).length === 0) return answerFor(seen, { ...LOOKS, calls: [call('lookup', { key: 'a' }, other ? 'm1' : 'l1')] })
      if (!other) {
        first.open()
        return answerFor(seen, { calls: [call('lookup', { key: 'c' }, 'l3')], usage: { input: 600, output: 6 } })
      }
      await first.opened
      for (let turns = 0; turns < 200; turns++) await new Promise((resolve) => setImmediate(resolve))
      return answerFor(seen, { text: ['Europe'], usage: { input: 700, output: 7 } })
    },
    { yaml: 'guardrails: [ { name: out, direction: output, content_filters: [ { pattern: "Europe", action: block } ] } ]' },
  )
  const tools = [subagent({ inherited_function_names: ['lookup'] }), LOOKUP]
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true]) {
      const way = { format: 'responses' as const, stream }
      const { body } = await one.ask(way, { tools })
      const asked = { role: 'user', content: 'What is best?' }
      const input = [asked, ...(body.output as JsonObject[]), output('l1', 1), output('m1', 2)]
      const { status, raw, body: again } = await one.ask(way, { tools, input })
      t.equal(status, 200, raw)
      t.equal(again.status, 'completed')
      t.match(again.output, [
        { type: 'function_call', call_id: 'l3' },
        { type: 'router:subagent', call_id: 'call_2', status: 'failed' },
      ])
      t.match(one.last().settled, { cost: 1300 * 3000 + 13 * 4000, status: 'completed' })
      t.equal(one.held(), 0)
    }
  })
})

t.test('work that goes on before the first turn keeps a streaming caller alive', async (t) => {
  const clock = new FakeClock(7)
  const gate = new Gate()
  const waits = async (name: Name, seen: Seen): Promise<Answer> => {
    if (name === 'one') return answerFor(seen, ran(seen) ? DONE : DELEGATES)
    if (told(seen).length === 0) return answerFor(seen, { ...LOOKS, calls: LOOKS.calls?.slice(0, 1) })
    await gate.opened
    return answerFor(seen, WORK)
  }
  const one = await withSubagent(t, waits, { clock })
  const tools = [subagent({ inherited_function_names: ['lookup'] }), LOOKUP]
  const { body } = await one.ask({ format: 'responses', stream: true }, { tools })
  const input = [{ role: 'user', content: 'What is best?' }, ...(body.output as JsonObject[]), output('l1', 1)]
  const asked = one.gateway.post('/v1/responses', { model: 'acme/one', stream: true, tools, input })
  let headed = false
  asked.then(() => {
    headed = true
  })
  await eventually('two calls of the second model', () => one.seen('two').length === 2)
  await clock.advance(10_000)
  await eventually('the head of the reply', () => headed)
  gate.open()
  const raw = await (await asked).text()
  t.match(raw, /^: ROUTER PROCESSING$/m)
  t.match(raw, 'It is four.')
  t.equal(raw.split('"type":"response.created"').length, 2, 'created once')
  t.equal(raw.split('"type":"response.completed"').length, 2)
})

t.test('work that cannot go on, and a worker that calls what it has not got', async (t) => {
  const one = await withSubagent(t, (name, seen) => (name === 'two' ? worker(seen) : usual(name, seen)))
  const tools = [subagent({ inherit_functions: true }), LOOKUP]
  const way = { format: 'responses' as const, stream: false }
  const { body } = await one.ask(way, { tools })
  const half = [{ role: 'user', content: 'x' }, ...(body.output as JsonObject[]), output('l1', 1)]
  const missing = await one.ask(way, { tools, input: half })
  t.equal(missing.status, 400)
  t.match((missing.body.error as JsonObject).message, /expected a function_call_output for the call l2/)
  const lost = await withSubagent(t, (name, seen) => (name === 'two' ? jsonAnswer({}, 500) : usual(name, seen)))
  const { body: after, reply } = await lost.ask(way, { tools, input: [...half, output('l2', 2)] })
  t.match(subagentItems(after), [{ status: 'failed', call_id: 'call_1', error: String }])
  t.equal(reply.text, 'It is four.')
  const dreams = await withSubagent(t, (name, seen) => (name === 'two' ? { calls: [call('dream', {}, 'x')] } : usual(name, seen)))
  const { body: dreamt } = await dreams.ask(way, { tools })
  t.match(subagentItems(dreamt), [{ status: 'failed' }])
  const plan = await one.gateway.post('/v1/plan', { model: 'acme/one', input: [...half, output('l2', 2)], tools, format: 'responses' })
  t.equal(one.seen('two').length, 1, `a plan does not go on with it: ${plan.status}`)
})
