/** Guardrails and findings as text for a terminal. */
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { plural } from './console.ts'
import { table } from './plan-table.ts'

const HEAD = ['name', 'id', 'from', 'holds for', 'direction', 'does']

export function guardrailTable(entries: readonly JsonObject[]): string {
  if (entries.length === 0) return 'There are no guardrails.'
  return table(
    HEAD,
    entries.map((entry) => [
      plain(entry.name),
      entry.source === 'store' ? plain(entry.id) : '',
      plain(entry.source),
      holdersOf(entry),
      plain(entry.direction ?? 'input'),
      duties(entry).join(', ') || 'nothing',
    ]),
  )
}

export function guardrailReport(entry: JsonObject): string {
  const rows = Object.entries(entry).filter(([name, value]) => name !== 'keys' && value !== null)
  const lines = [...rows.map(([name, value]) => [name, isObject(value) || Array.isArray(value) ? JSON.stringify(value) : plain(value)])]
  return table(['field', 'value'], [...lines, ['holds for', holdersOf(entry)]])
}

const FINDINGS = ['time', 'guardrail', 'direction', 'action', 'found', 'count', 'key', 'generation', 'hash']

export function findingTable(rows: readonly JsonObject[]): string {
  return table(
    FINDINGS,
    rows.map((row) => [
      plain(row.at).slice(0, 19).replace('T', ' '),
      plain(row.guardrail),
      plain(row.direction),
      plain(row.action),
      list(row.entities).join(' '),
      plain(row.count),
      plain(row.key_name ?? String(row.key).slice(0, 12)),
      plain(row.generation),
      (list(row.hashes)[0] ?? '').slice(0, 12),
    ]),
  )
}

/** A guardrail of the account holds for every key; others for the keys that they name. */
function holdersOf({ scope, keys }: JsonObject): string {
  if (scope === 'account') return 'every request'
  const names = (Array.isArray(keys) ? keys : []).filter(isObject).map((key) => plain(key.key_name))
  return names.length > 0 ? names.join(' ') : 'no key'
}

const LISTS = ['allowed_models', 'ignored_models', 'allowed_providers', 'ignored_providers', 'max_price'] as const
const FLAGS = ['enforce_zdr_anthropic', 'enforce_zdr_openai', 'enforce_zdr_google', 'enforce_zdr_xai', 'enforce_zdr_other'] as const
const POLICIES = ['enable_free_model_publication', 'enable_free_model_training', 'enable_paid_model_training'] as const

function duties(entry: JsonObject): string[] {
  const { content_filters: filters, content_filter_builtins: builtins, phrases, engine, limit_usd: limit } = entry
  const done = (entries: Json | undefined) => (Array.isArray(entries) ? entries : []).filter(isObject)
  return [
    ...done(builtins).map(({ slug, action }) => `${action} ${slug}`),
    ...(done(filters).length > 0 ? [plural(done(filters).length, 'pattern')] : []),
    ...(Array.isArray(phrases) && phrases.length > 0 ? [plural(phrases.length, 'phrase')] : []),
    ...(isObject(engine) ? [plain(engine.type)] : []),
    ...(typeof limit === 'number' ? [`$${limit} ${entry.reset_interval ?? 'in all'}`] : []),
    ...LISTS.filter((name) => entry[name] !== null && entry[name] !== undefined).map((name) => name.replace('_', ' ')),
    ...(FLAGS.some((name) => entry[name] === true) ? ['zero retention'] : []),
    ...(POLICIES.some((name) => entry[name] === false) ? ['data policy'] : []),
  ]
}

const list = (value: Json | undefined): string[] => (Array.isArray(value) ? value.map(String) : [])

/** A line break would make a row of its own. */
function plain(value: Json | undefined): string {
  return String(value ?? '').replace(/\s+/g, ' ')
}
