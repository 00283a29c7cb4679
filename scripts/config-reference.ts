/** The tables of docs/configuration/, from the schema of the file. */

import { shippedPlugins } from '../plugins/registry.ts'
import type { ScalarKind } from '../src/config/fields/scalars.ts'
import { configSchema } from '../src/config/schema/root.ts'
import type { Rule } from '../src/config/validate.ts'
import type { Json } from '../src/core/json.ts'
import { code } from './dialect-matrix.ts'

/** One setting of the file. */
export interface Entry {
  /** Such as `providers.timeouts.connect`: names that the operator chooses, and places in a list, are left out. */
  readonly path: string
  /** Below its table, such as `engines.<name>.key`. */
  readonly shown: string
  readonly rule: Rule
  readonly required: boolean
}

const PLUGIN = 'plugins.defaults.'

/** Tables by the path of what they describe; a longer path takes its entries from a shorter one. */
const TABLES = [
  'server',
  'admin',
  'brand',
  'errors',
  'store',
  'shared',
  'auth.keys',
  'auth.issuers',
  'auth.issuers.rules',
  'auth.certificates',
  'auth.certificates.rules',
  'auth.sign_in',
  'telemetry',
  'exports',
  'audit',
  'events',
  'secrets',
  'compaction',
  'byok',
  'providers',
  'models',
  'models.endpoints',
  'models.endpoints.price',
  'models.endpoints.price.overrides',
  'provider',
  'limits',
  'plugins',
  'plugins.defaults',
  ...Object.keys(shippedPlugins).map((id) => `${PLUGIN}${id}`),
  'guardrails',
  'policies',
  'prompts',
  'presets',
]

/** Entries whose fields stand in another table. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'auth.keys.provider',
  'auth.keys.limits',
  'auth.issuers.rules.provider',
  'auth.issuers.rules.limits',
  'auth.certificates.rules.provider',
  'auth.certificates.rules.limits',
  'presets.provider',
  'policies.route.provider',
  'providers.quirks',
  'models.endpoints.quirks',
])
/** Settings of every plugin stand in one table. */
const OF_ANY_PLUGIN: ReadonlySet<string> = new Set(['locked', 'on_error', 'timeout'])

/** Every setting below the top level, in the order of the schema. */
export function ruleEntries(rule: Rule = configSchema as unknown as Rule, path = '', shown = ''): Entry[] {
  const inner = rule.anyOf?.find((branch) => branch.type === 'object') ?? rule
  const entries: Entry[] = []
  for (const [name, field] of Object.entries(inner.properties ?? {})) {
    const at = path === '' ? name : `${path}.${name}`
    if (OF_ANY_PLUGIN.has(name) && /^plugins\.defaults\../.test(path)) continue
    const required = inner.required?.includes(name) === true
    const below = shown === '' ? name : `${shown}.${name}`
    entries.push({ path: at, shown: below, rule: field, required })
    if (!ELSEWHERE.has(at)) entries.push(...ruleEntries(field, at, TABLES.some((each) => each === at) ? '' : below))
  }
  if (inner.items) entries.push(...ruleEntries(inner.items, path, shown === '' ? '' : `${shown}[]`))
  const [values] = Object.values(inner.patternProperties ?? {})
  if (values) entries.push(...ruleEntries(values, path, shown === '' ? '' : `${shown}.<name>`))
  return entries
}

/** Path of the table in which an entry stands; empty for the sections of the file. */
export function entryTable({ path }: Entry): string {
  const above = TABLES.filter((each) => path.startsWith(`${each}.`))
  return above.reduce((longest: string, each) => (each.length > longest.length ? each : longest), '')
}

/** Columns are not padded: the longest text would make every line as long. */
const HEAD = [
  ['Setting', 'Value', 'Default', 'Meaning'],
  ['---', '---', '---', '---'],
]

/**
 * The tables by the names of their markers. Plugins without a marker of their own are described together under
 * `plugins.defaults.<other>`, so that a new plugin needs no text in the document.
 */
export function referenceTables(document: string): Record<string, string> {
  const entries = ruleEntries()
  const table = (of: string): string => {
    const rows = entries.filter((entry) => entryTable(entry) === of).map(entryRow)
    return [...HEAD, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  }
  const isOther = (of: string): boolean => of.startsWith(PLUGIN) && !document.includes(`<!-- generated: ${of} -->`)
  const others = TABLES.filter(isOther).map((of) => {
    const about = entries.find(({ path }) => path === of)?.rule.description ?? ''
    return `### \`${of}\`\n\n${cell(about)}\n\n${table(of)}`
  })
  return {
    sections: table(''),
    ...Object.fromEntries(TABLES.filter((of) => !isOther(of)).map((of) => [of, table(of)])),
    [`${PLUGIN}<other>`]: others.join('\n\n'),
  }
}

function entryRow({ shown, rule, required }: Entry): string[] {
  const text = `${rule.description ?? ''}${rule.atStart ? ' Needs a restart.' : ''}`
  return [code(shown), ruleForm(rule), required ? 'required' : defaultText(rule.default), cell(text)]
}

/** A default as the file would have it; empty for what is absent, and for a section whose settings have defaults of their own. */
export function defaultText(value: Json | undefined): string {
  if (value === undefined || (typeof value === 'object' && !Array.isArray(value) && Object.keys(value ?? {}).length === 0)) return ''
  return code(typeof value === 'string' ? (/^\d+(\.\d+)?$/.test(value) ? `"${value}"` : value) : JSON.stringify(value))
}

const FORMS: Readonly<Partial<Record<ScalarKind, string>>> = {
  duration: 'duration',
  span: 'duration',
  size: 'size',
  memory: 'size',
  url: 'URL',
  regex: 'pattern',
  usd: 'money',
  'usd-per-million': 'price',
  'usd-per-unit': 'price',
  timestamp: 'time',
  network: 'network',
  callback: 'URL',
}

function ruleForm(rule: Rule): string {
  if (rule.anyOf) return rule.anyOf.map(ruleForm).join(' or ')
  if (rule.enum) return rule.enum.map(code).join(', ')
  if (rule.const !== undefined) return code(rule.const)
  if (rule.type === 'array') return rule.items?.enum || rule.items?.scalar ? `list of ${ruleForm(rule.items)}` : 'list'
  if (rule.type === 'object') return 'mapping'
  if (rule.type === 'boolean') return 'true or false'
  if (rule.type === 'integer' || rule.type === 'number') return ruleRange(rule)
  return (rule.scalar && FORMS[rule.scalar]) ?? 'text'
}

/** Bounds that exist only to keep a number exact say nothing to a reader. */
const LARGE = 1_000_000_000

function ruleRange({ minimum, maximum, type }: Rule): string {
  const kind = type === 'integer' ? 'whole number' : 'number'
  if (minimum === undefined || minimum < -LARGE) return kind
  return maximum === undefined || maximum >= LARGE ? `${kind} from ${minimum}` : `${kind}, ${minimum} to ${maximum}`
}

/** A vertical bar ends a cell, and a star outside of code begins emphasis. */
function cell(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll('*', '\\*').replaceAll('<', '&lt;')))
    .join('')
    .replaceAll('|', '\\|')
}
