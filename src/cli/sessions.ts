/** `headgate sessions`: what each conversation of an agent has used. Calls the running gateway, or reads its store where none runs. */

import { runSessionCommand, type SessionCommand } from '../api/index.ts'
import { resolveKeys } from '../config/keys.ts'
import { systemClock } from '../core/clock.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { LISTED_COUNTS } from '../core/ledger-counts.ts'
import { usdText } from '../core/money-text.ts'
import { LedgerScans } from '../ledger/scans.ts'
import { CONSOLE, plural, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { parseMoment } from './guardrails.ts'
import { table } from './plan-table.ts'

export interface SessionFlags extends GatewayFlags {
  json?: boolean
  /** A time, or a span such as 24h or 7d; absent: 24h. */
  since?: string
  key?: string
  session?: string
}

/** As many as the gateway lists at once. */
const LIMIT = 1_000

/** @param words behind `sessions`. @returns the exit code: 2 where the words make no command. */
export async function sessions(words: readonly string[], flags: SessionFlags, streams: Streams = CONSOLE): Promise<number> {
  if (words.length > 1 || (words[0] !== undefined && words[0] !== 'list')) {
    streams.error('headgate: sessions: expected no words behind it, or list')
    return 2
  }
  try {
    const command = parseCommand(flags)
    const gateway = await Gateway.find(flags)
    const reply = (await gateway.ask('/sessions/command', command)) ?? (await onFile(command, gateway))
    streams.out(flags.json ? JSON.stringify(reply, null, 2) : sessionReport(reply))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

function parseCommand({ since, key, session }: SessionFlags): SessionCommand {
  return {
    limit: LIMIT,
    ...(since === undefined ? {} : { since: new Date(parseMoment(since, Date.now())).toISOString() }),
    ...(key === undefined ? {} : { key }),
    ...(session === undefined ? {} : { session }),
  }
}

function onFile(command: SessionCommand, gateway: Gateway): Promise<JsonObject> {
  return gateway.onStore(({ keys: store, ledger }, config) => {
    const { keys, generated } = resolveKeys(config)
    const scans = new LedgerScans(ledger, systemClock)
    // A secret that was generated just now is not in use as a key.
    return runSessionCommand(command, { store, scans, clock: systemClock, configured: generated === undefined ? keys : [] })
  })
}

const COUNTED = LISTED_COUNTS.map(({ shown, heading = shown }) => heading)
const HEAD = ['session', 'key', 'requests', ...COUNTED, 'cost', 'last request', 'models']

function sessionReport({ data, total_count: total, since, until }: JsonObject): string {
  const rows = (Array.isArray(data) ? data : []).filter(isObject)
  const period = `from ${minute(since)} to ${minute(until)}`
  if (rows.length === 0) return `There are no sessions ${period}.`
  const more = Number(total) - rows.length
  const lines = [
    table(HEAD, rows.map(sessionRow)),
    '',
    `${plural(Number(total), 'session')} ${period}${more > 0 ? `, the last ${rows.length} shown` : ''}`,
  ]
  return lines.join('\n')
}

function sessionRow(row: JsonObject): string[] {
  const failed = Number(row.failed_requests)
  return [
    plain(row.session_id),
    plain(row.api_key_name ?? String(row.api_key_hash).slice(0, 12)),
    failed > 0 ? `${plain(row.requests)}, ${failed} failed` : plain(row.requests),
    ...LISTED_COUNTS.map(({ shown }) => plain(row[`${shown}_tokens`])),
    `$${usdText(Math.round(Number(row.usage) * 1e9))}`,
    minute(row.last_request_at),
    (Array.isArray(row.models) ? row.models : []).map(plain).join(' '),
  ]
}

const minute = (time: Json | undefined): string => String(time).slice(0, 16).replace('T', ' ')

/** Callers choose the names of sessions: a control character would act on the terminal, a line break make a row of its own. */
function plain(value: Json | undefined): string {
  return String(value ?? '').replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
}
