/** `headgate docs`: the reference of `/docs` as static files, for a web server or a browser without a gateway. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../app/config-reader.ts'
import { referenceDocument } from '../app/reference.ts'
import { ConfigError } from '../config/problems.ts'
import { buildCatalog } from '../routing/catalog/catalog.ts'
import { docsPages, FILE_ADDRESSES } from '../server/docs/pages.ts'
import { ASSET_NAMES, readAsset } from '../server/docs-routes.ts'
import { CONSOLE, type Streams } from './console.ts'
import { SHIPPED_CONFIG } from './shipped-config.ts'

/**
 * Writes `index.html`, a page for each group of operations, their style and script, and `openapi.json`.
 * @param out the folder, made where it is missing. @param file a configuration, whose brand and models the pages show.
 * @returns the exit code: 1 where the configuration cannot be read or a file cannot be written.
 */
export async function docs(
  out: string,
  file = SHIPPED_CONFIG,
  streams: Streams = CONSOLE,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<number> {
  try {
    const config = await readConfig(file, env)
    const document = referenceDocument({ brand: config.brand.word, models: buildCatalog(config).models })
    const files = new Map([[FILE_ADDRESSES.document, `${JSON.stringify(document, null, 2)}\n`]])
    for (const [slug, html] of docsPages(document, FILE_ADDRESSES)) files.set(FILE_ADDRESSES.page(slug), html())
    for (const name of ASSET_NAMES) files.set(FILE_ADDRESSES.asset(name), readAsset(name))
    mkdirSync(out, { recursive: true })
    for (const [name, text] of files) writeFileSync(join(out, name), text)
    streams.out(`${out}: ${files.size} files, begin with index.html`)
    return 0
  } catch (error) {
    streams.error(error instanceof ConfigError ? error.message : `headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}
