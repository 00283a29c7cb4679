/** The rule "imports point down", as a table, and the small scanner that reads a file's imports. */
import { dirname, join, relative } from 'node:path/posix'

export interface Import {
  specifier: string
  typeOnly: boolean
  line: number
}

/** Blanks comments, keeping every line where it was; strings stay, since they hold the specifiers. */
export function withoutComments(source: string): string {
  const token = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`/g
  return source.replace(token, (text) => (text.startsWith('/*') || text.startsWith('//') ? text.replace(/[^\n]/g, ' ') : text))
}

const STATEMENT = /^[ \t]*(import|export)\b(?!\s*\()([^'"`;]*?)(?:\bfrom\s*)?(['"])([^'"\n]+)\3/gm
const DYNAMIC = /(\btypeof\s+|[:<|&(,=]\s*)?\bimport\s*\(\s*(['"])([^'"\n]+)\2\s*\)/g

/** Every static, re-exporting and dynamic import of a TypeScript source. */
export function listImports(source: string): Import[] {
  const code = withoutComments(source)
  const lineAt = (index: number): number => code.slice(0, index).split('\n').length
  const found: Import[] = []
  for (const match of code.matchAll(STATEMENT)) {
    const [, word, clause = '', , specifier] = match
    if (specifier === undefined) continue
    if (word === 'export' && !/\bfrom\s*$/.test(match[0].slice(0, match[0].lastIndexOf(specifier) - 1))) continue
    found.push({ specifier, typeOnly: /^\s*type\b(?=\s*[\w{*$])/.test(clause), line: lineAt(match.index) })
  }
  for (const match of code.matchAll(DYNAMIC)) {
    const [, type, , specifier] = match
    if (specifier === undefined) continue
    const typeOnly = type?.startsWith('typeof') === true
    found.push({ specifier, typeOnly, line: lineAt(match.index) })
  }
  return found
}

/** The layers that a layer may load at run time, besides itself. */
export const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  core: [],
  // Hand-made parts behind a wall: of the values they take the clock, faults and shapes of JSON alone (`GROUND`), of the rest the connections.
  machines: ['core', 'connections'],
  // The fields of the criteria are part of the schemas of requests and of the configuration.
  criteria: ['core'],
  canon: ['core', 'criteria'],
  sse: ['core', 'canon', 'machines'],
  // What providers' errors mean, for all wires.
  faults: ['core'],
  // Conditions are compiled where the configuration is checked, and evaluated on the way of a request.
  conditions: ['core', 'machines'],
  // The fields of guardrails are part of the schemas of the configuration and of the API.
  settings: ['core', 'criteria', 'fields'],
  // Building blocks of settings; the schema of a plugin's settings, in the plugin's folder, is made of them.
  fields: ['core'],
  'plugins/settings': ['fields'],
  // Of the dialects the configuration knows the tables of quirks alone, and of the plugins their settings: it never loads their code.
  config: [
    'conditions',
    'core',
    'criteria',
    'credentials',
    'credentials/sources',
    'dialects/quirks',
    'fields',
    'plugins/list',
    'settings',
    'telemetry',
    'machines',
  ],
  'dialects/types': ['canon', 'core'],
  'dialects/*': ['canon', 'core', 'faults', 'sse', 'dialects/types', 'machines'],
  'dialects/quirks': ['dialects/*', 'canon', 'core'],
  'dialects/registry': ['dialects/*', 'dialects/types', 'core', 'canon'],
  catalog: ['core', 'canon', 'credentials', 'criteria'],
  routing: ['core', 'canon', 'criteria'],
  ledger: ['core', 'canon'],
  // Its reads are gathered page by page, as the ledger adds them up.
  store: ['core', 'canon', 'ledger'],
  shared: ['core', 'canon', 'machines'],
  cluster: ['core', 'ledger', 'store', 'shared', 'machines'],
  guardrails: ['core', 'canon', 'fields', 'outbound', 'settings', 'machines'],
  // Connections of ours, and the proxies in front of them.
  connections: ['core'],
  outbound: ['core', 'canon', 'connections'],
  threads: ['core', 'canon'],
  documents: ['core', 'threads'],
  pages: ['core', 'documents', 'outbound', 'search', 'threads'],
  search: ['core', 'outbound'],
  files: ['core'],
  compaction: ['core'],
  byok: ['core'],
  // Events are rows of the store: nothing else has them.
  events: ['core', 'ledger', 'outbound', 'store', 'machines'],
  panel: ['core'],
  sandbox: ['core'],
  // Managers of secrets in the clouds are called with the credentials that providers there are called with.
  secrets: ['core', 'credentials', 'outbound'],
  mcp: ['core', 'outbound'],
  upstream: ['core', 'connections', 'machines'],
  telemetry: ['core', 'connections', 'machines'],
  credentials: ['core', 'connections', 'machines'],
  // Identity services of callers are called as those of providers are.
  issuers: ['core', 'connections', 'credentials'],
  // A sink is an export whose rows are entries of the audit log.
  'audit-sinks': ['core', 'exports', 'machines', 'store'],
  exports: ['core', 'connections', 'credentials', 'ledger', 'machines'],
  // The configuration reads their settings; libraries are imported where a source is opened.
  'credentials/sources': ['core', 'credentials', 'fields'],
  'plugin-api': ['canon', 'core', 'documents', 'guardrails', 'mcp', 'outbound', 'pages', 'panel', 'sandbox', 'search', 'machines'],
  tools: ['plugin-api'],
  'plugins/*': ['plugin-api'],
  // Adapters, tools, plugins and stores are handed to the pipeline; it never loads one by name.
  pipeline: [
    'conditions',
    'core',
    'canon',
    'dialects/types',
    'catalog',
    'routing',
    'ledger',
    'machines',
    'shared',
    'guardrails',
    'outbound',
    'telemetry',
    'threads',
    'upstream',
    'plugin-api',
  ],
  api: ['catalog', 'criteria', 'events', 'routing', 'ledger', 'settings', 'store', 'core', 'machines'],
  server: ['pipeline', 'api', 'events', 'telemetry', 'core', 'machines'],
}

/** Modules of `src/core` that a machine may import. */
const GROUND = new Set(['clock', 'entry-at', 'faults', 'json'].map((name) => `src/core/${name}.ts`))

/** Roots of the program: they load whatever they compose. */
const ROOTS = new Set(['app', 'cli'])
/** Not even a type may be taken from these by what lies below them. */
const NO_TYPES_FROM = new Set(['pipeline', 'server', 'app', 'cli'])
/** Folders of a room of `src` that are layers of their own, named without the room. */
const OWN_LAYERS: Readonly<Record<string, readonly string[]>> = {
  dialects: ['canon', 'faults', 'sse'],
  routing: ['catalog', 'criteria'],
  cluster: ['shared'],
  config: ['conditions', 'fields'],
  guardrails: ['settings'],
}

/** A file's layer, such as `core`, `dialects/chat` or `plugins/web`; undefined outside src and plugins. */
export function pathLayer(path: string): string | undefined {
  const [root, first, second] = path.split('/')
  if (root === 'plugins') return second === undefined ? 'plugins/list' : second === 'settings.ts' ? 'plugins/settings' : `plugins/${first}`
  if (root !== 'src') return undefined
  if (first === undefined || second === undefined) return first
  if (path.startsWith('src/services/credentials/sources/')) return 'credentials/sources'
  if (first === 'services' || OWN_LAYERS[first]?.includes(second)) return second
  return first === 'dialects' ? `dialects/${second.replace(/\.ts$/, '')}` : first
}

function layerRow(layer: string): string {
  if (['dialects/types', 'dialects/quirks', 'dialects/registry', 'plugins/list', 'plugins/settings'].includes(layer)) return layer
  if (layer.startsWith('dialects/')) return 'dialects/*'
  return layer.startsWith('plugins/') ? 'plugins/*' : layer
}

/** Why `from` may not import `to`; undefined where it may. Both are paths from the repository's root. */
export function objection(from: string, to: string, typeOnly: boolean): string | undefined {
  const upper = pathLayer(from)
  const lower = pathLayer(to)
  if (upper === undefined || upper === lower) return undefined
  if (lower === undefined) return `${from} imports ${to}, which is no part of the program`
  if (ROOTS.has(upper) || upper === 'plugins/list') return undefined
  if (upper === 'machines' && lower === 'core' && !GROUND.has(to))
    return `${from} imports ${to}: of core a machine knows ${[...GROUND].join(', ')}`
  const allowed = ALLOWED[layerRow(upper)]
  if (allowed === undefined) return `${from}: the folder ${upper} has no row in the import rules`
  if (allowed.includes(layerRow(lower)) && !(upper.startsWith('plugins/') && lower.startsWith('plugins/'))) return undefined
  if (typeOnly && !NO_TYPES_FROM.has(lower)) return undefined
  return `${from} imports ${typeOnly ? 'a type of ' : ''}${to}: ${upper} may load ${allowed.join(', ') || 'nothing of ours'}`
}

/** All broken rules of one file. */
export function importViolations(path: string, source: string): string[] {
  const broken: string[] = []
  for (const { specifier, typeOnly, line } of listImports(source)) {
    if (!specifier.startsWith('.')) continue
    const target = relative('.', join(dirname(path), specifier))
    const why = objection(path, target, typeOnly)
    if (why) broken.push(`line ${line}: ${why}`)
  }
  return broken
}
