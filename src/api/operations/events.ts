/** Events and their deliveries to receivers of webhooks. */
import { Type } from 'typebox'
import { badField } from '../../core/faults.ts'
import { DELIVERY_STATES } from '../../store/events.ts'
import { eventStream } from '../event-stream.ts'
import {
  DELIVERIES_QUERY,
  EVENTS_QUERY,
  enableReceiver,
  listDeliveries,
  listEvents,
  listReceivers,
  oneEvent,
  redeliverEvent,
} from '../events.ts'
import { type Operation, operation } from '../operation.ts'
import { maybe } from '../schemas.ts'

const time = (description: string) => Type.String({ format: 'date-time', description })
const next = maybe(Type.String({ description: 'The `cursor` of the next page; null at the end.' }))

const delivery = Type.Object({
  event: Type.String({ description: 'Id of the event.' }),
  type: Type.String(),
  receiver: Type.String(),
  state: Type.Enum([...DELIVERY_STATES]),
  attempts: Type.Integer({ description: 'Since it was made or made again.' }),
  status: Type.Union([Type.Integer(), Type.Null()], { description: 'Status of the last response.' }),
  problem: maybe(Type.String({ description: 'Why the last attempt failed.' })),
  next_attempt_at: maybe(time('When it is due; null where it is not pending.')),
  updated_at: time('Of the last change.'),
})

export const event = Type.Object(
  {
    specversion: Type.Literal('1.0'),
    id: Type.String({ description: 'Also the `webhook-id`.' }),
    source: Type.String(),
    type: Type.String({ description: 'Its type.' }),
    time: time('When it happened.'),
    subject: Type.String({ description: 'What it is about.' }),
    datacontenttype: Type.Literal('application/json'),
    data: Type.Object({}, { additionalProperties: true }),
    deliveries: Type.Optional(Type.Array(delivery, { description: 'In lists with `include_deliveries`, and of a single event.' })),
  },
  { description: 'A CloudEvent 1.0.' },
)

const receiver = Type.Object({
  name: Type.String(),
  disabled_at: maybe(time('When it answered 410; null where it takes events.')),
  pending: Type.Integer(),
  dead: Type.Integer(),
})

const part = <Name extends string>(name: Name, description: string, example: string) =>
  ({ name, in: 'path', description, schema: { type: 'string' }, example, pattern: '[A-Za-z0-9][A-Za-z0-9._-]{0,63}' }) as const
const ID = part('id', 'Id of the event.', 'evt_0')

const reads = { tag: 'Events', roles: ['viewer'] } as const
const manages = { tag: 'Events', roles: ['admin'] } as const

export const eventOperations: readonly Operation[] = [
  operation('GET /events', {
    ...reads,
    id: 'listEvents',
    summary: 'List events, or stream them',
    description:
      'The oldest first where `order` does not say otherwise. With `Accept: text/event-stream` the events come as server-sent events for as long as the connection is open: new ones, or with `Last-Event-ID` those behind that one.',
    parameters: EVENTS_QUERY,
    streams: true,
    reply: { description: 'Events.', schema: Type.Object({ data: Type.Array(event), next_cursor: next }) },
    faults: ['bad_request', 'unavailable'],
    handle: ({ query, headers, method }, source) => {
      if (method !== 'GET' || !headers.accept?.includes('text/event-stream')) return listEvents(query, source)
      const last = headers['last-event-id']
      return eventStream(query, typeof last === 'string' ? last : undefined, source)
    },
  }),
  operation('GET /events/deliveries', {
    ...reads,
    id: 'listEventDeliveries',
    summary: 'List deliveries of events',
    parameters: DELIVERIES_QUERY,
    reply: { description: 'Deliveries, by event.', schema: Type.Object({ data: Type.Array(delivery), next_cursor: next }) },
    faults: ['bad_request', 'unavailable'],
    handle: ({ query }, source) => listDeliveries(query, source),
  }),
  operation('GET /events/receivers', {
    ...reads,
    id: 'listEventReceivers',
    summary: 'List receivers with what they are still to get',
    reply: { description: 'Receivers that deliveries were made for.', schema: Type.Object({ data: Type.Array(receiver) }) },
    faults: ['unavailable'],
    handle: (_call, source) => listReceivers(source),
  }),
  operation('POST /events/receivers/{name}/enable', {
    ...manages,
    id: 'enableEventReceiver',
    audit: 'event_receiver.enabled',
    summary: 'Have a receiver take events again',
    description: 'One that has answered 410 is sent nothing. What has come meanwhile is delivered.',
    parameters: [part('name', 'Its name.', 'ops')],
    reply: {
      description: 'The receiver.',
      schema: Type.Object({ data: Type.Object({ name: Type.String(), disabled_at: Type.Null() }) }),
    },
    faults: ['not_found', 'unavailable'],
    handle: ({ path }, source) => enableReceiver(path.name, source),
  }),
  operation('GET /events/{id}', {
    ...reads,
    id: 'getEvent',
    summary: 'Get an event with its deliveries',
    parameters: [ID],
    reply: {
      description: 'The event.',
      schema: Type.Object({ data: Type.Object({ ...event.properties, deliveries: Type.Array(delivery) }) }),
    },
    faults: ['not_found', 'unavailable'],
    handle: ({ path }, source) => oneEvent(path.id, source),
  }),
  operation('POST /events/{id}/redeliver', {
    ...manages,
    id: 'redeliverEvent',
    audit: 'event.redelivered',
    summary: 'Deliver an event again',
    description: 'With the same id, whether or not the receiver has it.',
    parameters: [ID],
    body: {
      schema: Type.Object({ receiver: Type.Optional(Type.String({ description: 'Only to this one.' })) }),
      examples: {
        all: { summary: 'To all that have a delivery of it', value: {} },
        one: { summary: 'To one', value: { receiver: 'ops' } },
      },
    },
    reply: {
      description: 'How many deliveries are made again.',
      schema: Type.Object({ data: Type.Object({ id: Type.String(), deliveries: Type.Integer() }) }),
    },
    faults: ['not_found', 'unavailable'],
    async handle({ path, body }, source) {
      const { receiver, ...others } = await body()
      for (const name of Object.keys(others)) throw badField(name, 'no such field, expected receiver')
      if (receiver !== undefined && typeof receiver !== 'string') throw badField('receiver', 'expected the name of a receiver')
      return redeliverEvent(path.id, receiver, source)
    },
  }),
]
