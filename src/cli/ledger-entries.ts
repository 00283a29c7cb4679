/** `headgate ledger entries`, and `headgate ledger refund USD …`: sent to the running gateway, and done on its store where none runs. */
import { runEntryCommand } from '../api/index.ts'
import { resolveKeys } from '../config/keys.ts'
import { systemClock } from '../core/clock.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { commandOrigin } from './command-origin.ts'
import { CONSOLE, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { table } from './plan-table.ts'

export interface EntryFlags extends GatewayFlags {
  json?: boolean
  key?: string
  kind?: string
  cursor?: string
  generation?: string
  settles?: string
  reason?: string
  once?: string
}

/** @returns the exit code: 2 where the words make no command. */
export async function ledgerEntries(words: readonly string[], flags: EntryFlags, streams: Streams = CONSOLE): Promise<number> {
  const command = parseCommand(words, flags)
  if (!command) {
    streams.error('headgate: ledger: expected entries, or correction, refund or write_off with USD and --reason')
    return 2
  }
  try {
    const gateway = await Gateway.find(flags)
    const reply =
      (await gateway.ask('/ledger/entries/command', command)) ??
      (await gateway.onStore(({ keys: store, ledger }, config) => {
        const { keys, generated } = resolveKeys(config)
        const configured = generated === undefined ? keys : []
        return runEntryCommand(command, { configured, store, ledger, clock: systemClock, origin: commandOrigin() })
      }))
    streams.out(flags.json ? JSON.stringify(reply, null, 2) : printedText(reply))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

function parseCommand([verb, amount]: readonly string[], { key, kind, cursor, ...flags }: EntryFlags): JsonObject | undefined {
  const of = key === undefined ? {} : { key }
  if (verb === 'entries')
    return { verb: 'list', ...of, fields: { ...(kind === undefined ? {} : { kind }), ...(cursor === undefined ? {} : { cursor }) } }
  const dollars = Number(amount)
  const { generation, settles, reason, once } = flags
  if (verb === undefined || amount === undefined || !(dollars > 0) || reason === undefined) return undefined
  const fields: JsonObject = { kind: verb, amount: dollars, reason }
  if (generation !== undefined) fields.generation_id = generation
  if (settles !== undefined) fields.settles = settles
  if (once !== undefined) fields.idempotency_key = once
  return { verb: 'add', ...of, fields }
}

function printedText({ data, next_cursor: next }: JsonObject): string {
  const rows = Array.isArray(data) ? data.filter(isObject) : isObject(data) ? [data] : []
  const lines = table(
    ['entry', 'time', 'kind', 'USD', 'key', 'generation', 'actor', 'reason'],
    rows.map(({ id, created_at: at, kind, amount, api_key_name: name, api_key_hash: hash, generation_id: generation, actor, reason }) =>
      [id, at, kind, amount, name ?? String(hash).slice(0, 12), generation ?? '', actor, reason].map(String),
    ),
  )
  return typeof next === 'string' ? `${lines}\nmore: --cursor ${next}` : lines
}
