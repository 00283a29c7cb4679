import fc from 'fast-check'
import t from 'tap'
import { paretoRouter } from '../../plugins/pareto-router/plugin.ts'
import { codingScore, scoreTier } from '../../plugins/pareto-router/tiers.ts'
import type { JsonObject, RouterChoice } from '../../src/plugin-api/index.ts'
import { every } from '../support/every.ts'
import { catchFault, createModel, createRead, createView, type ModelFacts, pluginRouter, type ViewOptions } from '../support/router-view.ts'
import { property } from '../support/seed.ts'

const router = pluginRouter(paretoRouter)

function choose(facts: readonly ModelFacts[], settings: JsonObject = {}, view: ViewOptions = {}): RouterChoice {
  return router.choose(
    createRead('Hello', { model: 'router/pareto-code' }),
    paretoRouter.parse(settings, 'plugins[0]'),
    createView(facts, view),
  )
}

const slugs = (choice: RouterChoice): string[] => choice.models.map((model) => model.slug)

/** Three tiers; speed runs against price. */
const CODERS: ModelFacts[] = [
  { slug: 'a/top', scores: { coding: 0.95 }, prompt: 9, completion: 40, speed: 20 },
  { slug: 'a/high', scores: { coding: 0.66 }, prompt: 3, completion: 10, speed: 90 },
  { slug: 'a/higher', scores: { coding: 0.8 }, prompt: 4, completion: 10, speed: 50 },
  { slug: 'b/high', scores: { coding: 0.7 }, prompt: 5, completion: 10 },
  { slug: 'a/mid', scores: { coding: 0.65 }, prompt: 1, completion: 2 },
  { slug: 'a/medium', scores: { coding: 0.33 }, prompt: 0.5, completion: 1 },
  { slug: 'a/low', scores: { coding: 0.32 }, prompt: 0.1, completion: 0.2 },
  { slug: 'a/unscored', prompt: 0, completion: 0 },
  { slug: 'a/general', scores: { general: 0.5 }, prompt: 2, completion: 2 },
]

t.test('returns 400 for settings outside their range, and names the field', async (t) => {
  const cases: [settings: JsonObject, field: string][] = [
    [{ min_coding_score: 1.1 }, 'min_coding_score'],
    [{ min_coding_score: -0.1 }, 'min_coding_score'],
    [{ min_coding_score: '1' }, 'min_coding_score'],
    [{ min_coding_score: null }, 'min_coding_score'],
    [{ max_price: -1 }, 'max_price'],
    [{ max_price: '5' }, 'max_price'],
    [{ price_source: 'completion' }, 'price_source'],
    [{ price_source: null }, 'price_source'],
    [{ enabled: 'no' }, 'enabled'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [settings, field] of cases) {
      const fault = catchFault(() => paretoRouter.parse(settings, 'plugins[1]'))
      t.match(fault, { status: 400, metadata: { field: `plugins[1].${field}` } }, JSON.stringify(settings))
      t.match(fault.message, `plugins[1].${field}: expected`)
    }
  })
  await every(t, 'every settings', async (t) => {
    for (const settings of [
      { min_coding_score: 0 },
      { min_coding_score: 1 },
      { max_price: 0 },
      { price_source: 'weighted_avg' },
      { enabled: false },
    ])
      t.ok(paretoRouter.parse(settings, 'p'), JSON.stringify(settings))
  })
})

t.test('the cheapest of the tier, with two fallbacks of the same tier', async (t) => {
  t.same(slugs(choose(CODERS)), ['a/high', 'a/higher', 'b/high'], 'without a score the high tier')
  await every(t, 'every score', async (t) => {
    for (const score of [0.66, 0.9, 1]) t.same(slugs(choose(CODERS, { min_coding_score: score })), ['a/high', 'a/higher', 'b/high'])
  })
  await every(t, 'every score', async (t) => {
    for (const score of [0.33, 0.5, 0.6599]) t.same(slugs(choose(CODERS, { min_coding_score: score })), ['a/medium', 'a/mid', 'a/general'])
  })
  await every(t, 'every score', async (t) => {
    for (const score of [0, 0.3299]) t.same(slugs(choose(CODERS, { min_coding_score: score })), ['a/unscored', 'a/low'])
  })
  t.match(choose(CODERS).data, { tier: 'high' })
  t.match(choose(CODERS).summary, 'a/high, coding score 0.66, out of 4')
})

t.test('the variant nitro takes the fastest; what is not known comes last', async (t) => {
  t.same(slugs(choose(CODERS, {}, { variants: ['nitro'] })), ['a/high', 'a/higher', 'a/top'])
  const facts: ModelFacts[] = [
    { slug: 'a/unknown', scores: { coding: 0.9 }, prompt: Number.NaN, speed: 10 },
    { slug: 'a/known', scores: { coding: 0.7 }, prompt: 70 },
  ]
  t.same(slugs(choose(facts)), ['a/known', 'a/unknown'])
  t.same(slugs(choose(facts, {}, { variants: ['nitro'] })), ['a/unknown', 'a/known'])
})

t.test('an empty tier is stood in for by its neighbour, the stronger one first', async (t) => {
  const only = (...wanted: string[]): ModelFacts[] => CODERS.filter(({ slug }) => wanted.includes(slug))
  t.match(choose(only('a/mid', 'a/low')), { models: [{ slug: 'a/mid' }], data: { tier: 'medium' } })
  t.match(choose(only('a/low')), { models: [{ slug: 'a/low' }], data: { tier: 'low' } })
  t.match(choose(only('a/top', 'a/low'), { min_coding_score: 0.5 }), { data: { tier: 'high' } })
  t.match(choose(only('a/top', 'a/mid'), { min_coding_score: 0 }), { data: { tier: 'medium' } })
  t.match(choose(only('a/top'), { min_coding_score: 0 }), { data: { tier: 'high' } })
  t.match(
    catchFault(() => choose([])),
    { status: 404, message: /no models match/, availability: { code: 'no_endpoints' } },
  )
})

t.test('a price instead of tiers: the best up to it, then the rest of the frontier', async (t) => {
  t.same(slugs(choose(CODERS, { max_price: 4 })), ['a/higher', 'a/high', 'a/mid'])
  t.same(slugs(choose(CODERS, { max_price: 100 })), ['a/top', 'a/higher', 'a/high'], 'b/high costs more than a better one')
  t.same(slugs(choose(CODERS, { max_price: 4, min_coding_score: 0 })), ['a/higher', 'a/high', 'a/mid'], 'no tiers')
  t.same(slugs(choose(CODERS, { max_price: 0 })), ['a/unscored'])
  // (3 × 3 + 10) / 4 = 4.75 and (3 × 1 + 2) / 4 = 1.25
  t.equal(slugs(choose(CODERS, { max_price: 4.75, price_source: 'weighted_avg' }))[0], 'a/high')
  t.equal(slugs(choose(CODERS, { max_price: 4.74, price_source: 'weighted_avg' }))[0], 'a/mid')
  t.match(choose(CODERS, { max_price: 4 }).data, { max_price: 4, price_source: 'prompt' })
  const fault = catchFault(() => choose(CODERS.slice(0, 4), { max_price: 1 }))
  t.match(fault, { status: 404, availability: { code: 'constraint_filtered', constraint: { field: 'plugins[0].max_price' } } })
  t.match(fault.message, /no models match.*1 USD/)
  t.match(
    catchFault(() => choose([{ slug: 'a/x', prompt: Number.NaN }], { max_price: 9 })),
    { status: 404 },
    'an unknown price fits no ceiling',
  )
})

t.test('a conversation keeps its model while it is one of the choice', async (t) => {
  t.same(slugs(choose(CODERS, {}, { sticky: 'a/top' })), ['a/top', 'a/high', 'a/higher'])
  t.equal(slugs(choose(CODERS, {}, { sticky: 'a/mid' }))[0], 'a/high', 'of another tier')
  t.equal(slugs(choose(CODERS, { max_price: 4 }, { sticky: 'a/top' }))[0], 'a/higher', 'above the price')
})

t.test('whatever the models: tier and price hold, and nothing cheaper was passed over', async (t) => {
  const facts = fc.uniqueArray(
    fc.record({
      slug: fc.integer({ min: 0, max: 40 }).map((n) => `a/m${n}`),
      prompt: fc.integer({ min: 0, max: 20 }),
      completion: fc.integer({ min: 0, max: 20 }),
      scores: fc.oneof(
        fc.constant({}),
        fc.double({ min: 0, max: 1, noNaN: true }).map((coding) => ({ coding })),
      ),
    }),
    { selector: (each) => each.slug, minLength: 1, maxLength: 12 },
  )
  const score = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined })
  let full = 0
  fc.assert(
    fc.property(facts, score, (models, wanted) => {
      const choice = choose(models, wanted === undefined ? {} : { min_coding_score: wanted })
      const tiers = new Set(models.map((each) => scoreTier(codingScore(createModel(each)))))
      const asked = wanted === undefined ? 'high' : scoreTier(wanted)
      const chosen = choice.models.map((model) => scoreTier(codingScore(model)))
      const cost = (slug: string): number =>
        models.filter((each) => each.slug === slug).reduce((sum, each) => sum + each.prompt + each.completion, 0)
      const members = models.filter((each) => scoreTier(codingScore(createModel(each))) === chosen[0])
      if (chosen.length === 3) full++
      return (
        (tiers.has(asked) ? chosen[0] === asked : chosen[0] !== asked) &&
        chosen.every((tier) => tier === chosen[0]) &&
        chosen.length === Math.min(3, members.length) &&
        members.every((each) => cost(each.slug) >= cost(choice.models[0].slug))
      )
    }),
    property(300, 20_000),
  )
  t.ok(full > 30)
  let fitted = 0
  fc.assert(
    fc.property(facts, fc.integer({ min: 0, max: 20 }), fc.constantFrom('prompt', 'weighted_avg'), (models, most, source) => {
      const settings = { max_price: most, price_source: source }
      const price = (each: { prompt: number; completion: number }): number =>
        source === 'prompt' ? each.prompt : (3 * each.prompt + each.completion) / 4
      const fit = models.filter((each) => price(each) <= most)
      if (fit.length === 0) return catchFault(() => choose(models, settings)).status === 404
      fitted++
      const { models: chosen } = choose(models, settings)
      return (
        chosen.every((model) => fit.some((each) => each.slug === model.slug)) &&
        fit.every((each) => codingScore(createModel(each)) <= codingScore(chosen[0]))
      )
    }),
    property(300, 20_000),
  )
  t.ok(fitted > 100)
})
