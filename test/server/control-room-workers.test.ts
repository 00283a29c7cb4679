/** The control room of a gateway of several processes: the owner has the sessions, the workers answer. */
import t from 'tap'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { eventually } from '../support/eventually.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { command, configured, ready, serveWorkers } from '../support/workers.ts'

const OWN = { 'x-control-room': '1', 'content-type': 'application/json' }

t.test('a session works with workers, and ends with its key', async (t) => {
  const upstream = await startUpstream(says({ text: ['fine'] }))
  t.teardown(() => upstream.close())
  const { file } = await configured(t, upstream.url)
  const workerPool = await serveWorkers(t, file, 2)
  await ready(workerPool.admin)
  const signIn = async (key: string): Promise<{ cookie: string }> => {
    const reply = await fetch(`${workerPool.admin}/control-room/session`, { method: 'POST', headers: OWN, body: JSON.stringify({ key }) })
    t.equal(reply.status, 201, await reply.text())
    return { cookie: reply.headers.get('set-cookie')?.split(';')[0] ?? '' }
  }
  const operator = await signIn(ADMIN_TOKEN)
  t.equal((await fetch(`${workerPool.admin}/v1/keys`, { headers: operator })).status, 200, 'the workers know the key of the control room')
  t.equal((await fetch(`${workerPool.admin}/ledger/verify`, { headers: operator })).status, 200, 'the owner opens the ledger')

  const made = (await command(workerPool.admin, { verb: 'create', fields: { name: 'boss' }, management: true })) as { key: string }
  const manager = await signIn(made.key)
  t.equal((await fetch(`${workerPool.admin}/v1/keys`, { headers: manager })).status, 200)
  await command(workerPool.admin, { verb: 'disable', key: 'boss' })
  // Other processes hear of it within a quarter of a second (docs/keys.md).
  await eventually(
    'no page is left open',
    async () => (await fetch(`${workerPool.admin}/ledger/verify`, { headers: manager })).status === 401,
  )
  t.equal((await fetch(`${workerPool.admin}/v1/keys`, { headers: manager })).status, 401)
})
