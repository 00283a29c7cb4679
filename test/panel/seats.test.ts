/** Members of a panel for which no caller names members, and the judge. */
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { buildCatalog } from '../../src/routing/catalog/catalog.ts'
import type { Model } from '../../src/routing/catalog/types.ts'
import { panelFor } from '../../src/services/panel/seats.ts'

/** Slug, mean score, prompt and completion price in USD per million. */
const CATALOGUE: readonly (readonly [slug: string, score: number | undefined, prompt: number, completion: number])[] = [
  ['a/best', 0.9, 5, 20],
  ['a/good', 0.85, 3, 15],
  ['b/fine', 0.8, 2, 10],
  ['c/fair', 0.5, 1, 8],
  ['d/small', undefined, 0.5, 1],
  ['d/tiny', undefined, 4, 0.5],
]

function models(lines: typeof CATALOGUE): readonly Model[] {
  const text = lines.map(
    ([slug, score, prompt, completion]) =>
      `  ${slug}: { ${score === undefined ? '' : `scores: { general: ${score} }, `}endpoints: [ { provider: sim, model: echo, price: { prompt: "${prompt}", completion: "${completion}" } } ] }`,
  )
  return buildCatalog(loadConfig('f.yaml', {}, { text: `providers: { sim: { dialect: sim } }\nmodels:\n${text.join('\n')}\n` })).models
}

const all = models(CATALOGUE)
const PATH = 'plugins[0]'

t.test('presets are made up from the catalogue', async (t) => {
  t.same(panelFor({}, {}, all, PATH), { models: ['a/best', 'b/fine', 'c/fair'], analyst: undefined }, 'the best, one of each author')
  t.same(panelFor({ preset: 'general-high' }, {}, all, PATH), { models: ['a/best', 'b/fine', 'c/fair'], analyst: 'a/best' })
  t.same(panelFor({ preset: 'general-budget' }, {}, all, PATH), { models: ['d/small', 'c/fair', 'b/fine'], analyst: 'a/best' })
  t.same(panelFor({ preset: 'general-fast' }, {}, all, PATH), { models: ['d/tiny', 'c/fair'], analyst: 'd/tiny' })
  const few = models(CATALOGUE.slice(0, 2))
  t.same(panelFor({}, {}, few, PATH).models, ['a/best', 'a/good'], 'two of one author where there is no other')
  t.same(panelFor({}, {}, models([CATALOGUE[4]]), PATH).models, ['d/small'])
  t.same(panelFor({}, {}, models(CATALOGUE.slice(4)), PATH).models, ['d/tiny', 'd/small'], 'without scores the dearest leads')
})

t.test("the caller's word counts more than the operator's, a list more than a preset", async (t) => {
  const settings: JsonObject = {
    analysis_models: ['x/own'],
    model: 'x/judge',
    presets: { house: { analysis_models: ['x/one', 'x/two'] }, 'general-fast': { analysis_models: ['x/quick'], model: 'x/judge2' } },
  }
  const cases: [asked: Parameters<typeof panelFor>[0], settings: JsonObject, models: string[], analyst: string | undefined][] = [
    [{}, settings, ['x/own'], 'x/judge'],
    [{ preset: 'house' }, settings, ['x/one', 'x/two'], 'x/one'],
    [{ preset: 'general-fast' }, settings, ['x/quick'], 'x/judge2'],
    [{ preset: 'house', models: ['x/mine'] }, settings, ['x/mine'], 'x/one'],
    [{ preset: 'house', analyst: 'x/mine' }, settings, ['x/one', 'x/two'], 'x/mine'],
    [{ models: ['x/mine'] }, settings, ['x/mine'], 'x/judge'],
    [{}, { preset: 'house', presets: settings.presets }, ['x/one', 'x/two'], 'x/one'],
  ]
  for (const [asked, own, members, analyst] of cases)
    t.same(panelFor(asked, own, all, PATH), { models: members, analyst }, JSON.stringify([asked, own]))
  t.throws(() => panelFor({ preset: 'nobody' }, settings, all, PATH), {
    message: 'plugins[0].preset: no such preset; expected one of: general-high, general-budget, general-fast, house',
  })
})
