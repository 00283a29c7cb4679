/** `headgate events …`: what has happened, and its deliveries. Sent to the running gateway, and done on its store where none runs. */
import { type EventCommand, runEventCommand } from '../api/index.ts'
import { systemClock } from '../core/clock.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { commandOrigin } from './command-origin.ts'
import { CONSOLE, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { table } from './plan-table.ts'

export interface EventFlags extends GatewayFlags {
  json?: boolean
  cursor?: string
}

/** @param words behind `events`. @returns the exit code: 2 where the words make no command. */
export async function events(words: readonly string[], flags: EventFlags, streams: Streams = CONSOLE): Promise<number> {
  const command = parseCommand(words, flags)
  if (!command) {
    streams.error('headgate: events: expected list, show ID, dead, pending, redeliver ID [RECEIVER], receivers or enable RECEIVER')
    return 2
  }
  try {
    const reply = await eventReply(command, flags)
    streams.out(flags.json ? JSON.stringify(reply, null, 2) : printedText(command, reply))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

/** The reply of the running gateway, or of its store where none runs. */
export async function eventReply(command: EventCommand, flags: GatewayFlags): Promise<JsonObject> {
  const gateway = await Gateway.find(flags)
  return (
    (await gateway.ask('/events/command', command)) ??
    (await gateway.onStore(({ events: stored }, { events: { source } }) =>
      runEventCommand({ ...command }, { events: stored, source, time: systemClock, origin: commandOrigin() }),
    ))
  )
}

function parseCommand([verb = 'list', first, second, ...rest]: readonly string[], { cursor }: EventFlags): EventCommand | undefined {
  if (rest.length > 0) return undefined
  const from = cursor === undefined ? {} : { cursor }
  if (verb === 'redeliver' && first !== undefined) return { verb, id: first, ...(second === undefined ? {} : { receiver: second }) }
  if (second !== undefined) return undefined
  if (first !== undefined) return verb === 'show' ? { verb, id: first } : verb === 'enable' ? { verb, receiver: first } : undefined
  if (verb === 'list' || verb === 'dead' || verb === 'pending') return { verb, ...from }
  return verb === 'receivers' ? { verb } : undefined
}

function printedText({ verb }: EventCommand, { data, next_cursor: next }: JsonObject): string {
  const rows = Array.isArray(data) ? data.filter(isObject) : []
  const more = typeof next === 'string' ? `\nmore: --cursor ${next}` : ''
  if (verb === 'list')
    return (
      table(
        ['event', 'time', 'type', 'subject'],
        rows.map(({ id, time, type, subject }) => [id, time, type, subject].map(String)),
      ) + more
    )
  if (verb === 'dead' || verb === 'pending')
    return (
      table(
        ['event', 'type', 'receiver', 'attempts', 'problem'],
        rows.map(({ event, type, receiver, attempts, problem }) => [event, type, receiver, attempts, problem ?? ''].map(String)),
      ) + more
    )
  if (verb === 'receivers')
    return table(
      ['receiver', 'pending', 'dead', 'state'],
      rows.map(({ name, pending, dead, disabled_at: at }) =>
        [name, pending, dead, at === null ? 'takes events' : `disabled ${at}`].map(String),
      ),
    )
  return JSON.stringify(data, null, 2)
}
