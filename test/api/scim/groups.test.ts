/** Groups over SCIM: what they are here by the rules of the configuration, what identity providers send, and how large they may be. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { GROUP_URN, type ScimClient, type ScimScene, startScim, USER_URN } from '../../support/scim-client.ts'

async function people(scim: ScimClient, ...names: string[]): Promise<string[]> {
  const made = await Promise.all(names.map((name) => scim.addUser(`${name}@acme.example`, { externalId: name })))
  return made.map(({ body }) => String(body.id))
}

const memberRows = async ({ manage }: ScimScene, path: string): Promise<JsonObject[]> => {
  const { body } = await manage(`${path}/members`)
  return (body.data as JsonObject[]).map(({ user_id, role }) => ({ user_id, role }) as JsonObject)
}

t.test('a group is a workspace of its name, and its users are the members', async (t) => {
  const scene = await startScim(t)
  const { scim, manage } = scene
  const [ada = '', bob = ''] = await people(scim, 'ada', 'bob')
  const made = await scim.addGroup('Machine Learning', [ada], { externalId: 'g-1' })
  t.equal(made.status, 201)
  const { id } = made.body
  const path = `/Groups/${id}`
  t.match(made.body, { displayName: 'Machine Learning', externalId: 'g-1', members: [{ value: ada, type: 'User' }] })
  t.same(await memberRows(scene, '/workspaces/machine-learning'), [{ user_id: 'ada@acme.example', role: 'member' }])
  t.match((await scim.get(`/Users/${ada}`)).body.groups, [{ value: id, display: 'Machine Learning', type: 'direct' }])

  await scim.patch(path, [{ op: 'Add', path: 'members', value: [{ value: bob }] }])
  t.equal((await scim.patch(path, [{ op: 'Add', path: 'members', value: [{ value: bob }] }])).status, 204, 'a second time is no error')
  t.same((await scim.members(String(id))).toSorted(), [ada, bob].toSorted())
  await scim.patch(path, [{ op: 'Remove', path: 'members', value: [{ value: ada }] }])
  t.same(await scim.members(String(id)), [bob], 'Entra ID states the member as the value')
  await scim.patch(path, [{ op: 'remove', path: `members[value eq "${bob}"]` }])
  t.same(await scim.members(String(id)), [])
  await scim.patch(path, [
    { op: 'replace', path: 'members', value: [{ value: ada }, { value: bob }] },
    { op: 'replace', value: { id, displayName: 'ML' } },
  ])
  t.match((await manage('/workspaces/machine-learning')).body, { data: { name: 'ML', slug: 'machine-learning' } })
  t.equal((await scim.members(String(id))).length, 2)
  t.match(await scim.patch(`${path}?attributes=members`, [{ op: 'remove', path: 'members' }]), { status: 200, body: { id } })
  const put = { schemas: [GROUP_URN], displayName: 'ML', members: [{ value: bob }] }
  t.match(await scim.call('PUT', path, put), { status: 200, body: { members: [{ value: bob }] } })
  t.notOk('members' in (await scim.get(`${path}?excludedAttributes=members`)).body)
  const { resources } = await scim.list(`/Groups?filter=${encodeURIComponent('displayName eq "ml"')}&excludedAttributes=members`)
  t.match(resources, [{ id, displayName: 'ML' }])
  t.equal((await scim.list(`/Groups?filter=${encodeURIComponent(`members.value eq "${bob}"`)}`)).total, 1)
  t.equal((await scim.list(`/Groups?filter=${encodeURIComponent(`members[value eq "${ada}"]`)}`)).total, 0)

  t.match(await scim.addGroup('ml'), { status: 409, body: { scimType: 'uniqueness' } })
  t.match(await scim.addGroup('Other', ['unknown']), { status: 400, body: { scimType: 'invalidValue', detail: /unknown/ } })
  t.match(await scim.patch(path, [{ op: 'add', path: 'members', value: [{ value: 'unknown' }] }]), { status: 400 })
  t.match(await scim.patch(path, [{ op: 'add', path: 'members', value: [{ value: ada, type: 'Group' }] }]), { status: 400 })
  t.equal((await scim.patch(path, [{ op: 'remove', path: 'members', value: [{ value: 'unknown' }] }])).status, 204)
  t.match(await scim.call('DELETE', path, undefined, { 'if-match': 'W/"other"' }), { status: 412 })
  t.equal((await scim.list('/Groups')).total, 1, 'nothing that was refused was made')
})

t.test('a renamed and a removed user leave no row behind', async (t) => {
  const scene = await startScim(t)
  const { scim } = scene
  const [ada = '', bob = ''] = await people(scim, 'ada', 'bob')
  const { body } = await scim.addGroup('Web', [ada, bob])
  await scim.patch(`/Users/${ada}`, [{ op: 'replace', path: 'userName', value: 'lovelace@acme.example' }])
  t.same((await memberRows(scene, '/workspaces/web')).map(({ user_id }) => user_id).toSorted(), [
    'bob@acme.example',
    'lovelace@acme.example',
  ])
  await scim.call('DELETE', `/Users/${bob}`)
  t.same(await memberRows(scene, '/workspaces/web'), [{ user_id: 'lovelace@acme.example', role: 'member' }])
  t.same(await scim.members(String(body.id)), [ada])
  const again = await scim.addUser('bob@acme.example')
  t.notOk('groups' in again.body, 'one that comes back is in no group')
})

t.test('a group that goes takes its members along; its workspace stays as long as something is in it', async (t) => {
  const scene = await startScim(t)
  const { scim, manage } = scene
  const [ada = ''] = await people(scim, 'ada')
  const empty = await scim.addGroup('Empty', [ada])
  const used = await scim.addGroup('Used', [ada])
  const key = await manage('/keys', 'POST', { name: 'k', workspace_id: 'used' })
  t.equal(key.status, 201)
  for (const { body } of [empty, used]) t.equal((await scim.call('DELETE', `/Groups/${body.id}`)).status, 204)
  t.equal((await manage('/workspaces/empty')).status, 404)
  t.equal((await manage('/workspaces/used')).status, 200, 'its keys work on')
  t.same(await memberRows(scene, '/workspaces/used'), [])
  t.equal((await scim.call('DELETE', `/Groups/${used.body.id}`)).status, 404)
  const again = await scim.addGroup('Used', [ada])
  t.equal(again.status, 201)
  t.same(await memberRows(scene, '/workspaces/used'), [{ user_id: 'ada@acme.example', role: 'member' }], 'it has its workspace again')
})

t.test('rules place groups by their names, and give roles', async (t) => {
  const settings = `groups: { others: match, rules: [
    { group: "*-admins", workspace: web, role: admin }, { group: "Gateway Owners", role: admin } ] }`
  const scene = await startScim(t, { settings })
  const { scim, manage } = scene
  const [ada = '', bob = ''] = await people(scim, 'ada', 'bob')
  t.match(await scim.addGroup('web-admins', [ada]), { status: 400, body: { detail: /no workspace web/ } })
  await manage('/workspaces', 'POST', { name: 'Web', slug: 'web' })
  const admins = await scim.addGroup('Web-Admins', [ada])
  const all = await scim.addGroup('WEB', [ada, bob])
  const owners = await scim.addGroup('gateway owners', [bob])
  const nothing = await scim.addGroup('Unknown here', [ada])
  for (const { status } of [admins, all, owners, nothing]) t.equal(status, 201)
  const roles = async (path: string): Promise<JsonObject> =>
    Object.fromEntries((await memberRows(scene, path)).map(({ user_id, role }) => [String(user_id).split('@')[0], role ?? null]))
  t.same(await roles('/workspaces/web'), { ada: 'admin', bob: 'member' })
  t.same(await roles('/organizations/default'), { ada: 'member', bob: 'admin' })
  t.same((await manage('/workspaces')).body.total_count ?? ((await manage('/workspaces')).body.data as JsonObject[]).length, 2)
  await scim.call('DELETE', `/Groups/${admins.body.id}`)
  t.same(await roles('/workspaces/web'), { ada: 'member', bob: 'member' }, 'the other group is left')
  await scim.patch(`/Groups/${all.body.id}`, [{ op: 'replace', path: 'displayName', value: 'all-admins' }])
  t.same(await roles('/workspaces/web'), { ada: 'admin', bob: 'admin' }, 'a new name has its own rule')
  await scim.patch(`/Groups/${all.body.id}`, [{ op: 'replace', path: 'displayName', value: 'none' }])
  t.same(await roles('/workspaces/web'), {}, 'and may belong elsewhere')
  t.same((await scim.members(String(all.body.id))).toSorted(), [ada, bob].toSorted())
  await scim.patch(`/Groups/${owners.body.id}`, [{ op: 'remove', path: 'members' }])
  t.same(await roles('/organizations/default'), { ada: 'member', bob: 'member' })
})

t.test('names of groups that have one slug, or none, have workspaces of their own', async (t) => {
  const { scim, manage } = await startScim(t)
  const names = ['R&D', 'R-D', 'r d', '研究', '開発', '11111111-2222-3333-4444-555555555555', 'Default team', `${'long '.repeat(40)}name`]
  for (const name of names) t.equal((await scim.addGroup(name)).status, 201, name)
  t.match(await scim.addGroup('x'.repeat(300)), { status: 400 })
  const { data } = (await manage('/workspaces')).body as { data: JsonObject[] }
  t.equal(new Set(data.map(({ slug }) => slug)).size, names.length + 1)
})

t.test('PUTs of one group at once end as one of them, and adds are never lost', async (t) => {
  const { scim } = await startScim(t)
  const names = Array.from({ length: 12 }, (_, at) => `p${at}`)
  const ids = await people(scim, ...names)
  const { body } = await scim.addGroup('Team')
  const path = `/Groups/${body.id}`
  await Promise.all(ids.map((value) => scim.patch(path, [{ op: 'add', path: 'members', value: [{ value }] }])))
  t.equal((await scim.members(String(body.id))).length, 12)
  const lists = [ids.slice(0, 4), ids.slice(4, 8), ids.slice(8)]
  await Promise.all(
    lists.map((list) => scim.call('PUT', path, { schemas: [GROUP_URN], displayName: 'Team', members: list.map((value) => ({ value })) })),
  )
  const end = (await scim.members(String(body.id))).toSorted()
  t.ok(
    lists.some((list) => JSON.stringify(list.toSorted()) === JSON.stringify(end)),
    JSON.stringify(end),
  )
  const runs = await Promise.all([scim.addGroup('Twice'), scim.addGroup('twice'), scim.addGroup('Twice')])
  t.equal(runs.filter(({ status }) => status === 201).length, 1, 'two runs at once make one group')
})

t.test('ten thousand users: lists page by page, and a group of all of them', { timeout: 280_000 }, async (t) => {
  const { scim } = await startScim(t)
  const count = 10_000
  const ids: string[] = []
  for (let at = 0; at < count; at += 100) {
    const page = await Promise.all(
      Array.from({ length: 100 }, (_, more) => scim.addUser(`u${at + more}@acme.example`, { externalId: `x${at + more}` })),
    )
    ids.push(...page.map(({ body }) => String(body.id)))
  }
  const timed = async <T>(name: string, most: number, work: () => Promise<T>): Promise<T> => {
    // Of this process, which a busy machine does not change.
    const begun = process.cpuUsage()
    const done = await work()
    const { user, system } = process.cpuUsage(begun)
    const ms = Math.round((user + system) / 1_000)
    t.ok(ms < most, `${name}: ${ms} ms of processor time`)
    return done
  }
  const seen = new Set<unknown>()
  await timed('pages', 30_000, async () => {
    for (let startIndex = 1; startIndex <= count; startIndex += 1_000)
      for (const { id } of (await scim.list(`/Users?startIndex=${startIndex}&count=5000`)).resources) seen.add(id)
  })
  t.equal(seen.size, count)
  await timed('a filter of each user', 5_000, async () => {
    const filter = encodeURIComponent('externalId eq "x9999" or (title pr and not (userName co "u"))')
    t.equal((await scim.list(`/Users?filter=${filter}`)).total, 1)
  })
  const { body } = await scim.addGroup('All')
  const path = `/Groups/${body.id}`
  const value = ids.map((each) => ({ value: each }))
  t.equal((await timed('add all', 120_000, () => scim.patch(path, [{ op: 'add', path: 'members', value }]))).status, 204)
  t.equal((await timed('read all', 10_000, () => scim.members(String(body.id)))).length, count)
  t.equal(
    (await timed('add one', 5_000, () => scim.patch(path, [{ op: 'add', path: 'members', value: [{ value: ids[0] ?? '' }] }]))).status,
    204,
  )
  const single = ids.slice(0, 9_990).map((each) => ({ op: 'remove', path: `members[value eq "${each}"]` }))
  t.equal((await timed('remove one by one', 120_000, () => scim.patch(path, single))).status, 204)
  t.equal((await scim.members(String(body.id))).length, 10)
})

t.test('huge bodies are refused by their field', async (t) => {
  const { scim } = await startScim(t)
  const { body } = await scim.addGroup('Team')
  const many = Array.from({ length: 20_001 }, (_, at) => ({ value: `${at}` }))
  await every(t, 'refusals', async (t) => {
    t.match(await scim.patch(`/Groups/${body.id}`, Array(10_001).fill({ op: 'remove', path: 'members' })), { status: 400 })
    t.match(await scim.patch(`/Groups/${body.id}`, [{ op: 'add', path: 'members', value: many }]), { status: 400 })
    t.match(await scim.addUser('x', { emails: Array.from({ length: 100 }, (_, at) => ({ value: `${'x'.repeat(500)}${at}` })) }), {
      status: 400,
    })
    t.equal(
      (await scim.call('POST', '/Users', `{"schemas":["${USER_URN}"],"userName":"x","title":"${'x'.repeat(9 * 1024 * 1024)}"}`)).status,
      413,
    )
    t.equal((await scim.call('POST', '/Users', '['.repeat(5_000))).status, 400)
  })
})
