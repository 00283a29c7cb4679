/** Panels of models over HTTP: the tool `router:fusion`, the plugin `fusion`, and the slugs `router/fusion` and `router/fusion-flash`. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
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
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { inOrder } from '../../support/responses-rules.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream } from '../../support/upstream.ts'
import type { Utterance } from '../../support/wire.ts'

const ASKS: Utterance = {
  calls: [{ id: 'call_1', name: 'router_fusion', args: ['{"prompt":"Tea or coffee?"}'] }],
  usage: { input: 100, output: 10 },
}
const DONE: Utterance = { text: ['Tea.'], usage: { input: 200, output: 20 } }
const ANALYSIS = {
  consensus: ['Both are warm.'],
  contradictions: [
    {
      topic: 'which',
      stances: [
        { model: 'acme/two', stance: 'tea' },
        { model: 'acme/three', stance: 'coffee' },
      ],
    },
  ],
  partial_coverage: [{ models: ['acme/two'], point: 'sleep' }],
  unique_insights: [{ model: 'acme/three', insight: 'crema' }],
  blind_spots: ['water'],
}
const OPINIONS: Partial<Record<Name, Utterance>> = {
  two: { reasoning: ['Leaves. '], text: ['Tea, ', 'of course.'], usage: { input: 1000, output: 50 } },
  three: { text: ['Coffee.'], usage: { input: 2000, output: 60 } },
}
const JUDGED: Utterance = { text: ['```json\n', JSON.stringify(ANALYSIS), '\n```'], usage: { input: 3000, output: 70 } }
const fusion = (parameters: JsonObject = {}): JsonObject => ({
  tools: [{ type: 'router:fusion', parameters: { analysis_models: ['acme/two', 'acme/three'], model: 'acme/four', ...parameters } }],
})
const nano = (name: Name, { usage }: Utterance): number =>
  (usage?.input ?? 0) * PRICES[name][0] * 1000 + (usage?.output ?? 0) * PRICES[name][1] * 1000

type Script = AskedModelsOptions['script']
const usual: Script = (name, seen) => (name === 'one' ? (ran(seen) ? DONE : ASKS) : name === 'four' ? JUDGED : (OPINIONS[name] ?? DONE))
const fusing = (t: Test, script: Script = usual, more: Partial<AskedModelsOptions> = {}): Promise<AskedModels> =>
  startAskedModels(t, { script, ...more })
const fusionItem = (body: JsonObject): JsonObject | undefined => (body.output as JsonObject[]).find(({ type }) => type === 'router:fusion')

t.test('a panel is asked, its answers compared, and all is on the one bill', async (t) => {
  const one = await fusing(t)
  const responses = [
    { model: 'acme/two', content: 'Tea, of course.' },
    { model: 'acme/three', content: 'Coffee.' },
  ]
  const parts: [Name, Utterance][] = [
    ['one', ASKS],
    ['one', DONE],
    ['two', OPINIONS.two ?? {}],
    ['three', OPINIONS.three ?? {}],
    ['four', JUDGED],
  ]
  const cost = parts.reduce((sum, [name, utterance]) => sum + nano(name, utterance), 0)
  await every(t, 'every way', async (t) => {
    for (const way of WAYS) {
      const name = wayName(way)
      const { status, raw, reply, body } = await one.ask(way, fusion({ temperature: 0.7, reasoning: { effort: 'low' } }))
      t.equal(status, 200, `${name}: ${raw}`)
      t.equal(reply.text, 'Tea.', name)
      t.match(reply.usage, { input: 6300, output: 210, cost: cost / 1e9 }, name)
      t.match(one.last(), { hold: { model: 'acme/one' }, settled: { cost, input: 6300, output: 210, status: 'completed' } }, name)
      t.equal(one.held(), 0)
      t.same(told(one.seen('one').at(-1)), [{ status: 'ok', analysis: ANALYSIS, responses }], name)
      if (way.format === 'responses') t.match(fusionItem(body), { status: 'completed', analysis: ANALYSIS, responses })
      else t.match(raw, way.format === 'chat' ? /"tool_name":"router:fusion"/ : /"type":"router_fusion_tool_result"/, name)
    }
  })
  const member = one.seen('two').at(-1)?.json
  t.match(member, {
    messages: [{ role: 'user', content: 'Tea or coffee?' }],
    temperature: 0.7,
    max_tokens: 4096,
    reasoning_effort: 'low',
  })
  const judge = one.seen('four').at(-1)
  t.match(judge?.json, { temperature: 0, max_tokens: 4096, reasoning_effort: 'low', response_format: { type: 'json_schema' } })
  for (const part of ['Tea or coffee?', 'Answer of acme/two', 'Tea, of course.', 'Coffee.']) t.ok(judge?.body.includes(part), part)
  t.equal(new Set(one.gateway.running.store.journal.export()).size, WAYS.length, 'one row each')
})

t.test('a streaming caller of Responses hears how far the panel is', async (t) => {
  const one = await fusing(t)
  const { raw } = await one.ask({ format: 'responses', stream: true }, fusion())
  const events = rawEvents(raw)
  inOrder(t, events, 'fusion')
  const own = events.filter(({ type }) => String(type).startsWith('response.fusion_call.'))
  const types = own.map(({ type }) => String(type).slice('response.fusion_call.'.length))
  t.equal(types[0], 'in_progress')
  t.same(types.slice(1, 3), ['panel.added', 'panel.added'])
  t.same(types.slice(-3), ['analysis.in_progress', 'analysis.completed', 'completed'])
  const of = (type: string): JsonObject[] => own.filter((event) => event.type === `response.fusion_call.${type}`)
  t.equal(
    of('panel.delta')
      .filter(({ model }) => model === 'acme/two')
      .map(({ delta }) => delta)
      .join(''),
    'Tea, of course.',
  )
  t.equal(
    of('panel.reasoning.delta')
      .map(({ delta }) => delta)
      .join(''),
    'Leaves. ',
  )
  t.match(
    of('panel.completed').find(({ model }) => model === 'acme/three'),
    { content: 'Coffee.' },
  )
  t.match(of('analysis.in_progress'), [{ analyst_model: 'acme/four', judge_model: 'acme/four' }])
  t.match(of('analysis.completed'), [{ analysis: ANALYSIS }])
  const done = events.find((event) => event.type === 'response.output_item.done' && (event.item as JsonObject).type === 'router:fusion')
  const id = (done?.item as JsonObject | undefined)?.id
  await every(t, 'every event', async (t) => {
    for (const event of own) t.same([event.item_id, event.output_index], [id, done?.output_index])
  })
  for (const format of ['chat', 'messages'] as const) t.notMatch((await one.ask({ format, stream: true }, fusion())).raw, /fusion_call/)
})

t.test('members that fail are reported, and what there is goes on', async (t) => {
  const fail: Record<string, [Answer, number]> = {
    limited: [jsonAnswer({ error: { message: 'slow' } }, 429), 429],
    broken: [jsonAnswer({ error: { message: 'no' } }, 500), 502],
  }
  await every(t, 'every case', async (t) => {
    for (const [name, [answer, status]] of Object.entries(fail)) {
      const one = await fusing(t, (model, seen) => (model === 'two' ? answer : usual(model, seen)))
      for (const stream of [false, true]) {
        const { body, raw, reply } = await one.ask({ format: 'responses', stream }, fusion())
        t.equal(reply.text, 'Tea.')
        t.match(
          fusionItem(body),
          {
            status: 'completed',
            responses: [{ model: 'acme/three' }],
            failed_models: [{ model: 'acme/two', status_code: status, error: String }],
          },
          name,
        )
        if (stream)
          t.match(
            rawEvents(raw).find(({ type }) => type === 'response.fusion_call.panel.failed'),
            { model: 'acme/two', status_code: status },
          )
        t.match(one.last().settled, { input: 5300, output: 160 }, 'only who answered is paid')
      }
    }
  })
  const silent: Record<string, Answer | Utterance> = {
    fails: jsonAnswer({}, 500),
    'says no JSON': { text: ['no'], usage: { input: 1, output: 1 } },
    'says another': { text: ['{"a":1}'], usage: { input: 1, output: 1 } },
  }
  await every(t, 'every case', async (t) => {
    for (const [name, answer] of Object.entries(silent)) {
      const one = await fusing(t, (model, seen) => (model === 'four' ? answer : usual(model, seen)))
      const { body, raw } = await one.ask({ format: 'responses', stream: true }, fusion())
      t.match(fusionItem(body), { status: 'completed', responses: [{}, {}] }, `the analyst ${name}`)
      t.notOk('analysis' in (fusionItem(body) ?? {}), name)
      t.notMatch(raw, /analysis\.completed/, name)
      t.match(told(one.seen('one').at(-1)), [{ status: 'ok' }])
    }
  })
})

t.test('a panel without any answer reports its failure_reason', async (t) => {
  const cases: [reason: string, answer: Answer][] = [
    ['rate_limited', jsonAnswer({ error: { message: 'slow' } }, 429)],
    ['all_panels_failed', jsonAnswer({ error: { message: 'no' } }, 500)],
  ]
  await every(t, 'every case', async (t) => {
    for (const [reason, answer] of cases) {
      const one = await fusing(t, (model, seen) => (model === 'one' ? usual(model, seen) : answer))
      const { status, body, reply } = await one.ask({ format: 'responses', stream: false }, fusion())
      t.equal(status, 200)
      t.equal(reply.text, 'Tea.')
      t.match(fusionItem(body), { status: 'incomplete', failure_reason: reason, error: String, failed_models: [{}, {}] })
      t.match(told(one.seen('one').at(-1)), [{ status: 'error', failure_reason: reason }])
      t.equal(one.seen('four').length, 0, 'there is nothing to compare')
      t.equal(one.last().settled?.cost, nano('one', ASKS) + nano('one', DONE))
    }
  })
  const poor = await fusing(t, usual, { key: ', limit: "0.018"' })
  const { body } = await poor.ask(
    { format: 'responses', stream: false },
    { ...fusion({ max_completion_tokens: 4000 }), max_output_tokens: 500 },
  )
  t.match(fusionItem(body), {
    status: 'incomplete',
    failure_reason: 'insufficient_credits',
    failed_models: [{ status_code: 402 }, { status_code: 402 }],
  })
  t.equal(poor.upstream.requests.length, 2, 'nobody else was asked')
  t.equal(poor.held(), 0)
})

t.test('it is called once in a turn of the conversation, and not from within', async (t) => {
  const call = (id: string): NonNullable<Utterance['calls']>[number] => ({
    id,
    name: 'router_fusion',
    args: ['{"prompt":"Tea or coffee?"}'],
  })
  const twice = await fusing(t, (name, seen) => (name === 'one' && !ran(seen) ? { calls: [call('a'), call('b')] } : usual(name, seen)))
  await twice.ask({ format: 'chat', stream: false }, fusion())
  t.match(told(twice.seen('one').at(-1)), [{ status: 'ok' }, { status: 'error', failure_reason: 'fusion_invocation_capped' }])
  const later = await fusing(t, (name, seen) =>
    name === 'one' && !seen.body.includes('"b"') ? { calls: [call(ran(seen) ? 'b' : 'a')] } : usual(name, seen),
  )
  await later.ask({ format: 'chat', stream: false }, fusion())
  t.match(told(later.seen('one').at(-1)), [{ status: 'ok' }, { failure_reason: 'fusion_invocation_capped' }])
  t.equal(later.seen('two').length, 1)
  const headed = await fusing(t, () => DONE)
  await headed.ask({ format: 'chat', stream: false }, fusion(), { 'x-router-fusion-depth': '1' })
  t.notOk(headed.seen('one')[0].json.tools, 'who is a member of a panel already does not get it')
  // A member that is itself a panel by its slug is one model.
  const within = await fusing(t, usual, {
    yaml: 'plugins: { defaults: { fusion: { enabled: true, analysis_models: [ acme/two ], model: acme/four } } }',
  })
  const { body } = await within.ask({ format: 'responses', stream: false }, fusion({ analysis_models: ['router/fusion'] }))
  t.match(fusionItem(body), { responses: [{ model: 'router/fusion' }] })
  for (const { json } of within.seen('four')) t.notMatch(JSON.stringify(json.tools ?? []), /fusion/)
})

t.test('returns 400 for settings out of range, of the tool and of the plugin', async (t) => {
  const one = await fusing(t)
  const slugs = (count: number): string[] => Array.from({ length: count }, () => 'acme/two')
  const tools = (count: number): JsonObject[] => Array.from({ length: count }, () => ({ type: 'router:datetime' }))
  const cases: [fields: JsonObject, message: RegExp][] = [
    [{ analysis_models: slugs(9) }, /analysis_models: expected a list of 1 to 8/],
    [{ analysis_models: [] }, /analysis_models: expected a list of 1 to 8/],
    [{ analysis_models: [7] }, /analysis_models\[0\]/],
    [{ max_tool_calls: 17 }, /max_tool_calls: expected a whole number from 1 to 16/],
    [{ max_tool_calls: 0 }, /max_tool_calls/],
    [{ tools: tools(9) }, /tools: expected a list of at most 8/],
    [{ tools: [{ type: 'function', name: 'x' }] }, /tools\[0\]\.type: expected one of the server tools/],
    [{ tools: [{ type: 'router:fusion' }] }, /tools\[0\]\.type: the members of a panel/],
    [{ preset: 'general-slow' }, /preset: no such preset; expected one of: general-high, general-budget, general-fast/],
    [{ model: '' }, /model: expected a model slug/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [fields, message] of cases)
      for (const way of WAYS.filter(({ stream }) => !stream)) {
        const asked = [
          await one.ask(way, { tools: [{ type: 'router:fusion', parameters: fields }] }),
          await one.ask(way, { plugins: [{ id: 'fusion', ...fields }] }),
        ]
        for (const { status, body } of asked) {
          t.equal(status, 400, `${message} ${wayName(way)}`)
          t.match((body.error as JsonObject).message, message)
        }
      }
  })
  const own: [fields: JsonObject, message: RegExp][] = [
    [{ temperature: 3 }, /temperature/],
    [{ max_completion_tokens: 0 }, /max_completion_tokens/],
    [{ cache_control: { type: 'x' } }, /cache_control\.type/],
    [{ tools: [{ type: 'router:nothing' }] }, /tools\[0\]\.type: nothing is no server tool that runs here/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [fields, message] of own) {
      const { status, body } = await one.ask({ format: 'chat', stream: false }, fusion(fields))
      t.equal(status, 400)
      t.match((body.error as JsonObject).message, message)
    }
  })
  for (const presets of [{ presets: {} }]) {
    const { status, body } = await one.ask({ format: 'chat', stream: false }, { plugins: [{ id: 'fusion', ...presets }] })
    t.equal(status, 400)
    t.match((body.error as JsonObject).message, /is set by the operator alone/)
  }
  t.equal(one.upstream.requests.length, 0)
})

const toolsSent = (seen: Seen | undefined): string[] =>
  ((seen?.json.tools ?? []) as JsonObject[]).map((tool) => String((tool.function as JsonObject).name))

t.test('the members search where an engine is there, cite what they found, and keep to their steps', async (t) => {
  const engine = await startUpstream(() =>
    jsonAnswer({ results: [{ url: 'https://a.test/tea', title: 'Tea', content: 'Leaves.' }], unresponsive_engines: [] }),
  )
  t.teardown(() => engine.close())
  const yaml = `plugins: { defaults: { web: { engines: { searxng: { url: "${engine.url}" } }, price: "0.005" } } }`
  const searching = (seen: Seen): Utterance => {
    const searched = told(seen).length
    if (searched < 2 && toolsSent(seen).includes('router_web_search'))
      return { calls: [{ id: `s${searched}`, name: 'router_web_search', args: ['{"query":"tea"}'] }], usage: { input: 10, output: 1 } }
    return { text: ['See [a.test](https://a.test/tea).'], usage: { input: 10, output: 1 } }
  }
  const one = await fusing(t, (name, seen) => (name === 'two' ? searching(seen) : usual(name, seen)), { yaml })
  const { body } = await one.ask({ format: 'responses', stream: false }, fusion({ analysis_models: ['acme/two'], max_tool_calls: 1 }))
  t.ok(toolsSent(one.seen('two')[0]).includes('router_web_search'))
  t.equal(engine.requests.length, 1, 'one step, and no more')
  t.match(fusionItem(body), { sources: [{ url: 'https://a.test/tea', title: 'Tea' }] })
  t.match((body.usage as JsonObject).server_tool_use_details, { web_search_requests: 1 })
  const tokens = nano('one', ASKS) + nano('one', DONE) + nano('four', JUDGED) + 2 * (10 * 3000 + 4000)
  t.equal(one.last().settled?.cost, tokens + 5_000_000, 'its search is paid')
  await one.ask({ format: 'responses', stream: false }, fusion({ analysis_models: ['acme/two'], tools: [] }))
  t.same(toolsSent(one.seen('two').at(-1)), [], 'an empty list is none')
  await one.ask({ format: 'responses', stream: false }, fusion({ analysis_models: ['acme/two'], tools: [{ type: 'router:datetime' }] }))
  t.same(toolsSent(one.seen('two').at(-1)), ['router_datetime'])
})

t.test('a caller who leaves ends all members at once, and one row is settled', async (t) => {
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true]) {
      const one = await fusing(t, (name, seen) => (name === 'one' ? usual(name, seen) : { before: 'stall' }))
      const leave = new AbortController()
      const asked = fetch(`${one.gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${one.gateway.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'acme/one',
          stream,
          input: 'x',
          ...fusion({ analysis_models: ['acme/two', 'acme/three', 'acme/four', 'acme/two'] }),
        }),
        signal: leave.signal,
      })
      const reading = asked.then((response) => response.text()).catch(() => 'gone')
      await eventually('five calls', () => one.upstream.requests.length === 5)
      leave.abort()
      t.equal(await reading, 'gone')
      for (const seen of one.upstream.requests.slice(1)) t.equal((await seen.closed).aborted, true)
      await eventually('the settlement', () => one.last().settled !== undefined)
      t.equal([...one.gateway.running.store.journal.export()].length, 1)
      t.equal(one.held(), 0)
      t.equal(one.upstream.requests.length, 5, 'nobody is asked any more')
      t.match(await (await adminFetch(`${one.gateway.admin}/ledger/verify`)).json(), { ok: true, open: 0 })
    }
  })
})

t.test('the plugin offers the tool, with the panel of the entry, of a preset, of the operator', async (t) => {
  const presets = 'presets: { mine: { analysis_models: [ acme/three ], model: acme/two } }'
  const yaml = `plugins: { defaults: { fusion: { analysis_models: [ acme/two ], model: acme/four, ${presets} } } }`
  const one = await fusing(t, usual, { yaml })
  const cases: [entry: JsonObject | undefined, members: Name[], judge: Name][] = [
    [{}, ['two'], 'four'],
    [{ analysis_models: ['acme/three', 'acme/two'] }, ['three', 'two'], 'four'],
    [{ preset: 'mine' }, ['three'], 'two'],
    [{ preset: 'mine', model: 'acme/four' }, ['three'], 'four'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [entry, members, judge] of cases) {
      const from = one.upstream.requests.length
      const { body } = await one.ask({ format: 'responses', stream: false }, { plugins: [{ id: 'fusion', ...entry }] })
      t.match(
        fusionItem(body),
        { status: 'completed', responses: members.map((name) => ({ model: `acme/${name}` })) },
        JSON.stringify(entry),
      )
      const asked = one.upstream.requests.slice(from).map(({ json }) => json.model)
      t.same(new Set(asked), new Set(['one', ...members, judge]), JSON.stringify(entry))
    }
  })
  for (const plugins of [undefined, [{ id: 'fusion', enabled: false }]]) {
    await one.ask({ format: 'chat', stream: false }, plugins ? { plugins } : {})
    t.notOk(one.seen('one').at(-1)?.json.tools)
  }
})

t.test('the slugs stand for a model with a panel', async (t) => {
  const yaml =
    'plugins: { defaults: { fusion: { analysis_models: [ acme/two, acme/three ], model: acme/four, presets: { general-fast: { analysis_models: [ acme/two ], model: acme/three } } } } }'
  const leads =
    (leader: Name): Script =>
    (name, seen) => {
      if (/"json_schema"/.test(seen.body)) return JUDGED
      if (name !== leader) return OPINIONS[name] ?? DONE
      return toolsSent(seen).includes('router_fusion') && !ran(seen) ? ASKS : DONE
    }
  await every(t, 'every case', async (t) => {
    for (const [slug, leader, members] of [
      ['router/fusion', 'four', ['two', 'three']],
      ['router/fusion-flash', 'three', ['two']],
    ] as const) {
      const one = await fusing(t, leads(leader), { yaml })
      for (const way of WAYS) {
        const { status, raw, reply, body } = await one.ask(way, { model: slug }, { 'X-Router-Metadata': 'enabled' })
        t.equal(status, 200, raw)
        t.equal(reply.text, 'Tea.', `${slug} ${wayName(way)}`)
        t.equal(reply.model, `acme/${leader}`, 'the reply names a concrete model')
        const metadata = (body.router_metadata ?? JSON.parse(/"router_metadata":(\{.*\})\}/.exec(raw)?.[1] ?? '{}')) as JsonObject
        t.match(metadata, { requested: slug, strategy: 'fusion' })
      }
      const { body } = await one.ask({ format: 'responses', stream: false }, { model: slug })
      t.match(fusionItem(body), { responses: members.map((name) => ({ model: `acme/${name}` })) })
    }
  })
  // Without a word of the operator's the catalogue makes up the panel.
  const bare = await fusing(t, (name, seen) => leads('four')(name, seen))
  const { body, status } = await bare.ask({ format: 'responses', stream: false }, { model: 'router/fusion' })
  t.equal(status, 200)
  t.equal(body.model, 'acme/four', 'the dearest where nothing tells which is best')
  t.match(fusionItem(body)?.responses, { length: 3 })
  const wrong = await bare.ask(
    { format: 'responses', stream: false },
    { model: 'router/fusion', plugins: [{ id: 'fusion', model: 'acme/none' }] },
  )
  t.equal(wrong.status, 404)
})

t.test("the results of the panel leave room for the model's answer", async (t) => {
  const long = 'word '.repeat(4000)
  const one = await fusing(
    t,
    (name, seen) => (name === 'one' || name === 'four' ? usual(name, seen) : { text: [long], usage: { input: 1, output: 1 } }),
    {
      model: 'default_max_output: 100',
      context: 8000,
    },
  )
  const { status, body, raw } = await one.ask({ format: 'responses', stream: false }, fusion({ max_completion_tokens: 100 }))
  t.equal(status, 200, raw)
  t.match(fusionItem(body), { responses: [{ content: long }, { content: long }] }, 'the caller gets all of it')
  const [heard] = told(one.seen('one').at(-1))
  for (const { content } of heard.responses as JsonObject[])
    t.ok(/ \[…\]$/.test(String(content)) && String(content).length < 8000, String(content).slice(-10))
})
