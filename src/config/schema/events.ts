/** Events and the webhooks that they are sent to. */
import { Type } from 'typebox'
import { eventTypes } from '../../core/event-types.ts'
import { choiceField, closed, count, duration, entryName, line, listField, span, url, withDefault } from '../fields/scalars.ts'

/** Standard Webhooks 1.0.0, "Signature scheme": 24 to 64 random bytes, base64, behind `whsec_`. */
const webhookSecret = (description: string) =>
  Type.String({
    description,
    pattern: '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$',
    secret: true,
    expected: 'whsec_ and 24 to 64 random bytes in base64',
  })

const eventType = choiceField(
  'Type of an event.',
  eventTypes().map(({ type }) => type),
)

const receiver = closed('A receiver of webhooks.', {
  name: entryName('Name of the receiver: deliveries are kept under it. Another name is another receiver.'),
  url: url('Address that events are posted to. It may be a private one, but not that of a metadata service. Redirects are not followed.'),
  secret: webhookSecret('Signs what is sent; see [events.md](events.md#verify-the-signature).'),
  former_secrets: withDefault(
    listField('Secrets that sign as well, while the receiver changes to the new one.', webhookSecret('A secret.')),
    [],
  ),
  types: withDefault(listField('Types of events that are sent; empty for all.', eventType), []),
  timeout: withDefault(duration('Time limit of one attempt.'), '20s'),
  give_up_after: withDefault(
    span('Time from the first attempt after which a delivery that has failed is kept as dead. It can be delivered again.'),
    '3d',
  ),
  concurrency: withDefault(count('Attempts at the same time.'), 4),
})

export const events = closed('Events of the gateway, and the webhooks that they are sent to; see [events.md](events.md).', {
  source: withDefault(
    line('`source` of every event, a URI reference. Give each gateway its own where several send to one receiver.', 200),
    '/headgate',
  ),
  retention: withDefault(span('Time for which events are kept, at least 32 days.'), '35d'),
  budget_shares: withDefault(
    listField(
      "Percentages of a key's limit at which an event is raised, each once per window.",
      Type.Integer({ description: 'Percent.', minimum: 1, maximum: 1000 }),
    ),
    [50, 80, 100],
  ),
  receivers: withDefault(listField('Receivers of webhooks.', receiver), []),
})
