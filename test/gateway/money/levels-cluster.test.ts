/**
 * Levels over two programs, one of them with workers, on one PostgreSQL: limits of three levels are spent to the cent and not beyond, and a
 * level that one process turns off is off at all others within a second.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { ask, ledgersAgree, type Member, manage, newCluster, PRICE, startServers, tally } from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'

t.setTimeout(280_000)
const DOLLARS = PRICE / 1e9
/** Requests that the limits pay for. */
const [OF_MEMBER, OF_WORKSPACE, OF_ORGANIZATION] = [10, 25, 40]
const WITHIN = 1_000

const servers = await startServers(t)
t.test('limits of levels are one for all processes, and so is a level that is off', { skip: !servers }, async (t) => {
  if (!servers) return
  const cluster = await newCluster(t, servers)
  const [here, there] = [await cluster.start({}), await cluster.start({ workers: 2 })]
  await manage(here, '/organizations', 'POST', { name: 'Acme', slug: 'acme' })
  await manage(there, '/workspaces', 'POST', { name: 'ML', slug: 'ml', organization_id: 'acme' })
  await manage(here, '/workspaces', 'POST', { name: 'Web', slug: 'web', organization_id: 'acme' })
  const added = await manage(there, '/workspaces/ml/members/add', 'POST', { user_ids: ['ada@example.com'] })
  const ada = String((added.data as JsonObject[])[0]?.id)
  const limit = (calls: number): JsonObject => ({ limit_usd: calls * DOLLARS })
  await manage(here, `/members/${ada}/budgets/daily`, 'PUT', limit(OF_MEMBER))
  await manage(there, '/workspaces/ml/budgets/monthly', 'PUT', limit(OF_WORKSPACE))
  await manage(here, '/organizations/acme/budgets/lifetime', 'PUT', limit(OF_ORGANIZATION))
  const make = async (body: JsonObject): Promise<string> => String((await manage(here, '/keys', 'POST', { name: 'k', ...body })).key)
  const [member, ml, web] = [await make({ member_id: ada }), await make({ workspace_id: 'ml' }), await make({ workspace_id: 'web' })]
  const known = async (key: string): Promise<void> => {
    for (const at of [here, there])
      await eventually('the key is known', async () => (await ask(at, { key, path: '/v1/key', method: 'GET' })).status === 200)
  }
  for (const key of [member, ml, web]) await known(key)

  /** Calls at both programs at once until the limit refuses all of them: what lies idle in leases comes back meanwhile. */
  const spend = async (keys: readonly string[], paid: number, what: string): Promise<void> => {
    const replies = await Promise.all(
      Array.from({ length: 90 }, (_, at) => ask([here, there][at % 2] ?? here, { key: keys[at % keys.length] ?? '' })),
    )
    const first = tally(replies)
    let served = first[200] ?? 0
    t.ok(served <= paid, `${what}: ${JSON.stringify(first)}`)
    t.equal(served + (first[402] ?? 0), 90)
    await eventually('all of it is spent', async () => {
      const { status } = await ask(served % 2 === 0 ? here : there, { key: keys[served % keys.length] ?? '' })
      if (status === 200) served++
      return served >= paid && status === 402
    })
    t.equal(served, paid, what)
  }
  await spend([member], OF_MEMBER, 'the member')
  await spend([member, ml], OF_WORKSPACE - OF_MEMBER, 'the workspace')
  await spend([member, ml, web], OF_ORGANIZATION - OF_WORKSPACE, 'the organisation')
  t.match(JSON.parse((await ask(there, { key: web })).text), { error: { metadata: { limit: { scope: 'organization', name: 'acme' } } } })
  await ledgersAgree(t, cluster, [here, there])

  await manage(here, '/organizations/acme/budgets/lifetime', 'DELETE')
  /** Statuses at a program, of each of its workers. */
  const seen = async (at: Member, key: string): Promise<number[]> =>
    (await Promise.all(Array.from({ length: 12 }, () => ask(at, { key })))).map(({ status }) => status)
  for (const [path, at] of [
    ['/workspaces/web', here],
    ['/organizations/acme', there],
  ] as const) {
    for (const [disabled, status] of [
      [true, 403],
      [false, 200],
    ] as const) {
      await manage(at, path, 'PATCH', { disabled })
      await new Promise((resolve) => setTimeout(resolve, WITHIN))
      for (const each of [here, there]) t.same([...new Set(await seen(each, web))], [status], `${path} ${disabled}`)
    }
  }
  const hash = ((await manage(here, '/keys?workspace_id=web')).data as JsonObject[])[0]?.hash
  await t.rejects(manage(here, '/workspaces/web', 'DELETE'), /400 .*has 1 keys? in use/)
  await manage(here, `/keys/${hash}`, 'PATCH', { disabled: true })
  await manage(there, '/workspaces/web', 'DELETE')
  await manage(there, `/keys/${hash}`, 'PATCH', { disabled: false })
  await new Promise((resolve) => setTimeout(resolve, WITHIN))
  for (const each of [here, there]) t.same([...new Set(await seen(each, web))], [403], 'removed')
})
