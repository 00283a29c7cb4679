/** Two organizations on one PostgreSQL, at a program with workers and at one without: lists and sums of a place at each, and levels that change. */
import t from 'tap'
import { manage, newCluster, OPS, startServers } from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { caller, Maker, makeCallers, makeOrganization, type Organization } from '../../support/two-organizations.ts'

t.setTimeout(280_000)
const WITHIN = 2_000
const MORE = `budgets: { budget-alpha: { monthly: "500" }, budget-bravo: { monthly: "500" } }
byok: { encryption_keys: [ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" ] }
`
/** Those whose rows are bounded by a query of the store. */
const LISTS = [
  ...['/keys?include_totals=true', '/generations', '/refusals', '/audit?limit=500', '/events?limit=100', '/ledger/entries', '/sessions'],
  ...[
    '/activity/keys',
    '/chargeback',
    '/chargeback?group_by=day,session',
    '/chargeback?group_by=model',
    '/workspaces',
    '/guardrails',
    '/byok',
  ],
]
/** Without names of records. */
const SILENT = ['/chargeback?group_by=model', '/refusals']

const servers = await startServers(t)
t.test('each process reads and changes within the place of its caller', { skip: !servers }, async (t) => {
  if (!servers) return
  const cluster = await newCluster(t, servers)
  const [here, there] = [await cluster.start({ more: MORE }), await cluster.start({ workers: 2, more: MORE })]
  const maker = new Maker(
    caller(() => here.url),
    OPS,
  )
  const places = { model: 'acme/fixed', provider: 'up' }
  const own = await makeOrganization(maker, 'ALPHA', { ...places, budget: 'budget-alpha' })
  const other = await makeOrganization(maker, 'BRAVO', { ...places, budget: 'budget-bravo' })
  const callers = await makeCallers(maker, own)
  const secret = (name: string): string => callers.find((each) => each.name === name)?.secret ?? ''
  const [owner, lead] = [secret('owner of the organization'), secret('owner of the workspace')]
  const shows = (text: string, { mark, traces }: Organization): boolean => [mark, ...traces].some((trace) => text.includes(trace))
  for (const at of [here, there]) {
    const call = caller(() => at.url)
    for (const who of [owner, lead])
      await every(t, `lists at ${at.workers} workers`, async (t) => {
        for (const path of LISTS) {
          let text = ''
          if (!SILENT.includes(path))
            await eventually(`${path} has come`, async () => {
              text = (await call('GET', path, who)).text
              return shows(text, own)
            })
          else text = (await call('GET', path, who)).text
          t.notOk(shows(text, other), `${path}: ${text.slice(0, 300)}`)
        }
        for (const path of [
          `/keys/${other.key}`,
          `/generations/${other.generation}`,
          `/events/${other.event}`,
          `/workspaces/${other.slug}`,
        ])
          t.equal((await call('GET', path, who)).status, 404, path)
        t.equal((await call('PATCH', `/keys/${other.key}`, who, { limit: 1 })).status, 404)
        t.equal((await call('GET', '/configuration', who)).status, 403)
        t.equal((await call('POST', '/keys', who, { name: 'x', workspace_id: other.workspace })).status, 400)
      })
  }
  const total = async (who: string): Promise<string> =>
    /"total_usage":[\d.]+/.exec((await caller(() => there.url)('GET', '/credits', who)).text)?.[0] ?? ''
  t.equal(await total(owner), await total(lead), 'all of it was spent in the workspace')
  await manage(here, `/workspaces/${own.workspace}`, 'PATCH', { disabled: true })
  await new Promise((resolve) => setTimeout(resolve, WITHIN))
  for (const at of [here, there])
    t.equal((await caller(() => at.url)('GET', '/keys', lead)).status, 403, 'a workspace that is off has no managers')
  await manage(there, `/workspaces/${own.workspace}`, 'PATCH', { disabled: false })

  const rows = await servers.postgres.query(
    cluster.database,
    `SELECT name, management, expires_at, role, workspace FROM api_key WHERE role IS NOT NULL AND (workspace IS NOT NULL OR role LIKE '%scopes=%')`,
  )
  t.ok(rows.length > 8)
  for (const row of rows) {
    t.match(
      { ...row, expires_at: Number(row.expires_at) },
      { management: false, expires_at: 0 },
      `${row.name}: the version before refuses it`,
    )
    t.notOk(['member', 'viewer', 'billing', 'admin', 'owner'].includes(String(row.role)), `${row.role} is no role for it`)
  }
})
