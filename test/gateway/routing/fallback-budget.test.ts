/** Fallbacks without a permit, and the budget of the others (docs/routing.md#retry-budget). */
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { CLIENTS, type Providers, startProviders } from '../../support/providers.ts'
import { Gate, jsonAnswer } from '../../support/upstream.ts'
import { answerFor, upstreamError } from '../../support/wire.ts'

const ORDER = { provider: { order: ['aye', 'bee', 'sea'] } }
const THREE = ['aye', 'bee', 'sea']

/** Sends so many requests at once, in real time. @returns their statuses. */
async function burst(scene: Providers, count: number, more: JsonObject): Promise<number[]> {
  const sent = Array.from({ length: count }, async () => {
    const response = await scene.ask('chat', more)
    await response.text()
    return response.status
  })
  return Promise.all(sent)
}

t.test('the first fallback of a turn needs no permit: a sound backup serves everybody', async (t) => {
  for (const client of CLIENTS) {
    const scene = await startProviders(t, { providers: ['aye', 'bee'] })
    const [entered, held] = [new Gate(), new Gate()]
    const count = 100
    let waiting = 0
    scene.script(async () => {
      if (++waiting === count) entered.open()
      await entered.opened
      return upstreamError(502)
    }, 'aye')
    scene.script(async (seen) => {
      await held.opened
      return answerFor(seen, { text: ['bee'] })
    }, 'bee')
    const all = Array.from({ length: count }, () => scene.server(client, { provider: { order: ['aye', 'bee'] } }))
    await scene.upstreams.bee.request(count - 1)
    await scene.clock.advance(250)
    held.open()
    t.same(new Set(await Promise.all(all)), new Set(['bee']), client)
  }
})

t.test('a fallback that the caller excludes is not made, permit or not', async (t) => {
  const scene = await startProviders(t, { providers: ['aye', 'bee'] })
  scene.script(() => upstreamError(502), 'aye')
  for (const provider of [{ order: ['aye'], allow_fallbacks: false }, { only: ['aye'] }, { order: ['aye'], ignore: ['bee'] }])
    t.equal(await scene.server('chat', { provider }), '502', JSON.stringify(provider))
  t.same(scene.calls(), [3, 0])
})

t.test('retry budget: in a storm a fifth of the active turns may be on a further fallback', async (t) => {
  const scene = await startProviders(t, { providers: THREE, clock: systemClock })
  const held = new Gate()
  const count = 60
  // Each of the two fails once all are there, so that nobody is ejected before.
  for (const name of ['aye', 'bee']) {
    const entered = new Gate()
    let waiting = 0
    scene.script(async () => {
      if (++waiting === count) entered.open()
      await entered.opened
      return upstreamError(500)
    }, name)
  }
  scene.script(async () => {
    await held.opened
    return upstreamError(500)
  }, 'sea')
  let ended = 0
  const all = Array.from({ length: count }, async () => {
    const response = await scene.ask('chat', ORDER)
    await response.text()
    ended++
    return response.status
  })
  // The others have been told; those that were let through wait for their third provider.
  await eventually('all have ended or wait for their third provider', () => ended + scene.upstreams.sea.requests.length === count)
  held.open()
  const statuses = await Promise.all(all)
  t.same(new Set(statuses), new Set([502]))
  const [first, free, further] = scene.calls()
  t.same([first, free], [count, count], 'the first fallback is free')
  t.ok(further >= 3 && further <= count * 0.2, `${further} further calls of at most ${count * 0.2}`)
})

t.test('retry budget: a lasting storm costs at most 1.2 calls per request, and is over when it is over', async (t) => {
  const scene = await startProviders(t, { providers: THREE, clock: systemClock })
  scene.script(() => upstreamError(500))
  const requests = 600
  await every(t, 'every round', async (t) => {
    for (let sent = 0; sent < requests; sent += 10) t.same(new Set(await burst(scene, 10, {})), new Set([502]))
  })
  const calls = scene.calls().reduce((sum, each) => sum + each, 0)
  t.ok(calls >= requests && calls <= requests * 1.2 + 3, `${calls} calls for ${requests} requests`)
  scene.heal()
  const statuses = await burst(scene, 30, {})
  t.ok(
    statuses.every((status) => status === 200),
    'nothing stands in the way of the first attempts afterwards',
  )
})

t.test('a storm of rate limits, which ejects nobody, costs no more', async (t) => {
  const scene = await startProviders(t, { providers: THREE })
  scene.script(() => upstreamError(429))
  const requests = 600
  await every(t, 'every round', async (t) => {
    for (let sent = 0; sent < requests; sent++) {
      t.equal((await scene.ask('chat', {})).status, 429)
      await scene.clock.advance(100)
    }
  })
  const calls = scene.calls().reduce((sum, each) => sum + each, 0)
  t.ok(calls <= requests * 1.2 + 3, `${calls} calls for ${requests} requests`)
})

const FIVE = ['aye', 'bee', 'sea', 'dee', 'ef']
/** Docs, "Trying": the free fallbacks until the fifth failure of each endpoint is known, with ten requests at once. */
const FREE_FALLBACKS = FIVE.length * (5 + 9)

t.test('the names behind a wildcard share one budget: a new one for each request renews no permits', async (t) => {
  const endpoints = FIVE.map((provider) => `{ provider: ${provider}, model: "*", price: free }`).join(', ')
  const models = `  local/*: { endpoints: [ ${endpoints} ] }\n`
  await every(t, 'every list', async (t) => {
    for (const list of [1, 3]) {
      const scene = await startProviders(t, { providers: FIVE, models, clock: systemClock })
      scene.script(() => upstreamError(429))
      const requests = 300
      let name = 0
      for (let sent = 0; sent < requests; sent += 10) {
        const replies = Array.from({ length: 10 }, async () => {
          const [model, ...others] = Array.from({ length: list }, () => `local/m${name++}`)
          const response = await scene.ask('chat', { model, models: others })
          await response.text()
          return response.status
        })
        t.same(new Set(await Promise.all(replies)), new Set([429]))
      }
      const calls = scene.calls().reduce((sum, each) => sum + each, 0)
      const most = requests * 1.1 + 20 + FREE_FALLBACKS
      t.ok(calls >= requests && calls <= most, `${calls} calls for ${requests} requests of ${list} names, at most ${most}`)
      scene.heal()
      t.equal((await scene.ask('chat', { model: 'local/m0' })).status, 200)
    }
  })
})

t.test('a name behind a wildcard that one provider lacks keeps its free fallback to the other', async (t) => {
  const endpoints = '{ provider: aye, model: "*", price: free }, { provider: bee, model: "*", price: free }'
  const scene = await startProviders(t, { providers: ['aye', 'bee'], models: `  local/*: { endpoints: [ ${endpoints} ] }\n` })
  scene.script(() => upstreamError(404), 'aye')
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 60; i++)
      t.equal(await scene.server('chat', { model: `local/m${i}`, provider: { order: ['aye', 'bee'] } }), 'bee', `${i}`)
  })
})

t.test('a provider whose list changes renews no permits of other models', async (t) => {
  const calls: number[] = []
  await every(t, 'every changes', async (t) => {
    for (const changes of [false, true]) {
      const scene = await startProviders(t, {
        providers: FIVE,
        provider: (name) => (name === 'aye' ? 'discover: { every: 10s }' : ''),
      })
      let round = 0
      let [lists, asked] = [0, 0]
      const list = () => ({ object: 'list', data: [{ id: `m${changes ? round : 0}`, object: 'model' }] })
      scene.script((seen) => {
        if (seen.method === 'GET') {
          if (seen.path.startsWith('/v1/models')) lists++
          return jsonAnswer(list())
        }
        if (seen.path.endsWith('/chat/completions')) asked++
        return upstreamError(429)
      })
      for (round = 1; round <= 20; round++) {
        for (let i = 0; i < 5; i++) t.equal(await scene.server('chat', {}), '429')
        const before = lists
        await scene.clock.advance(10_000)
        await eventually('a look at the list', () => lists > before)
        // The new list is in force once a further request of the operator's shows it.
        if (changes) await eventually('the new list', async () => (await listed(scene)).includes(`aye/m${round}`))
      }
      calls.push(asked)
    }
  })
  t.equal(calls[1], calls[0], 'as many as with a list that stays')
})

async function listed(scene: Providers): Promise<string[]> {
  const reply = (await (await scene.gateway.get('/v1/models')).json()) as { data: { id: string }[] }
  return reply.data.map(({ id }) => id)
}

t.test('five failures in a row within 30 s end the free fallback to an endpoint; others keep it', async (t) => {
  const scene = await startProviders(t, { providers: THREE })
  scene.script(() => upstreamError(429), 'aye', 'bee')
  const order = (...names: string[]): JsonObject => ({ provider: { order: names, only: names } })
  for (let i = 0; i < 5; i++) await scene.server('chat', order('bee'))
  // Spends the permits of the model, so that only a free fallback is left.
  for (let i = 0; i < 60; i++) await scene.server('chat', order('aye', 'bee'))
  const before = scene.calls()[1]
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 10; i++) t.equal(await scene.server('chat', order('aye', 'bee')), '429')
  })
  t.ok(scene.calls()[1] <= before + 1, 'bee is tried with a permit only, of which ten turns bring one')
  t.equal(await scene.server('chat', order('aye', 'bee', 'sea')), 'sea', 'an endpoint that is not known to fail is')
  scene.heal('bee')
  await scene.clock.advance(30_001)
  t.equal(await scene.server('chat', order('aye', 'bee')), 'bee', 'and bee is again after 30 s')
})

t.test('a model that is down does not take the permits of another', async (t) => {
  const down = `  acme/two: { context: 128000, endpoints: [ { provider: aye, model: down }, { provider: bee, model: down } ] }\n`
  const scene = await startProviders(t, { providers: THREE, models: down, endpoint: () => 'price: free' })
  scene.script(() => upstreamError(500), 'aye', 'bee')
  for (let i = 0; i < 100; i++) await scene.server('chat', { model: 'acme/two' })
  // The third endpoint is a further fallback, which needs a permit of this model.
  t.equal(await scene.server('chat', ORDER), 'sea')
})

t.test('retry budget: it does not stand between a flaky provider and a sound one', async (t) => {
  const scene = await startProviders(t, { providers: ['aye', 'bee'], clock: systemClock })
  await scene.server('chat', { provider: { only: ['bee'] } })
  scene.script((seen, index) => (index % 10 < 3 ? upstreamError(500) : answerFor(seen, { text: ['aye'] })), 'aye')
  for (let sent = 0; sent < 300; sent += 50) {
    const statuses = await burst(scene, 50, { provider: { order: ['aye', 'bee'] } })
    t.ok(
      statuses.every((status) => status === 200),
      JSON.stringify(statuses),
    )
  }
})
