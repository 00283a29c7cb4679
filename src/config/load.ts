/** Reads, checks and resolves a configuration file. */
import { dirname, resolve as resolvePath } from 'node:path'
import { fileText } from '../core/program-files.ts'
import { agentAliases } from './agents/index.ts'
import { buildConfig, type Config } from './config.ts'
import type { Environment } from './expand.ts'
import { DEVELOPMENT_KEY, developmentKeyRefusal } from './keys.ts'
import { ConfigError, MAX_PROBLEMS, type Path, type Problem, problemText } from './problems.ts'
import { applyProviderPresets } from './provider-presets.ts'
import type { ModelFile, ModelFiles } from './references.ts'
import { checkRules } from './rules.ts'
import { catalogSchema, configSchema, type RawConfig, type RawModels } from './schema/root.ts'
import { secretFiles } from './secret-references.ts'
import { Source } from './source.ts'
import { validate } from './validate.ts'
import { findWarnings } from './warnings.ts'

export interface LoadOptions {
  /** Text to use instead of the file's; catalogue files are then read relative to `path`. */
  text?: string | undefined
  /** `--host`, `--port` and `--admin-port`. */
  host?: string | undefined
  port?: number | undefined
  adminPort?: number | undefined
  /** True: nothing is going to be served. Entries whose `${NAME?}` is not set stay, and providers need no use yet. */
  lookOnly?: boolean | undefined
  /** A text that came with a request: these are the only catalogue files that are read, and no variable is looked up beside those it names. */
  untrusted?: { catalogs: ReadonlySet<string> } | undefined
  /** Called with the source of the file, once it has been read. */
  seen?: ((main: Source) => void) | undefined
}

/**
 * @param path of the YAML file.
 * @param env for `${NAME}`; and `HEADGATE_DEV_KEY`.
 * @throws ConfigError with all problems, at most 100 of them.
 */
export function loadConfig(path: string, env: Environment, options: LoadOptions = {}): Config {
  const text = options.text ?? readText(path)
  const main = new Source(path, text, env)
  options.seen?.(main)
  if (main.unreadable) stopAt(main.problems)
  applyProviderPresets(main, env)
  const raw = withAgentAliases(validate(configSchema, main) as unknown as RawConfig)
  if (main.isWrong([])) stopAt(main.problems)
  const engines = leaveOutEngines(raw, main)
  const files: [ModelFile, ...ModelFile[]] = [{ source: main, models: raw.models ?? {} }]
  const paths = [path]
  const texts = [{ file: path, text }]
  for (const [index, name] of (raw.catalog ?? []).entries()) {
    if (main.isWrong(['catalog', index])) continue
    const file = resolvePath(dirname(path), name)
    if (options.untrusted && !options.untrusted.catalogs.has(file)) {
      main.leaveUnchecked(['catalog', index], name)
      continue
    }
    paths.push(file)
    const catalog = readCatalog(file, env, (why) => main.report(['catalog', index], why))
    if (!catalog) continue
    files.push(catalog)
    texts.push({ file, text: catalog.text })
  }
  paths.push(...secretFiles(main.references.keys(), path))
  for (const { source } of files) source.beginRules()
  checkRules(raw, main, files, options.lookOnly)
  stopAt(files.flatMap(({ source }) => inOrder(source.problems)))
  if (!options.lookOnly) findWarnings(raw, main, files)
  const config = buildConfig({
    file: path,
    files: paths,
    texts,
    raw,
    models: merged(files),
    skippedProviders: new Set(options.lookOnly ? [] : Object.keys(raw.providers).filter((slug) => main.isSkipped(['providers', slug]))),
    skippedKeys: new Set((raw.auth?.keys ?? []).map((_, index) => index).filter((index) => main.isSkipped(['auth', 'keys', index]))),
    env: options.untrusted ? {} : env,
    overrides: { host: options.host, port: options.port, adminPort: options.adminPort },
    warnings: files.flatMap(({ source }) => inOrder(source.warnings).map(problemText)),
    leftOut: [
      ...Object.keys(raw.providers).flatMap((slug) => leftOut(main, ['providers', slug], slug)),
      ...keysLeftOut(raw, main),
      ...engines,
    ],
  })
  // Whether providers have keys is not known of a text whose values are withheld.
  const refusal = options.untrusted && main.withheld.length > 0 ? undefined : developmentKeyRefusal(config)
  if (refusal !== undefined) {
    const at = raw.auth?.keys?.findIndex((key) => key.key === DEVELOPMENT_KEY)
    main.report(at === undefined ? ['server', 'host'] : ['auth', 'keys', at, 'key'], refusal)
  }
  const { server, admin } = config
  if (server.port === admin.port && server.port !== 0 && overlap(server.host, admin.host))
    main.report(
      raw.server?.port === undefined ? ['admin', 'port'] : ['server', 'port'],
      `the gateway and the admin listener both have port ${server.port}, expected two ports`,
    )
  stopAt(main.problems)
  return config
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

const overlap = (a: string, b: string): boolean => a === b || EVERY_ADDRESS.has(a) || EVERY_ADDRESS.has(b)

const inOrder = (problems: readonly Problem[]): Problem[] => [...problems].sort((a, b) => a.line - b.line || a.column - b.column)

/** An entry with the variables for want of which it is left out: `openai (OPENAI_API_KEY)`. */
function leftOut(main: Source, at: Path, name: string): string[] {
  return main.isSkipped(at) ? [`${name} (${main.variablesMissing(at).join(', ')})`] : []
}

const keysLeftOut = ({ auth }: RawConfig, main: Source): string[] =>
  (auth?.keys ?? []).flatMap(({ name }, index) => leftOut(main, ['auth', 'keys', index], `key ${name}`))

/** An engine of a plugin whose key is not in the environment is not there; nor is its service for scans. @returns those, in words. */
function leaveOutEngines(raw: RawConfig, main: Source): string[] {
  const gone: string[] = []
  for (const [id, settings] of Object.entries((raw.plugins?.defaults ?? {}) as Record<string, { engines?: object; ocr?: object }>)) {
    const { engines } = settings
    const at = ['plugins', 'defaults', id]
    for (const name of Object.keys(engines ?? {})) {
      gone.push(...leftOut(main, [...at, 'engines', name], `engine ${name} of ${id}`))
      if (engines && main.isSkipped([...at, 'engines', name])) Reflect.deleteProperty(engines, name)
    }
    gone.push(...leftOut(main, [...at, 'ocr'], `ocr of ${id}`))
    if (main.isSkipped([...at, 'ocr'])) delete settings.ocr
  }
  gone.push(...leftOut(main, ['plugins', 'defaults', 'moderation', 'key'], 'engine of moderation'))
  leaveOutModeration(raw, main)
  return gone
}

/** Without its key the moderation cannot judge; a file that wants every request judged must not run like that. */
function leaveOutModeration({ plugins }: RawConfig, main: Source): void {
  const settings: Record<string, unknown> | undefined = plugins?.defaults?.moderation
  const at = ['plugins', 'defaults', 'moderation', 'key']
  if (!settings || !main.isSkipped(at)) return
  if (settings.enabled === true) main.report(at, 'this variable is not set, and every request is to be moderated, expected the key')
  for (const name of Object.keys(settings)) if (!POLICY.has(name)) delete settings[name]
}

/** Fields beside the settings of any plugin. */
const POLICY: ReadonlySet<string> = new Set(['enabled', 'locked', 'on_error', 'timeout'])

function stopAt(problems: readonly Problem[]): void {
  if (problems.length > 0) throw new ConfigError(problems.slice(0, MAX_PROBLEMS))
}

function readText(path: string): string {
  try {
    return fileText(path)
  } catch (error) {
    throw new ConfigError([{ file: path, line: 1, column: 1, path: '', message: unreadable(error) }])
  }
}

/** The models of a catalogue file. @throws ConfigError */
export function loadCatalogFile(path: string, env: Environment): RawModels {
  const source = new Source(path, readText(path), env)
  const data = source.unreadable ? {} : validate(catalogSchema, source)
  stopAt(source.problems)
  return (data as { models?: RawModels }).models ?? {}
}

function unreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  return `the file cannot be read (${code}), expected a YAML file`
}

function readCatalog(file: string, env: Environment, report: (why: string) => void): (ModelFile & { text: string }) | undefined {
  let text: string
  try {
    text = fileText(file)
  } catch (error) {
    report(unreadable(error))
    return undefined
  }
  const source = new Source(file, text, env)
  const data = source.unreadable ? { models: {} } : validate(catalogSchema, source)
  return { source, models: (data as unknown as { models?: RawModels }).models ?? {}, text }
}

/** The file's own models win over the catalogue's. */
function merged(files: ModelFiles): RawModels {
  const all: RawModels = {}
  for (const { models } of [...files.slice(1), files[0]]) Object.assign(all, models)
  return all
}

/** Aliases of the file win over those that the setting `agents` stands for. */
function withAgentAliases(raw: RawConfig): RawConfig {
  if (raw.agents === undefined) return raw
  const made = Object.fromEntries(agentAliases(raw.agents).map(({ alias, target }) => [alias, target]))
  return { ...raw, aliases: { ...made, ...raw.aliases } }
}
