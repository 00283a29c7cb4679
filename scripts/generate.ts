/** Writes the files that are made from source; `--check` only compares them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { configJsonSchema } from '../src/config/schema/publish.ts'
import { CLIENT_ROWS } from '../test/documents/client-rows.ts'
import { PEER_ROWS } from '../test/documents/peer-rows.ts'
import { PRICE_LIST_ROWS } from '../test/documents/price-list-rows.ts'
import { behaviourMarkdown } from './behaviour-tables.ts'
import { verbsMarkdown } from './command-line-tables.ts'
import { referenceTables } from './config-reference.ts'
import { criteriaMarkdown, criterionFieldsMarkdown } from './criteria-tables.ts'
import { lossesMarkdown, parametersMarkdown } from './dialect-matrix.ts'
import { eventsMarkdown } from './events-table.ts'
import { llmsText } from './llms-text.ts'
import { withSections } from './markdown-table.ts'
import { metricsMarkdown } from './metrics-table.ts'
import { modelServerFigures, modelServerRows } from './model-server-tables.ts'
import { pluginsMarkdown } from './plugins-table.ts'
import { providerPages, providersMarkdown } from './provider-pages.ts'
import { quirksMarkdown } from './quirks-table.ts'
import { recogniserFigures } from './recogniser-figures.ts'
import { rowCounts } from './row-code.ts'
import { sqliteSchema } from './sqlite-schema.ts'
import { tokenCounts, tokenParts } from './token-code.ts'
import { webTypes } from './web-types.ts'

/** Each file is made from what it held before: of documents, only some sections are made. */
const GENERATED: readonly [file: string, make: (found: string) => string | Promise<string>][] = [
  ['config/headgate.schema.json', () => `${JSON.stringify(configJsonSchema(), null, 2)}\n`],
  ['src/store/sqlite-schema.ts', () => sqliteSchema()],
  ['src/dialects/canon/token-counts.ts', () => tokenCounts()],
  ['src/core/row-counts.ts', () => rowCounts()],
  ['src/ledger/token-parts.ts', () => tokenParts()],
  ['web/api-types.ts', () => webTypes()],
  ['docs/routing.md', (found) => withSections(found, { 'criterion-fields': criterionFieldsMarkdown(), criteria: criteriaMarkdown() })],
  ['docs/configuration.md', (found) => withSections(found, { ...referenceTables(found), quirks: quirksMarkdown() })],
  ['docs/plugins.md', (found) => withSections(found, { shipped: pluginsMarkdown() })],
  ['docs/providers.md', (found) => withSections(found, { presets: providersMarkdown() })],
  ...providerPages().map(([file, text]): [string, () => string] => [file, () => text]),
  ['docs/recognisers.md', (found) => withSections(found, recogniserFigures())],
  ['docs/events.md', (found) => withSections(found, { 'event-types': eventsMarkdown() })],
  ['docs/operations.md', async (found) => withSections(found, { metrics: await metricsMarkdown() })],
  ['docs/behaviour/model-servers.md', (found) => withSections(found, { figures: modelServerFigures(), rows: modelServerRows() })],
  ['docs/behaviour/clients.md', (found) => withSections(found, { rows: behaviourMarkdown('Client', CLIENT_ROWS) })],
  ['docs/behaviour/peers.md', (found) => withSections(found, { rows: behaviourMarkdown('Gateway', PEER_ROWS) })],
  ['docs/behaviour/price-lists.md', (found) => withSections(found, { rows: behaviourMarkdown('List', PRICE_LIST_ROWS) })],
  ['docs/command-line.md', (found) => withSections(found, { verbs: verbsMarkdown() })],
  ['llms.txt', () => llmsText()],
  ['docs/dialects.md', (found) => withSections(found, { parameters: parametersMarkdown(), losses: lossesMarkdown() })],
]

const checking = process.argv.includes('--check')
const root = new URL('../', import.meta.url)

for (const [file, make] of GENERATED) {
  const url = new URL(file, root)
  const found = readOrEmpty(url)
  const fresh = await make(found)
  if (!checking) {
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
