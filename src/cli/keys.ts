/** `headgate keys …` and `headgate credits …`: sent to the running gateway, and done on its file where none runs. */

import { type KeyCommand, runKeyCommand } from '../api/index.ts'
import { resolveKeys } from '../config/keys.ts'
import { systemClock } from '../core/clock.ts'
import { badField } from '../core/faults.ts'
import { asObjects, isObject, type Json, type JsonObject } from '../core/json.ts'
import { usdText } from '../core/money-text.ts'
import { DiskFiles } from '../services/files/index.ts'
import { commandOrigin } from './command-origin.ts'
import { CONSOLE, plural, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { type FileKey, readKeyFile } from './key-import.ts'
import { dollars, type KeyFieldFlags, keyFields } from './key-options.ts'
import { table } from './plan-table.ts'

export interface KeyFlags extends GatewayFlags, KeyFieldFlags {
  json?: boolean
  name?: string
  search?: string
  state?: string
  sort?: string
  order?: string
  most?: string
  grace?: string
  overwrite?: boolean
}

const KEY_VERBS = ['disable', 'enable', 'revoke-old', 'delete'] as const

/** @param words behind `keys`. @returns the exit code: 2 where the words make no command. */
export function keys(words: readonly string[], flags: KeyFlags, streams: Streams = CONSOLE): Promise<number> {
  const [verb, name, ...rest] = words
  const ofKey = KEY_VERBS.find((one) => one === verb)
  if (verb === 'list' && name === undefined) return list(flags, streams)
  if (verb === 'create' && name !== undefined && rest.length === 0)
    return perform(() => ({ verb: 'create', fields: { name, ...keyFields(flags) } }), flags, streams)
  if (verb === 'import' && name !== undefined && rest.length === 0) return importFile(name, flags, streams)
  if (verb === 'change' && name !== undefined && rest.length === 0)
    return perform(() => ({ verb, key: name, fields: changedFields(flags) }), flags, streams)
  if (verb === 'rotate' && name !== undefined && rest.length === 0)
    return perform(() => ({ verb, key: name, fields: { grace_seconds: graceSeconds(flags.grace) } }), flags, streams)
  const [role, ...more] = rest
  if (verb === 'role' && name !== undefined && role !== undefined && more.length === 0)
    return perform({ verb, key: name, role }, flags, streams)
  if (ofKey && name !== undefined && rest.length === 0) return perform({ verb: ofKey, key: name }, flags, streams)
  streams.error(
    'headgate: keys: expected list, create NAME, import FILE, change KEY, disable KEY, enable KEY, rotate KEY, revoke-old KEY, role KEY ROLE or delete KEY',
  )
  return Promise.resolve(2)
}

/** @param words behind `budgets`. @returns the exit code: 2 where the words make no command. */
export function budgets(words: readonly string[], flags: KeyFlags, streams: Streams = CONSOLE): Promise<number> {
  if (words.length === 0) return perform({ verb: 'budgets' }, flags, streams)
  streams.error('headgate: budgets: expected no words behind it')
  return Promise.resolve(2)
}

/** @param words behind `credits`. @returns the exit code: 2 where the words make no command. */
export function credits(words: readonly string[], flags: KeyFlags, streams: Streams = CONSOLE): Promise<number> {
  const [verb, key, amount, ...rest] = words
  if (verb === undefined) return perform({ verb: 'credits' }, flags, streams)
  if (verb === 'add' && key !== undefined && amount !== undefined && rest.length === 0)
    return perform(() => ({ verb: 'add', key, amount: dollars('amount', amount) }), flags, streams)
  streams.error('headgate: credits: expected nothing, or add KEY AMOUNT')
  return Promise.resolve(2)
}

/** Keys of all pages, or as many as `--most` says. */
async function list(flags: KeyFlags, streams: Streams): Promise<number> {
  try {
    const { search, parent, workspace, state, sort, order, user } = flags
    const given = { search, parent, workspace_id: workspace, state, sort, order, creator_user_id: user }
    const query = Object.fromEntries(Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
    const most = flags.most === undefined ? Number.POSITIVE_INFINITY : positive('--most', flags.most)
    const gateway = await Gateway.find(flags)
    const data: JsonObject[] = []
    for (let page: JsonObject | undefined; page === undefined || (typeof page.next === 'string' && data.length < most); ) {
      const cursor: Record<string, string> = typeof page?.next === 'string' ? { cursor: page.next } : {}
      const limit = String(Math.min(LIST_PAGE, most - data.length))
      page = await ask({ verb: 'list', query: { ...query, ...cursor, limit } }, gateway)
      for (const key of asObjects(page.data)) data.push(key)
    }
    streams.out(flags.json ? JSON.stringify({ data }, null, 2) : keyReport({ verb: 'list' }, { data }, Date.now()))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

/** Keys of a file, in parts; a part of which any key is wrong is not imported, nor are those behind it. */
async function importFile(path: string, flags: KeyFlags, streams: Streams): Promise<number> {
  try {
    const { keys: read, leftOut } = readKeyFile(path)
    const gateway = await Gateway.find(flags)
    const data: JsonObject[] = []
    for (let from = 0; from < read.length; from += LIST_PAGE) {
      const part = read.slice(from, from + LIST_PAGE)
      const fields = { keys: part.map((key) => key.fields), ...(flags.overwrite ? { overwrite: true } : {}) }
      const reply = await ask({ verb: 'import', fields }, gateway).catch((thrown: unknown) => {
        throw lineFault(thrown, part)
      })
      data.push(...asObjects(reply.data).map((each) => ({ ...each, line: part[Number(each.index)]?.line ?? null })))
    }
    for (const [column, rows] of leftOut) streams.error(`headgate: ${column} of ${plural(rows, 'key')} has no place here and was left out`)
    streams.out(flags.json ? JSON.stringify({ data }, null, 2) : importReport(data))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

/** A refusal that names a key by its place in the part, with the line of the file in its place. */
function lineFault(thrown: unknown, part: readonly FileKey[]): unknown {
  if (!(thrown instanceof Error)) return thrown
  const message = thrown.message.replace(/\bkeys\[(\d+)\]\.?/g, (_, at: string) => `line ${part[Number(at)]?.line}: `)
  return new Error(message)
}

function importReport(data: readonly JsonObject[]): string {
  const count = (status: string): number => data.filter((each) => each.status === status).length
  const kept = data
    .filter(({ status }) => status === 'exists')
    .map(({ line, name, hash }) => `line ${line}: ${name} (${String(hash).slice(0, 12)}) is there already`)
  return [`${count('created')} made, ${count('replaced')} replaced, ${kept.length} left as they were`, ...kept].join('\n')
}

/** Keys of one reply. */
const LIST_PAGE = 1000

/** @throws Fault where the text is no whole number from 1 up. */
function positive(field: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw badField(field, 'expected a whole number from 1 up')
  return Number(text)
}

const ask = async (command: KeyCommand, gateway: Gateway): Promise<JsonObject> =>
  (await gateway.ask('/keys/command', command)) ?? (await onFile(command, gateway))

async function perform(wanted: KeyCommand | (() => KeyCommand), flags: KeyFlags, streams: Streams): Promise<number> {
  try {
    const command = typeof wanted === 'function' ? wanted() : wanted
    const reply = await ask(command, await Gateway.find(flags))
    streams.out(flags.json ? JSON.stringify(reply, null, 2) : keyReport(command, reply, Date.now()))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

/** @throws Fault where no option names a change. */
function changedFields({ name, ...flags }: KeyFlags): JsonObject {
  const fields = { ...(name === undefined ? {} : { name }), ...keyFields(flags) }
  if (Object.keys(fields).length === 0) throw badField('keys change', 'expected an option such as --limit 10.00 or --tags team=growth')
  return fields
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** @throws Fault where the text is no span of time. */
function graceSeconds(text = '0s'): number {
  const [, count, unit = ''] = /^(\d{1,7})([smhd])$/.exec(text) ?? []
  if (count === undefined) throw badField('--grace', 'expected a span of time such as 24h, 30m or 7d')
  return Number(count) * (SECONDS[unit] ?? 1)
}

function onFile(command: KeyCommand, gateway: Gateway): Promise<JsonObject> {
  return gateway.onStore((bookkeeping, config) => {
    const { keys: configured, generated } = resolveKeys(config)
    return runKeyCommand(command, {
      store: bookkeeping.keys,
      // A secret that was generated just now is not in use as a key.
      configured: generated === undefined ? configured : [],
      credit: bookkeeping.credit,
      budgets: config.budgets,
      levels: bookkeeping.levels,
      entries: bookkeeping.ledger.entries,
      ledger: bookkeeping.ledger,
      files: new DiskFiles(config.store.files, systemClock),
      brand: config.brand.word,
      clock: systemClock,
      origin: commandOrigin(),
    })
  })
}

/**
 * Answer to a command on keys, as text for a terminal.
 * @param now milliseconds since the epoch.
 */
export function keyReport({ verb }: KeyCommand, reply: JsonObject, now: number): string {
  if (verb === 'delete') return 'Deleted. What the key has spent stays in the ledger.'
  if (verb === 'credits') return creditText(isObject(reply.data) ? reply.data : {})
  const keys = (Array.isArray(reply.data) ? reply.data : [reply.data]).filter(isObject)
  if (verb === 'budgets') return budgetTable(keys)
  if (keys.length === 0) return 'There are no keys.'
  const text = keyTable(keys, now)
  if (typeof reply.key !== 'string') return text
  const { previous_secret_expires_at: end } = keys[0] ?? {}
  const overlap = typeof end === 'string' ? `\n\nThe old secret works until ${end.slice(0, 19).replace('T', ' ')} UTC.` : ''
  return `${text}\n\nThe secret, shown this once:\n  ${reply.key}${overlap}`
}

function budgetTable(budgets: readonly JsonObject[]): string {
  if (budgets.length === 0) return 'The configuration has no budgets.'
  const lines = budgetTree(budgets).flatMap(({ budget: { name, windows, remaining: atAll, key_count: count }, depth }) =>
    (Array.isArray(windows) ? windows : [])
      .filter(isObject)
      .map(({ window, limit_usd: limit, used, remaining, resets_at: resets }) => [
        `${'  '.repeat(depth)}${name}`,
        String(window),
        money(limit, ''),
        money(used, ''),
        money(remaining, ''),
        money(atAll, ''),
        typeof resets === 'string' ? resets.slice(0, 16).replace('T', ' ') : 'never',
        String(count),
      ]),
  )
  return table(['budget', 'window', 'limit', 'used', 'left', 'left at all', 'resets', 'keys'], lines)
}

/** Each budget below the one that it draws on. */
function budgetTree(budgets: readonly JsonObject[], parent: unknown = null, depth = 0): { budget: JsonObject; depth: number }[] {
  return budgets
    .filter((each) => (each.parent ?? null) === parent)
    .flatMap((budget) => [{ budget, depth }, ...budgetTree(budgets, budget.name, depth + 1)])
}

const HEAD = ['name', 'hash', 'label', 'role', 'state', 'limit', 'per', 'left', 'spent', 'budget', 'expires', 'used', 'from']

function keyTable(keys: readonly JsonObject[], now: number): string {
  const names = new Map(keys.map(({ hash, name }) => [String(hash), String(name)]))
  return table(
    HEAD,
    keys.map((key) => [
      // A line break would make a row of its own.
      String(key.name).replace(/\s+/g, ' '),
      String(key.hash).slice(0, 12),
      String(key.label),
      typeof key.role === 'string' ? key.role : 'unknown',
      keyState(key, now),
      money(key.limit, 'none'),
      typeof key.limit_reset === 'string' ? (PER[key.limit_reset] ?? key.limit_reset) : '',
      money(key.limit_remaining, ''),
      money(key.usage, ''),
      typeof key.parent === 'string' ? key.parent : '',
      typeof key.expires_at === 'string' ? key.expires_at.slice(0, 16).replace('T', ' ') : 'never',
      typeof key.last_used_at === 'string' ? key.last_used_at.slice(0, 16).replace('T', ' ') : '',
      originText(key, names).replace(/\s+/g, ' '),
    ]),
  )
}

/** Source of the key, or the key that issued it through sign-in. */
function originText({ source, parent_hash: parent }: JsonObject, names: ReadonlyMap<string, string>): string {
  return typeof parent === 'string' ? `issued by ${names.get(parent) ?? parent.slice(0, 12)}` : String(source)
}

const PER: Readonly<Record<string, string>> = { daily: 'day', weekly: 'week', monthly: 'month' }

function keyState(key: JsonObject, now: number): string {
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
