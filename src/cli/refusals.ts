/** `headgate refusals`: requests that the gateway itself has refused. Calls the running gateway, or reads its store where none runs. */
import { csvText, REFUSALS_CSV, type RefusalCommand } from '../api/index.ts'
import { asObjects, isObject, type Json, type JsonObject } from '../core/json.ts'
import { CONSOLE, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { parseMoment } from './guardrails.ts'
import { table } from './plan-table.ts'
import { generationRecord, refusalRecords } from './request-records.ts'

export interface RefusalFlags extends GatewayFlags {
  json?: boolean
  csv?: boolean
  /** A time, or a span such as 24h or 7d; absent: 24h. */
  since?: string
  until?: string
  key?: string
  reason?: string
  generation?: string
}

/** As many as the gateway lists at once. */
const PAGE = 500

/** @param words behind `refusals`. @returns the exit code: 2 where the words make no command. */
export async function refusals(words: readonly string[], flags: RefusalFlags, streams: Streams = CONSOLE): Promise<number> {
  if (words.length > 1 || (words[0] !== undefined && words[0] !== 'list') || (flags.json && flags.csv)) {
    streams.error('headgate: refusals: expected no words behind it, or list, and --json or --csv')
    return 2
  }
  try {
    const gateway = await Gateway.find(flags)
    let command: RefusalCommand = { ...parseCommand(flags), limit: PAGE }
    for (let isFirst = true; ; isFirst = false) {
      const reply = await refusalRecords(command, gateway)
      if (flags.generation !== undefined && asObjects(reply.data).length === 0) throw new Error(await otherwise(flags.generation, gateway))
      show(reply, { flags, streams, isFirst })
      if (typeof reply.next !== 'string') return 0
      command = { ...command, cursor: reply.next }
    }
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

function parseCommand({ since, until, key, reason, generation }: RefusalFlags): RefusalCommand {
  const now = Date.now()
  return {
    ...(since === undefined ? {} : { since: new Date(parseMoment(since, now)).toISOString() }),
    ...(until === undefined ? {} : { until: new Date(parseMoment(until, now, '--until')).toISOString() }),
    ...(key === undefined ? {} : { key }),
    ...(reason === undefined ? {} : { reason }),
    ...(generation === undefined ? {} : { generation }),
  }
}

/** Remedy for the id of a request that was not refused. */
async function otherwise(id: string, gateway: Gateway): Promise<string> {
  const isServed = await generationRecord(id, gateway).then(
    () => true,
    () => false,
  )
  return isServed
    ? `${id} was not refused by the gateway itself: headgate generations show ${id}`
    : `no request with the id ${id} was refused, and none has a record: ids of refusals are kept for 32 days, of one reason the last 5 of a key and a minute`
}

/** Rows of a page: a line of JSON each, lines of CSV, or a table. */
function show(reply: JsonObject, { flags, streams, isFirst }: { flags: RefusalFlags; streams: Streams; isFirst: boolean }): void {
  const rows = (Array.isArray(reply.data) ? reply.data : []).filter(isObject)
  if (flags.json) for (const row of rows) streams.out(JSON.stringify(row))
  else if (flags.csv) {
    const text = csvText(REFUSALS_CSV, rows, isFirst)
    if (text !== '') streams.out(text.slice(0, -'\r\n'.length))
  } else if (rows.length > 0)
    streams.out(
      table(
        HEAD,
        rows.map((row) => refusalLine(row, flags.generation)),
      ),
    )
  else if (isFirst) streams.out('No request was refused.')
}

const HEAD = ['minute', 'key', 'count', 'status', 'reason', 'limit', 'request', 'model', 'field', 'message']

/** @param wanted id of the request that is looked for; absent: the latest of the row is shown. */
function refusalLine(
  { minute, api_key_hash: hash, api_key_name: name, count, status, reason, limits, latest }: JsonObject,
  wanted: string | undefined,
): string[] {
  const known = asObjects(latest)
  const last: JsonObject = known.find(({ generation_id: id }) => id === wanted) ?? known[0] ?? {}
  const { generation_id: id, model, field, message } = last
  const key = name ?? (typeof hash === 'string' ? hash.slice(0, 12) : 'unknown')
  return [String(minute).slice(0, 16).replace('T', ' '), key, count, status, reason, limitText(limits), id, model, field, message].map(
    plain,
  )
}

/** `key requests per minute`, each limit that refused one of them. */
function limitText(limits: Json | undefined): string {
  const texts = asObjects(limits).map(({ scope, kind, per }) =>
    [scope, kind, per === null ? null : `per ${per}`].filter((word) => word !== null).join(' '),
  )
  return texts.join(', ')
}

/** Callers choose names of models: a control character would act on the terminal, a line break make a row of its own. */
function plain(value: Json | undefined): string {
  return String(value ?? '').replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
}
