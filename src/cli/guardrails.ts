/** `headgate guardrails …`: what guardrails there are, and what they have found. Calls the running gateway, or reads its store. */

import { type GuardrailCommand, runGuardrailCommand } from '../api/index.ts'
import type { Config } from '../config/config.ts'
import { resolveKeys } from '../config/keys.ts'
import { badField } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { CONSOLE, plural, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { table } from './plan-table.ts'

export interface GuardrailFlags extends GatewayFlags {
  json?: boolean
  /** Of `audit`: a time, or a span such as 24h or 7d. */
  since?: string
  key?: string
  guardrail?: string
}

type Ask = (command: GuardrailCommand) => Promise<JsonObject>

/** @param words behind `guardrails`. @returns the exit code: 2 where the words make no command. */
export async function guardrails(words: readonly string[], flags: GuardrailFlags, streams: Streams = CONSOLE): Promise<number> {
  const [verb, name, ...rest] = words
  const good = verb === 'show' ? name !== undefined && rest.length === 0 : (verb === 'list' || verb === 'audit') && name === undefined
  if (verb === undefined || !good) {
    streams.error('headgate: guardrails: expected list, show NAME or audit')
    return 2
  }
  try {
    const gateway = await Gateway.find(flags)
    const work = (ask: Ask) => perform(verb, name, { flags, streams, ask })
    const reply = await gateway.ask('/guardrails/command', { verb: 'list' })
    if (reply) await work((command) => fromRunning(command, gateway))
    else
      await gateway.onStore((bookkeeping, config) =>
        work((command) =>
          runGuardrailCommand(command, { ...guardrailSource(config), store: bookkeeping.keys, guardrails: bookkeeping.guardrails }),
        ),
      )
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

async function fromRunning(command: GuardrailCommand, gateway: Gateway): Promise<JsonObject> {
  const reply = await gateway.ask('/guardrails/command', command)
  if (!reply) throw new Error('the gateway has stopped answering')
  return reply
}

function guardrailSource(config: Config) {
  const { keys, generated } = resolveKeys(config)
  // A secret that was generated just now is not in use as a key.
  return { configured: generated === undefined ? keys : [], written: config.guardrails }
}

interface Performing {
  readonly flags: GuardrailFlags
  readonly streams: Streams
  readonly ask: Ask
}

async function perform(
  verb: 'list' | 'show' | 'audit' | string,
  name: string | undefined,
  { flags, streams, ask }: Performing,
): Promise<void> {
  if (verb === 'audit') return audit({ flags, streams, ask })
  const reply = await ask(verb === 'show' ? { verb, guardrail: name } : { verb: 'list' })
  if (flags.json) streams.out(JSON.stringify(reply, null, 2))
  else if (verb === 'show') streams.out(guardrailReport(isObject(reply.data) ? reply.data : {}))
  else streams.out(guardrailTable(rowsIn(reply)))
}

/** Prints the audit trail page by page, since it may be larger than memory. With `--json` each finding is a line. */
async function audit({ flags: { since, key, guardrail, json }, streams, ask }: Performing): Promise<void> {
  const filters = { ...(key === undefined ? {} : { key }), ...(guardrail === undefined ? {} : { guardrail }) }
  let command: GuardrailCommand = { verb: 'audit', ...filters, ...(since === undefined ? {} : { since: parseMoment(since, Date.now()) }) }
  for (let first = true; ; first = false) {
    const reply = await ask(command)
    const rows = rowsIn(reply)
    if (json) for (const row of rows) streams.out(JSON.stringify(row))
    else if (rows.length > 0) streams.out(findingTable(rows))
    else if (first) streams.out('Nothing was found.')
    const { next } = reply
    if (!isObject(next)) return
    command = { ...command, after: { at: Number(next.at), id: String(next.id) } }
  }
}

const rowsIn = ({ data }: JsonObject): JsonObject[] => (Array.isArray(data) ? data.filter(isObject) : [])

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** @param now milliseconds since the epoch. @throws Fault where the text is neither a time nor a span. */
export function parseMoment(text: string, now: number, flag = '--since'): number {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const size = unit === undefined ? undefined : UNITS[unit]
  if (size !== undefined) return Math.max(0, now - Number(count) * size)
  const at = /^\d{4}-\d{2}-\d{2}(T.*)?$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) throw badField(flag, 'expected a time such as 2026-11-30T08:00:00Z, or a span such as 24h or 7d')
  return Math.max(0, at)
}

const HEAD = ['name', 'id', 'from', 'holds for', 'direction', 'does']

/** Guardrails and findings as text for a terminal. */
function guardrailTable(entries: readonly JsonObject[]): string {
  if (entries.length === 0) return 'There are no guardrails.'
  return table(
    HEAD,
    entries.map((entry) => [
      plain(entry.name),
      entry.source === 'store' ? plain(entry.id) : '',
      plain(entry.source),
      holdersText(entry),
      plain(entry.direction ?? 'input'),
      duties(entry).join(', ') || 'nothing',
    ]),
  )
}

function guardrailReport(entry: JsonObject): string {
  const rows = Object.entries(entry).filter(([name, value]) => name !== 'keys' && value !== null)
  const lines = [...rows.map(([name, value]) => [name, isObject(value) || Array.isArray(value) ? JSON.stringify(value) : plain(value)])]
  return table(['field', 'value'], [...lines, ['holds for', holdersText(entry)]])
}

const FINDINGS = ['time', 'guardrail', 'direction', 'action', 'found', 'count', 'key', 'generation', 'hash']

function findingTable(rows: readonly JsonObject[]): string {
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
function holdersText({ scope, keys }: JsonObject): string {
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
