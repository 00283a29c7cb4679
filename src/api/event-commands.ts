/** Commands of the command line on events and their deliveries. */
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { type EventSource, enableReceiver, listDeliveries, listEvents, listReceivers, oneEvent, redeliverEvent } from './events.ts'
import type { ChangeSource } from './origin.ts'

export type EventCommand =
  | { readonly verb: 'list'; readonly cursor?: string; readonly limit?: string; readonly type?: string }
  | { readonly verb: 'show'; readonly id: string }
  | { readonly verb: 'dead' | 'pending'; readonly cursor?: string }
  | { readonly verb: 'redeliver'; readonly id: string; readonly receiver?: string }
  | { readonly verb: 'receivers' }
  | { readonly verb: 'enable'; readonly receiver: string }

const VERBS = 'list, show, dead, pending, redeliver, receivers or enable'

/** @throws Fault 400 for what is no command, 404. */
export async function runEventCommand(command: JsonObject, source: EventSource & ChangeSource): Promise<JsonObject> {
  const text = (name: string): string | undefined => {
    const value = command[name]
    if (value === undefined || typeof value === 'string') return value
    throw badField(name, 'expected a text')
  }
  const needed = (name: string): string => {
    const value = text(name)
    if (value === undefined) throw badField(name, 'expected a text')
    return value
  }
  const query = (state?: string): URLSearchParams => {
    const given = { cursor: text('cursor'), limit: text('limit'), type: text('type'), state }
    return new URLSearchParams(
      Object.entries(given).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]])),
    )
  }
  const run = () => {
    switch (command.verb) {
      case 'list':
        return listEvents(query(), source)
      case 'show':
        return oneEvent(needed('id'), source)
      case 'dead':
      case 'pending':
        return listDeliveries(query(command.verb), source)
      case 'redeliver':
        return redeliverEvent(needed('id'), text('receiver'), source)
      case 'receivers':
        return listReceivers(source)
      case 'enable':
        return enableReceiver(needed('receiver'), source)
      default:
        throw badField('verb', `expected ${VERBS}`)
    }
  }
  return (await run()).body
}
