/** `headgate chargeback`: who is to pay what of a period. Calls the running gateway, or reads its store where none runs. */
import { CHARGEBACK_CSV, type ChargebackCommand, csvText, runChargebackCommand } from '../api/index.ts'
import { resolveKeys } from '../config/keys.ts'
import { systemClock } from '../core/clock.ts'
import { asObjects, isObject, type Json, type JsonObject } from '../core/json.ts'
import { LedgerScans } from '../ledger/scans.ts'
import { CONSOLE, plural, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { table } from './plan-table.ts'

export interface ChargebackFlags extends GatewayFlags {
  json?: boolean
  csv?: boolean
  /** UTC days, counted both. */
  from?: string
  to?: string
  /** Groups, with commas between them. */
  by?: string
}

/** @returns the exit code: 2 where the options exclude each other. */
export async function chargeback(flags: ChargebackFlags, streams: Streams = CONSOLE): Promise<number> {
  const { from, to, by, json, csv } = flags
  if (json && csv) {
    streams.error('headgate: chargeback: expected --json or --csv')
    return 2
  }
  try {
    const command: ChargebackCommand = {
      ...(from === undefined ? {} : { since: from }),
      ...(to === undefined ? {} : { until: to }),
      ...(by === undefined ? {} : { group_by: by }),
    }
    const gateway = await Gateway.find(flags)
    const reply = (await gateway.ask('/chargeback/command', command)) ?? (await onFile(command, gateway))
    if (csv) streams.out(csvText(CHARGEBACK_CSV, asObjects(reply.data), true).trimEnd())
    else streams.out(json ? JSON.stringify(reply, null, 2) : chargebackReport(reply))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

function onFile(command: ChargebackCommand, gateway: Gateway): Promise<JsonObject> {
  return gateway.onStore(
    ({ keys: store, ledger, levels }, config) => {
      const { keys, generated } = resolveKeys(config)
      const scans = new LedgerScans(ledger, systemClock)
      // A secret that was generated just now is not in use as a key.
      return runChargebackCommand(command, { store, levels, scans, clock: systemClock, configured: generated === undefined ? keys : [] })
    },
    { isThere: true },
  )
}

/** Columns that stand in the table where a line has them, and their headings. */
const COLUMNS: Readonly<Record<string, string>> = {
  date: 'day',
  organization_id: 'organization',
  workspace_id: 'workspace',
  parent: 'budget',
  creator_user_id: 'made for',
  api_key_name: 'key',
  app_title: 'app',
  session_id: 'session',
  external_user: 'user',
  model: 'model',
  provider_name: 'provider',
  tags: 'tags',
}

function chargebackReport({ data, total, since, until }: JsonObject): string {
  const lines = asObjects(data)
  const { amount, requests } = isObject(total) ? total : {}
  const sum = `$${amount} from ${since} to ${until} for ${plural(Number(requests), 'request')}`
  if (lines.length === 0) return sum
  const names = Object.keys(COLUMNS).filter((name) => lines.some((line) => name in line))
  const head = ['kind', ...names.map((name) => COLUMNS[name] ?? name), 'amount', 'requests', 'reason']
  const rows = lines.map((line) => [
    String(line.kind),
    ...names.map((name) => cell(name === 'api_key_name' ? (line[name] ?? String(line.api_key_hash).slice(0, 12)) : line[name])),
    `$${line.amount}`,
    String(line.requests),
    line.reason === undefined ? '' : `${cell(line.reason)} (${cell(line.actor)})`,
  ])
  return `${table(head, rows)}\n\n${sum}`
}

/** A line break would make a row of its own. */
const cell = (value: Json | undefined): string => {
  if (value === null || value === undefined) return ''
  const text = isObject(value)
    ? Object.entries(value)
        .map(([name, each]) => `${name}=${each ?? ''}`)
        .join(' ')
    : String(value)
  return text.replace(/\s+/g, ' ')
}
