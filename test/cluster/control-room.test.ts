/** Sessions of the control room at several gateways over one PostgreSQL, one of them with workers. Runs with `npm run test:servers`. */
import t from 'tap'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { type Member, newCluster, startServers } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
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
}
