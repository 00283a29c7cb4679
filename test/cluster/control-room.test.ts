/** Sessions of the control room at several gateways over one PostgreSQL, one of them with workers. Runs with `npm run test:servers`. */
import t from 'tap'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { type Member, newCluster, startServers } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { startIdentityProvider, Walker } from '../support/identity-provider.ts'
import { logoutToken, sendLogout } from '../support/logout-tokens.ts'
import { begin, PEOPLE, registeredClient, SECRET } from '../support/people.ts'
import { command } from '../support/workers.ts'

const OWN = { 'x-control-room': '1', 'content-type': 'application/json' }

const servers = await startServers(t)

async function signIn({ admin }: Member, key: string): Promise<{ cookie: string }> {
  const reply = await fetch(`${admin}/control-room/session`, { method: 'POST', headers: OWN, body: JSON.stringify({ key }) })
  if (reply.status !== 201) throw new Error(await reply.text())
  return { cookie: reply.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

if (servers) {
  t.test('a session that was opened at one gateway holds at the other, until it ends at either', async (t) => {
    const cluster = await newCluster(t, servers)
    const [here, there] = [await cluster.start(), await cluster.start({ workers: 2 })]
    const status = async ({ admin }: Member, headers: { cookie: string }, path = '/v1/keys') =>
      (await fetch(`${admin}${path}`, { headers })).status
    const operator = await signIn(here, ADMIN_TOKEN)
    t.equal(await status(there, operator), 200, 'of the operator, where the admin token is the same')
    t.equal(await status(there, operator, '/ledger/verify'), 200)

    const made = (await command(here.admin, { verb: 'create', fields: { name: 'boss' }, management: true })) as { key: string }
    const boss = await signIn(there, made.key)
    t.equal(await status(here, boss), 200, 'of a management key')
    await command(here.admin, { verb: 'disable', key: 'boss' })
    await eventually('the session ends with its key', async () => (await status(there, boss, '/ledger/verify')) === 401)

    const out = await fetch(`${there.admin}/control-room/session`, { method: 'DELETE', headers: { ...OWN, ...operator } })
    t.equal(out.status, 204)
    t.equal(await status(there, operator), 401)
    await eventually('the sign-out holds at the other gateway', async () => (await status(here, operator)) === 401)
  })

  t.test('a sign-out at the identity provider that one gateway hears ends the session at the other', async (t) => {
    const provider = await startIdentityProvider(t, PEOPLE)
    const cluster = await newCluster(t, servers)
    const signIn = `sign_in: { client_id: control-room, client_secret: "${SECRET}", name: acme }`
    const auth = `  issuers: [ { issuer: "${provider.url}", audiences: [ headgate ], member: email, ${signIn}, rules: [ { when: { groups: all } } ] } ]`
    const [here, there] = [await cluster.start({ auth }), await cluster.start({ workers: 2, auth })]
    provider.open([registeredClient(here)])
    const walker = new Walker()
    const back = await walker.walk(await begin({ gateway: here, walker }), (url) => url.startsWith(here.admin))
    t.equal((await walker.visit(back)).headers.get('location'), '/control-room/')
    const cookie = `control-room=${walker.cookie(here.admin, 'control-room')}`
    const isOpen = async ({ admin }: Member): Promise<boolean> => {
      const reply = await fetch(`${admin}/control-room/session`, { headers: { ...OWN, cookie } })
      return ((await reply.json()) as { data: object | null }).data !== null
    }
    t.same([await isOpen(here), await isOpen(there)], [true, true])
    const reply = await sendLogout(there.admin, { logout_token: await logoutToken(provider, { sub: 'ada' }) })
    const heardAt = performance.now()
    t.equal(reply.status, 200)
    t.notOk(await isOpen(there))
    await eventually('the end holds at the other gateway', async () => !(await isOpen(here)))
    t.comment(`after ${Math.round(performance.now() - heardAt)} ms`)
  })
}
