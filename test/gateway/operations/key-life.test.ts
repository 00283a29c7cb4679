/** The end of a key is announced, and its last use is shown. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { asObjects, type JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import type { Gateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
const APP = 'sk-router-v1-app0-0123456789abcdef'
const DAY = 86_400_000
const HOUR = 3_600_000
const START = Date.UTC(2026, 0, 5, 12)

const configuration = (upstream: string, store = ''): string => `
${store}
auth:
  sign_in: { pkce: optional }
  keys:
    - { name: boss, key: "${BOSS}", management: true }
    - { name: app, key: "${APP}", expires_at: "2026-01-15T12:00:00Z" }
providers: { first: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider-secret" } }
models: { acme/one: { endpoints: [ { provider: first, model: m1, price: { prompt: "1", completion: "1" } } ] } }
`

async function call({ url }: Gateway, route: string, body?: JsonObject, secret = BOSS) {
  const [method = '', path = ''] = route.split(' ')
  const headers = { authorization: `Bearer ${secret}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const response = await fetch(`${url}/v1${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
  const reply = (await response.json()) as JsonObject
  return { status: response.status, body: reply, data: (reply.data ?? {}) as JsonObject, key: String(reply.key) }
}

const scene = (t: Test, store = '') => startScene(t, { config: (url) => configuration(url, store), clock: new FakeClock() })
const generate = (gateway: Gateway, secret: string) =>
  call(gateway, 'POST /chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }, secret)

async function warnings(gateway: Gateway): Promise<string[]> {
  const { body } = await call(gateway, 'GET /events?type=headgate.key.expiring')
  return asObjects(body.data)
    .map(({ data }) => data as JsonObject)
    .map(({ name, days, expires_at: end }) => `${name} ${days} ${end}`)
    .sort()
}

/** Every look is a turn of the hour; events are written beside it. */
async function hours(clock: FakeClock, count: number): Promise<void> {
  for (let at = 0; at < count; at++) await clock.advance(HOUR)
}

t.test('an event comes a week and a day before the end of a key, once each', async (t) => {
  const { gateway, clock } = await scene(t, `store: { url: "sqlite:${join(t.testdir(), 'ledger.db')}" }`)
  const make = (name: string, days: number) => call(gateway, 'POST /keys', { name, expires_at: new Date(START + days * DAY).toISOString() })
  await make('long', 9)
  await make('week', 7)
  await make('day', 1)
  const { data: off } = await make('off', 9)
  await call(gateway, `PATCH /keys/${off.hash}`, { disabled: true })
  await call(gateway, 'POST /keys', { name: 'endless' })
  await hours(clock, 25)
  t.same(await warnings(gateway), [], 'a key that was made to last a day or a week has no warning of it')
  await hours(clock, 24 * 2)
  const long = new Date(START + 9 * DAY).toISOString()
  const app = '2026-01-15T12:00:00.000Z'
  await eventually('the first warnings', async () => ((await warnings(gateway)).length === 2 ? true : undefined))
  t.same(await warnings(gateway), [`app 7 ${app}`, `long 7 ${long}`])
  await gateway.restart()
  await hours(clock, 24)
  t.same(await warnings(gateway), [`app 7 ${app}`, `long 7 ${long}`], 'a restart repeats none')
  await hours(clock, 24 * 6)
  const week = new Date(START + 7 * DAY).toISOString()
  const all = [`app 1 ${app}`, `app 7 ${app}`, `long 1 ${long}`, `long 7 ${long}`, `week 1 ${week}`]
  await eventually('the last warnings', async () => ((await warnings(gateway)).length === all.length ? true : undefined))
  t.same(await warnings(gateway), all)
})

t.test('another end of a key has warnings of its own', async (t) => {
  const { gateway, clock } = await scene(t)
  const { data } = await call(gateway, 'POST /keys', { name: 'moved', expires_at: new Date(START + 8 * DAY).toISOString() })
  await hours(clock, 26)
  await eventually('the first warning', async () => ((await warnings(gateway)).length === 1 ? true : undefined))
  await call(gateway, `PATCH /keys/${data.hash}`, { expires_at: new Date(START + 20 * DAY).toISOString() })
  await hours(clock, 24 * 13)
  await eventually('the second warning', async () =>
    (await warnings(gateway)).some((each) => each === `moved 7 ${new Date(START + 20 * DAY).toISOString()}`) ? true : undefined,
  )
})

t.test('the last use of a key is shown to the minute', async (t) => {
  const { gateway, clock } = await scene(t)
  const { data, key } = await call(gateway, 'POST /keys', { name: 'used' })
  const shown = async (): Promise<unknown> => (await call(gateway, `GET /keys/${data.hash}`)).data.last_used_at
  t.equal(await shown(), null)
  await clock.advance(90_000)
  t.equal((await generate(gateway, key)).status, 200)
  t.equal(await shown(), new Date(START + 60_000).toISOString())
  const { data: rotated, key: second } = await call(gateway, `POST /keys/${data.hash}/rotate`, { grace_seconds: 3600 })
  t.equal(rotated.last_used_at, new Date(START + 60_000).toISOString(), 'a new secret changes nothing of it')
  await clock.advance(60_000)
  t.equal((await generate(gateway, second)).status, 200)
  t.equal((await call(gateway, `GET /keys/${rotated.hash}`)).data.last_used_at, new Date(START + 120_000).toISOString())
  const listed = asObjects((await call(gateway, 'GET /keys')).body.data)
  t.same(
    listed.map(({ name, last_used_at: at }) => [name, at]),
    [
      ['boss', null],
      ['app', null],
      ['used', new Date(START + 120_000).toISOString()],
    ],
    'management keys call no models',
  )
})
