/** The newest model of a family: what names mean, and which model a slug finds. */
import fc from 'fast-check'
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { compareVersions, familyMember, isLatestSlug, latestSlug } from '../../src/core/model-family.ts'
import { buildCatalog, type Catalog } from '../../src/routing/catalog/catalog.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

t.test('the family is the name without versions and dates', async (t) => {
  const names: [name: string, family: string, version: number[], date: number[]][] = [
    ['claude-sonnet-4.5', 'claude-sonnet', [4, 5], []],
    ['claude-sonnet-4-5-20250929', 'claude-sonnet', [4, 5], [20_250_929]],
    ['claude-3.5-haiku', 'claude-haiku', [3, 5], []],
    ['gpt-5-mini', 'gpt-mini', [5], []],
    ['gpt-5.1-2025-11-13', 'gpt', [5, 1], [2025, 11, 13]],
    ['gemini-2.5-flash-preview-09-2025', 'gemini-flash-preview', [2, 5, 9], [2025]],
    ['deepseek-v3.2', 'deepseek', [3, 2], []],
    ['mistral-large-2411', 'mistral-large', [2411], []],
    ['llama-3.3-70b-instruct', 'llama-70b-instruct', [3, 3], []],
    ['gpt-4o', 'gpt-4o', [], []],
    ['o3', 'o3', [], []],
    ['7', '', [7], []],
  ]
  await every(t, 'every case', async (t) => {
    for (const [name, family, version, date] of names) t.same(familyMember(name), { family, version, date }, name)
  })
})

t.test('slugs that stand for a family', async (t) => {
  t.equal(latestSlug('openai/gpt-5-mini'), '~openai/gpt-mini-latest')
  for (const none of ['openai/gpt-5:free', 'openai/*', 'gpt-5', '/x', 'a/7']) t.equal(latestSlug(none), undefined, none)
  t.equal(isLatestSlug('~openai/gpt-latest'), true)
  for (const other of ['openai/gpt-latest', '~openai/gpt']) t.equal(isLatestSlug(other), false, other)
})

const part = fc.constantFrom('claude', 'mini', '4', '4.5', 'v3', '10', '2025', '09', '20250929', 'preview')
const name = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('-'))

t.test('versions are ordered', async () => {
  const sign = (a: string, b: string): number => Math.sign(compareVersions(familyMember(a), familyMember(b)))
  fc.assert(
    fc.property(name, name, name, (a, b, c) => {
      if (sign(a, b) + sign(b, a) !== 0) throw new Error(`${a} and ${b}: one must be the later`)
      if (sign(a, b) > 0 && sign(b, c) > 0 && sign(a, c) <= 0) throw new Error(`${a} > ${b} > ${c}`)
    }),
    property(2000, 50_000),
  )
  fc.assert(
    fc.property(fc.nat(99), fc.nat(99), fc.nat(99), fc.nat(99), (major, minor, other, least) => {
      const higher = major - other || minor - least
      if (sign(`m-${major}.${minor}`, `m-${other}-${least}-20991231`) !== Math.sign(higher) && higher !== 0)
        throw new Error('the version decides before the date, however it is written')
    }),
    property(500, 5000),
  )
})

const modelCatalog = (models: Record<string, string>, aliases = ''): Catalog => {
  const lines = Object.entries(models).map(
    ([slug, created]) =>
      `  "${slug}": { ${created === '' ? '' : `created: "${created}", `}endpoints: [ { provider: sim, model: "echo${slug.endsWith('*') ? '*' : ''}" } ] }`,
  )
  return buildCatalog(loadConfig('f.yaml', {}, { text: `providers: { sim: { dialect: sim } }\nmodels:\n${lines.join('\n')}\n${aliases}` }))
}

t.test('~author/family-latest finds the newest by day, then by version', async (t) => {
  const catalog = modelCatalog(
    {
      'acme/brain-4': '2025-05-01',
      'acme/brain-4.5': '2025-09-01',
      'acme/brain-3-20260101': '2025-01-01',
      'acme/brain-9:free': '2026-06-01',
      'acme/brain-9-mini': '2026-06-01',
      'acme/tool-9': '',
      'acme/tool-10': '',
      'acme/tool-v2': '',
      'acme/same-1': '2025-01-01',
      'acme/same-1.0': '2025-01-01',
      'other/brain-99': '2027-01-01',
      'wild/*': '',
    },
    'aliases: { app/newest: "~acme/brain-latest", "~acme/old-latest": acme/brain-4, "~acme/tool-latest": acme/tool-v2 }',
  )
  const found = (slug: string) => {
    const hit = catalog.find(slug)
    return hit && [hit.model.slug, hit.variant, hit.strategy]
  }
  t.same(found('~acme/brain-latest'), ['acme/brain-4.5', undefined, 'latest'])
  t.same(found('~acme/brain-latest:nitro'), ['acme/brain-4.5', 'nitro', 'latest'])
  t.same(found('app/newest:floor'), ['acme/brain-4.5', 'floor', 'latest'])
  t.same(found('~acme/brain-mini-latest'), ['acme/brain-9-mini', undefined, 'latest'])
  t.same(found('~acme/same-latest'), ['acme/same-1.0', undefined, 'latest'])
  t.same(found('~acme/old-latest'), ['acme/brain-4', undefined, 'latest'], "the operator's own word")
  t.same(found('~acme/tool-latest'), ['acme/tool-v2', undefined, 'latest'], 'an alias wins over the rule')
  for (const none of ['~acme/nothing-latest', '~nobody/brain-latest', '~acme/latest', '~wild/x-latest', 'acme/brain-latest'])
    t.equal(found(none), undefined, none)
  t.same(found('acme/brain-9:free'), ['acme/brain-9:free', undefined, undefined], 'a listing of its own')
  t.same(catalog.bare('app/newest:floor:nitro'), { slug: '~acme/brain-latest', variant: 'floor:nitro' })
  t.same(catalog.bare('router/auto:nitro'), { slug: 'router/auto', variant: 'nitro' })
  t.same(catalog.bare('acme/brain-9:free'), { slug: 'acme/brain-9:free' })
})

t.test('whatever the catalogue, the slug finds a listing of the family and none is newer', async () => {
  const listing = fc.record({
    version: fc.array(fc.nat(12), { minLength: 1, maxLength: 3 }),
    created: fc.constantFrom('', '2025-01-01', '2026-01-01'),
    free: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.uniqueArray(listing, { minLength: 1, maxLength: 6, selector: ({ version, free }) => `${version}${free}` }),
      (listings) => {
        const models = Object.fromEntries(
          listings.map(({ version, created, free }) => [`acme/brain-${version.join('.')}${free ? ':free' : ''}`, created]),
        )
        const catalog = modelCatalog(models)
        const own = catalog.models.filter(({ slug }) => !slug.includes(':'))
        const newest = catalog.find('~acme/brain-latest')?.model
        if (!newest) {
          if (own.length > 0) throw new Error('nothing found')
          return
        }
        if (!own.includes(newest)) throw new Error(`${newest.slug} is a listing of its own`)
        const later = own.find(
          (model) =>
            model.created > newest.created ||
            (model.created === newest.created &&
              compareVersions(familyMember(model.slug.slice(5)), familyMember(newest.slug.slice(5))) > 0),
        )
        if (later) throw new Error(`${later.slug} is newer than ${newest.slug}`)
      },
    ),
    property(100, 2000),
  )
})
