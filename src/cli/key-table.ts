/** What a command on keys answered, as text for a terminal. */
import type { KeyCommand } from '../api/index.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { usdText } from '../core/money.ts'
import { table } from './plan-table.ts'

/** @param now milliseconds since the epoch. */
export function keyReport({ verb }: KeyCommand, reply: JsonObject, now: number): string {
  if (verb === 'delete') return 'Deleted. What the key has spent stays in the ledger.'
  if (verb === 'credits') return creditText(isObject(reply.data) ? reply.data : {})
  const keys = (Array.isArray(reply.data) ? reply.data : [reply.data]).filter(isObject)
  if (keys.length === 0) return 'There are no keys.'
  const text = keyTable(keys, now)
  return typeof reply.key === 'string' ? `${text}\n\nThe secret, shown this once:\n  ${reply.key}` : text
}

const HEAD = ['name', 'hash', 'label', 'kind', 'state', 'limit', 'per', 'left', 'spent', 'expires', 'from']

function keyTable(keys: readonly JsonObject[], now: number): string {
  const names = new Map(keys.map(({ hash, name }) => [String(hash), String(name)]))
  return table(
    HEAD,
    keys.map((key) => [
      // A line break would make a row of its own.
      String(key.name).replace(/\s+/g, ' '),
      String(key.hash).slice(0, 12),
      String(key.label),
      key.is_management_key ? 'management' : 'ordinary',
      stateOf(key, now),
      money(key.limit, 'none'),
      typeof key.limit_reset === 'string' ? PER[key.limit_reset] : '',
      money(key.limit_remaining, ''),
      money(key.usage, ''),
      typeof key.expires_at === 'string' ? key.expires_at.slice(0, 16).replace('T', ' ') : 'never',
      originOf(key, names).replace(/\s+/g, ' '),
    ]),
  )
}

/** Where the key stands, or which key issued it through sign-in. */
function originOf({ source, parent_hash: parent }: JsonObject, names: ReadonlyMap<string, string>): string {
  return typeof parent === 'string' ? `issued by ${names.get(parent) ?? parent.slice(0, 12)}` : String(source)
}

const PER: Readonly<Record<string, string>> = { daily: 'day', weekly: 'week', monthly: 'month' }

function stateOf(key: JsonObject, now: number): string {
  if (key.disabled) return 'disabled'
  return typeof key.expires_at === 'string' && Date.parse(key.expires_at) <= now ? 'expired' : 'active'
}

function creditText({ total_credits: credits, total_usage: usage }: JsonObject): string {
  const left = typeof credits === 'number' && typeof usage === 'number' ? credits - usage : 0
  return `${money(usage, '')} spent by all keys, ${money(left, '')} left to those with a limit`
}

function money(value: Json | undefined, otherwise: string): string {
  return typeof value === 'number' ? `$${usdText(Math.round(value * 1e9))}` : otherwise
}
