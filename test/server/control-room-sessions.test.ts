/** Sessions of the control room in the store: what they outlive, what ends them, and how many there may be. */
import { join } from 'node:path'
import t from 'tap'
import { RoomSessions, type SessionHolder } from '../../src/api/index.ts'
import { openStore } from '../../src/store/open.ts'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { FakeClock } from '../support/clock.ts'
import { KEY, startGateway } from '../support/gateway.ts'
import { ORIGIN } from '../support/origin.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'
const OWN = { 'x-control-room': '1', 'content-type': 'application/json' }

async function signIn(admin: string, key: string): Promise<{ cookie: string }> {
  const reply = await fetch(`${admin}/control-room/session`, { method: 'POST', headers: OWN, body: JSON.stringify({ key }) })
  if (reply.status !== 201) throw new Error(await reply.text())
  return { cookie: reply.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

t.test('a session outlives a restart, and is no key', async (t) => {
  const folder = t.testdir()
  const yaml = `store: { url: "sqlite:${join(folder, 'headgate.db')}" }
auth: { keys: [ { name: test, key: "${KEY}" }, { name: boss, key: "${BOSS}", management: true } ] }
providers: { local: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: local, model: echo } ] } }
`
  const gateway = await startGateway(yaml, { directory: folder })
  t.teardown(() => gateway.close())
  const sessions = [await signIn(gateway.admin, BOSS), await signIn(gateway.admin, ADMIN_TOKEN)]
  const status = async (headers: { cookie: string }) => (await fetch(`${gateway.admin}/v1/keys`, { headers })).status
  await gateway.restart()
  for (const session of sessions) t.equal(await status(session), 200, 'the cookie still opens the page')
  const { data } = (await (await gateway.get('/v1/keys', { authorization: `Bearer ${BOSS}` })).json()) as unknown as { data: object[] }
  t.equal(data.length, 2, 'no list of keys has it')
  const events = (await (await gateway.get('/v1/events', { authorization: `Bearer ${BOSS}` })).json()) as unknown as { data: object[] }
  t.same(events.data, [], 'no event is raised for it')
  const [boss] = sessions
  const secret = boss?.cookie.split('=')[1] ?? ''
  t.equal((await gateway.get('/v1/keys', { authorization: `Bearer ${secret}` })).status, 401, 'a cookie is no key')
  const out = await fetch(`${gateway.admin}/control-room/session`, { method: 'DELETE', headers: { ...OWN, ...boss } })
  t.equal(out.status, 204)
  await gateway.restart()
  t.same([boss && (await status(boss)), sessions[1] && (await status(sessions[1]))], [401, 200], 'the sign-out does, too')
})

const OPERATOR: SessionHolder = { role: 'operator', secret: 'operator-of-this-run', name: 'admin token' }
const MANAGER: SessionHolder = { role: 'manager', secret: BOSS, name: 'boss' }

function withStore() {
  const clock = new FakeClock()
  const { keys } = openStore('memory:', { clock })
  const at = (token: string | undefined, operatorSecret = 'operator-of-another-run') =>
    new RoomSessions({ clock, store: () => keys, token, operatorSecret })
  return { clock, keys, at }
}

t.test('gateways with one store and one admin token have the same sessions', async (t) => {
  const { at } = withStore()
  const here = at('token')
  const manager = await here.open(MANAGER, ORIGIN)
  const operator = await here.open(OPERATOR, ORIGIN)
  const there = at('token')
  t.match(await there.find(manager.cookie), { role: 'manager', secret: BOSS, name: 'boss' })
  t.match(await there.find(operator.cookie), { role: 'operator', secret: 'operator-of-another-run' })
  t.equal(await at('another token').find(operator.cookie), undefined, 'another admin token ends those of the operator')
  t.equal(await at(undefined).find(operator.cookie), undefined)
  t.match(await at(undefined).find(manager.cookie), { role: 'manager' })
  await there.end(manager.cookie)
  t.equal(await here.find(manager.cookie), undefined, 'a sign-out holds everywhere')
  t.equal(await here.find('forged'), undefined)
  t.equal(await here.find(undefined), undefined)
})

t.test('the store has no key and no cookie in clear', async (t) => {
  const { keys, at } = withStore()
  const { cookie } = await at('token').open(MANAGER, ORIGIN)
  const text = JSON.stringify(await keys.list())
  t.notOk(text.includes(BOSS))
  t.notOk(text.includes(cookie))
})

t.test('sign-ins fill neither the store nor the memory', async (t) => {
  const { clock, keys, at } = withStore()
  const sessions = at('token')
  const first = await sessions.open(MANAGER, ORIGIN)
  // Of those that were opened within one millisecond any may be the first that ends.
  await clock.advance(1)
  let last = first
  for (let i = 0; i < 2000; i++) last = await sessions.open(MANAGER, ORIGIN)
  t.equal((await keys.list()).length, 100, 'a key has a hundred at most')
  t.equal(await sessions.find(first.cookie), undefined, 'the oldest ones have ended')
  t.match(await sessions.find(last.cookie), { role: 'manager' })
  await clock.advance(3600_000)
  for (let i = 0; i < 100; i++) await sessions.open(OPERATOR, ORIGIN)
  t.equal((await keys.list()).length, 100, 'late ones go with the sign-ins of others')
})
