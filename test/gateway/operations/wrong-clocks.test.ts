/**
 * A clock that is wrong by weeks: the limit of a day holds as by the right time, and what others have spent still counts.
 * Runs with `npm run test:servers`.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { eventually } from '../../support/eventually.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import { WallClock } from '../../support/lives/market.ts'
import { startPostgres } from '../../support/postgres.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const BODY = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }
const DAYS = 40 * 86_400_000

/** A call costs $0.10, and the key has $0.50 a day. */
async function configuration(t: Test, store: string): Promise<string> {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
  t.teardown(() => upstream.close())
  return `
store: ${store}
auth: { keys: [ { name: daily, key: "${KEY}", limit: "0.50", limit_reset: daily } ] }
providers: { first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider" } }
models: { acme/one: { endpoints: [ { provider: first, model: one, price: { prompt: "0", completion: "0", request: "0.10" } } ] } }
`
}

const ask = async (gateway: Gateway): Promise<number> => {
  const reply = await gateway.post('/v1/chat/completions', BODY)
  await reply.text()
  return reply.status
}

async function asked(gateway: Gateway, times: number): Promise<number[]> {
  const statuses: number[] = []
  for (let time = 0; time < times; time++) statuses.push(await ask(gateway))
  return statuses
}

const shown = async (gateway: Gateway): Promise<JsonObject> => ((await (await gateway.get('/v1/key')).json()) as { data: JsonObject }).data

t.test('a restart with the right time, after one with a clock that was ahead', async (t) => {
  const clock = new WallClock()
  const gateway = await startGateway(await configuration(t, `{ url: "sqlite:${join(t.testdir(), 'ledger.db')}" }`), { clock })
  t.teardown(() => gateway.close())
  t.same(await asked(gateway, 2), [200, 200])
  clock.leap(DAYS)
  await gateway.restart()
  t.same(await asked(gateway, 1), [200])
  clock.leap(-DAYS)
  await gateway.restart()
  t.match(await shown(gateway), { usage: 0.3, usage_daily: 0.3 })
  t.same(await asked(gateway, 3), [200, 200, 402])
})

const postgres = await startPostgres(t)

/** @param name of its journal. */
async function onPostgres(t: Test, database: string, name: string, clock: Clock = systemClock): Promise<Gateway> {
  const store = `{ url: "${database}", journal: "${join(t.testdirName, `${name}.db`)}" }`
  const gateway = await startGateway(await configuration(t, store), { clock })
  t.teardown(() => gateway.close())
  return gateway
}

if (!postgres) t.pass('skipped: no PostgreSQL')
else {
  t.test('windows that a wrong clock left in the database are built anew from the generations after the next start', async (t) => {
    t.testdir()
    const database = await postgres.database()
    const before = await onPostgres(t, database, 'before')
    t.same(await asked(before, 3), [200, 200, 200])
    await before.close()
    await postgres.query(database, `UPDATE balance_shard SET day = day + ${DAYS}, daily = 0`)
    const after = await onPostgres(t, database, 'after')
    // Beside serving, a moment after the start.
    await eventually('the windows', async () => (await shown(after)).usage_daily === 0.3 || undefined)
    t.match(await shown(after), { usage: 0.3, usage_daily: 0.3 })
    t.same(await asked(after, 3), [200, 200, 402])
    t.match(after.logs.join('\n'), /"kind":"windows-rebuilt","keys":1/, 'the log says so')
  })

  for (const [name, wrong] of [
    ['ahead', DAYS],
    ['behind', -DAYS],
  ] as const)
    t.test(`two programs share a PostgreSQL, one of which is ${name}`, async (t) => {
      t.testdir()
      const database = await postgres.database()
      const right = await onPostgres(t, database, 'right')
      const other = await onPostgres(t, database, 'wrong', { ...systemClock, now: () => Date.now() + wrong })
      t.same(await asked(right, 1), [200])
      t.same(await asked(other, 1), [200])
      t.same(await asked(right, 1), [200])
      const all = await eventually('the charges of both', async () => {
        const data = await shown(right)
        return data.usage === 0.3 ? data : undefined
      })
      t.equal(all.usage_daily, 0.3)
      t.same(await asked(right, 3), [200, 200, 402])
    })
}
