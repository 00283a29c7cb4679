/**
 * Provisioning over two programs, one of them with workers, on one PostgreSQL: what one has made the other finds at once, one that is disabled
 * is refused everywhere within a second, and of two runs at once each user and membership is there once.
 */
import t from 'tap'
import { ask, type Member, manage, newCluster, startServers } from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'
import { SCIM_TOKEN, ScimClient } from '../../support/scim-client.ts'

t.setTimeout(280_000)
const WITHIN = 1_000
const TOKENS = `scim: { tokens: [ { name: okta, token: "${SCIM_TOKEN}" } ] }`

const servers = await startServers(t)
t.test('two programs are one service', { skip: !servers }, async (t) => {
  if (!servers) return
  const cluster = await newCluster(t, servers)
  const [here, there] = [await cluster.start({ more: TOKENS }), await cluster.start({ workers: 2, more: TOKENS })]
  const [one, other] = [here, there].map(({ url }) => new ScimClient(() => url)) as [ScimClient, ScimClient]

  const { body: ada } = await one.addUser('ada@acme.example')
  t.equal((await other.get(`/Users/${ada.id}`)).status, 200, 'the other program has it at once')
  const key = String((await manage(here, '/keys', 'POST', { name: 'of ada', member_id: ada.id as string })).key)
  for (const at of [here, there])
    await eventually('the key is known', async () => (await ask(at, { key, path: '/v1/key', method: 'GET' })).status === 200)
  const seen = async (at: Member): Promise<number[]> => [
    ...new Set((await Promise.all(Array.from({ length: 12 }, () => ask(at, { key })))).map(({ status }) => status)),
  ]
  for (const [scim, active, status] of [
    [one, 'False', 403],
    [other, 'True', 200],
    [other, 'False', 403],
    [one, 'True', 200],
  ] as const) {
    await scim.patch(`/Users/${ada.id}`, [{ op: 'Replace', path: 'active', value: active }])
    await new Promise((resolve) => setTimeout(resolve, WITHIN))
    for (const at of [here, there]) t.same(await seen(at), [status], `active ${active}`)
  }

  const names = Array.from({ length: 30 }, (_, at) => `p${at}@acme.example`)
  const runs = await Promise.all([one, other].flatMap((scim) => names.map((name) => scim.addUser(name))))
  t.same(
    [201, 409].map((status) => runs.filter((each) => each.status === status).length),
    [30, 30],
    'of two runs one makes each user',
  )
  const ids = runs.filter(({ status }) => status === 201).map(({ body }) => String(body.id))
  const groups = await Promise.all([one, other].map((scim) => scim.addGroup('Team')))
  t.same(groups.map(({ status }) => status).toSorted(), [201, 409])
  const group = String(groups.find(({ status }) => status === 201)?.body.id)
  const added = await Promise.all(
    ids.flatMap((value) =>
      [one, other].map((scim) => scim.patch(`/Groups/${group}`, [{ op: 'Add', path: 'members', value: [{ value }] }])),
    ),
  )
  t.same([...new Set(added.map(({ status }) => status))], [204])
  for (const scim of [one, other]) t.same((await scim.members(group)).toSorted(), ids.toSorted(), 'no member is lost')

  const [user = ''] = ids
  const titles = await Promise.all(
    ['title', 'nickName', 'locale', 'timezone'].map((name, at) =>
      [one, other][at % 2]?.patch(`/Users/${user}`, [{ op: 'replace', path: name, value: name }]),
    ),
  )
  t.same([...new Set(titles.map((each) => each?.status))], [200])
  t.match((await one.get(`/Users/${user}`)).body, { title: 'title', nickName: 'nickName', locale: 'locale', timezone: 'timezone' })
})
