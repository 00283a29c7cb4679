/** Events reach receivers: signed, at least once, with one id, whatever the receiver does. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { adminFetch } from '../support/admin.ts'
import { FakeClock, turns } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { type Scene, startScene } from '../support/scene.ts'
import {
  expectedSignature,
  FORMER_SECRET,
  startReceiver,
  status,
  WEBHOOK_SECRET,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
const HOUR = 3_600_000

interface Watched {
  scene: Scene
  receiver: WebhookReceiver
  manage(path: string, method?: string, body?: JsonObject): Promise<{ status: number; body: JsonObject }>
  /** Moves the clock a second at a time until it is so. */
  pass(until: () => boolean, most?: number): Promise<void>
}

/** A gateway that sends to one receiver. @param more settings of the receiver and of the events, as flow YAML. */
async function watched(t: Test, { more = '', events = '', store = '', epoch = Date.UTC(2026, 0, 5, 12) } = {}): Promise<Watched> {
  const receiver = await startReceiver()
  t.teardown(() => receiver.close())
  const clock = new FakeClock(1, epoch)
  const where = store === '' ? '' : `store: { url: "sqlite:${store}" }`
  // A call costs exactly $1.
  const config = (upstream: string): string => `${where}
auth:
  keys:
    - { name: test, key: "sk-router-v1-0123456789abcdef0123456789abcdef", limit: "10.00", limit_reset: daily }
    - { name: boss, key: "${BOSS}", management: true }
providers: { first: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider-secret" } }
models:
  acme/one: { endpoints: [ { provider: first, model: upstream-model, price: { prompt: "0", completion: "0", request: "1.00" } } ] }
events: { ${events} receivers: [ { name: ops, url: "${receiver.url}", secret: "${WEBHOOK_SECRET}" ${more} } ] }`
  const scene = await startScene(t, { clock, config })
  const manage: Watched['manage'] = async (path, method = 'GET', body) => {
    const response = await fetch(`${scene.gateway.url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${BOSS}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: response.status, body: (await response.json()) as JsonObject }
  }
  const pass: Watched['pass'] = async (until, most = 20) => {
    for (let second = 0; second < most && !until(); second++) {
      await clock.advance(1_000)
      await turns(50)
    }
    await eventually('the receiver has got it', until)
  }
  return { scene, receiver, manage, pass }
}

const makeKey = async ({ manage }: Watched, name: string): Promise<string> => {
  const { body } = await manage('/keys', 'POST', { name })
  return (body.data as { hash: string }).hash
}

t.test('a key that is made, changed, switched off and removed', async (t) => {
  const found = await watched(t, { more: `, former_secrets: [ "${FORMER_SECRET}" ]` })
  const { receiver, manage, pass } = found
  const hash = await makeKey(found, 'new')
  await manage(`/keys/${hash}`, 'PATCH', { limit: 5 })
  await manage(`/keys/${hash}`, 'PATCH', { disabled: true })
  await manage(`/keys/${hash}`, 'DELETE')
  await pass(() => receiver.received.length >= 4)
  t.same(receiver.typesTaken().sort(), ['headgate.key.changed', 'headgate.key.created', 'headgate.key.disabled', 'headgate.key.revoked'])
  const created = receiver.received.find(({ event }) => event.type === 'headgate.key.created')
  if (!created) throw new Error('no event of the new key')
  t.match(created.event, { specversion: '1.0', source: '/headgate', subject: hash, data: { key: hash, name: 'new' } })
  t.equal(created.headers['content-type'], 'application/cloudevents+json; charset=utf-8')
  t.equal(created.headers['webhook-id'], created.event.id)
  t.equal(
    created.headers['webhook-timestamp'],
    String(Math.floor(found.scene.clock.now() / 1000))
      .slice(0, 8)
      .padEnd(10, String(created.headers['webhook-timestamp']).slice(8)),
  )
  const signatures = String(created.headers['webhook-signature']).split(' ')
  t.same(
    signatures,
    [expectedSignature(created, WEBHOOK_SECRET), expectedSignature(created, FORMER_SECRET)],
    'one signature for each secret',
  )
  t.notMatch(created.body, /sk-router-v1-[0-9a-f]{20}/, 'no secret')
})

t.test('a receiver that is down for an hour gets every event once', async (t) => {
  const found = await watched(t)
  const { receiver, scene, manage, pass } = found
  receiver.answer = status(503)
  for (const name of ['one', 'two', 'three']) await makeKey(found, name)
  await pass(() => receiver.received.length >= 3)
  for (let minute = 0; minute < 60; minute++) {
    await scene.clock.advance(60_000)
    await turns(30)
  }
  await makeKey(found, 'four')
  await pass(() => receiver.typesTaken().length === 4)
  const before = receiver.received.length
  t.ok(before > 4, 'they were tried again')
  t.ok(before < 60, 'less and less often')
  receiver.answer = status(204)
  await scene.clock.advance(HOUR)
  const accepted = () => new Set(receiver.received.slice(before).map(({ event }) => event.id))
  await pass(() => accepted().size === 4, 900)
  await scene.clock.advance(3 * HOUR)
  await turns(200)
  const ids = receiver.received.slice(before).map(({ event }) => event.id)
  t.equal(ids.length, 4, 'none is sent again once it is taken')
  t.equal(new Set(receiver.received.map(({ event }) => event.id)).size, 4, 'each attempt of an event has its id')
  const { body } = await manage('/events/receivers')
  t.same(body.data, [{ name: 'ops', disabled_at: null, pending: 0, dead: 0 }])
})

t.test('Retry-After is respected', async (t) => {
  const found = await watched(t)
  const { receiver, scene, pass } = found
  receiver.answer = status(429, { 'retry-after': '600' })
  await makeKey(found, 'one')
  await pass(() => receiver.received.length === 1)
  receiver.answer = status(204)
  await turns(50)
  for (let second = 0; second < 590; second += 10) {
    await scene.clock.advance(10_000)
    await turns(5)
  }
  t.equal(receiver.received.length, 1, 'not before')
  await pass(() => receiver.received.length === 2, 60)
  t.equal(receiver.received.length, 2)
})

t.test('410 disables the receiver, and what comes meanwhile waits for it', async (t) => {
  const found = await watched(t)
  const { receiver, scene, manage, pass } = found
  receiver.answer = status(410)
  await makeKey(found, 'one')
  await pass(() => receiver.received.length === 1)
  const state = async () => ((await manage('/events/receivers')).body.data as { disabled_at: string | null }[])[0]?.disabled_at
  await eventually('the state of the deliveries', async () => (await state()) !== null)
  await makeKey(found, 'two')
  await scene.clock.advance(2 * HOUR)
  await turns(200)
  t.equal(receiver.received.length, 1, 'nothing is sent')
  receiver.answer = status(204)
  t.equal((await manage('/events/receivers/ops/enable', 'POST', {})).status, 200)
  await pass(() => receiver.received.length === 3)
  t.equal(new Set(receiver.received.map(({ event }) => event.id)).size, 2, 'both events')
})

t.test('a delivery that is given up is kept, listed and made again', async (t) => {
  const found = await watched(t, { more: ', give_up_after: 1h' })
  const { receiver, scene, manage, pass } = found
  receiver.answer = status(500)
  await makeKey(found, 'one')
  await pass(() => receiver.received.length === 1)
  const dead = async () => (await manage('/events/deliveries?state=dead')).body.data as { event: string; problem: string; status: number }[]
  for (let minute = 0; minute < 90; minute++) {
    await scene.clock.advance(60_000)
    await turns(20)
  }
  await eventually('the state of the deliveries', async () => (await dead()).length === 1)
  const [given] = await dead()
  t.match(given, { problem: 'status 500', status: 500 })
  const attempts = receiver.received.length
  receiver.answer = status(200)
  t.match(await manage(`/events/${given?.event}/redeliver`, 'POST', {}), { status: 200, body: { data: { deliveries: 1 } } })
  await pass(() => receiver.received.length === attempts + 1)
  await eventually('the state of the deliveries', async () => (await dead()).length === 0)
  t.match((await manage(`/events/${given?.event}`)).body.data, { type: 'headgate.key.created', deliveries: [{ state: 'delivered' }] })
  t.equal((await manage('/events/evt_none')).status, 404)
  const metrics = await (await adminFetch(`${scene.gateway.admin}/metrics`)).text()
  t.match(metrics, /headgate_events_delivered_total\{receiver="ops"\} 1/)
  t.match(metrics, /headgate_events_failed_total\{receiver="ops"\} [1-9]/)
  t.match(metrics, /headgate_events_dead 1/)
})

t.test('hostile receivers: silence, a body without an end, a redirect', async (t) => {
  const found = await watched(t, { more: ', timeout: 5s' })
  const { receiver, scene, manage, pass } = found
  const other = await startReceiver()
  t.teardown(() => other.close())
  receiver.answer = () => {}
  await makeKey(found, 'silent')
  await pass(() => receiver.received.length === 1)
  await scene.clock.advance(5_000)
  await turns(100)
  const problem = async (): Promise<unknown> =>
    ((await manage('/events/deliveries')).body.data as { problem: string }[]).map(({ problem }) => problem)
  await eventually('the state of the deliveries', async () => String(await problem()) === 'timeout')
  receiver.answer = (_request, response) => {
    response.writeHead(302, { location: other.url }).end()
  }
  await pass(() => receiver.received.length === 2, 60)
  await eventually('the state of the deliveries', async () => String(await problem()) === 'status 302')
  t.equal(other.received.length, 0, 'a redirect is not followed')
  receiver.answer = (_request, response) => {
    response.writeHead(200)
    const pour = (): void => {
      if (!response.destroyed) response.write(Buffer.alloc(32 * 1024), pour)
    }
    pour()
  }
  await pass(() => receiver.received.length === 3, 60)
  await eventually('the state of the deliveries', async () => String(await problem()) === '')
  t.equal(receiver.received.length, 3, 'what has answered 200 has taken it, however its body goes on')
})

t.test('only the types that a receiver names are sent to it', async (t) => {
  const found = await watched(t, { more: ', types: [ headgate.key.revoked ]' })
  const { receiver, manage, pass } = found
  const hash = await makeKey(found, 'one')
  await manage(`/keys/${hash}`, 'DELETE')
  await pass(() => receiver.received.length === 1)
  t.same(receiver.typesTaken(), ['headgate.key.revoked'])
  t.equal(((await manage('/events')).body.data as unknown[]).length, 2, 'the list has both')
})

t.test('each share of a limit once per window, under concurrency', async (t) => {
  const found = await watched(t, { epoch: Date.UTC(2026, 0, 5, 23, 30) })
  const { receiver, scene, pass } = found
  const replies = await Promise.all(Array.from({ length: 14 }, () => scene.ask()))
  t.equal(replies.filter(({ status }) => status === 200).length, 10)
  t.equal((await scene.ask()).status, 402)
  await pass(() => receiver.received.length >= 4)
  const shares = () =>
    receiver.received.filter(({ event }) => event.type === 'headgate.budget.share_reached').map(({ event }) => event.data)
  t.same(
    shares()
      .map(({ share_percent }) => Number(share_percent))
      .sort((a, b) => a - b),
    [50, 80, 100],
  )
  t.match(shares()[0], { name: 'test', limit_usd: '10.00', reset: 'daily', window_start: '2026-01-05T00:00:00.000Z' })
  t.equal(receiver.typesTaken().filter((type) => type === 'headgate.budget.limit_reached').length, 1)
  await scene.clock.advance(HOUR)
  await Promise.all(Array.from({ length: 6 }, () => scene.ask()))
  await pass(() => shares().length === 4)
  t.equal(shares()[3]?.window_start, '2026-01-06T00:00:00.000Z', 'and again in the next window')
})

t.test('what was not delivered before a restart is delivered after it', async (t) => {
  const found = await watched(t, { store: join(t.testdir(), 'headgate.db') })
  const { receiver, scene, pass } = found
  receiver.answer = status(503)
  await makeKey(found, 'one')
  await pass(() => receiver.received.length === 1)
  receiver.answer = status(204)
  await scene.gateway.restart()
  await pass(() => receiver.received.length === 2, 60)
  t.equal(new Set(receiver.received.map(({ event }) => event.id)).size, 1)
})

t.test('the stream shows events as they come, and resumes behind the last one', async (t) => {
  const found = await watched(t)
  const { scene, pass } = found
  await makeKey(found, 'before')
  const open = async (headers: Record<string, string>) => {
    const abort = new AbortController()
    const reply = await fetch(`${scene.gateway.url}/v1/events`, {
      headers: { authorization: `Bearer ${BOSS}`, accept: 'text/event-stream', ...headers },
      signal: abort.signal,
    })
    let text = ''
    const reading = (async () => {
      for await (const chunk of reply.body ?? []) text += Buffer.from(chunk).toString()
    })().catch(() => {})
    return {
      reply,
      text: () => text,
      end: () => {
        abort.abort()
        return reading
      },
    }
  }
  const live = await open({})
  t.equal(live.reply.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  await makeKey(found, 'live')
  await pass(() => live.text().includes('data: '))
  t.match(live.text(), /id: 2\nevent: headgate\.key\.created\ndata: \{"specversion":"1\.0"/)
  t.notMatch(live.text(), /"before"/, 'without an id only what is new')
  await live.end()
  const resumed = await open({ 'last-event-id': '1' })
  await pass(() => resumed.text().includes('"live"'))
  t.notMatch(resumed.text(), /"before"/)
  await resumed.end()
  const plain = await fetch(`${scene.gateway.url}/v1/events`, { headers: { authorization: `Bearer ${scene.gateway.key}` } })
  t.equal(plain.status, 403, 'management keys alone')
})
