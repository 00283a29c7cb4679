/** Events and their deliveries, described. */
import { Type } from 'typebox'
import { DELIVERY_STATES } from '../store/events.ts'
import type { DescribedOperation, DescribedParameter } from './openapi.ts'

const time = (description: string) => Type.String({ format: 'date-time', description })
const orNull = (schema: ReturnType<typeof Type.String>) => Type.Union([schema, Type.Null()])
const cursor = orNull(Type.String({ description: 'The `cursor` of the next page; null at the end.' }))

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
  },
  { description: 'A CloudEvent 1.0.' },
)

const delivery = Type.Object({
  event: Type.String({ description: 'Id of the event.' }),
  type: Type.String(),
  receiver: Type.String(),
  state: Type.Enum([...DELIVERY_STATES]),
  attempts: Type.Integer({ description: 'Since it was made or made again.' }),
  status: Type.Union([Type.Integer(), Type.Null()], { description: 'Status of the last response.' }),
  problem: orNull(Type.String({ description: 'Why the last attempt failed.' })),
  next_attempt_at: orNull(time('When it is due; null where it is not pending.')),
  updated_at: time('Of the last change.'),
})

const receiver = Type.Object({
  name: Type.String(),
  disabled_at: orNull(time('When it answered 410; null where it takes events.')),
  pending: Type.Integer(),
  dead: Type.Integer(),
})

const CURSOR: DescribedParameter = {
  name: 'cursor',
  in: 'query',
  description: '`next_cursor` of the page before.',
  schema: { type: 'string', pattern: '^[0-9]{1,15}$' },
  example: '0',
}
const LIMIT: DescribedParameter = {
  name: 'limit',
  in: 'query',
  description: 'Entries per page at most; 50 without it.',
  schema: { type: 'integer', minimum: 1, maximum: 100 },
  example: 50,
}
const ID: DescribedParameter = { name: 'id', in: 'path', description: 'Id of the event.', schema: { type: 'string' }, example: 'evt_0' }

const manages = { tag: 'Events', key: 'management' } as const

export function eventOperations(): DescribedOperation[] {
  return [
    {
      ...manages,
      method: 'get',
      path: '/events',
      id: 'listEvents',
      summary: 'List events, or stream them',
      description:
        'The oldest first where `order` does not say otherwise. With `Accept: text/event-stream` the events come as server-sent events for as long as the connection is open: new ones, or with `Last-Event-ID` those behind that one.',
      parameters: [
        CURSOR,
        LIMIT,
        {
          name: 'type',
          in: 'query',
          description: 'Only events of this type; may be repeated.',
          schema: { type: 'string' },
        },
        {
          name: 'order',
          in: 'query',
          description: '`newest` for the newest first.',
          schema: { type: 'string', enum: ['oldest', 'newest'] },
          example: 'newest',
        },
      ],
      streams: true,
      reply: { description: 'Events.', schema: Type.Object({ data: Type.Array(event), next_cursor: cursor }) },
      faults: ['bad_request', 'unavailable'],
    },
    {
      ...manages,
      method: 'get',
      path: '/events/deliveries',
      id: 'listEventDeliveries',
      summary: 'List deliveries of events',
      parameters: [
        { name: 'state', in: 'query', description: 'Only these.', schema: { type: 'string', enum: [...DELIVERY_STATES] }, example: 'dead' },
        { name: 'receiver', in: 'query', description: 'Only of this receiver.', schema: { type: 'string' }, example: 'ops' },
        CURSOR,
        LIMIT,
      ],
      reply: { description: 'Deliveries, by event.', schema: Type.Object({ data: Type.Array(delivery), next_cursor: cursor }) },
      faults: ['bad_request', 'unavailable'],
    },
    {
      ...manages,
      method: 'get',
      path: '/events/receivers',
      id: 'listEventReceivers',
      summary: 'List receivers with what they are still to get',
      reply: { description: 'Receivers that deliveries were made for.', schema: Type.Object({ data: Type.Array(receiver) }) },
      faults: ['unavailable'],
    },
    {
      ...manages,
      method: 'post',
      path: '/events/receivers/{name}/enable',
      id: 'enableEventReceiver',
      summary: 'Have a receiver take events again',
      description: 'One that has answered 410 is sent nothing. What has come meanwhile is delivered.',
      parameters: [{ name: 'name', in: 'path', description: 'Its name.', schema: { type: 'string' }, example: 'ops' }],
      reply: {
        description: 'The receiver.',
        schema: Type.Object({ data: Type.Object({ name: Type.String(), disabled_at: Type.Null() }) }),
      },
      faults: ['not_found', 'unavailable'],
    },
    {
      ...manages,
      method: 'get',
      path: '/events/{id}',
      id: 'getEvent',
      summary: 'Get an event with its deliveries',
      parameters: [ID],
      reply: {
        description: 'The event.',
        schema: Type.Object({ data: Type.Object({ ...event.properties, deliveries: Type.Array(delivery) }) }),
      },
      faults: ['not_found', 'unavailable'],
    },
    {
      ...manages,
      method: 'post',
      path: '/events/{id}/redeliver',
      id: 'redeliverEvent',
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
    },
  ]
}
