/** GET /v1/audit, and how long its entries are kept. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { verifyAuditLog } from '../../src/store/audit-verify.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { list, object } from '../support/fold.ts'
import { type Gateway, KEY, startGateway } from '../support/gateway.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'
const HOUR = 3_600_000

const yaml = (folder: string, more: string) => `store: { url: "sqlite:${join(folder, 'headgate.db')}" }
auth: { keys: [ { name: test, key: "${KEY}" }, { name: boss, key: "${BOSS}", management: true } ] }
providers: { local: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: local, model: echo } ] } }
${more}`

async function scene(t: Test, more = '') {
  const folder = t.testdir()
  const clock = new FakeClock(1, Date.UTC(2026, 10, 18, 12))
  const gateway = await startGateway(yaml(folder, more), { directory: folder, clock })
  t.teardown(() => gateway.close())
  return { gateway, clock, configuration: (text: string) => yaml(folder, text) }
}

async function page(gateway: Gateway, query = ''): Promise<{ status: number; entries: JsonObject[]; next: unknown; text: string }> {
  const reply = await gateway.get(`/v1/audit${query}`, { authorization: `Bearer ${BOSS}` })
  const text = await reply.text()
  const { data = [], next_cursor: next } = object(JSON.parse(text))
  return { status: reply.status, entries: list(data).map(object), next, text }
}

const make = (gateway: Gateway, name: string): Promise<Response> => gateway.post('/v1/keys', { name }, { authorization: `Bearer ${BOSS}` })

t.test('a management key reads the log page by page and by its filters; no other key does', async (t) => {
  const { gateway, clock } = await scene(t)
  for (const name of ['one', 'two', 'three']) {
    await clock.advance(HOUR)
    t.equal((await make(gateway, name)).status, 201)
  }
  t.equal((await gateway.get('/v1/audit')).status, 403)
  t.equal((await gateway.get('/v1/audit', { authorization: 'Bearer sk-none' })).status, 401)
  t.equal((await gateway.post('/v1/audit', {}, { authorization: `Bearer ${BOSS}` })).status, 405, 'nothing can be added')
  const first = await page(gateway, '?limit=2')
  t.match(first.entries, [
    { sequence: 1, action: 'configuration.loaded' },
    { sequence: 2, after: { name: 'one' } },
  ])
  const second = await page(gateway, `?limit=2&cursor=${first.next}`)
  t.match(second.entries, [{ sequence: 3 }, { sequence: 4, previous: second.entries[0]?.hash }])
  const sequences = async (query: string) => (await page(gateway, query)).entries.map(({ sequence }) => sequence)
  t.same(await sequences('?order=newest&limit=1'), [4])
  t.same(await sequences('?actor=boss'), [2, 3, 4])
  t.same(await sequences('?actor=configuration'), [])
  t.same(await sequences('?action=configuration.loaded'), [1])
  t.same(await sequences(`?subject=${String(second.entries[0]?.subject)}`), [3])
  t.same(await sequences('?since=2026-11-18T14:00:00Z&until=2026-11-18T15:00:00Z'), [3])
  for (const query of ['?action=key.eaten', '?limit=501', '?cursor=x', '?since=yesterday', `?actor=${'x'.repeat(1_001)}`]) {
    const refused = await page(gateway, query)
    t.equal(refused.status, 400, query)
    t.match(refused.text, query.slice(1).split('=')[0] ?? '', 'names the parameter')
  }
})

t.test('entries are kept for ever by default, and removed by age where the configuration says so', async (t) => {
  const { gateway, clock, configuration } = await scene(t)
  await make(gateway, 'old')
  await clock.advance(40 * 24 * HOUR)
  await clock.advance(HOUR)
  t.equal((await page(gateway)).entries.length, 2)
  await gateway.reconfigure(configuration('audit: { retention: 35d, hold: true }'))
  await clock.advance(2 * HOUR)
  t.match((await page(gateway)).entries, [{ sequence: 1 }, { sequence: 2 }, { action: 'configuration.reloaded' }], 'held')
  await gateway.reconfigure(configuration('audit: { retention: 35d }'))
  await clock.advance(2 * HOUR)
  const left = await eventually('the old ones are gone', async () => {
    const { entries } = await page(gateway)
    return entries[0]?.sequence === 3 && entries
  })
  t.match(left.at(-1), { action: 'audit_log.pruned', actor: { kind: 'gateway' }, after: { sequence: 2, count: 2 } })
  t.match(await verifyAuditLog(gateway.running.store.auditLog), { problem: undefined })
  await t.rejects(startGateway(configuration('audit: { retention: 31d }')), /audit.retention.*32d|expected at least 32d/)
})
