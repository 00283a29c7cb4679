/** Calls that tools make of models: part of the caller's request, its hold, its time and its one row in the ledger. */
import { join } from 'node:path'
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
import { FakeClock } from '../../support/clock.ts'
import { freePorts, SECRET, writeConfiguration } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { oneModel, startGateway } from '../../support/gateway.ts'
import { heardLeave, READ_ON } from '../../support/leaving.ts'
import { serveProgram } from '../../support/program.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, Gate, jsonAnswer, type Seen, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { answerFor, framesFor, type Utterance } from '../../support/wire.ts'

const TURN_1 = { input: 100, output: 10 }
const TURN_2 = { input: 200, output: 20 }
const INNER = { input: 1000, output: 50 }
const nano = (name: Name, { input, output }: { input: number; output: number }): number =>
  input * PRICES[name][0] * 1000 + output * PRICES[name][1] * 1000
const OUTER = nano('one', TURN_1) + nano('one', TURN_2)

const DONE: Utterance = { text: ['So be it.'], usage: TURN_2 }
const ADVICE: Utterance = { text: ['Do ', 'nothing.'], usage: INNER }
const call = (name: string, args: JsonObject, id = 'call_1'): NonNullable<Utterance['calls']>[number] => ({
  id,
  name,
  args: [JSON.stringify(args)],
})
const ASKS: Utterance = { text: ['Hm. '], calls: [call('router_advisor', { prompt: 'What now?' })], usage: TURN_1 }
const advisor = (parameters: JsonObject = {}): JsonObject => ({
  tools: [{ type: 'router:advisor', parameters: { model: 'acme/two', ...parameters } }],
})

/** The outer model asks once and then answers. */
const asking =
  (asks: Utterance, others: (name: Name, seen: Seen) => Utterance | Answer | Promise<Answer>): AskedModelsOptions['script'] =>
  (name, seen) =>
    name !== 'one' ? others(name, seen) : ran(seen) ? DONE : asks

async function sound(t: Test, { gateway, held, last }: AskedModels, name: string): Promise<void> {
  t.equal(held(), 0, `${name}: nothing is held any more`)
  const verdict = await (await adminFetch(`${gateway.admin}/ledger/verify`)).json()
  t.match(verdict, { ok: true, open: 0 }, name)
  const { settled, hold } = last()
  t.ok(Number(settled?.cost) <= hold.hold, `${name}: never above the hold`)
}

const rowCount = ({ gateway }: AskedModels): number => [...gateway.running.store.journal.export()].length

t.test('an inner call is part of the usage, of the cost and of the one row', async (t) => {
  await every(t, 'every dialect', async (t) => {
    for (const dialect of ['openai-chat', 'openai-responses', 'anthropic', 'gemini']) {
      const scene = await startAskedModels(t, { script: asking(ASKS, () => ADVICE), dialect })
      for (const way of WAYS) {
        const name = `${dialect} to ${wayName(way)}`
        const rows = rowCount(scene)
        const { status, raw, reply, body } = await scene.ask(way, advisor())
        t.equal(status, 200, `${name}: ${raw}`)
        t.equal(reply.text, 'Hm. So be it.', name)
        const cost = OUTER + nano('two', INNER)
        t.match(reply.usage, { input: 1300, output: 80, cost: cost / 1e9 }, name)
        t.match((body.usage as JsonObject).server_tool_use_details, { tool_calls_requested: 1, tool_calls_executed: 1 }, name)
        t.equal(rowCount(scene), rows + 1, name)
        t.match(
          scene.last(),
          { hold: { model: 'acme/one' }, settled: { cost, input: 1300, output: 80, estimated: false, status: 'completed' } },
          name,
        )
        await sound(t, scene, name)
      }
    }
  })
})

t.test('the hold is raised, and written down, before the inner call is made', async (t) => {
  const moments: { of: string; held: number; hold: number; floor: number }[] = []
  const scene = await startAskedModels(t, {
    script: (name, seen) => {
      const { hold } = scene.last()
      moments.push({ of: name, held: scene.held(), hold: hold.hold, floor: hold.floor })
      return asking(ASKS, () => ADVICE)(name, seen)
    },
    key: ', limit: "10.00"',
  })
  t.equal((await scene.ask({ format: 'chat', stream: false }, advisor())).status, 200)
  t.same(
    moments.map(({ of }) => of),
    ['one', 'two', 'one'],
  )
  for (const { held, hold, of } of moments) t.equal(hold, held, `${of}: what is held stands in the journal`)
  // What the first turn cost, and the output that the model may write.
  t.ok(moments[1].hold >= 4096 * 4000, 'the inner call at its own price')
  t.ok(moments[1].floor > moments[0].floor, 'and what is charged if the process dies now')
  t.ok(moments[2].floor > moments[1].floor, 'what the inner call cost stays reserved')
  await sound(t, scene, 'held')
})

t.test('a key that cannot pay the inner call gets an answer without it', async (t) => {
  // Enough for the turns of the outer model, not for one of the other.
  const scene = await startAskedModels(t, { script: asking(ASKS, () => ADVICE), key: ', limit: "0.012"' })
  await every(t, 'every way', async (t) => {
    for (const way of WAYS.filter(({ stream }) => !stream)) {
      const { status, raw, reply } = await scene.ask(way, {
        ...advisor(),
        ...(way.format === 'responses' ? { max_output_tokens: 500 } : { max_tokens: 500 }),
      })
      t.equal(status, 200, raw)
      t.equal(reply.text, 'Hm. So be it.')
      t.equal(scene.seen('two').length, 0, 'the provider was not asked')
      t.same(told(scene.seen('one').at(-1)), [{ status: 'error', error: 'Insufficient credits' }])
      t.match(scene.last().settled, { cost: OUTER })
      await sound(t, scene, wayName(way))
    }
  })
})

t.test('an inner call that fails costs nothing, and the answer goes on', async (t) => {
  const failures: Record<string, (seen: Seen) => Utterance | Answer> = {
    'status 500': () => jsonAnswer({ error: { message: 'no' } }, 500),
    reset: () => ({ before: 'reset' }),
    unreadable: () => jsonAnswer([]),
    'an end in error': (seen) => answerFor(seen, { text: ['half'], end: 'error' as Utterance['end'], usage: INNER }),
    'cut in the middle': (seen) => sseAnswer(framesFor(seen.path, ADVICE).slice(0, 2), { after: 'close' }),
    'nothing at all': (seen) => answerFor(seen, { text: [], usage: { input: 5, output: 0 } }),
  }
  let fail: (seen: Seen) => Utterance | Answer = () => ADVICE
  const scene = await startAskedModels(t, { script: asking(ASKS, (_, seen) => fail(seen)) })
  await every(t, 'every case', async (t) => {
    for (const [failure, answer] of Object.entries(failures)) {
      fail = answer
      for (const way of WAYS) {
        if (failure === 'cut in the middle' && !(way.stream && way.format === 'responses')) continue
        const name = `${failure}, ${wayName(way)}`
        const asked = await scene.ask(way, advisor({ stream: true }))
        t.equal(asked.status, 200, `${name}: ${asked.raw}`)
        t.match(asked.raw, /So be it\./, name)
        t.match(told(scene.seen('one').at(-1)), [{ status: 'error', error: String }], name)
        t.match(scene.last().settled, { cost: failure === 'nothing at all' ? Number : OUTER, status: 'completed' }, name)
        await sound(t, scene, name)
      }
    }
  })
})

t.test('a caller who leaves ends the inner call, and one row is settled', async (t) => {
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true]) {
      const scene = await startAskedModels(t, { script: asking(ASKS, () => ({ before: 'stall' })) })
      const leave = new AbortController()
      const asked = fetch(`${scene.gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${scene.gateway.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'acme/one', stream, messages: [{ role: 'user', content: 'x' }], ...advisor() }),
        signal: leave.signal,
      })
      const reading = asked.then((response) => response.text()).catch(() => 'gone')
      await eventually('the inner call', () => scene.seen('two').length === 1)
      leave.abort()
      t.equal(await reading, 'gone')
      const [inner] = scene.seen('two')
      await inner.closed
      t.equal(inner.aborted, true)
      await eventually('the settlement', () => scene.last().settled !== undefined)
      t.equal(rowCount(scene), 1)
      t.equal(scene.seen('one').length, 1, 'and there is no other turn')
      const { settled } = scene.last()
      t.ok(Number(settled?.cost) >= nano('one', TURN_1), 'the turn that had ended is paid')
      await sound(t, scene, `left, ${stream}`)
    }
  })
})

t.test('an item that guardrails refuse to show: what runs beside it is given up before the cost is settled', async (t) => {
  const yaml = 'guardrails: [ { name: out, direction: output, content_filters: [ { pattern: "Europe", action: block } ] } ]'
  const both: Utterance = {
    calls: [call('router_datetime', { timezone: 'Europe/Rome' }), call('router_fusion', { prompt: 'What now?' }, 'call_2')],
    usage: TURN_1,
  }
  const panel = { type: 'router:fusion', parameters: { analysis_models: ['acme/two'], model: 'acme/three' } }
  await every(t, 'every way', async (t) => {
    for (const way of WAYS) {
      const gate = new Gate()
      const slow = async (seen: Seen): Promise<Answer> => {
        await gate.opened
        return answerFor(seen, ADVICE)
      }
      const scene = await startAskedModels(t, { yaml, script: asking(both, (name, seen) => (name === 'two' ? slow(seen) : ADVICE)) })
      const { raw } = await scene.ask(way, { tools: [{ type: 'router:datetime' }, panel] })
      t.match(raw, way.stream ? /content_filter|refusal/ : /blocked/, wayName(way))
      gate.open()
      for (let turns = 0; turns < 200; turns++) await new Promise((resolve) => setImmediate(resolve))
      t.same(scene.seen('three'), [], 'nobody is asked for the caller any more')
      t.equal(scene.last().settled?.status, 'incomplete')
      await sound(t, scene, wayName(way))
    }
  })
})

t.test("applies the caller's demands about its data to the providers of all calls", async (t) => {
  const { gateway, upstream } = await startScene(t, {
    answer: (seen) => answerFor(seen, seen.json.model !== 'one' ? ADVICE : ran(seen) ? DONE : ASKS),
    config: (url) => `
auth: { keys: [ { name: test, key: "${SECRET}" } ] }
providers:
  keeps: { dialect: openai-chat, base_url: "${url}/v1", key: x, data_collection: allow }
  forgets: { dialect: openai-chat, base_url: "${url}/v1", key: x, data_collection: deny, zdr: true }
models:
  acme/one: { endpoints: [ { provider: forgets, model: one, price: free } ] }
  acme/two: { endpoints: [ { provider: keeps, model: two, price: free } ] }
`,
  })
  for (const [provider, asked] of [
    [{}, 1],
    [{ zdr: true }, 0],
    [{ data_collection: 'deny' }, 0],
  ] as const) {
    const from = upstream.requests.length
    const body = { model: 'acme/one', input: 'x', provider, ...advisor() }
    const response = await gateway.post('/v1/responses', body, { authorization: `Bearer ${SECRET}` })
    t.equal(response.status, 200)
    await response.text()
    const models = upstream.requests.slice(from).map(({ json }) => json.model)
    t.same(models, asked === 1 ? ['one', 'two', 'one'] : ['one', 'one'], JSON.stringify(provider))
  }
})

t.test('the deadline is one for all', async (t) => {
  const clock = new FakeClock()
  const scene = await startAskedModels(t, {
    script: asking(ASKS, () => ({ before: 'stall' })),
    clock,
    provider: ', timeouts: { connect: 900s, first_byte: 900s, idle: 900s, total: 900s }',
  })
  const asked = scene.ask({ format: 'responses', stream: false }, advisor(), { 'X-Router-Deadline': '30s' })
  await eventually('the inner call', () => scene.seen('two').length === 1)
  await clock.advance(30_000)
  const { status, body } = await asked
  t.equal(status, 408)
  t.match(body, { error: { code: 408 } })
  const [inner] = scene.seen('two')
  await inner.closed
  t.equal(inner.aborted, true)
  const { settled } = scene.last()
  t.match(settled, { status: 'failed', estimated: true })
  t.ok(Number(settled?.cost) > nano('one', TURN_1), 'the first turn, and what the inner call was sent')
  await sound(t, scene, 'deadline')
})

t.test('charges the output of an inner call when the caller leaves', async (t) => {
  const gate = new Gate()
  const clock = new FakeClock()
  const scene = await startAskedModels(t, {
    script: asking(ASKS, (_, seen) => sseAnswer([...framesFor(seen.path, ADVICE).slice(0, 2), gate.step])),
    clock,
  })
  t.teardown(() => gate.open())
  const leave = new AbortController()
  const response = await fetch(`${scene.gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${scene.gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', stream: true, input: 'x', ...advisor({ stream: true }) }),
    signal: leave.signal,
  })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  while (!text.includes('"delta":"Do "')) text += new TextDecoder().decode((await reader.read()).value)
  leave.abort()
  await heardLeave(clock)
  await clock.advance(READ_ON)
  await eventually('the settlement', () => scene.last().settled !== undefined)
  const { settled } = scene.last()
  t.equal(settled?.estimated, true)
  t.ok(Number(settled?.output) > TURN_1.output && Number(settled?.input) > TURN_1.input, 'its input, and what had come of its output')
  t.ok(Number(settled?.cost) > nano('one', TURN_1))
  await sound(t, scene, 'left half-way')
})

t.test('many at once never spend more than the key has', async (t) => {
  const LIMIT = 0.06
  const scene = await startAskedModels(t, {
    script: asking({ ...ASKS, calls: [call('router_fusion', { prompt: 'x' })] }, () => ADVICE),
    key: `, limit: "${LIMIT}"`,
  })
  const panel = {
    tools: [{ type: 'router:fusion', parameters: { analysis_models: ['acme/two', 'acme/three', 'acme/two'], model: 'acme/four' } }],
  }
  const statuses = await Promise.all(
    Array.from(
      { length: 12 },
      async (_, i) => (await scene.ask(WAYS[i % WAYS.length], { ...panel, ...caps(WAYS[i % WAYS.length]) })).status,
    ),
  )
  t.ok(statuses.includes(200), 'some are served')
  await every(t, 'every status', async (t) => {
    for (const status of statuses) t.ok(status === 200 || status === 402, String(status))
  })
  const rows = [...scene.gateway.running.store.journal.export()]
  const spent = rows.reduce((sum, { settled }) => sum + Number(settled?.cost), 0)
  t.ok(spent > 0 && spent <= LIMIT * 1e9, `${spent}`)
  await sound(t, scene, 'race')
})

const caps = ({ format }: { format: string }): JsonObject => (format === 'responses' ? { max_output_tokens: 500 } : { max_tokens: 500 })

t.test('providers within the process serve a panel, too', async (t) => {
  const gateway = await startGateway(`
providers: { sim: { dialect: sim } }
models:
  sim/tools: { endpoints: [ { provider: sim, model: tools, price: { prompt: "1.00", completion: "2.00" } } ] }
  sim/echo: { endpoints: [ { provider: sim, model: echo, price: { prompt: "3.00", completion: "4.00" } } ] }
  sim/think: { endpoints: [ { provider: sim, model: think, price: free } ] }
  sim/json: { endpoints: [ { provider: sim, model: json, price: { prompt: "5.00", completion: "6.00" } } ] }
`)
  t.teardown(() => gateway.close())
  const tools = [{ type: 'router:fusion', parameters: { analysis_models: ['sim/echo', 'sim/think'], model: 'sim/json' } }]
  for (const stream of [false, true]) {
    const response = await gateway.post('/v1/responses', { model: 'sim/tools', stream, input: 'Tea or coffee?', tools })
    const raw = await response.text()
    const last = stream ? (rawEvents(raw).at(-1)?.response as JsonObject) : (JSON.parse(raw) as JsonObject)
    const item = (last.output as JsonObject[]).find(({ type }) => type === 'router:fusion')
    t.match(item, { status: 'completed', analysis: { consensus: Array }, responses: [{ model: 'sim/echo' }, { model: 'sim/think' }] }, raw)
    const row = [...gateway.running.store.journal.export()].at(-1)
    t.equal(row?.settled?.cost, Math.round(Number((last.usage as JsonObject).cost) * 1e9))
    if (stream) t.match(raw, /panel\.reasoning\.delta/)
  }
})

t.test('a process that is killed during an inner call leaves a row that is charged for both', async (t) => {
  const upstream = await startUpstream((seen) => (seen.body.includes('What now?') ? { before: 'stall' } : answerFor(seen, ASKS)))
  t.teardown(() => upstream.close())
  const directory = t.testdir()
  const file = join(directory, 'headgate.yaml')
  const store = join(directory, 'ledger.db')
  const [port, admin] = await freePorts(2)
  writeConfiguration(file, { port, admin, store, provider: upstream.url, timeouts: '{ idle: 60s, first_byte: 60s }' })
  const program = await serveProgram(['--config', file])
  t.teardown(() => program.child.kill('SIGKILL'))
  const ask = (more: JsonObject): Promise<unknown> =>
    fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], ...more }),
    }).then(
      (response) => response.text(),
      () => 'gone',
    )
  await ask({})
  const asked = ask(advisor({ model: 'acme/one' }))
  await upstream.request(2)
  program.child.kill('SIGKILL')
  await Promise.all([asked, program.exited])
  const again = await startGateway(`store: { url: "sqlite:${store}" }\n${oneModel(upstream.url, 'openai-chat')}`)
  t.teardown(() => again.close())
  const [plain, killed, ...others] = [...again.running.store.journal.export()]
  t.same(others, [])
  t.match(killed, { settled: { status: 'unknown', cost: killed.hold.floor } })
  // The floor is what the first turn cost, and the input of the inner call.
  t.ok(killed.hold.floor > plain.hold.floor, `${killed.hold.floor} against ${plain.hold.floor} of a request without one`)
  t.match(await (await adminFetch(`${again.admin}/ledger/verify`)).json(), { ok: true, open: 0 })
})
