/** Sharing of requests over endpoints: `weight`, draining, `least_busy`, and an account's `order` for other models. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { type Providers, type ProvidersOptions, questionFor, startProviders } from '../../support/providers.ts'
import { Gate, sseAnswer } from '../../support/upstream.ts'
import { framesFor, upstreamError } from '../../support/wire.ts'

const NAMES = ['aye', 'bee', 'cee']
/** Served by two of the three providers. */
const TWO = `  acme/two:
    context: 128000
    endpoints:
      - { provider: bee, model: m, price: { prompt: "1.00", completion: "1.00" } }
      - { provider: cee, model: m, price: { prompt: "1.00", completion: "1.00" } }
`
const TOOLS = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }]

const start = (t: Test, more: Partial<ProvidersOptions>): Promise<Providers> => startProviders(t, { providers: NAMES, ...more })

/** Number of requests that each provider served. */
async function shares(scene: Providers, count: number, fields: JsonObject = {}): Promise<Record<string, number>> {
  const served: Record<string, number> = {}
  for (let i = 0; i < count; i++) {
    const name = await scene.server('chat', { messages: [{ role: 'user', content: `Hello ${i}` }], ...fields })
    served[name] = (served[name] ?? 0) + 1
  }
  return served
}

interface Candidate {
  endpoint: string
  why: { by: string; share?: number; value?: number | null }
}

async function fetchPlan(scene: Providers, fields: JsonObject = {}): Promise<{ candidates: Candidate[]; excluded: JsonObject[] }> {
  const response = await scene.gateway.post('/v1/plan', { ...questionFor('chat'), ...fields })
  return (await response.json()) as { candidates: Candidate[]; excluded: JsonObject[] }
}

const within = (count: number | undefined, least: number, most: number): boolean => count !== undefined && count >= least && count <= most

t.test("an account's order that names none of a model's providers leaves that model its draw", async (t) => {
  const scene = await start(t, { models: TWO, top: 'provider: { order: [aye] }' })
  t.same(await shares(scene, 20), { aye: 20 }, 'a model with a named provider goes there')
  const drawn = await shares(scene, 60, { model: 'acme/two' })
  t.ok(within(drawn.bee, 15, 45) && within(drawn.cee, 15, 45), `the other is drawn (${JSON.stringify(drawn)})`)
  const mixed = await fetchPlan(scene, { model: 'acme/one', models: ['acme/two'] })
  t.same(
    mixed.candidates.map(({ why: { by } }) => by),
    ['order', 'price', 'price', 'draw', 'draw'],
    'each model for itself',
  )
  const home = await scene.server('chat', { model: 'acme/two', session_id: 's' })
  t.same(await shares(scene, 12, { model: 'acme/two', session_id: 's' }), { [home]: 12 }, 'and its conversations stay')
  t.same(
    Object.keys(await shares(scene, 20, { model: 'acme/two', provider: { order: ['aye'] } })),
    ['bee'],
    "a request's own order does not draw",
  )
  const single = await shares(scene, 40, { model: 'acme/two', provider: { allow_fallbacks: false } })
  t.ok(within(single.bee, 8, 32) && within(single.cee, 8, 32), `a request without fallbacks is served, too (${JSON.stringify(single)})`)
})

t.test("an account's order without fallbacks, and a preset's order, hold for every model", async (t) => {
  const only = await start(t, { models: TWO, top: 'provider: { order: [aye], allow_fallbacks: false }' })
  t.equal(await only.server('chat', { model: 'acme/two' }), '404')
  t.equal(await only.server('chat'), 'aye')
  const preset = await start(t, { models: TWO, top: 'presets: { first: { provider: { order: [aye] } } }' })
  t.same(Object.keys(await shares(preset, 20, { model: 'acme/two', preset: 'first' })), ['bee'])
})

t.test("a key's order is one of the operator's, too", async (t) => {
  const key = 'sk-of-the-key-0123456789'
  const scene = await start(t, { models: TWO, top: `auth: { keys: [ { name: one, key: ${key}, provider: { order: [aye] } } ] }` })
  const served = new Set<string>()
  for (let i = 0; i < 30; i++) served.add(await scene.server('chat', { model: 'acme/two' }, { authorization: `Bearer ${key}` }))
  t.same(served, new Set(['bee', 'cee']))
})

/** Four fifths and one fifth; the third gets nothing. The prices say otherwise. */
const WEIGHTS: Record<string, string> = { aye: '4.00, 80', bee: '1.00, 20', cee: '1.00, 0' }
const weighted = (name: string): string => {
  const [price, weight] = WEIGHTS[name].split(', ')
  return `price: { prompt: "${price}", completion: "${price}" }, weight: ${weight}`
}

t.test('weights share the requests, whatever the prices, with tools as without', async (t) => {
  const scene = await start(t, { endpoint: weighted })
  for (const fields of [{}, { tools: TOOLS }]) {
    const served = await shares(scene, 200, fields)
    t.ok(within(served.aye, 140, 180) && within(served.bee, 20, 60), JSON.stringify(served))
    t.same(served.cee, undefined, 'a drained endpoint gets none')
  }
  const { candidates, excluded } = await fetchPlan(scene)
  t.same(
    new Map(candidates.map(({ endpoint, why: { by, share } }) => [endpoint, { by, share }])),
    new Map([
      ['aye', { by: 'weight', share: 0.8 }],
      ['bee', { by: 'weight', share: 0.2 }],
    ]),
  )
  t.match(excluded, [{ endpoint: 'cee', filter: 'weight', detail: 'weight 0: it is drained' }])
  t.same(Object.keys(await shares(scene, 20, { provider: { sort: 'price' } })), ['bee'], 'a sort does without them')
})

t.test('health comes before weight', async (t) => {
  const scene = await start(t, { endpoint: weighted })
  scene.script(() => upstreamError(500), 'aye')
  while (scene.calls()[0] === 0) t.equal(await scene.server('chat'), 'bee')
  const before = scene.calls()[0]
  t.same(await shares(scene, 10), { bee: 10 })
  t.equal(scene.calls()[0], before, 'the heavy one is left alone')
})

t.test('a drained endpoint serves requests that name it, and conversations that are there', async (t) => {
  const scene = await start(t, { endpoint: weighted })
  t.equal(await scene.server('chat', { provider: { only: ['cee'] } }), 'cee')
  t.same(await shares(scene, 10, { provider: { order: ['cee'] } }), { cee: 10 })
  t.equal(await scene.server('chat', { session_id: 'there', provider: { only: ['cee'] } }), 'cee')
  t.same(await shares(scene, 10, { session_id: 'there' }), { cee: 10 }, 'HAProxy: "will still accept persistent connections"')
  scene.script(() => upstreamError(500), 'aye', 'bee')
  t.equal(await scene.server('chat', { session_id: 'new' }), '502', 'it is no fallback')
})

t.test('a list of the operator does not name a drained endpoint', async (t) => {
  const scene = await start(t, { endpoint: weighted, top: 'provider: { order: [cee, aye] }' })
  t.same(await shares(scene, 10), { aye: 10 })
  const all = await start(t, { endpoint: () => 'price: free, weight: 0' })
  const response = await all.ask('chat')
  t.equal(response.status, 404)
  t.match(await response.text(), /acme\/one at aye removed by weight \(weight 0: it is drained\)/)
  t.equal(await all.server('chat', { provider: { only: ['bee'] } }), 'bee')
})

t.test("within an account's order weights share what one entry names", async (t) => {
  const models = `  acme/azure:
    context: 128000
    endpoints:
      - { provider: aye, model: east, variant: east, price: free, weight: 3 }
      - { provider: aye, model: west, variant: west, price: free, weight: 1 }
      - { provider: bee, model: m, price: free }
`
  const scene = await start(t, { models, top: 'provider: { order: [aye, bee] }' })
  const before = scene.upstreams.aye.requests.length
  await shares(scene, 120, { model: 'acme/azure' })
  const sent = scene.upstreams.aye.requests.slice(before).map(({ json }) => json.model)
  const east = sent.filter((model) => model === 'east').length
  t.equal(sent.length, 120)
  t.ok(within(east, 72, 108), `${east} of 120`)
  const { candidates } = await fetchPlan(scene, { model: 'acme/azure' })
  t.same(
    new Set(candidates.map(({ endpoint, why: { share } }) => `${endpoint} ${share}`)),
    new Set(['aye/east 0.75', 'aye/west 0.25', 'bee 0']),
  )
})

t.test('least_busy: where fewest calls run; ties are drawn; a failing endpoint is not the least busy one', async (t) => {
  const scene = await start(t, {
    endpoint: (name) => (name === 'cee' ? 'price: free, weight: 2' : 'price: { prompt: "9", completion: "9" }, weight: 1'),
  })
  const provider = { sort: 'least_busy' }
  const drawn = await shares(scene, 80, { provider })
  t.ok(within(drawn.cee, 25, 55) && within(drawn.aye, 8, 32) && within(drawn.bee, 8, 32), `idle ones by weight (${JSON.stringify(drawn)})`)
  const gate = new Gate()
  const slow = (): ReturnType<typeof sseAnswer> => {
    const [head, ...rest] = framesFor('/v1/chat/completions', { text: ['slow'] })
    return sseAnswer([head, gate.step, ...rest])
  }
  scene.script(slow)
  const calls = scene.calls()
  const open: Promise<string>[] = []
  // One after the other has begun: four at three endpoints, of which one has twice the weight.
  for (let i = 1; i <= 4; i++) {
    const begun = new Promise<void>((resolve) => {
      scene.script(() => {
        resolve()
        return slow()
      })
    })
    open.push(scene.ask('chat', { stream: true, provider }).then((response) => response.text()))
    await begun
  }
  t.same(
    scene.calls().map((count, at) => count - calls[at]),
    [1, 1, 2],
  )
  const { candidates } = await fetchPlan(scene, { provider })
  t.same(
    new Set(candidates.map(({ endpoint, why: { by, value } }) => `${endpoint} ${by} ${value}`)),
    new Set(['aye least_busy 1', 'bee least_busy 1', 'cee least_busy 2']),
  )
  gate.open()
  await Promise.all(open)
  t.same(
    new Set((await fetchPlan(scene, { provider })).candidates.map(({ why: { value } }) => value)),
    new Set([0]),
    'nothing is left running',
  )
  scene.heal()
  scene.script(() => upstreamError(500), 'cee')
  const failed = scene.calls()[2]
  await shares(scene, 20, { provider })
  t.equal(scene.calls()[2], failed + 1, 'one failure, and it comes last')
})
