/** `headgate generations show`: one request with its attempts, times and money. Calls the running gateway, or reads its store where none runs. */
import { asObjects, isObject, type Json, type JsonObject } from '../core/json.ts'
import { usdText } from '../core/money-text.ts'
import { CONSOLE, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { table } from './plan-table.ts'
import { generationRecord, isNotFound, refusalRecords } from './request-records.ts'

export interface GenerationFlags extends GatewayFlags {
  json?: boolean
}

/** @returns the exit code: 1 where there is no such generation. */
export async function showGeneration(id: string, flags: GenerationFlags, streams: Streams = CONSOLE): Promise<number> {
  try {
    const gateway = await Gateway.find(flags)
    const reply = await generationRecord(id, gateway).catch(async (error: unknown) => {
      if (!isNotFound(error) || !(await isRefused(id, gateway))) throw error
      throw new Error(`the gateway itself refused ${id}, so no generation was made: headgate refusals --generation ${id}`)
    })
    streams.out(flags.json ? JSON.stringify(reply, null, 2) : generationText(isObject(reply.data) ? reply.data : {}))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

/** True if the id is that of a request which the gateway has refused; false for what cannot be one. */
async function isRefused(generation: string, gateway: Gateway): Promise<boolean> {
  const found = await refusalRecords({ generation }, gateway).catch(() => ({ data: [] }))
  return asObjects(found.data).length > 0
}

function generationText(data: JsonObject): string {
  const { tokens, reservation, finish_reason: end, error } = data
  const [admitted] = asObjects(data.timeline)
  const head: [string, string][] = [
    ['generation', plain(data.id)],
    ['key', plain(data.api_key_name ?? String(data.api_key_hash).slice(0, 12))],
    ['model', plain(data.model)],
    ['admitted', plain(admitted?.at)],
    [
      'end',
      `${plain(end ?? 'none')}${error === null || error === undefined ? '' : `, ${plain(isObject(error) ? JSON.stringify(error) : error)}`}`,
    ],
    [
      'tokens',
      isObject(tokens)
        ? Object.entries(tokens)
            .map(([name, count]) => `${count} ${name}`)
            .join(', ')
        : 'not settled yet',
    ],
  ]
  return [
    ...head.map(([name, value]) => `${name.padEnd(11)} ${value}`),
    '',
    section('Attempts', ['at ms', 'endpoint', 'status', 'first ms', 'took ms', 'error', 'why'], asObjects(data.attempts).map(attemptRow)),
    section('Times', ['at ms', 'what', 'took ms'], asObjects(data.timeline).map(timeRow)),
    section('Money', ['item', 'units', 'each', 'USD'], asObjects(data.money).map(moneyRow)),
    isObject(reservation) ? reservationText(reservation) : '',
  ].join('\n')
}

function section(title: string, head: readonly string[], rows: readonly string[][]): string {
  return `${title}\n${rows.length === 0 ? '  none' : table(head, rows)}\n`
}

const attemptRow = ({
  at_ms: at,
  endpoint,
  provider_name: provider,
  status,
  latency,
  duration_ms: took,
  error,
  reason,
}: JsonObject): string[] => [at, endpoint ?? provider, status, latency, took, error, reason].map(plain)

const timeRow = ({ at_ms: at, kind, name, duration_ms: took }: JsonObject): string[] => [
  plain(at),
  `${plain(kind)}${name === null || name === undefined ? '' : ` ${plain(name)}`}`,
  plain(took),
]

const moneyRow = ({ item, name, model, endpoint, units, unit_price: each, nano }: JsonObject): string[] => [
  [item, name, endpoint ?? model]
    .filter((part) => typeof part === 'string')
    .map(plain)
    .join(' '),
  plain(units),
  plain(each),
  typeof nano === 'number' ? usdText(nano) : '',
]

/** Held, charged and returned sums. */
function reservationText({ in_force: held, charged, released }: JsonObject): string {
  const usd = (part: Json | undefined): string => (isObject(part) && typeof part.nano === 'number' ? `$${usdText(part.nano)}` : '')
  return `${usd(held)} held, ${usd(charged)} charged, ${usd(released)} given back`
}

/** Callers choose some of the texts: a control character would act on the terminal, a line break make a row of its own. */
function plain(value: Json | undefined): string {
  return String(value ?? '').replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
}
