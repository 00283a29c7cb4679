/** `headgate providers drift`: the words of providers that nothing knows, from the events that report them. */
import { UNKNOWN_WORD } from '../core/event-types.ts'
import { isObject } from '../core/json.ts'
import { CONSOLE, type Streams } from './console.ts'
import { type EventFlags, eventReply } from './events.ts'
import { table } from './plan-table.ts'

/** @returns the exit code: 1 where neither the gateway nor its store answers. */
export async function providerDrift({ json, cursor, ...flags }: EventFlags, streams: Streams = CONSOLE): Promise<number> {
  const command = { verb: 'list', type: UNKNOWN_WORD.type, ...(cursor === undefined ? {} : { cursor }) } as const
  try {
    const reply = await eventReply(command, flags)
    if (json) streams.out(JSON.stringify(reply, null, 2))
    else {
      const rows = (Array.isArray(reply.data) ? reply.data : []).filter(isObject).map(({ time, data }) => {
        const { provider, kind, word } = isObject(data) ? data : {}
        return [provider, kind, word, time].map(String)
      })
      if (rows.length === 0) streams.out('Providers have sent no word that headgate does not know.')
      else streams.out(table(['provider', 'kind', 'word', 'first seen'], rows))
      if (typeof reply.next_cursor === 'string') streams.out(`more: --cursor ${reply.next_cursor}`)
    }
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}
