/** Guardrails on one PostgreSQL: two programs, one of them with workers, while the database comes and goes. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { secretHash } from '../../../src/core/secret.ts'
import { APP, ask, type Cluster, type Member, makeKey, manage, newCluster, serveArguments, startServers } from '../../support/cluster.ts'
import { eventually, realTime } from '../../support/eventually.ts'
import { object } from '../../support/fold.ts'
import { runProgram } from '../../support/program.ts'
import { inTurn } from '../../support/workers.ts'

/** Connections of which every worker gets some. */
const MANY = 12
const BODY = { model: 'acme/fixed', messages: [{ role: 'user', content: 'a forbidden-1 word' }] }
const BLOCK = { content_filters: [{ pattern: 'forbidden-[0-9]+', action: 'block' }] }

const statuses = (member: Member): Promise<number[]> => inTurn(MANY, async () => (await ask(member, { body: BODY })).status)

async function all(t: Test, members: readonly Member[], status: number, why: string): Promise<void> {
  for (const member of members) t.same(await statuses(member), Array(MANY).fill(status), `${status}: ${why}`)
}

/** Once a second has passed. */
async function soonAll(t: Test, members: readonly Member[], status: number, why: string): Promise<void> {
  await realTime(1000)
  await all(t, members, status, why)
}

async function readAudit(cluster: Cluster): Promise<Record<string, unknown>[]> {
  return cluster.postgres.query(cluster.database, 'SELECT * FROM guardrail_audit')
}

async function tests({ cluster, members }: { cluster: Cluster; members: readonly Member[] }): Promise<void> {
  const [here, there] = members
  let id = ''
  const assigned = (): string => `/guardrails/${id}/assignments/keys`
  const app: JsonObject = { key_hashes: [secretHash(APP)] }

  await t.test('a change at one program applies in all processes of both within a second', async (t) => {
    id = String(object((await manage(here, '/guardrails', 'POST', { name: 'stored', ...BLOCK })).data).id)
    await soonAll(t, members, 200, 'it is assigned to nobody')
    await manage(there, assigned(), 'POST', app)
    await soonAll(t, members, 403, 'assigned')
    await manage(here, `/guardrails/${id}`, 'PATCH', { content_filters: [] })
    await soonAll(t, members, 200, 'changed')
    await manage(there, `/guardrails/${id}`, 'PATCH', BLOCK)
    await soonAll(t, members, 403, 'changed again')
    const rows = await eventually('the audit trail', async () => {
      const found = await readAudit(cluster)
      return found.length >= 4 * MANY ? found : undefined
    })
    t.equal(rows.length, 4 * MANY)
    t.notMatch(JSON.stringify(rows), 'forbidden-1')
    t.equal(new Set(rows.map(({ detail }) => (JSON.parse(String(detail)) as { hashes: string[] }).hashes[0])).size, 1, 'one secret for all')
  })

  await t.test('while the database is away the last ones hold, and nothing starts without them', async (t) => {
    const before = (await readAudit(cluster)).length
    await cluster.postgres.kill9()
    await soonAll(t, members, 403, 'never silently none')
    const refused = await ask(here, { key: 'sk-router-v1-ops00000000000000000', path: '/v1/guardrails', method: 'GET' })
    t.equal(refused.status, 503)
    const place = await cluster.file({ keys: [] })
    const late = runProgram(serveArguments(place))
    t.match(await late.exited, { code: 1 })
    t.notMatch(late.out(), /listens on/)
    await cluster.postgres.restart()
    const rows = await eventually('what was found meanwhile', async () => {
      const found = await readAudit(cluster)
      return found.length >= before + 2 * MANY ? found : undefined
    })
    t.equal(rows.length, before + 2 * MANY, 'each once')
    await eventually(
      'the store',
      async () =>
        (await ask(here, { key: 'sk-router-v1-ops00000000000000000', path: '/v1/guardrails', method: 'GET' })).status === 200 || undefined,
    )
    await manage(here, `${assigned()}/remove`, 'POST', app)
    await soonAll(t, members, 200, 'changes are heard again')
    const made = await makeKey(there, 'stored')
    await manage(there, assigned(), 'POST', { key_hashes: [made.hash] })
    await soonAll(t, members, 200, 'another key')
    t.equal((await ask(here, { key: made.key, body: BODY })).status, 403)
  })

  await t.test('both end in order', async (t) => {
    for (const { child } of members) child.kill('SIGTERM')
    for (const { exited } of members) t.match(await exited, { code: 0 })
  })
}

const servers = await startServers(t)
if (servers) {
  const cluster = await newCluster(t, servers)
  await tests({ cluster, members: await Promise.all([cluster.start(), cluster.start({ workers: 2 })]) })
} else t.plan(0, 'PostgreSQL or Redis is not installed')
