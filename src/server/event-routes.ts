/** Paths under /v1/events, for management keys. */
import {
  type EventSource,
  enableReceiver,
  eventStream,
  listDeliveries,
  listEvents,
  listReceivers,
  oneEvent,
  redeliverEvent,
} from '../api/index.ts'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Answer, OperationRequest } from './gateway.ts'

interface EventCalls extends EventSource {
  /** Reads the body when it is called. */
  body(): Promise<JsonObject>
}

type Act = () => Promise<Answer>

const ROOT = '/v1/events'
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** @returns undefined where no operation has the path. @throws Fault 405 for another method of one. */
export function eventOperation(call: OperationRequest, source: EventCalls): ((key: ApiKey) => Promise<Answer>) | undefined {
  const methods = methodsOf(call, source)
  if (!methods) return undefined
  const method = call.method === 'HEAD' ? 'GET' : call.method
  const act = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (!act) throw new Fault('method_not_allowed', { headers: { Allow: Object.keys(methods).join(', ') } })
  return async (key) => {
    if (!key.management) throw new Fault('management_only')
    return act()
  }
}

function methodsOf({ path, query, request, method }: OperationRequest, source: EventCalls): Readonly<Record<string, Act>> | undefined {
  if (path === ROOT) {
    const { accept = '', 'last-event-id': last } = request.headers
    const streams = accept.includes('text/event-stream') && method === 'GET'
    return { GET: () => (streams ? eventStream(query, typeof last === 'string' ? last : undefined, source) : listEvents(query, source)) }
  }
  if (!path.startsWith(`${ROOT}/`)) return undefined
  const [first = '', second, third, ...rest] = path.slice(ROOT.length + 1).split('/')
  if (!NAME.test(first) || rest.length > 0) return undefined
  if (second === undefined) {
    if (first === 'deliveries') return { GET: () => listDeliveries(query, source) }
    if (first === 'receivers') return { GET: () => listReceivers(source) }
    return { GET: () => oneEvent(first, source) }
  }
  if (first === 'receivers' && third === 'enable' && NAME.test(second)) return { POST: () => enableReceiver(second, source) }
  if (second !== 'redeliver' || third !== undefined) return undefined
  return {
    POST: async () => {
      const { receiver, ...others } = await source.body()
      for (const name of Object.keys(others)) throw badField(name, 'no such field, expected receiver')
      if (receiver !== undefined && typeof receiver !== 'string') throw badField('receiver', 'expected the name of a receiver')
      return redeliverEvent(first, receiver, source)
    },
  }
}
