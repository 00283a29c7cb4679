/** Writes the files that are made from source; `--check` only compares them. */

import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { configJsonSchema } from '../src/config/schema/publish.ts'
import { CLIENT_ROWS } from '../test/documents/client-rows.ts'
import { PEER_ROWS } from '../test/documents/peer-rows.ts'
import { PRICE_LIST_ROWS } from '../test/documents/price-list-rows.ts'
import { PROVIDER_ROWS } from '../test/documents/provider-rows.ts'
import { additionsMarkdown } from './add-one/frame/outcome.ts'
import { auditMarkdown } from './audit-table.ts'
import { behaviourMarkdown, differencesInShort } from './behaviour-tables.ts'
import { verbsMarkdown } from './command-line-tables.ts'
import { functionsMarkdown, variablesMarkdown } from './conditions-table.ts'
import { referenceTables } from './config-reference.ts'
import { criteriaMarkdown, criterionFieldsMarkdown } from './criteria-tables.ts'
import { CLIENTS, lossesMarkdown, parametersMarkdown } from './dialect-matrix.ts'
import { environmentTables } from './environment-table.ts'
import { eventsMarkdown } from './events-table.ts'
import { exampleFiles, exampleList } from './example-folders.ts'
import { fileNamesMarkdown } from './file-names.ts'
import { limitsTables } from './limits-table.ts'
import { llmsText } from './llms-text.ts'
import { withSections } from './markdown-table.ts'
import { metricsMarkdown } from './metrics-table.ts'
import { comparedMarkdown, importsMarkdown } from './migration-versions.ts'
import { modelServerFigures, modelServerRows } from './model-server-tables.ts'
import { pluginsMarkdown } from './plugins-table.ts'
import { providerPages, providersMarkdown, withPresetCount } from './provider-pages.ts'
import { quirksMarkdown } from './quirks-table.ts'
import { recogniserFigures } from './recogniser-figures.ts'
import { gatewayOperationsMarkdown, roleOperationsMarkdown, rolesMarkdown, scopesMarkdown } from './roles-table.ts'
import { rowCounts } from './row-code.ts'
import { sizingTables } from './sizing-table.ts'
import { sqliteSchema } from './sqlite-schema.ts'
import { tokenCounts, tokenParts } from './token-code.ts'
import { webTypes } from './web-types.ts'

const root = new URL('../', import.meta.url)
/** The reference of settings: its index, and a page for each group of sections. */
const CONFIGURATION = ['docs/configuration.md', ...globSync('docs/configuration/*.md', { cwd: root }).sort()]
const SETTINGS = {
  ...referenceTables(CONFIGURATION.map((file) => readFileSync(new URL(file, root), 'utf8')).join('\n')),
  quirks: quirksMarkdown(),
}

/** The tables of one page of the reference. @throws Error where a table stands in no page. */
function settingsIn(file: string, found: string): Record<string, string> {
  const stands = (text: string, name: string): boolean => text.includes(`<!-- generated: ${name} -->`)
  const mine = Object.entries(SETTINGS).filter(([name]) => stands(found, name))
  const homeless = Object.keys(SETTINGS).filter(
    (name) => !CONFIGURATION.some((page) => stands(readFileSync(new URL(page, root), 'utf8'), name)),
  )
  if (homeless.length > 0) throw new Error(`no page of docs/configuration has the section ${homeless.join(', ')}`)
  // Texts of settings link from docs/.
  const below = (text: string): string => (file.startsWith('docs/configuration/') ? text.replace(/\]\((?=[\w-]+\.md)/g, '](../') : text)
  return Object.fromEntries(mine.map(([name, text]) => [name, below(text)]))
}

/** Each file is made from what it held before: of documents, only some sections are made. */
const GENERATED: readonly [file: string, make: (found: string) => string | Promise<string>][] = [
  ['config/headgate.schema.json', () => `${JSON.stringify(configJsonSchema(), null, 2)}\n`],
  ['src/store/sqlite-schema.ts', () => sqliteSchema()],
  ['src/dialects/canon/token-counts.ts', () => tokenCounts()],
  ['src/core/row-counts.ts', () => rowCounts()],
  ['src/ledger/token-parts.ts', () => tokenParts()],
  ['web/api-types.ts', () => webTypes()],
  ['docs/routing.md', (found) => withSections(found, { 'criterion-fields': criterionFieldsMarkdown(), criteria: criteriaMarkdown() })],
  ...CONFIGURATION.map((file): [string, (found: string) => string] => [file, (found) => withSections(found, settingsIn(file, found))]),
  ['docs/conditions.md', (found) => withSections(found, { variables: variablesMarkdown(), functions: functionsMarkdown() })],
  ['docs/plugins.md', (found) => withSections(found, { shipped: pluginsMarkdown() })],
  ['docs/providers.md', (found) => withSections(found, { presets: providersMarkdown() })],
  ...providerPages().map(([file, text]): [string, () => string] => [file, () => text]),
  ['docs/recognisers.md', (found) => withSections(found, recogniserFigures())],
  [
    'docs/keys.md',
    (found) =>
      withSections(found, {
        roles: rolesMarkdown(),
        'role-operations': roleOperationsMarkdown(),
        scopes: scopesMarkdown(),
        'gateway-operations': gatewayOperationsMarkdown(),
      }),
  ],
  ['docs/audit.md', (found) => withSections(found, { 'audit-actions': auditMarkdown() })],
  ['docs/events.md', (found) => withSections(found, { 'event-types': eventsMarkdown() })],
  ['docs/operations.md', async (found) => withSections(found, { metrics: await metricsMarkdown() })],
  ['docs/behaviour/model-servers.md', (found) => withSections(found, { figures: modelServerFigures(), rows: modelServerRows() })],
  ['docs/behaviour/clients.md', (found) => withSections(found, { rows: behaviourMarkdown('Client', CLIENT_ROWS) })],
  ['docs/behaviour/peers.md', (found) => withSections(found, { rows: behaviourMarkdown('Gateway', PEER_ROWS) })],
  ['docs/behaviour/providers.md', (found) => withSections(found, { rows: behaviourMarkdown('Preset', PROVIDER_ROWS) })],
  ['docs/behaviour/price-lists.md', (found) => withSections(found, { rows: behaviourMarkdown('List', PRICE_LIST_ROWS) })],
  ...exampleFiles().map(([file, text]): [string, () => string] => [file, () => text]),
  ['examples/README.md', (found) => withSections(found, { folders: exampleList() })],
  ['docs/environment.md', (found) => withSections(found, environmentTables())],
  ['docs/limits.md', (found) => withSections(found, limitsTables())],
  ['docs/sizing.md', (found) => withSections(found, sizingTables())],
  ['README.md', (found) => withPresetCount(withSections(found, { differences: differencesInShort(PEER_ROWS) }))],
  ['docs/README.md', withPresetCount],
  ['docs/command-line.md', (found) => withSections(found, { verbs: verbsMarkdown() })],
  ['CONTRIBUTING.md', async (found) => withSections(found, { additions: await additionsMarkdown(), files: fileNamesMarkdown() })],
  ...['litellm', 'openrouter', 'portkey'].map((name): [string, (found: string) => string] => [
    `docs/migration/${name}.md`,
    (found) => withSections(found, { compared: comparedMarkdown(name) }),
  ]),
  ['docs/migration/README.md', (found) => withSections(found, { compared: importsMarkdown() })],
  ['llms.txt', () => llmsText()],
  ['docs/dialects/parameters.md', (found) => withSections(found, { parameters: parametersMarkdown() })],
  ...CLIENTS.map((client): [string, (found: string) => string] => [
    `docs/dialects/losses-${client}.md`,
    (found) => withSections(found, { [`losses-${client}`]: lossesMarkdown(client) }),
  ]),
]

const checking = process.argv.includes('--check')

for (const [file, make] of GENERATED) {
  const url = new URL(file, root)
  const found = readOrEmpty(url)
  const fresh = await make(found)
  if (!checking) {
    mkdirSync(new URL('.', url), { recursive: true })
    writeFileSync(url, fresh)
    process.stdout.write(`${file}: written\n`)
    continue
  }
  if (found === fresh) continue
  process.stderr.write(`${file}:${firstDifference(found, fresh)}: out of date, run \`node scripts/generate.ts\`\n`)
  process.exitCode = 1
}

function readOrEmpty(url: URL): string {
  try {
    return readFileSync(url, 'utf8')
  } catch {
    return ''
  }
}

/** Line of the first difference, from 1. */
function firstDifference(found: string, fresh: string): number {
  const [old, now] = [found.split('\n'), fresh.split('\n')]
  const at = now.findIndex((line, index) => line !== old[index])
  return (at < 0 ? now.length : at) + 1
}
