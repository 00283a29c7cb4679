/** The list of routing criteria: each is whole, and a new one costs a file and its line in the list. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { preferences } from '../../src/config/schema/preferences.ts'
import { providerPreferences } from '../../src/dialects/canon/gateway-schema.ts'
import { type AnyCriterion, CRITERIA, CRITERION_FIELDS, type Field } from '../../src/routing/criteria/index.ts'
import { ROOT, read } from '../repository/source-tree.ts'
import { every } from '../support/every.ts'

const ALL: readonly AnyCriterion[] = CRITERIA

t.test('each criterion removes endpoints, explains why, and has its line in the documents', async (t) => {
  const routing = read('docs/routing.md')
  const operations = read('docs/operations.md')
  t.equal(new Set(ALL.map(({ name }) => name)).size, ALL.length, 'names are unique')
  await every(t, 'every criterion', (t) => {
    for (const { name, test, explain, inferior, removes, refusal } of ALL) {
      t.ok(test ? explain : inferior, `${name}: a test and its explanation, or a comparison`)
      t.match(removes, /^(that|whose|of) /, `${name}: "removes an endpoint …"`)
      t.ok(routing.includes(`\n| \`${name}\` | ${removes} |\n`), `${name}: its line in docs/routing.md`)
      for (const word of [refusal.code, refusal.excludedBy ?? refusal.code]) t.ok(operations.includes(`\`${word}\``), `${name}: ${word}`)
    }
  })
})

t.test('each field has its text in the schemas and in the documents', async (t) => {
  const routing = read('docs/routing.md')
  const wire = providerPreferences.properties as Record<string, { description?: string }>
  const settings = preferences.properties as Record<string, { description?: string }>
  const fields = ALL.flatMap((criterion) => Object.entries<Field>(criterion.fields))
  t.same(
    fields.map(([name]) => name),
    Object.keys(CRITERION_FIELDS),
    'a field belongs to one criterion',
  )
  await every(t, 'every field', (t) => {
    for (const [name, { text }] of fields) {
      t.match(text, /\w.*\.$/, `${name}: a sentence`)
      t.equal(wire[name]?.description, text, `${name}: the schema of requests`)
      t.equal(settings[name]?.description, text, `${name}: the schema of the configuration`)
      t.ok(routing.includes(`\n| \`${name}\` | `), `${name}: docs/routing.md`)
    }
  })
})

/** A criterion as an author of one would write it. */
const NEW_CRITERION = `
import { criterion } from './criterion.ts'

export const local = criterion({
  name: 'local',
  fields: { require_local: { kind: 'flag', strict: true, text: 'True: only models that are declared local.' } },
  modelFlag: { name: 'local', text: 'True: it runs in the house.' },
  modelQuery: { name: 'local', text: 'Whether it runs in the house.', matches: ({ flags }, wanted) => flags.has('local') === wanted },
  refusal: { code: 'privacy_restricted', excludedBy: 'location' },
  removes: 'whose model does not run in the house',
  demand: ({ require_local: required }) => required || undefined,
  test: ({ model }) => model.flags.has('local'),
  explain: () => 'its model runs elsewhere',
})
`

/** Program's reading, as JSON. */
const PROBE = `
import { criteriaMarkdown, criterionFieldsMarkdown } from './scripts/criteria-tables.ts'
import { modelTest } from './src/api/model-filters.ts'
import { referenceDocument } from './src/app/reference.ts'
import { loadConfig } from './src/config/load.ts'
import { chatRequest } from './src/dialects/chat/schema.ts'
import { buildCatalog } from './src/routing/catalog/catalog.ts'
import { bindingPart, filterEndpoints, mergePreferences, noEndpointFault } from './src/routing/index.ts'

const text = \`
providers: { near: { dialect: openai-chat, base_url: "http://near.test/v1", key: k } }
provider: { require_local: true }
models:
  acme/here: { local: true, endpoints: [ { provider: near, model: here, price: free } ] }
  acme/there: { endpoints: [ { provider: near, model: there, price: free } ] }
\`
const config = loadConfig('file.yaml', {}, { text })
const { models } = buildCatalog(config)
const provider = mergePreferences([
  { from: 'request', preferences: { require_local: false } },
  { from: 'account', preferences: config.provider },
])
const { kept, removed } = filterEndpoints(models.flatMap(({ endpoints }) => endpoints), { provider })
const document = referenceDocument({ brand: 'x', models })
console.log(JSON.stringify({
  request: chatRequest.properties.provider.anyOf[0].properties.require_local,
  kept: kept.map(({ model }) => model.slug),
  binding: bindingPart(provider),
  fault: noEndpointFault(['acme/there'], removed).availability,
  listed: models.filter(modelTest(new URLSearchParams('local=true'), 0)).map(({ slug }) => slug),
  described: document.components.schemas.ProviderPreferences.properties.require_local.description,
  query: document.paths['/models'].get.parameters.find(({ name }) => name === 'local').description,
  documents: [criterionFieldsMarkdown(), criteriaMarkdown()].join('\\n'),
}))
`

t.test('a new criterion is a file and its line in the list', async (t) => {
  const copy = mkdtempSync(join(tmpdir(), 'headgate-criterion-'))
  t.teardown(() => rmSync(copy, { recursive: true, force: true }))
  for (const path of ['src', 'plugins', 'package.json', 'scripts/criteria-tables.ts'])
    cpSync(join(ROOT, path), join(copy, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const folder = join(copy, 'src/routing/criteria')
  writeFileSync(join(folder, 'local.ts'), NEW_CRITERION)
  const list = readFileSync(join(folder, 'index.ts'), 'utf8')
  const longer = list.replace('  zdr,\n', '  zdr,\n  local,\n')
  t.not(longer, list)
  writeFileSync(join(folder, 'index.ts'), `import { local } from './local.ts'\n${longer}`)
  writeFileSync(join(copy, 'probe.ts'), PROBE)
  const seen = JSON.parse(execFileSync(process.execPath, ['probe.ts'], { cwd: copy, encoding: 'utf8' })) as { documents: string }
  const { documents, ...rest } = seen
  t.match(rest, {
    request: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
    kept: ['acme/here'],
    binding: { require_local: true },
    fault: { code: 'privacy_restricted', excluded_by: ['location'] },
    listed: ['acme/here'],
    described: 'True: only models that are declared local.',
    query: 'Whether it runs in the house.',
  })
  t.match(documents, '| `require_local` | true, false | True: only models that are declared local. | `true` wins |')
  t.match(documents, '| `local` | whose model does not run in the house |')
})
