/** Old generations leave the ledger of a running gateway, and no sum that anybody sees changes. */
import { join } from 'node:path'
import t from 'tap'
import { adminFetch } from '../../support/admin.ts'
import { JumpingClock } from '../../support/clock.ts'
import { startScene } from '../../support/scene.ts'
import { says } from '../../support/wire.ts'

const DAY = 86_400_000
const COST = 14_000
const usd = (requests: number): number => (requests * COST) / 1e9

t.test('returns 404 for a generation older than the retention, whose cost still counts', async (t) => {
  const keys = 'auth: { keys: [ { name: test, key: sk-router-v1-0123456789abcdef, limit: "1.00", limit_reset: monthly } ] }\n'
  const store = `store: { url: "sqlite:${join(t.testdir(), 'ledger.db')}", retention: 32d }\n`
  const clock = new JumpingClock(1, Date.UTC(2026, 0, 10, 12))
  const { gateway } = await startScene(t, {
    answer: says({ text: ['ok'], usage: { input: 10, output: 2 } }),
    yaml: `${store}${keys}`,
    clock,
  })
  const ask = async (): Promise<string> => {
    const reply = await gateway.post('/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] })
    t.equal(reply.status, 200)
    await reply.text()
    return String(reply.headers.get('x-generation-id'))
  }
  const found = async (id: string): Promise<number> => (await gateway.get(`/v1/generation?id=${id}`)).status
  const key = async () => ((await (await gateway.get('/v1/key')).json()) as { data: Record<string, number> }).data
  const admin = async (path: string): Promise<string> => (await adminFetch(`${gateway.admin}/ledger/${path}`)).text()

  const old = [await ask(), await ask(), await ask()]
  clock.jumped = 20 * DAY
  await clock.advance(60_000)
  const young = await ask()
  t.same(await Promise.all([...old, young].map(found)), [200, 200, 200, 200])
  t.match(await key(), { usage: usd(4), usage_monthly: usd(4), limit_remaining: 1 - usd(4) })

  // 32 days after the first ones, and an hour, since the round comes hourly.
  clock.jumped = 32 * DAY
  await clock.advance(3_600_000 + 60_000)
  t.same(await Promise.all(old.map(found)), [404, 404, 404])
  t.equal(await found(young), 200)
  t.match(await key(), { usage: usd(4), usage_monthly: 0, limit_remaining: 1 }, 'another month')
  t.same(
    (await admin('export'))
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id),
    [young],
  )
  t.match(JSON.parse(await admin('verify')), { ok: true, generations: 1, charged: COST, carried: 3 * COST })

  await gateway.restart()
  t.match(await key(), { usage: usd(4) }, 'also after a restart')
  t.match(JSON.parse(await admin('recovery')), { count: 0, charged: 0, oldest: null, newest: null, keys: [], generations: [] })
  t.match(JSON.parse(await admin('verify/full')), { ok: true, generations: 1, carried: 3 * COST })
})

t.test('without a retention nothing leaves', async (t) => {
  const clock = new JumpingClock()
  const { gateway } = await startScene(t, { answer: says({ text: ['ok'], usage: { input: 10, output: 2 } }), clock })
  const reply = await gateway.post('/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] })
  await reply.text()
  clock.jumped = 400 * DAY
  // The round comes hourly.
  await clock.advance(3_600_000 + 60_000)
  t.equal((await gateway.get(`/v1/generation?id=${reply.headers.get('x-generation-id')}`)).status, 200)
})
