import fc from 'fast-check'
import t from 'tap'
import { freeRouter } from '../../plugins/free-router/plugin.ts'
import type { Endpoint } from '../../src/plugin-api/index.ts'
import { FakeClock } from '../support/clock.ts'
import { catchFault, createRead, createView, type ModelFacts, pluginRouter, promptPrice, type ViewOptions } from '../support/router-view.ts'
import { property } from '../support/seed.ts'

const router = pluginRouter(freeRouter)

function choose(facts: readonly ModelFacts[], view: ViewOptions = {}): string[] {
  const config = freeRouter.parse({}, 'plugins[0]')
  return router.choose(createRead('Hello', { model: 'router/free' }), config, createView(facts, view)).models.map((model) => model.slug)
}

const FREE: ModelFacts[] = ['a/one', 'a/two', 'b/three', 'b/four', 'c/five'].map((slug) => ({ slug }))

t.test('nothing can be set', async (t) => {
  for (const settings of [{}, { id: 'free-router', enabled: true }, { enabled: false }])
    t.doesNotThrow(() => freeRouter.parse(settings, 'p'))
  t.match(
    catchFault(() => freeRouter.parse({ enabled: 'no' }, 'plugins[4]')),
    { status: 400, metadata: { field: 'plugins[4].enabled' } },
  )
})

t.test('a model is free where each of its endpoints is', async (t) => {
  const cases: [name: string, prices: Endpoint['price'][], free: boolean][] = [
    ['declared free', ['free'], true],
    ['every rate is 0', [promptPrice(0, 0), 'free'], true],
    ['one endpoint costs', ['free', promptPrice(1, 0)], false],
    ['the completion costs', [promptPrice(0, 1)], false],
    ['each request costs', [promptPrice(0, 0, { request: 1n })], false],
    ['long prompts cost', [promptPrice(0, 0, { overrides: [{ minPromptTokens: 1000, rates: { prompt: 1n } }] })], false],
    ['without a price', ['unpriced'], false],
    ['no endpoint', [], false],
  ]
  for (const [name, prices, free] of cases) {
    t.same(choose([{ slug: 'a/other' }, { slug: 'a/model', prices }]).includes('a/model'), free, name)
  }
  const fault = catchFault(() => choose([{ slug: 'a/paid', prices: [promptPrice(1, 1)] }]))
  t.match(fault, { status: 404, message: /no models match/, availability: { code: 'no_endpoints', requested_models: ['router/free'] } })
})

t.test('any of them is drawn, each as often as the others, with two others to fall back on', async (t) => {
  const clock = new FakeClock(7)
  const first = new Map<string, number>()
  const draws = 5000
  for (let i = 0; i < draws; i++) {
    const [primary] = choose(FREE, { random: () => clock.random() })
    first.set(primary, (first.get(primary) ?? 0) + 1)
  }
  const expected = draws / FREE.length
  const chiSquare = FREE.reduce((sum, { slug }) => sum + ((first.get(slug) ?? 0) - expected) ** 2 / expected, 0)
  t.ok(chiSquare < 13.28, `chi-square ${chiSquare} with 4 degrees of freedom, p > 0.01`)
})

t.test('a conversation keeps its model', async (t) => {
  t.equal(choose(FREE, { sticky: 'b/four', random: () => 0.999 })[0], 'b/four')
  t.notOk(choose([...FREE, { slug: 'a/paid', prices: [promptPrice(1, 1)] }], { sticky: 'a/paid' }).includes('a/paid'), 'not where it costs')
})

t.test('whatever is drawn: at most three, each once, all free, and the same draw gives the same', async (t) => {
  const facts = fc.uniqueArray(
    fc.record({
      slug: fc.integer({ min: 0, max: 20 }).map((n) => `a/m${n}`),
      prices: fc.constantFrom<Endpoint['price'][]>(['free'], [promptPrice(1, 1)]),
    }),
    { selector: (each) => each.slug, maxLength: 8 },
  )
  let full = 0
  fc.assert(
    fc.property(facts, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (models, drawn) => {
      const free = models.filter(({ prices }) => prices[0] === 'free').map(({ slug }) => slug)
      const random = (): number => drawn
      if (free.length === 0) return catchFault(() => choose(models, { random })).status === 404
      const chosen = choose(models, { random })
      if (chosen.length === 3) full++
      return (
        chosen.length === Math.min(3, free.length) &&
        new Set(chosen).size === chosen.length &&
        chosen.every((slug) => free.includes(slug)) &&
        choose(models, { random }).join() === chosen.join()
      )
    }),
    property(300, 20_000),
  )
  t.ok(full > 20)
})
