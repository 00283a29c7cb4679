/** `headgate audit list|verify|export|report`: calls the running gateway, or reads its store where none runs. */
import { type AuditCommand, runAuditCommand } from '../api/index.ts'
import { resolveKeys } from '../config/keys.ts'
import { recordSettings } from '../config/record-settings.ts'
import { AuditKeys } from '../core/audit-keys.ts'
import { systemClock } from '../core/clock.ts'
import { asObjects, isObject, type Json, type JsonObject } from '../core/json.ts'
import { LedgerScans } from '../ledger/scans.ts'
import { auditReportText } from './audit-report-text.ts'
import { CONSOLE, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { parseMoment } from './guardrails.ts'
import { table } from './plan-table.ts'

export interface AuditFlags extends GatewayFlags {
  json?: boolean
  actor?: string
  action?: string
  subject?: string
  /** A time, or a span such as 24h or 7d. */
  since?: string
  until?: string
  cursor?: string
  newest?: boolean
  /** Of `report`: UTC days. */
  from?: string
  to?: string
  /** Of `verify`: a receipt of an earlier check. */
  expect?: string
}

const VERBS = ['list', 'verify', 'export', 'report'] as const
const isVerb = (word: string | undefined): word is (typeof VERBS)[number] => VERBS.some((verb) => verb === word)

/** Entries of one reply of an export. */
const EXPORT_PAGE = '500'

/** @returns the exit code: 1 also where the log is broken, 2 where the words make no command. */
export async function audit(words: readonly string[], flags: AuditFlags, streams: Streams = CONSOLE): Promise<number> {
  const [verb, ...rest] = words
  if (!isVerb(verb) || rest.length > 0) {
    streams.error('headgate: audit: expected list, verify, export or report')
    return 2
  }
  try {
    const gateway = await Gateway.find(flags)
    if (verb === 'verify') return await verify(gateway, flags, streams)
    if (verb === 'export') return await exportAll(gateway, flags, streams)
    if (verb === 'report') return await report(gateway, flags, streams)
    const reply = await ask({ verb: 'list', query: queryFrom(flags) }, gateway)
    streams.out(flags.json ? JSON.stringify(reply, null, 2) : printedText(reply))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

async function ask(command: AuditCommand, gateway: Gateway): Promise<JsonObject> {
  return (
    (await gateway.ask('/audit/command', command)) ??
    (await gateway.onStore(
      ({ keys: store, auditLog, guardrails, ledger }, config) => {
        const { keys, generated } = resolveKeys(config)
        return runAuditCommand(command, {
          ...{ store, auditLog, auditKeys: new AuditKeys(config.audit) },
          configured: generated === undefined ? keys : [],
          ...{ guardrails, written: config.guardrails, scans: new LedgerScans(ledger, systemClock), clock: systemClock },
          recordSettings: recordSettings(config),
        })
      },
      { isThere: true },
    ))
  )
}

function queryFrom({ actor, action, subject, since, until, cursor, newest }: AuditFlags): Record<string, string> {
  const now = Date.now()
  const given = {
    ...{ actor, action, subject, cursor, order: newest ? 'newest' : undefined },
    since: since === undefined ? undefined : new Date(parseMoment(since, now)).toISOString(),
    until: until === undefined ? undefined : new Date(parseMoment(until, now, '--until')).toISOString(),
  }
  return Object.fromEntries(Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

/** The log is read from one end to the other, without a limit of time at the store; only a page at once. */
async function verify(gateway: Gateway, { expect, json }: AuditFlags, streams: Streams): Promise<number> {
  const reply = await ask({ verb: 'verify', ...(expect === undefined ? {} : { expect }) }, gateway)
  const { verdict, entries, receipt, first_bad: bad, keyed_from: keyedFrom } = reply
  if (json) streams.out(JSON.stringify(reply, null, 2))
  else if (isObject(bad)) streams.error(`headgate: audit: entry ${bad.sequence} does not fit: ${bad.problem}. Whole up to ${receipt}`)
  else streams.out(`${entries} entries are whole, ${keyedText(keyedFrom)}. Keep this receipt elsewhere, for --expect: ${receipt}`)
  return verdict === 'whole' ? 0 : 1
}

/** Says from which entry on the check proves that the log was not written with the database alone. */
function keyedText(from: Json | undefined): string {
  return typeof from === 'number'
    ? `keyed from entry ${from} on`
    : 'unkeyed: an account that can write the database could have written all of them'
}

async function report(gateway: Gateway, { from, to, json }: AuditFlags, streams: Streams): Promise<number> {
  const query = Object.fromEntries(Object.entries({ from, to }).flatMap(([name, day]) => (day === undefined ? [] : [[name, day]])))
  const found = await ask({ verb: 'report', query }, gateway)
  streams.out(json ? JSON.stringify(found, null, 2) : auditReportText(found))
  return 0
}

/** Each entry is a line; the receipt of the last one goes to the standard error. */
async function exportAll(gateway: Gateway, flags: AuditFlags, streams: Streams): Promise<number> {
  let query: Record<string, string> = { ...queryFrom(flags), limit: EXPORT_PAGE }
  let last: JsonObject | undefined
  for (;;) {
    const { data, next_cursor: next } = await ask({ verb: 'list', query }, gateway)
    for (const entry of asObjects(data)) {
      streams.out(JSON.stringify(entry))
      last = entry
    }
    if (typeof next !== 'string') break
    query = { ...query, cursor: next }
  }
  if (last) streams.error(`receipt: ${last.sequence}:${last.hash}`)
  return 0
}

function printedText({ data, next_cursor: next }: JsonObject): string {
  const found = asObjects(data)
  if (found.length === 0) return 'There are no such entries.'
  const lines = table(
    ['entry', 'time', 'action', 'subject', 'actor', 'from', 'before', 'after', 'reason'],
    found.map(({ sequence, at, action, subject, actor, address, before, after, reason }) =>
      [sequence, at, action, subject, actorText(actor), address, stateText(before), stateText(after), reason].map(plain),
    ),
  )
  return typeof next === 'string' ? `${lines}\nmore: --cursor ${next}` : lines
}

const actorText = (actor: Json | undefined): Json => (isObject(actor) ? (actor.name ?? actor.id ?? actor.kind ?? null) : null)

const stateText = (state: Json | undefined): Json => (isObject(state) ? JSON.stringify(state) : null)

const MAX_CELL_LENGTH = 60

/** Names are people's: a control character would act on the terminal, a line break make a row of its own. */
function plain(value: Json | undefined): string {
  const text = String(value ?? '').replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
  return text.length > MAX_CELL_LENGTH ? `${text.slice(0, MAX_CELL_LENGTH - 1)}…` : text
}
