/** The control room of a gateway of several processes: the owner has the sessions, the workers answer. */
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { eventually } from '../support/eventually.ts'
import { startIdentityProvider, Walker } from '../support/identity-provider.ts'
import { PEOPLE, registeredClient, SECRET } from '../support/people.ts'
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

t.test('people sign in at the owner, and the workers know them', async (t) => {
  const upstream = await startUpstream(says({ text: ['fine'] }))
  t.teardown(() => upstream.close())
  const provider = await startIdentityProvider(t, PEOPLE)
  const { file } = await configured(t, upstream.url)
  const issuer = `
  issuers:
    - issuer: "${provider.url}"
      audiences: [ headgate ]
      member: email
      sign_in: { client_id: control-room, client_secret: "${SECRET}", name: acme }
      rules: [ { when: { groups: all } } ]`
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^auth:/m, `auth:${issuer}`))
  const { admin } = await serveWorkers(t, file, 2)
  await ready(admin)
  provider.open([registeredClient({ admin })])
  const walker = new Walker()
  const begun = await walker.visit(`${admin}/control-room/sign-in/acme`, { method: 'POST', headers: OWN, body: '{}' })
  const { data } = (await begun.json()) as { data: { location: string } }
  const back = await walker.walk(data.location, (url) => url.startsWith(admin))
  t.equal((await walker.visit(back)).headers.get('location'), '/control-room/')
  for (const _ of [1, 2, 3, 4]) {
    const own = await walker.visit(`${admin}/v1/key`, { headers: { ...OWN, connection: 'close' } })
    t.match(await own.json(), { data: { name: /^ada@acme.example \(127/ } })
  }
})
