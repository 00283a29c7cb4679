/** Plugins on requests, over HTTP: who may set what, what is told of them, what they cost, and what their failures touch. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { type FakeClock, turn } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import type { Memory } from '../../support/plugins/troubled.ts'
import { startScene } from '../../support/scene.ts'
import { property } from '../../support/seed.ts'
import type { Upstream } from '../../support/upstream.ts'
import { says, type Utterance } from '../../support/wire.ts'

const UTTERANCES: Utterance = { text: ['one ', 'two ', 'three'], usage: { input: 150, output: 10 } }
/** Prices are 1,000 and 2,000 nano-dollars per token. */
const COST = 170_000
const FIXTURE = join(import.meta.dirname, '../../support/plugins/troubled.ts')

interface WithPlugin {
  gateway: Gateway
  upstream: Upstream
  clock: FakeClock
  memory: Memory
  ask(entry: JsonObject | undefined, more?: JsonObject): Promise<Response>
}

interface PluginOptions {
  /** The operator's settings of the plugin. */
  defaults?: string
  /** More of the section `plugins`. */
  more?: string
  /** More of the key. */
  key?: string
}

async function withPlugin(t: Test, { defaults = '', more = '', key = '' }: PluginOptions = {}): Promise<WithPlugin> {
  const directory = t.testdir({})
  copyFileSync(FIXTURE, join(directory, 'troubled.ts'))
  const memory: Memory = { late: [], charged: [], aborted: [] }
  Object.assign(globalThis, { troubled: memory })
  const { clock, gateway, upstream } = await startScene(t, {
    answer: says(UTTERANCES),
    yaml: `auth: { keys: [ { name: test, key: "${KEY}"${key} } ] }
plugins: { load: [ ./troubled.ts ]${more}, defaults: { troubled: { ${defaults} } } }`,
    directory,
  })
  const ask: WithPlugin['ask'] = (entry, rest) => {
    const plugins = entry ? { plugins: [{ id: 'troubled', ...entry }] } : {}
    const body = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], ...plugins, ...rest }
    return gateway.post('/v1/chat/completions', body, { 'X-Router-Metadata': 'enabled' })
  }
  return { gateway, upstream, clock, memory, ask }
}

async function jsonBody(response: Response): Promise<JsonObject> {
  return (await response.json()) as JsonObject
}

function bodyPipeline(body: JsonObject): unknown {
  return (body.router_metadata as JsonObject | undefined)?.pipeline
}

/** Request that the model was sent. */
function sent({ upstream }: WithPlugin): unknown {
  return (upstream.requests.at(-1)?.json.messages as JsonObject[] | undefined)?.map(({ content }) => content)
}

function rows({ gateway }: WithPlugin) {
  return [...gateway.running.store.journal.export()]
}

function account({ gateway }: WithPlugin) {
  const [row] = rows({ gateway } as WithPlugin)
  return gateway.running.runtime.dependencies.credit.account(row.hold.key)
}

async function refused(t: Test, response: Response, field: string, message: RegExp): Promise<void> {
  const body = await jsonBody(response)
  t.equal(response.status, 400, field)
  t.match(body.error, { message, metadata: { field } }, field)
}

/** Texts of a chat stream, and its last error. */
async function streamed(
  response: Response,
): Promise<{ text: string; error?: JsonObject | undefined; ended: boolean; metadata?: JsonObject | undefined }> {
  const frames = (await bodyText(response)).split('\n\n').filter((frame) => frame.startsWith('data: '))
  const events = frames.filter((frame) => !frame.includes('[DONE]')).map((frame) => JSON.parse(frame.slice(6)) as JsonObject)
  const deltas = events.flatMap(
    (event) => (event.choices as { delta?: { content?: string } }[] | undefined)?.map(({ delta }) => delta?.content ?? '') ?? [],
  )
  return {
    text: deltas.join(''),
    error: events.map(({ error }) => error).find((error) => error !== undefined) as JsonObject | undefined,
    ended: frames.at(-1)?.includes('[DONE]') === true,
    metadata: events.map((event) => event.router_metadata).find((one) => one !== undefined) as JsonObject | undefined,
  }
}

t.test('checks the plugins of a request, and names a mistake by its path', async (t) => {
  const { gateway, upstream } = await withPlugin(t)
  const cases: [plugins: JsonObject[], field: string, message: RegExp][] = [
    [[{ id: 'nothing' }], 'plugins[0].id', /no such plugin; expected one of: .*context-compression.*troubled/],
    [[{ id: 'troubled' }, { id: 'nothing', enabled: false }], 'plugins[1].id', /no such plugin/],
    [[{ id: 'troubled' }, { id: 'auto-router' }, { id: 'troubled' }], 'plugins[2].id', /named twice/],
    [[{ id: 'auto-router', cost_quality_tradeoff: 10.5 }], 'plugins[0].cost_quality_tradeoff', /whole number from 0 to 10/],
    [[{ id: 'auto-router', cost_quality_tradeoff: 11 }], 'plugins[0].cost_quality_tradeoff', /from 0 to 10/],
    [[{ id: 'auto-router', cost_quality_tradeoff: -1 }], 'plugins[0].cost_quality_tradeoff', /from 0 to 10/],
    [[{ id: 'pareto-router', min_coding_score: 1.001 }], 'plugins[0].min_coding_score', /from 0 to 1/],
    [[{ id: 'context-compression', engine: 'outside-in' }], 'plugins[0].engine', /middle-out/],
    [[{ id: 'context-compression', enabled: false, engine: 'outside-in' }], 'plugins[0].engine', /middle-out/],
    [[{ id: 'troubled', bound: 6_000_000_000 }], 'plugins[0].bound', /at most/],
    [[{ id: 'troubled', on_error: 'skip' }], 'plugins[0].on_error', /by the operator alone/],
    [[{ id: 'troubled', timeout: '1ms' }], 'plugins[0].timeout', /by the operator alone/],
    [[{ id: 'troubled', enabled: false, locked: false }], 'plugins[0].locked', /by the operator alone/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [plugins, field, message] of cases) {
      for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages']) {
        const text = path === '/v1/responses' ? { input: 'x' } : { messages: [{ role: 'user', content: 'x' }], max_tokens: 5 }
        const response = await gateway.post(path, { model: 'acme/one', plugins, ...text })
        const body = await jsonBody(response)
        t.equal(response.status, 400, `${path} ${field}`)
        t.match((body.error as JsonObject).message, new RegExp(`^${field.replace(/[[\].]/g, '\\$&')}: `), path)
        t.match((body.error as JsonObject).message, message, path)
      }
    }
  })
  t.equal(upstream.requests.length, 0)
})

t.test("a request's entry stands over the operator's settings, and enabled: false switches off", async (t) => {
  const one = await withPlugin(t, { defaults: 'enabled: true, shape: edit' })
  t.equal((await one.ask(undefined)).status, 200)
  t.same(sent(one), ['marked', 'Hello'], 'on for every request')
  await one.ask({ enabled: false })
  t.same(sent(one), ['Hello'])
  await one.ask({ shape: 'idle' })
  t.same(sent(one), ['Hello'])
  await one.ask({})
  t.same(sent(one), ['marked', 'Hello'])
  const off = await withPlugin(t, { defaults: 'enabled: false, shape: edit' })
  await off.ask(undefined)
  t.same(sent(off), ['Hello'], 'off unless it is named')
  await off.ask({ enabled: true })
  t.same(sent(off), ['marked', 'Hello'])
})

const PARTICULAR = `export default {
  id: 'particular',
  parse: () => ({}),
  impliedBy: { strategy: 'fallback', context: 128000 },
  implied: ({ strategy }) => globalThis.implied.push(strategy) > 0,
  shape: () => {},
}`

t.test('implied is called for no request that impliedBy excludes', async (t) => {
  const calls: string[] = []
  Object.assign(globalThis, { implied: calls })
  const model = (slug: string, context: number): string =>
    `  ${slug}: { context: ${context}, endpoints: [ { provider: first, model: one, price: { prompt: "1", completion: "2" } } ] }`
  const { gateway } = await startScene(t, {
    answer: says(UTTERANCES),
    directory: t.testdir({ 'particular.ts': PARTICULAR }),
    config: (url) => `auth: { keys: [ { name: test, key: "${KEY}" } ] }
plugins: { load: [ ./particular.ts ] }
providers: { first: { dialect: openai-chat, base_url: "${url}", key: sk-first } }
models:
${model('acme/small', 128_000)}
${model('acme/large', 128_001)}`,
  })
  const post = async (models: JsonObject): Promise<number> => {
    const response = await gateway.post('/v1/chat/completions', { ...models, messages: [{ role: 'user', content: 'Hello' }] })
    await bodyText(response)
    return response.status
  }
  t.equal(await post({ model: 'acme/small' }), 200)
  t.equal(await post({ models: ['acme/large', 'acme/small'] }), 200)
  t.same(calls, [])
  t.equal(await post({ models: ['acme/small', 'acme/large'] }), 200)
  t.same(calls, ['fallback'])
})

t.test('a locked plugin may be named and not set', async (t) => {
  const on = await withPlugin(t, { defaults: 'enabled: true, locked: true, shape: edit' })
  t.equal((await on.ask({})).status, 200)
  t.same(sent(on), ['marked', 'Hello'])
  await refused(t, await on.ask({ enabled: false }), 'plugins[0].enabled', /locked/)
  await refused(t, await on.ask({ enabled: true }), 'plugins[0].enabled', /locked/)
  await refused(t, await on.ask({ shape: 'idle' }), 'plugins[0].shape', /locked/)
  t.equal(on.upstream.requests.length, 1)
  const asked = await withPlugin(t, { defaults: 'locked: true, shape: edit' })
  await asked.ask(undefined)
  t.same(sent(asked), ['Hello'])
  await asked.ask({})
  t.same(sent(asked), ['marked', 'Hello'], 'naming it is leave to switch it on')
  const never = await withPlugin(t, { defaults: 'enabled: false, locked: true, shape: edit' })
  await refused(t, await never.ask({}), 'plugins[0].id', /switched this plugin off/)
  const router = await startGateway(`
plugins: { defaults: { auto-router: { locked: true, cost_quality_tradeoff: 3 } } }
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }`)
  t.teardown(() => router.close())
  const route = (entry: JsonObject) =>
    router.post('/v1/responses', { model: 'router/auto', input: 'x', plugins: [{ id: 'auto-router', ...entry }] })
  t.equal((await route({})).status, 200)
  await refused(t, await route({ cost_quality_tradeoff: 3 }), 'plugins[0].cost_quality_tradeoff', /locked/)
})

t.test('the pipeline has one stage for each plugin that acted, and none for one that did not', async (t) => {
  const one = await withPlugin(t)
  const stages = async (entry: JsonObject | undefined): Promise<unknown> => bodyPipeline(await jsonBody(await one.ask(entry)))
  t.equal(await stages(undefined), undefined)
  t.equal(await stages({ shape: 'idle' }), undefined)
  t.equal(await stages({ tap: 'observe pass' }), undefined)
  t.same(await stages({ shape: 'edit' }), [{ type: 'plugin', name: 'troubled' }], 'a change nobody speaks of is a stage')
  t.same(await stages({ shape: 'say' }), [{ type: 'plugin', name: 'troubled', summary: 'second', data: { a: 1, b: 2 } }])
  t.same(await stages({ shape: 'junk-stage' }), [{ type: 'plugin', name: 'x' }], 'what JSON cannot say is left out')
  const asked = one.ask({ shape: 'wait' })
  await eventually('the plugin waits', () => one.memory.late.length > 0)
  await one.clock.advance(250)
  one.memory.late.pop()?.()
  t.same(bodyPipeline(await jsonBody(await asked)), [{ type: 'plugin', name: 'troubled', data: { duration_ms: 250 } }])
  t.same(
    one.clock.waiting.filter((delay) => delay === 30_000),
    [],
    'its timer is gone',
  )
})

const BEFORE: [entry: JsonObject, reason: string][] = [
  [{ shape: 'throw' }, 'error'],
  [{ shape: 'throw-nothing' }, 'error'],
  [{ shape: 'reject' }, 'error'],
  [{ shape: 'upstream' }, 'error'],
  [{ shape: 'junk' }, 'junk'],
  [{ shape: 'junk-item' }, 'junk'],
  [{ tap: 'throw' }, 'error'],
  [{ tap: 'promise' }, 'junk'],
  [{ tap: 'junk' }, 'junk'],
  [{ tap: 'mutate throw' }, 'error'],
  [{ tap: 'mutate promise' }, 'junk'],
  [{ tap: 'mutate junk' }, 'junk'],
  [{ tap: 'observe throw' }, 'error'],
  [{ tap: 'observe promise' }, 'junk'],
  [{ parse: 'throw' }, 'error'],
  [{ parse: 'promise' }, 'junk'],
  [{ bound: -1 }, 'junk'],
]

t.test('on_error: fail, before content: the fault of this request, and of no other', async (t) => {
  const one = await withPlugin(t)
  await every(t, 'every case', async (t) => {
    for (const [entry, reason] of BEFORE) {
      for (const stream of [false, true]) {
        const name = `${JSON.stringify(entry)}${stream ? ', streamed' : ''}`
        const beside = one.ask(undefined)
        const response = await one.ask(entry, { stream })
        const status = entry.shape === 'upstream' ? 503 : 500
        const body = await jsonBody(response)
        t.equal(response.status, status, name)
        t.equal((body.error as JsonObject).message, status === 500 ? 'Internal Server Error' : 'Service temporarily unavailable', name)
        if (status === 503)
          t.match(bodyPipeline(body), [{ name: 'troubled', summary: 'failed: it failed', data: { skipped: false, reason } }], name)
        t.equal((await beside).status, 200, name)
      }
    }
  })
  t.equal((await one.ask(undefined)).status, 200)
  t.equal(account(one).held, 0)
  const logs = one.gateway.logs.join('\n')
  t.match(logs, /"plugin":"troubled","reason":"junk","skipped":false/)
  t.notMatch(logs, /secret prompt/)
  t.equal(one.gateway.running.runtime.dependencies.health.recentOutage(one.gateway.running.runtime.catalog.models[0].endpoints[0]), false)
})

t.test('on_error: skip, before content: the request goes on as if it had not been there', async (t) => {
  const one = await withPlugin(t, { defaults: 'on_error: skip' })
  await every(t, 'every case', async (t) => {
    for (const [entry, reason] of BEFORE) {
      for (const stream of [false, true]) {
        const name = `${JSON.stringify(entry)}${stream ? ', streamed' : ''}`
        const response = await one.ask(entry, { stream })
        t.equal(response.status, 200, name)
        const stage = [{ type: 'plugin', name: 'troubled', summary: /^skipped: /, data: { skipped: true, reason } }]
        if (stream) {
          const { text, ended, metadata } = await streamed(response)
          t.equal(text, 'one two three', name)
          t.ok(ended, name)
          t.match(metadata?.pipeline, stage, name)
        } else {
          const body = await jsonBody(response)
          t.match(body, { choices: [{ message: { content: 'one two three' } }] }, name)
          t.match(bodyPipeline(body), stage, name)
        }
        t.same(sent(one), ['Hello'], `${name}: what it had changed is taken back`)
        t.equal(rows(one).at(-1)?.settled?.cost, COST, name)
      }
    }
  })
})

t.test('a plugin has its time: 503 or on without it, and what comes late is of no effect', async (t) => {
  await every(t, 'every policy', async (t) => {
    for (const policy of ['fail', 'skip']) {
      const one = await withPlugin(t, { defaults: `timeout: 2s, on_error: ${policy}, bound: 10` })
      const asked = one.ask({ shape: 'hang' })
      await one.clock.armed(2000)
      await eventually('the plugin waits', () => one.memory.late.length > 0)
      await one.clock.advance(1999)
      t.same(one.memory.aborted, [])
      await one.clock.advance(1)
      t.equal(one.memory.aborted.length, 1, 'it is told')
      const response = await asked
      const body = await jsonBody(response)
      t.equal(response.status, policy === 'fail' ? 503 : 200)
      if (policy === 'fail') t.match(body.error, { message: /the plugin troubled did not answer in time/ })
      t.match(bodyPipeline(body), [{ name: 'troubled', data: { skipped: policy === 'skip', reason: 'timeout', duration_ms: 2000 } }])
      t.equal((bodyPipeline(body) as JsonObject[]).length, 1)
      if (policy === 'skip') t.same(sent(one), ['Hello'])
      one.memory.late[0]()
      await turn()
      t.same(one.memory.charged, [false], 'nothing is charged late')
      t.same(
        one.clock.waiting.filter((delay) => delay === 2000),
        [],
      )
      t.equal(account(one).held, 0)
      t.equal((await one.ask(undefined)).status, 200)
    }
  })
})

t.test('a plugin that waits does not keep a request beyond its deadline, or whose caller has gone', async (t) => {
  const one = await withPlugin(t, { defaults: 'on_error: skip, timeout: 1h' })
  const asked = one.gateway.post(
    '/v1/chat/completions',
    { model: 'acme/one', messages: [{ role: 'user', content: 'x' }], plugins: [{ id: 'troubled', shape: 'hang' }] },
    { 'X-Router-Deadline': '3' },
  )
  await one.clock.armed(3_600_000)
  await eventually('the plugin waits', () => one.memory.late.length > 0)
  await one.clock.advance(3000)
  t.equal((await asked).status, 408)
  const leaving = new AbortController()
  const left = fetch(`${one.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'x' }], plugins: [{ id: 'troubled', shape: 'hang' }] }),
    signal: leaving.signal,
  }).catch(() => undefined)
  await eventually('the second plugin waits', () => one.memory.late.length === 2)
  leaving.abort()
  await left
  // A caller that only says no more still gets its reply: it takes a moment to know.
  await eventually('the second plugin is aborted', async () => {
    await one.clock.advance(100)
    return one.memory.aborted.length === 2
  })
  for (const late of one.memory.late) late()
  await turn()
  t.same(
    one.clock.waiting.filter((delay) => delay === 3_600_000),
    [],
  )
  t.equal(one.upstream.requests.length, 0)
})

t.test('a tap that fails in the middle of a stream', async (t) => {
  await every(t, 'every policy', async (t) => {
    for (const policy of ['fail', 'skip']) {
      const one = await withPlugin(t, { defaults: `on_error: ${policy}` })
      for (const mode of ['mutate', 'observe']) {
        for (const how of ['throw', 'promise', ...(mode === 'mutate' ? ['junk'] : [])]) {
          const found = await streamed(await one.ask({ tap: `${mode} ${how} 1` }, { stream: true }))
          t.equal(found.ended, policy === 'skip', `${policy} ${mode} ${how}`)
          if (policy === 'skip') t.equal(found.text, 'one two three', `${mode} ${how}`)
          else {
            t.equal(found.text, 'one ', `${mode} ${how}`)
            t.match(found.error, { code: 500, message: 'Internal Server Error' })
          }
          t.equal(rows(one).at(-1)?.settled?.cost, policy === 'skip' ? COST : 0, 'a reply that broke off is free')
        }
      }
      const held = await streamed(await one.ask({ tap: 'mutate hold 2' }, { stream: true }))
      t.equal(held.text, policy === 'skip' ? 'one two three' : '', 'what it held back is handed on')
      const shouting = await streamed(await one.ask({ tap: 'mutate shout 2' }, { stream: true }))
      t.equal(shouting.text, 'ONE TWO ', 'a text that was changed has no other end')
      t.match(shouting.error, { code: 500 })
      const word = await one.ask({ tap: 'mutate refuse' }, { stream: true })
      t.equal(word.status, 403, 'its own word to the caller is no failure')
      await word.text()
      t.equal(account(one).held, 0)
    }
  })
})

t.test("a refusal is the plugin's answer, whatever on_error says", async (t) => {
  const one = await withPlugin(t, { defaults: 'on_error: skip' })
  await refused(t, await one.ask({ shape: 'refuse' }), 'plugins[0].shape', /expected another/)
  t.equal((await one.ask({ tap: 'mutate refuse' })).status, 403)
})

t.test('holds the charge of a plugin before, shows it in cost, stage and ledger, and never exceeds its bound', async (t) => {
  const one = await withPlugin(t, { key: ', limit: "1.00"' })
  const response = await one.ask({ bound: 5_000_000, charges: [2_000_000, 1_000_000, 2_000_001, 1.5, -1, 2_000_000] })
  const body = await jsonBody(response)
  t.same(one.memory.charged, [true, true, false, false, false, true])
  t.equal((body.usage as JsonObject).cost, (COST + 5_000_000) / 1e9)
  t.match(bodyPipeline(body), [
    {
      name: 'troubled',
      cost_usd: 0.005,
      data: {
        charges: [
          { what: 'search', cost_usd: 0.002 },
          { what: 'search', cost_usd: 0.001 },
          { what: 'search', cost_usd: 0.002 },
        ],
      },
    },
  ])
  const [row] = rows(one)
  t.equal(row.settled?.cost, COST + 5_000_000)
  t.equal((JSON.parse(row.settled?.facts ?? '{}') as JsonObject).tools_cost, 5_000_000)
  t.ok(row.hold.hold >= 5_000_000 + COST)
  const shown = await jsonBody(await one.gateway.get(`/v1/generation?id=${row.id}`))
  t.match(shown.data, { total_cost: (COST + 5_000_000) / 1e9, model: 'acme/one', provider_name: 'first' })
  t.equal(account(one).held, 0)

  const dear = await one.ask({ bound: 2_000_000_000, charges: [1] })
  t.equal(dear.status, 402, 'a bound that the key cannot pay')
  t.match((await jsonBody(dear)).error, { message: /the plugins of this request may cost up to \$2/, metadata: { needed: '2' } })
  t.equal(one.memory.charged.length, 6, 'it has not begun')
  const spent = await one.ask(
    { bound: 900_000_000, charges: [900_000_000] },
    { max_tokens: 4000, messages: [{ role: 'user', content: 'x'.repeat(120_000) }] },
  )
  t.equal(spent.status, 402, 'the rest does not pay for the answer')
  t.equal(rows(one).at(-1)?.settled?.cost, 900_000_000, 'what the plugin spent stays charged')
  t.equal(account(one).held, 0)
  t.equal(account(one).settled, BigInt(COST + 905_000_000))
  const failed = await one.ask({ bound: 1000, charges: [700], shape: 'throw' })
  t.equal(failed.status, 500)
  t.equal(rows(one).at(-1)?.settled?.cost, 700)
  t.equal((await one.gateway.running.store.ledger.spent()).get(row.hold.key), account(one).settled, 'rows and balance agree')
})

t.test('a plan tells of the bound, and neither runs the plugin nor holds anything', async (t) => {
  const one = await withPlugin(t, { key: ', limit: "1.00"' })
  const plan = async (entry: JsonObject): Promise<JsonObject> =>
    jsonBody(
      await one.gateway.post('/v1/plan', {
        model: 'acme/one',
        messages: [{ role: 'user', content: 'x' }],
        max_tokens: 10,
        plugins: [{ id: 'troubled', ...entry }],
      }),
    )
  const usd = async (entry: JsonObject): Promise<number> => Number(((await plan(entry)).hold as JsonObject).usd)
  t.ok(Math.abs((await usd({ bound: 5_000_000, charges: [1] })) - (await usd({ other: 5_000_000, chargez: [1] })) - 0.005) < 1e-9)
  t.same(one.memory.charged, [])
  t.match(await plan({ bound: 2_000_000_000 }), { error: { code: 402 } })
  t.equal(rows(one).length, 0)
})

t.test('property: settled once, never above the hold, whatever is charged and however it ends', async (t) => {
  const one = await withPlugin(t, { key: ', limit: "50.00"', defaults: 'on_error: skip' })
  const entry = fc.record({
    bound: fc.integer({ min: 0, max: 50_000_000 }),
    charges: fc.array(fc.oneof(fc.integer({ min: -5, max: 40_000_000 }), fc.constantFrom(0.5, 1e300, null)), { maxLength: 5 }),
    shape: fc.constantFrom('idle', 'edit', 'throw', 'reject', 'junk', 'refuse', 'say'),
    tap: fc.constantFrom('mutate throw 1', 'mutate shout 1', 'observe pass', 'mutate refuse 2', 'mutate hold 1'),
  })
  let before = 0
  await fc.assert(
    fc.asyncProperty(entry, fc.boolean(), async (asked, stream) => {
      one.memory.charged.length = 0
      const count = rows(one).length
      await bodyText(await one.ask(asked, { stream }))
      const allowed = asked.charges.filter((_, i) => one.memory.charged[i]).reduce<number>((sum, nano) => sum + Number(nano), 0)
      const fresh = rows(one).slice(count)
      const { settled = undefined, hold = undefined } = fresh[0] ?? {}
      const { settled: total, held } = account(one)
      const cost = settled?.cost ?? 0
      if (fresh.length > 1 || held !== 0 || allowed > asked.bound) return false
      if (cost < allowed || cost > allowed + COST || cost > (hold?.hold ?? 0)) return false
      if (Number(total) - before !== cost) return false
      before = Number(total)
      return true
    }),
    property(60, 600),
  )
  t.equal((await one.gateway.running.store.ledger.spent()).get(rows(one)[0].hold.key), BigInt(before))
})

t.test('requests that use no plugin are handed on as they are', async (t) => {
  const one = await withPlugin(t)
  const body = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }
  await one.gateway.post('/v1/chat/completions', body)
  t.match(one.gateway.logs.at(-1), /"lane":"pass"/)
  await one.gateway.post('/v1/chat/completions', { ...body, plugins: [{ id: 'troubled', enabled: false }] })
  t.match(one.gateway.logs.at(-1), /"lane":"pass"/)
  await one.gateway.post('/v1/chat/completions', { ...body, plugins: [{ id: 'troubled', tap: 'observe pass' }] })
  t.match(one.gateway.logs.at(-1), /"lane":"observe"/)
})
