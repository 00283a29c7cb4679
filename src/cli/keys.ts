/** `headgate keys …` and `headgate credits …`: sent to the running gateway, and done on its file where none runs. */

import { type KeyCommand, runKeyCommand } from '../api/index.ts'
import { resolveKeys } from '../config/keys.ts'
import { systemClock } from '../core/clock.ts'
import { badField } from '../core/faults.ts'
import { asObjects, isObject, type Json, type JsonObject } from '../core/json.ts'
import { usdText } from '../core/money-text.ts'
import { DiskFiles } from '../services/files/index.ts'
import { commandOrigin } from './command-origin.ts'
import { CONSOLE, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { table } from './plan-table.ts'

export interface KeyFlags extends GatewayFlags {
  json?: boolean
  limit?: string
  reset?: string
  parent?: string
  workspace?: string
  member?: string
  expires?: string
  user?: string
  'provider-ids'?: string
  role?: string
  management?: boolean
  search?: string
  state?: string
  sort?: string
  order?: string
  most?: string
}

const KEY_VERBS = ['disable', 'enable', 'rotate', 'delete'] as const

/** @param words behind `keys`. @returns the exit code: 2 where the words make no command. */
export function keys(words: readonly string[], flags: KeyFlags, streams: Streams = CONSOLE): Promise<number> {
  const [verb, name, ...rest] = words
  const ofKey = KEY_VERBS.find((one) => one === verb)
  if (verb === 'list' && name === undefined) return list(flags, streams)
  if (verb === 'create' && name !== undefined && rest.length === 0)
    return perform(() => ({ verb: 'create', fields: keyFields(name, flags) }), flags, streams)
  const [role, ...more] = rest
  if (verb === 'role' && name !== undefined && role !== undefined && more.length === 0)
    return perform({ verb, key: name, role }, flags, streams)
  if (ofKey && name !== undefined && rest.length === 0) return perform({ verb: ofKey, key: name }, flags, streams)
  streams.error('headgate: keys: expected list, create NAME, disable KEY, enable KEY, rotate KEY, role KEY ROLE or delete KEY')
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

/** The body of `POST /v1/keys`; what is not given is left to its default. */
function keyFields(name: string, flags: KeyFlags): JsonObject {
  return {
    name,
    ...keyRole(flags),
    ...(flags.user === undefined ? {} : { creator_user_id: flags.user }),
    ...(flags.limit === undefined ? {} : { limit: dollars('--limit', flags.limit) }),
    ...(flags.reset === undefined ? {} : { limit_reset: flags.reset }),
    ...(flags.parent === undefined ? {} : { parent: flags.parent }),
    ...(flags.workspace === undefined ? {} : { workspace_id: flags.workspace }),
    ...(flags.member === undefined ? {} : { member_id: flags.member }),
    ...(flags.expires === undefined ? {} : { expires_at: flags.expires }),
    ...(flags['provider-ids'] === undefined ? {} : { provider_ids: flags['provider-ids'].split(',').map((id) => id.trim()) }),
  }
}

/** @throws Fault where both options name a role, and not the same. */
function keyRole({ role, management }: KeyFlags): JsonObject {
  if (role !== undefined && management && role !== 'owner') throw badField('--role', '--management is the role owner, expected one of both')
  return role !== undefined || management ? { role: role ?? 'owner' } : {}
}

/** @throws Fault where the text is no amount of USD. */
function dollars(field: string, text: string): number {
  if (!/^\d{1,7}(\.\d{1,9})?$/.test(text)) throw badField(field, 'expected an amount of USD such as 10.00')
  return Number(text)
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
  return typeof reply.key === 'string' ? `${text}\n\nThe secret, shown this once:\n  ${reply.key}` : text
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

const HEAD = ['name', 'hash', 'label', 'role', 'state', 'limit', 'per', 'left', 'spent', 'budget', 'expires', 'from']

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
