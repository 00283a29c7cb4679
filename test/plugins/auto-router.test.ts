import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { parse } from 'yaml'
import { classify } from '../../plugins/auto-router/classify.ts'
import { autoRouter } from '../../plugins/auto-router/plugin.ts'
import { HEAD, requestPrompt, TAIL } from '../../plugins/auto-router/prompt.ts'
import { TASKS, type Task } from '../../plugins/auto-router/tasks.ts'
import type { CanonicalRequest, Item, JsonObject, Part, RouterChoice } from '../../src/plugin-api/index.ts'
import { every } from '../support/every.ts'
import { type Asked, catchFault, createRead, createView, type ModelFacts, pluginRouter, type ViewOptions } from '../support/router-view.ts'
import { property } from '../support/seed.ts'

const ROOT = join(import.meta.dirname, '../..')
const router = pluginRouter(autoRouter)
/** Quality whatever it costs: the cost rule leaves up to nine models alone. */
const QUALITY = { cost_quality_tradeoff: 0 }
const CODE = 'Write a Python function that sorts a list and fix this bug.'

function choose(
  facts: readonly ModelFacts[],
  settings: JsonObject,
  more: { text?: string; asked?: Asked | undefined; view?: ViewOptions } = {},
) {
  return router.choose(
    createRead(more.text ?? 'Hello!', more.asked),
    autoRouter.parse(settings, 'plugins[0]'),
    createView(facts, more.view),
  )
}

const slugs = (choice: RouterChoice): string[] => choice.models.map((model) => model.slug)

t.test('returns 400 for settings outside their range, and names the field', async (t) => {
  const tooMany = Array.from({ length: 1025 }, () => 'a/*')
  const cases: [settings: JsonObject, field: string][] = [
    [{ cost_quality_tradeoff: 11 }, 'cost_quality_tradeoff'],
    [{ cost_quality_tradeoff: -1 }, 'cost_quality_tradeoff'],
    [{ cost_quality_tradeoff: 3.5 }, 'cost_quality_tradeoff'],
    [{ cost_quality_tradeoff: '7' }, 'cost_quality_tradeoff'],
    [{ cost_quality_tradeoff: null }, 'cost_quality_tradeoff'],
    [{ cost_tier: 'huge' }, 'cost_tier'],
    [{ cost_tier: 'toString' }, 'cost_tier'],
    [{ cost_tier: null }, 'cost_tier'],
    [{ pin_model: 'yes' }, 'pin_model'],
    [{ enabled: 1 }, 'enabled'],
    [{ allowed_models: 'a/*' }, 'allowed_models'],
    [{ allowed_models: ['a/*', 7] }, 'allowed_models[1]'],
    [{ allowed_models: tooMany }, 'allowed_models'],
    [{ allowed_models: ['x'.repeat(1025)] }, 'allowed_models[0]'],
    [{ allowed_models: Array.from({ length: 65 }, () => 'x'.repeat(1024)) }, 'allowed_models'],
    [{ excluded_models: tooMany }, 'excluded_models'],
    [{ excluded_models: [null] }, 'excluded_models[0]'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [settings, field] of cases) {
      const fault = catchFault(() => autoRouter.parse(settings, 'plugins[2]'))
      t.equal(fault.status, 400)
      t.match(fault.message, `plugins[2].${field}: expected`, field)
      t.match(fault.metadata, { field: `plugins[2].${field}` }, JSON.stringify(settings).slice(0, 60))
    }
  })
})

t.test('settings inside their range', async (t) => {
  await every(t, 'every tradeoff', async (t) => {
    for (const tradeoff of [0, 7, 10]) t.match(autoRouter.parse({ cost_quality_tradeoff: tradeoff }, 'p'), { tradeoff })
  })
  t.match(autoRouter.parse({}, 'p'), { enabled: true, tradeoff: 7, tier: undefined, pin: false, allowed: undefined, excluded: [] })
  t.match(autoRouter.parse({ enabled: false, id: 'auto-router', unknown: 1 }, 'p'), { enabled: false })
  await every(t, 'every tier', async (t) => {
    for (const tier of ['low', 'medium', 'high', 'xhigh', 'max']) t.match(autoRouter.parse({ cost_tier: tier }, 'p'), { tier })
  })
  const most = Array.from({ length: 1024 }, () => 'x'.repeat(64))
  t.equal(autoRouter.parse({ allowed_models: most }, 'p').allowed?.length, 1024)
})

t.test('the best for the task leads, the next two follow', async (t) => {
  const facts: ModelFacts[] = [
    { slug: 'a/coder', scores: { general: 0.4, coding: 0.9 } },
    { slug: 'a/talker', scores: { general: 0.9, coding: 0.2 } },
    { slug: 'a/both', scores: { general: 0.7 } },
    { slug: 'a/weak', scores: { general: 0.1 } },
  ]
  const code = choose(facts, QUALITY, { text: CODE })
  t.same(slugs(code), ['a/coder', 'a/both', 'a/talker'], 'general stands in for a missing score')
  t.match(code.data, { task_type: 'coding' })
  t.match(code.summary, 'coding: a/coder, out of 4')
  const talk = choose(facts, QUALITY)
  t.same(slugs(talk), ['a/talker', 'a/both', 'a/coder'])
  t.match(talk.data, { task_type: 'general' })
})

t.test('equals go by price, then by the catalogue', async (t) => {
  const facts: ModelFacts[] = [
    { slug: 'a/dear', prompt: 5 },
    { slug: 'a/first', prompt: 2 },
    { slug: 'a/second', prompt: 1, completion: 1 },
  ]
  t.same(slugs(choose(facts, QUALITY)), ['a/first', 'a/second', 'a/dear'])
})

t.test('keeps to the lists of models', async (t) => {
  const facts: ModelFacts[] = ['acme/one', 'acme/two', 'acme/two-mini', 'other/one'].map((slug) => ({ slug, scores: { general: 0.5 } }))
  const cases: [allowed: string[] | undefined, excluded: string[], expected: string[]][] = [
    [['acme/*'], [], ['acme/one', 'acme/two', 'acme/two-mini']],
    [['*/one'], [], ['acme/one', 'other/one']],
    [['a*t*o'], [], ['acme/two']],
    [['*'], ['*-mini', 'other/*'], ['acme/one', 'acme/two']],
    [['acme/one', 'other/one'], ['acme/one'], ['other/one']],
    [undefined, ['acme/*'], ['other/one']],
    [['*e*e*'], [], ['acme/one', 'other/one']],
    [['acme/two'], [], ['acme/two']],
  ]
  await every(t, 'every case', async (t) => {
    for (const [allowed, excluded, expected] of cases) {
      const settings = { ...QUALITY, excluded_models: excluded, ...(allowed ? { allowed_models: allowed } : {}) }
      t.same(slugs(choose(facts, settings)).sort(), expected, JSON.stringify(settings))
    }
  })
  await every(t, 'every settings', async (t) => {
    for (const settings of [
      { allowed_models: ['nobody/*'] },
      { allowed_models: ['acme/*'], excluded_models: ['*'] },
      { allowed_models: [] },
    ]) {
      const fault = catchFault(() => choose(facts, settings))
      t.equal(fault.status, 404)
      t.match(fault.message, 'no models match')
      t.match(fault.availability, {
        code: 'constraint_filtered',
        requested_models: ['router/auto'],
        constraint: { field: 'plugins[0].allowed_models' },
      })
    }
  })
  t.match(
    catchFault(() => choose([], {})),
    { status: 404, message: /no models match/ },
  )
})

t.test('models that nobody has scored stand back, unless a list names them', async (t) => {
  const facts: ModelFacts[] = [{ slug: 'sim/free', prompt: 0 }, { slug: 'a/scored', scores: { math: 0.1 }, prompt: 9 }, { slug: 'sim/two' }]
  t.same(slugs(choose(facts, QUALITY)), ['a/scored'])
  t.same(slugs(choose(facts, { ...QUALITY, allowed_models: ['*'] })), ['sim/free', 'sim/two', 'a/scored'])
  t.same(slugs(choose([facts[0], facts[2]], QUALITY)), ['sim/free', 'sim/two'], 'where nothing is scored all are equal')
})

t.test('the ceiling of the trade-off and the bands of the tiers', async (t) => {
  /** Prices 1 to 10; the dearer the better. */
  const ten: ModelFacts[] = Array.from({ length: 10 }, (_, i) => ({
    slug: `a/m${i + 1}`,
    prompt: i,
    completion: 1,
    scores: { general: i / 10 },
  }))
  const best = (settings: JsonObject): string => slugs(choose(ten, settings))[0]
  await every(t, 'every case', async (t) => {
    for (const [tradeoff, expected] of [
      [0, 'a/m9'],
      [5, 'a/m5'],
      [7, 'a/m4'],
      [10, 'a/m1'],
    ] as const)
      t.equal(best({ cost_quality_tradeoff: tradeoff }), expected, `trade-off ${tradeoff}`)
  })
  t.equal(best({}), 'a/m4', 'the default is 7')
  const bands = { low: ['a/m2', 'a/m1'], medium: ['a/m4', 'a/m3'], high: ['a/m6', 'a/m5'], xhigh: ['a/m8', 'a/m7'], max: ['a/m10', 'a/m9'] }
  await every(t, 'every case', async (t) => {
    for (const [tier, expected] of Object.entries(bands)) {
      t.same(slugs(choose(ten, { cost_tier: tier })), expected, tier)
      t.same(slugs(choose(ten, { cost_tier: tier, cost_quality_tradeoff: 0 })), expected, `${tier} wins over the trade-off`)
    }
  })
  t.same(slugs(choose(ten, { allowed_models: ['a/m9', 'a/m10'], cost_tier: 'low' })), ['a/m9'], 'a scale of the candidates alone')
  t.same(slugs(choose([{ slug: 'a/one', prompt: 50 }], { cost_tier: 'low' })), ['a/one'], 'one candidate is every band')
  const unpriced: ModelFacts[] = [
    { slug: 'a/unknown', prompt: Number.NaN, scores: { general: 1 } },
    { slug: 'a/known', scores: { general: 0.1 } },
  ]
  t.same(slugs(choose(unpriced, QUALITY)), ['a/known'])
  t.same(slugs(choose([unpriced[0]], QUALITY)), ['a/unknown'], 'no price is known: the rule has nothing to say')
})

t.test('a conversation keeps its model', async (t) => {
  const facts: ModelFacts[] = [
    { slug: 'a/best', scores: { general: 0.9 } },
    { slug: 'a/mid', scores: { general: 0.5 } },
    { slug: 'a/low', scores: { general: 0.1 } },
    { slug: 'b/dear', scores: { general: 0.2 }, prompt: 90 },
  ]
  const utterance = (model: string): Asked => ({ body: { messages: [{ role: 'assistant', model }, { role: 'user' }] } })
  const first = (settings: JsonObject, more: { asked?: Asked; sticky?: string }): string =>
    slugs(choose(facts, settings, { asked: more.asked, view: { sticky: more.sticky } }))[0]
  t.equal(first({}, { sticky: 'a/low' }), 'a/low')
  t.same(slugs(choose(facts, {}, { view: { sticky: 'a/low' } })), ['a/low', 'a/best', 'a/mid'], 'the others are fallbacks')
  t.equal(first({ excluded_models: ['a/low'] }, { sticky: 'a/low' }), 'a/best', 'no candidate any more')
  t.equal(first({ cost_tier: 'low' }, { sticky: 'b/dear' }), 'a/best', 'the cost rule leaves it out')
  t.equal(first({ cost_tier: 'low', pin_model: true }, { sticky: 'b/dear' }), 'b/dear', 'a pin needs only the lists')
  t.equal(first({}, { asked: utterance('a/mid') }), 'a/best', 'without a pin nobody asks what the turn says')
  t.equal(first({ pin_model: true }, { asked: utterance('a/mid'), sticky: 'a/low' }), 'a/mid')
  t.equal(first({ pin_model: true }, { asked: { body: { input: [{ role: 'assistant', model: 'b/dear' }] } } }), 'b/dear')
  t.equal(first({ pin_model: true }, { asked: utterance('a/gone'), sticky: 'a/low' }), 'a/low')
  t.equal(first({ pin_model: true, excluded_models: ['b/*'] }, { asked: utterance('b/dear') }), 'a/best')
  t.equal(first({ pin_model: true }, { asked: { body: { input: 'Hello' } } }), 'a/best')
})

t.test('a prompt that cannot be read is general; switched off, it is not looked at', async (t) => {
  const facts: ModelFacts[] = [
    { slug: 'a/talker', scores: { general: 0.9, coding: 0.1 } },
    { slug: 'a/coder', scores: { general: 0.1, coding: 0.9 } },
  ]
  const broken = choose(facts, QUALITY, { text: CODE, asked: { failure: new Error('no such part') } })
  t.match([slugs(broken)[0], broken.data], ['a/talker', { task_type: 'general' }])
  const off = choose(facts, { ...QUALITY, enabled: false }, { text: CODE })
  t.match([slugs(off)[0], off.data], ['a/talker', { task_type: 'general' }])
})

t.test('whatever the models and settings: the rules hold, and the same gives the same', async (t) => {
  const facts = fc.uniqueArray(
    fc.record({
      slug: fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 30 })).map(([author, n]) => `${author}/m${n}`),
      prompt: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constant(Number.NaN)),
      scores: fc.dictionary(fc.constantFrom(...TASKS), fc.double({ min: 0, max: 1, noNaN: true })),
    }),
    { selector: (each) => each.slug, minLength: 1, maxLength: 12 },
  )
  const pattern = fc.constantFrom('a/*', 'b/*', '*', '*1*', 'c/m?', 'a/m1', '*/m2*')
  const settings = fc.record(
    {
      allowed_models: fc.array(pattern, { maxLength: 3 }),
      excluded_models: fc.array(fc.constantFrom('b/*', '*3', 'c/m1'), { maxLength: 2 }),
      cost_quality_tradeoff: fc.integer({ min: 0, max: 10 }),
      cost_tier: fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max'),
    },
    { requiredKeys: [] },
  )
  /** The meaning of a pattern, told in another way. */
  const fits = (one: string, slug: string): boolean =>
    new RegExp(`^${one.replace(/[.?+^$()[\]{}|\\]/g, '\\$&').replaceAll('*', '.*')}$`).test(slug)
  let chosen = 0
  let refused = 0
  fc.assert(
    fc.property(facts, settings, fc.constantFrom(CODE, 'Hello!', 'Solve 3x = 12.'), (models, given, text) => {
      const left = models.filter(
        ({ slug }) =>
          (given.allowed_models === undefined || given.allowed_models.some((one) => fits(one, slug))) &&
          !(given.excluded_models ?? []).some((one) => fits(one, slug)),
      )
      if (left.length === 0) {
        refused++
        return catchFault(() => choose(models, given, { text })).status === 404
      }
      const choice = choose(models, given, { text })
      chosen++
      const scored = left.filter(({ scores }) => Object.keys(scores).length > 0)
      const candidates = given.allowed_models === undefined && scored.length > 0 ? scored : left
      const prices = candidates.map(({ prompt }) => prompt).filter((price) => !Number.isNaN(price))
      // The price that is reached by at least the wanted share of the candidates.
      const share = 90 - 8 * (given.cost_quality_tradeoff ?? 7)
      const ceiling = prices
        .sort((a, b) => a - b)
        .find((price) => 100 * prices.filter((other) => other <= price).length >= share * prices.length)
      const priceFits = (price: number): boolean =>
        prices.length === 0 || (!Number.isNaN(price) && (given.cost_tier !== undefined || price <= (ceiling ?? Number.NaN)))
      return (
        choice.models.length >= 1 &&
        choice.models.length <= 3 &&
        new Set(choice.models).size === choice.models.length &&
        slugs(choice).every((slug) => candidates.some((each) => each.slug === slug && priceFits(each.prompt))) &&
        JSON.stringify(slugs(choose(models, given, { text }))) === JSON.stringify(slugs(choice))
      )
    }),
    property(400, 20_000),
  )
  t.ok(chosen > 100 && refused > 5, `${chosen} chosen, ${refused} refused`)
})

interface Labelled {
  text: string
  tools?: boolean
  calls?: boolean
  image?: boolean
  format?: 'json_schema'
  system?: string
}

/** A labelled prompt as a request. */
function promptRequest(prompt: Labelled): CanonicalRequest {
  const parts: Part[] = [{ kind: 'text', text: prompt.text }]
  if (prompt.image) parts.push({ kind: 'media', media: 'image', url: 'https://example.com/a.png' })
  const items: Item[] = prompt.system ? [{ kind: 'message', role: 'system', parts: [{ kind: 'text', text: prompt.system }] }] : []
  if (prompt.calls) items.push({ kind: 'call', callId: 'c', name: 'f', args: '{}' }, { kind: 'result', callId: 'c', parts: [] })
  items.push({ kind: 'message', role: 'user', parts })
  return {
    items,
    tools: prompt.tools ? [{ kind: 'function', name: 'f' }] : [],
    sampling: {},
    stream: false,
    used: new Set(),
    ...(prompt.format ? { format: { type: prompt.format } } : {}),
  }
}

const promptTask = (prompt: Labelled): Task => classify(requestPrompt(promptRequest(prompt))).task

t.test('the labelled prompts: what the documentation prints is what is measured', async (t) => {
  const file = readFileSync(join(ROOT, 'test/fixtures/router-prompts/prompts.json'), 'utf8')
  const labelled = JSON.parse(file) as Record<Task, (string | Labelled)[]>
  const docs = readFileSync(join(ROOT, 'docs/router-models.md'), 'utf8')
  const sum = { tuned: [0, 0], held: [0, 0] }
  await every(t, 'every case', async (t) => {
    for (const [task, prompts] of Object.entries(labelled)) {
      const right = prompts.map((prompt) => promptTask(typeof prompt === 'string' ? { text: prompt } : prompt) === task)
      // Every second prompt of a kind is held out.
      const tuned = right.filter((_, i) => i % 2 === 0)
      const held = right.filter((_, i) => i % 2 === 1)
      const shown = [tuned, held].map((half) => `${half.filter(Boolean).length} of ${half.length}`)
      t.match(docs.replace(/ +/g, ' '), `| ${task} | ${shown[0]} | ${shown[1]} |`, task)
      for (const [name, half] of Object.entries({ tuned, held }) as ['tuned' | 'held', boolean[]][]) {
        sum[name][0] += half.filter(Boolean).length
        sum[name][1] += half.length
      }
    }
  })
  t.same(Object.keys(labelled).sort(), [...TASKS].sort(), 'every kind of task is there')
  t.ok(sum.held[1] >= 60 && sum.tuned[1] >= 60)
  t.ok(sum.held[0] / sum.held[1] >= 0.9, `held out: ${sum.held.join(' of ')}`)
  t.match(docs.replace(/ +/g, ' '), `| together | ${sum.tuned.join(' of ')} | ${sum.held.join(' of ')} |`)
})

t.test('every generating model of the shipped catalogue is scored, unless its file says why not', async (t) => {
  const folder = join(ROOT, 'config/catalog')
  const models = readdirSync(folder).flatMap((name) => {
    const text = readFileSync(join(folder, name), 'utf8')
    const file = parse(text) as { models: Record<string, { kind?: string; scores?: Record<string, number> }> }
    const scored = Object.entries(file.models).filter(([, { kind = 'generate' }]) => kind === 'generate')
    return /^# Not scored: /m.test(text) ? [] : scored
  })
  t.ok(models.length > 15)
  await every(t, 'every case', async (t) => {
    for (const [slug, { scores = {} }] of models) {
      t.match(scores, { general: Number, coding: Number }, slug)
      t.ok(
        Object.keys(scores).every((kind) => (TASKS as readonly string[]).includes(kind)),
        slug,
      )
    }
  })
})

t.test('only the ends of a long prompt are looked at', async (t) => {
  const filler = (letter: string): string => `${letter.repeat(9)} `.repeat(40_000)
  const long = (middle: string): string => `Summarize the following:\n${filler('x')}${middle}${filler('y')}\nKeep it short.`
  const code = '```py\ndef f():\n    return 1\n```\npython javascript sql bug debug refactor '
  t.same(classify(requestPrompt(promptRequest({ text: long(code) }))), classify(requestPrompt(promptRequest({ text: long('') }))))
  const { user } = requestPrompt(promptRequest({ text: long(code) }))
  t.equal(user.length, HEAD + TAIL + 1)
  t.match([user.slice(0, 9), user.slice(-14)], ['Summarize', 'Keep it short.'])
  t.equal(promptTask({ text: long(code) }), 'extraction')
  const many = promptRequest({ text: '' })
  many.items = [{ kind: 'message', role: 'user', parts: Array.from({ length: 3000 }, (_, i) => ({ kind: 'text', text: `part ${i}` })) }]
  const ends = requestPrompt(many).user
  t.match([ends.length, ends.slice(0, 6), ends.slice(-9)], [HEAD + TAIL + 1, 'part 0', 'part 2999'])
})

t.test('fields of the request speak for a task', async (t) => {
  const plain = promptRequest({ text: 'Have a look at this.' })
  const cases: [change: Partial<CanonicalRequest>, task: Task][] = [
    [{}, 'general'],
    [{ tools: [{ kind: 'function', name: 'f' }] }, 'tools'],
    [{ tools: [{ kind: 'function', name: 'f' }], toolChoice: { mode: 'none' } }, 'general'],
    [{ format: { type: 'json_schema' } }, 'extraction'],
    [{ format: { type: 'json_object' } }, 'extraction'],
    [{ reasoning: { effort: 'high' } }, 'reasoning'],
    [{ reasoning: { effort: 'low' } }, 'general'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [change, task] of cases) t.equal(classify(requestPrompt({ ...plain, ...change })).task, task, JSON.stringify(change))
  })
  t.equal(classify(requestPrompt({ ...plain, items: [] })).task, 'general', 'no message at all')
})

t.test('any text is sorted, always into the same task', async (t) => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc
      .array(fc.constantFrom('write', 'python', ':', '\n', '  ', '```', '(', '1)', '{', ';', '1 + 1', '翻译', 'a.b(', '|', 'at x:1'))
      .map((all) => all.join(' ')),
  )
  const seen = new Set<Task>()
  fc.assert(
    fc.property(text, (given) => {
      const { task, points } = classify(requestPrompt(promptRequest({ text: given })))
      seen.add(task)
      return TASKS.includes(task) && TASKS.every((each) => points[each] <= points[task]) && promptTask({ text: given }) === task
    }),
    property(300, 20_000),
  )
  t.ok(seen.size > 3, [...seen].join())
})
