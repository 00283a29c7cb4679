/** Sign-ins of the control room and configurations in the audit log. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { ADMIN_TOKEN, adminFetch } from '../support/admin.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { type Gateway, KEY, startGateway } from '../support/gateway.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'
const OWN = { 'x-control-room': '1', 'content-type': 'application/json' }

const yaml = (folder: string, more = '') => `store: { url: "sqlite:${join(folder, 'headgate.db')}" }
auth: { keys: [ { name: test, key: "${KEY}" }, { name: boss, key: "${BOSS}", management: true } ] }
providers: { local: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: local, model: echo } ] } }
${more}`

async function opened(t: Test): Promise<{ gateway: Gateway; folder: string; clock: FakeClock }> {
  const folder = t.testdir()
  const clock = new FakeClock(1, Date.UTC(2026, 10, 18, 12))
  const gateway = await startGateway(yaml(folder), { directory: folder, clock })
  t.teardown(() => gateway.close())
  return { gateway, folder, clock }
}

async function entries(gateway: Gateway, action?: string): Promise<JsonObject[]> {
  const rows = await gateway.running.store.auditLog.page({ after: 0, limit: 1_000, action })
  return rows.map(({ entry }) => JSON.parse(entry) as JsonObject)
}

const signIn = (gateway: Gateway, key: string): Promise<Response> =>
  fetch(`${gateway.admin}/control-room/session`, { method: 'POST', headers: OWN, body: JSON.stringify({ key }) })

t.test('sign-ins, refused ones and sign-outs have entries without what they were made with', async (t) => {
  const { gateway } = await opened(t)
  const made = await adminFetch(`${gateway.admin}/keys/command`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ verb: 'create', fields: { name: 'manager' }, management: true }),
  })
  const manager = (await made.json()) as { key: string; data: { hash: string } }
  const reply = await signIn(gateway, manager.key)
  t.equal(reply.status, 201)
  t.equal((await signIn(gateway, ADMIN_TOKEN)).status, 201)
  t.equal((await signIn(gateway, 'sk-wrong-0123456789')).status, 401)
  t.equal((await signIn(gateway, KEY)).status, 403)
  const cookie = reply.headers.get('set-cookie')?.split(';')[0] ?? ''
  const changed = await fetch(`${gateway.admin}/v1/keys/${manager.data.hash}`, {
    method: 'PATCH',
    headers: { ...OWN, cookie },
    body: JSON.stringify({ limit: 3 }),
  })
  t.equal(changed.status, 200)
  await fetch(`${gateway.admin}/control-room/session`, { method: 'DELETE', headers: { ...OWN, cookie } })
  await eventually('both refusals', async () => (await entries(gateway, 'session.refused')).length === 2)
  const found = await entries(gateway)
  const byAction = (action: string) => found.filter((entry) => entry.action === action)
  const operator = { kind: 'admin_token', id: null, name: null }
  const ofManager = { kind: 'management_key', id: manager.data.hash }
  t.match(byAction('key.created'), [{ actor: operator, address: '127.0.0.1' }])
  t.match(byAction('session.opened'), [
    { actor: ofManager, address: '127.0.0.1', subject: 'manager' },
    { actor: { ...operator, name: 'admin token' }, subject: 'operator' },
  ])
  t.match(byAction('session.refused'), [
    { actor: { kind: 'visitor' }, address: '127.0.0.1', after: { means: 'key', error: 'invalid_key' } },
    { after: { means: 'key', error: 'management_only' } },
  ])
  t.match(byAction('key.changed'), [{ actor: { ...ofManager, name: 'manager' }, address: '127.0.0.1', after: { limit_nano: 3e9 } }])
  t.match(byAction('session.ended'), [{ actor: ofManager, address: '127.0.0.1' }])
  for (const secret of [manager.key, ADMIN_TOKEN, KEY, 'sk-wrong', cookie.split('=')[1] ?? '']) t.notMatch(JSON.stringify(found), secret)
})

t.test('strangers cannot fill the log with sign-ins that are refused', async (t) => {
  const { RefusedSignIns } = await import('../../src/server/control-room/refused-sign-ins.ts')
  const clock = new FakeClock()
  const found: JsonObject[] = []
  const refused = new RefusedSignIns(clock, ({ after }) => void found.push(after ?? {}))
  for (let index = 0; index < 1_000; index++) refused.enter({ address: `192.0.2.${index % 256}`, code: 'invalid_key', means: 'key' })
  t.equal(found.length, 60)
  await clock.advance(60_000)
  refused.enter({ address: '192.0.2.1', code: 'invalid_key', means: 'key' })
  t.match(found.at(-1), { not_entered: 940 })
})

t.test('a configuration is entered at each start and reload, with the sections that changed and no value', async (t) => {
  const { gateway, folder } = await opened(t)
  const text = yaml(folder, 'brand: { word: tempest }\nlog: { level: warn }')
  await gateway.reconfigure(text)
  await gateway.reconfigure('nonsense: true')
  await gateway.reconfigure(text.replace('headgate.db', 'other.db'))
  await gateway.reconfigure(text)
  await gateway.restart()
  await eventually('six entries', async () => (await entries(gateway)).length === 6)
  const [first, reloaded, invalid, restart, same, second] = await entries(gateway)
  const file = join(folder, 'headgate.yaml')
  t.match(first, { action: 'configuration.loaded', subject: file, actor: { kind: 'configuration', id: file }, before: null, address: null })
  t.match(reloaded, { action: 'configuration.reloaded', before: first?.after, after: { sections: ['brand', 'log'] } })
  t.match(invalid, { action: 'configuration.refused', after: { reason: 'invalid', settings: [] } })
  t.match(restart, { action: 'configuration.refused', after: { reason: 'restart', settings: ['store.url'] } })
  t.match(same, { action: 'configuration.reloaded', after: { sections: [] } })
  const inForce = same?.after as JsonObject | undefined
  const sha256 = inForce?.sha256
  t.match(second, { action: 'configuration.loaded', before: { sha256 }, after: { sha256 } }, 'the start has what the last reload had')
  t.notMatch(JSON.stringify(await entries(gateway)), /tempest|sk-router/)
})
