/** `headgate models …`: what a configuration declares, and how that differs from what a provider lists. */
import { writeFileSync } from 'node:fs'
import { readConfig } from '../app/config-reader.ts'
import { providerListing } from '../app/provider-listing.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/problems.ts'
import { systemClock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import { MetricRegistry } from '../machines/metrics/metrics.ts'
import { buildCatalog, type Catalog } from '../routing/catalog/catalog.ts'
import { aliasEntry, modelEntry } from '../routing/catalog/entry.ts'
import type { Model, ModelKind } from '../routing/catalog/types.ts'
import { Credentials } from '../services/credentials/credentials.ts'
import { CREDENTIAL_SOURCES } from '../services/credentials/sources/index.ts'
import type { Environment } from '../services/credentials/types.ts'
import { Pools } from '../services/upstream/pools.ts'
import { CONSOLE, type Streams } from './console.ts'
import { diffText, disagreementText, modelTable, modelText } from './model-table.ts'
import { compareListing, newModelsYaml } from './models-sync.ts'
import { snapshotDisagreements } from './price-lists/compare.ts'
import { SHIPPED_CONFIG } from './shipped-config.ts'

export interface ModelFlags {
  config?: string
  json?: boolean
  /** `list`: models with an endpoint at this provider. */
  provider?: string
  /** `list`: models of this kind. */
  kind?: string
  /** `sync`: the file for a snippet with the new models; `import`: the catalogue file. */
  write?: string
  /** `import`: the price list, and which names or slugs of it. */
  from?: string
  match?: string
}

const KINDS: readonly ModelKind[] = ['generate', 'embedding', 'rerank', 'image']

/**
 * @param words behind `models`: nothing or `list`, `show SLUG`, `sync PROVIDER`, `import`.
 * @returns the exit code: 1 where something cannot be read or is not there, 2 where the words or flags make no command.
 */
export async function models(
  words: readonly string[],
  flags: ModelFlags,
  streams: Streams = CONSOLE,
  env: Environment = process.env,
): Promise<number> {
  const [verb = 'list', name, ...rest] = words
  const work = parseWork(verb, name, flags)
  if (!work || rest.length > 0) return refuse(streams, 'models: expected list, show SLUG, sync PROVIDER or import --from FILE')
  if (flags.kind !== undefined && !KINDS.some((kind) => kind === flags.kind))
    return refuse(streams, `--kind: expected one of: ${KINDS.join(', ')}, found ${flags.kind}`)
  try {
    // An import looks at prices alone, of all that the file names.
    const config = await readConfig(flags.config ?? SHIPPED_CONFIG, env, { lookOnly: verb === 'import' })
    streams.out(await work(config, env))
    return 0
  } catch (error) {
    streams.error(error instanceof ConfigError ? error.message : `headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

function refuse(streams: Streams, message: string): number {
  streams.error(`headgate: ${message}`)
  return 2
}

function listed(config: Config, { provider, kind, json }: ModelFlags): string {
  const catalog = buildCatalog(config)
  if (provider !== undefined) knownProvider(config, provider)
  const wanted = catalog.models.filter(
    (model) =>
      (kind === undefined || model.kind === kind) &&
      (provider === undefined || model.endpoints.some((endpoint) => endpoint.provider.slug === provider)),
  )
  return json ? text({ data: wanted.map(modelEntry), total_count: wanted.length }) : modelTable(wanted, leftOut(config))
}

function shown(config: Config, slug: string, { json }: ModelFlags): string {
  const catalog = buildCatalog(config)
  const found = catalog.find(slug)
  if (!found) throw new Error(`no such model: ${slug}${nearest(catalog, slug)}`)
  const { model } = found
  const disagreements = snapshotDisagreements(model)
  if (!json) return `${modelText(model, slug)}${disagreementText(disagreements)}`
  const data = model.slug === slug ? modelEntry(model) : aliasEntry(slug, model)
  return text({ data, ...(disagreements.length > 0 && { price_disagreements: disagreements as unknown as JsonObject[] }) })
}

/** Models whose names contain the requested name. */
type Work = (config: Config, env: Environment) => Promise<string> | string

function parseWork(verb: string, name: string | undefined, flags: ModelFlags): Work | undefined {
  if (verb === 'list' && name === undefined) return (config) => listed(config, flags)
  if (verb === 'show' && name !== undefined) return (config) => shown(config, name, flags)
  if (verb === 'sync' && name !== undefined) return (config, env) => synced(config, name, { ...flags, env })
  if (verb === 'import' && name === undefined && flags.from !== undefined) return importer(flags.from, flags)
  return undefined
}

function nearest({ models }: Catalog, slug: string): string {
  const part = slug.slice(slug.indexOf('/') + 1).toLowerCase()
  const near = models.map((model: Model) => model.slug).filter((one) => part !== '' && one.toLowerCase().includes(part))
  return near.length === 0 ? '' : `; expected one such as ${near.slice(0, 5).join(', ')}`
}

function importer(from: string, { provider, match, write, json = false }: ModelFlags): (config: Config) => Promise<string> {
  const options = { from, json, providers: provider?.split(','), match, write }
  return async (config) => (await import('./models-import.ts')).importModels(config, options)
}

async function synced(config: Config, name: string, { json, write, env }: ModelFlags & { env: Environment }): Promise<string> {
  const own = { ...config, providers: config.providers.filter(({ slug }) => slug === knownProvider(config, name)), models: {} }
  const silent = { error: () => {}, warn: () => {}, info: () => {} }
  const credentials = new Credentials(CREDENTIAL_SOURCES, { clock: systemClock, metrics: new MetricRegistry(), log: silent, env })
  const provider = buildCatalog(own, undefined, credentials).providers.get(name)
  if (!provider?.baseUrl) throw new Error(`${name} is inside this process: it has no list of its own`)
  const pools = new Pools({ env })
  const listing = await providerListing(provider, systemClock, pools)
    .catch((error: unknown) => {
      throw new Error(`${name} at ${provider.baseUrl} gives no list: ${error instanceof Error ? error.message : error}`)
    })
    .finally(() => {
      credentials.close()
      return pools.close()
    })
  const diff = compareListing(config, name, listing)
  const { note, yaml } = write === undefined ? { note: '', yaml: undefined } : snippet(config, write, diff)
  if (write !== undefined && yaml !== undefined) writeFileSync(write, yaml, { flag: 'wx' })
  return json ? text({ ...diff } as unknown as JsonObject) : `${diffText(diff)}${note}`
}

function snippet(config: Config, write: string, diff: ReturnType<typeof compareListing>): { note: string; yaml: string | undefined } {
  if (diff.new.length === 0) return { note: '\nNothing is new: no file is written.', yaml: undefined }
  return { note: `\nWritten: ${write}. Add the prices, and name the file under catalog.`, yaml: newModelsYaml(config, diff) }
}

function knownProvider(config: Config, name: string): string {
  if (config.skipped.includes(name)) throw new Error(`${name} is left out for want of its variable, such as its key`)
  if (config.providers.some(({ slug }) => slug === name)) return name
  throw new Error(`no such provider: ${name}; expected one of: ${config.providers.map(({ slug }) => slug).join(', ')}`)
}

function leftOut({ skipped }: Config): string {
  return skipped.length === 0 ? '' : `\nLeft out for want of their variables: ${skipped.join(', ')}.`
}

function text(body: JsonObject): string {
  return JSON.stringify(body, undefined, 2)
}
