/** Events as the official packages read them: the signature by Standard Webhooks, the body by CloudEvents. */
import { HTTP } from 'cloudevents'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { eventually } from '../support/eventually.ts'
import { every } from '../support/every.ts'
import { startGateway } from '../support/gateway.ts'
import { FORMER_SECRET, type Received, startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'

const receiver = await startReceiver()
t.teardown(() => receiver.close())
const gateway = await startGateway(
  `auth: { keys: [ { name: boss, key: "${BOSS}", management: true } ] }
events: { receivers: [ { name: ops, url: "${receiver.url}", secret: "${WEBHOOK_SECRET}", former_secrets: [ "${FORMER_SECRET}" ] } ] }
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }`,
  { clock: systemClock },
)
t.teardown(() => gateway.close())

const receivedHeaders = ({ headers }: Received): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

for (const name of ['one', 'Schlüssel mit Umlauten ✓'])
  await fetch(`${gateway.url}/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  })
await eventually('two events', () => receiver.received.length >= 2)

t.test('standardwebhooks 1.1.1 verifies every event with either secret, and refuses what was changed', async (t) => {
  await every(t, 'every event', async (t) => {
    for (const sent of receiver.received) {
      for (const secret of [WEBHOOK_SECRET, FORMER_SECRET]) t.same(new Webhook(secret).verify(sent.body, receivedHeaders(sent)), sent.event)
      const other = new Webhook(`whsec_${Buffer.alloc(32, 1).toString('base64')}`)
      t.throws(() => other.verify(sent.body, receivedHeaders(sent)), WebhookVerificationError)
      t.throws(() => new Webhook(WEBHOOK_SECRET).verify(`${sent.body} `, receivedHeaders(sent)), WebhookVerificationError)
      t.throws(() => new Webhook(WEBHOOK_SECRET).verify(sent.body, { ...receivedHeaders(sent), 'webhook-id': 'evt_x' }), WebhookVerificationError)
    }
  })
})

t.test('cloudevents 10.0.0 reads every event in structured mode', async (t) => {
  await every(t, 'every event', async (t) => {
    for (const sent of receiver.received) {
      const event = HTTP.toEvent({ headers: receivedHeaders(sent), body: sent.body })
      if (Array.isArray(event)) throw new Error('one event was sent')
      t.ok(event.validate())
      t.match(event, { specversion: '1.0', type: 'headgate.key.created', source: '/headgate', id: sent.headers['webhook-id'] })
    }
  })
})
