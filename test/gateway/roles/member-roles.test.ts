/** People whose membership, and not a rule, gives them a role in the control room. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import { comeBack, OWN, session, startSignIn } from '../../support/people.ts'
import { caller, Maker } from '../../support/two-organizations.ts'

const BOB = 'bob@acme.example'

t.test('a member governs its workspace by the role of its membership, for as long as it has it', async (t) => {
  const place = await startSignIn(t, {
    rules: '[ { when: { groups: ops }, name: ops, role: owner }, { when: { groups: all }, name: all, workspace: ml } ]',
  })
  const { gateway, walker } = place
  const made = await adminFetch(`${gateway.admin}/keys/command`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ verb: 'create', fields: { name: 'boss', role: 'owner' } }),
  })
  const { key: boss } = (await made.json()) as { key: string }
  const maker = new Maker(
    caller(() => gateway.url),
    boss,
  )
  const organization = String((await maker.data('POST', '/organizations', { name: 'Acme', slug: 'acme' })).id)
  const workspace = String((await maker.data('POST', '/workspaces', { name: 'ML', slug: 'ml', organization_id: 'acme' })).id)
  await maker.data('POST', '/workspaces', { name: 'Web', slug: 'web', organization_id: 'acme' })
  const own = (await maker.key({ name: 'own', workspace_id: 'ml' })).hash
  const near = (await maker.key({ name: 'near', workspace_id: 'web' })).hash
  const elsewhere = (await maker.key({ name: 'elsewhere' })).hash
  walker.login = 'bob'
  const signIn = async (): Promise<unknown> => {
    await walker.visit(await comeBack(place))
    return session(place)
  }
  const status = async (path: string, init: RequestInit = {}): Promise<number> =>
    (await walker.visit(gateway.admin + path, { headers: OWN, ...init })).status
  const seen = async (): Promise<number[]> => [
    await status(`/v1/keys/${own}`),
    await status(`/v1/keys/${near}`),
    await status(`/v1/keys/${elsewhere}`),
  ]
  const add = (path: string, role: string) => maker.json('POST', `${path}/members/add`, { user_ids: [BOB], role })

  t.match(await signIn(), { key_role: 'member' }, 'no membership')
  t.same(await seen(), [403, 403, 403])
  await add('/workspaces/ml', 'member')
  t.match(await signIn(), { key_role: 'member' })
  await add('/workspaces/ml', 'viewer')
  t.match(await session(place), { key_role: 'viewer' }, 'in the session that is open')
  t.same(await seen(), [200, 404, 404])
  t.same([await status('/v1/configuration'), await status('/ledger/verify')], [403, 403], 'nothing of the whole gateway')
  const change = { method: 'PATCH', body: JSON.stringify({ limit: 1 }) }
  t.equal(await status(`/v1/keys/${own}`, change), 403)
  await add('/workspaces/ml', 'admin')
  t.same([await status(`/v1/keys/${own}`, change), await status(`/v1/keys/${near}`, change)], [200, 404])
  const own2 = (await (await walker.visit(`${gateway.admin}/v1/key`, { headers: OWN })).json()) as { data: JsonObject }
  t.match(own2.data, { role: 'admin', reach: 'workspace', workspace_id: workspace, organization_id: organization })
  await add('/organizations/acme', 'viewer')
  t.match(await session(place), { key_role: 'admin' }, 'the nearest membership decides')
  await maker.json('POST', '/workspaces/ml/members/remove', { user_ids: [BOB] })
  t.match(await session(place), { key_role: 'viewer' })
  t.same(await seen(), [200, 200, 404], 'all of the organization')
  await maker.json('PATCH', '/organizations/acme', { disabled: true })
  t.same(await seen(), [403, 403, 403], 'an organization that is off lets no one govern it')
  await maker.json('PATCH', '/organizations/acme', { disabled: false })
  await maker.json('POST', '/organizations/acme/members/remove', { user_ids: [BOB] })
  t.match(await session(place), { key_role: 'member' }, 'it is gone')
  t.same(await seen(), [403, 403, 403])
})

t.test('a rule that gives a role comes first, and governs the whole gateway where it names no workspace', async (t) => {
  const place = await startSignIn(t)
  const { gateway, walker } = place
  const { levels } = gateway.running.store
  const fields = {
    name: 'ada',
    userId: 'ada@acme.example',
    role: 'viewer' as const,
    disabled: false,
    limits: {},
    rates: {},
    createdBy: null,
  }
  const id = '84c2f1de-7a43-4c1b-8f0d-5b9e2a6d7c10'
  const parent = '00000000-0000-8000-8000-000000000001'
  await levels.put({ id, version: 1, kind: 'member', parent, fields, createdAt: 1, updatedAt: null }, 0)
  await walker.visit(await comeBack(place))
  t.match(await session(place), { key_role: 'owner' })
  t.equal((await walker.visit(`${gateway.admin}/v1/configuration`, { headers: OWN })).status, 200)
})
