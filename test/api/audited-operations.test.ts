/** Every operation that may change something has its entry in the audit log, or states why it has none. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ledgerRoutes } from '../../src/api/ledger.ts'
import { OPERATIONS } from '../../src/api/operations/index.ts'
import { AUDIT_ACTIONS, type AuditRow } from '../../src/core/audit-entries.ts'
import { AuditKeys } from '../../src/core/audit-keys.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { commandRoutes } from '../../src/server/operator-commands.ts'
import { verifyAuditLog } from '../../src/store/audit-verify.ts'
import { FakeClock } from '../support/clock.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
const TEAM_KEY = 'team-0123456789abcdef'
const AUDIT_KEY = 'a'.repeat(40)
const APP = 'sk-router-v1-0123456789abcdef0123456789abcdef'

interface Scene {
  readonly gateway: Gateway
  call(route: string, body?: unknown, secret?: string): Promise<JsonObject>
  /** A new key. */
  key(): Promise<string>
  guardrail(): Promise<string>
}

async function startScene(t: Test): Promise<Scene> {
  const upstream = await startUpstream(says({ text: ['fine'] }))
  t.teardown(() => upstream.close())
  const yaml = `store: { url: "sqlite:${join(t.testdir(), 'ledger.db')}" }
audit: { key: "${AUDIT_KEY}" }
byok: { encryption_keys: [ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" ] }
auth:
  sign_in: { pkce: optional }
  keys: [ { name: app, key: "${APP}" }, { name: boss, key: "${BOSS}", management: true } ]
${oneModel(upstream.url, 'openai-chat')}`
  const gateway = await startGateway(yaml, { clock: new FakeClock(1, Date.UTC(2026, 10, 18, 12)) })
  t.teardown(() => gateway.close())
  const call: Scene['call'] = async (route, body, secret = BOSS) => {
    const [method = '', path = ''] = route.split(' ')
    const reply = await fetch(`${gateway.url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    if (!reply.ok) throw new Error(`${route}: ${reply.status} ${text}`)
    return JSON.parse(text) as JsonObject
  }
  return {
    gateway,
    call,
    key: async () => String(((await call('POST /keys', { name: 'made' })).data as JsonObject).hash),
    guardrail: async () => String(((await call('POST /guardrails', { name: 'made' })).data as JsonObject).id),
  }
}

const code = async ({ call }: Scene) => {
  const reply = await call('POST /auth/keys/code', { callback_url: 'http://localhost/' }, APP)
  return String((reply.data as JsonObject).id)
}
const store = ({ gateway }: Scene) => gateway.running.store

type Prepare = (scene: Scene) => Promise<() => Promise<unknown>>

/** Subjects of the assignments of the test, by the last word of the operation. */
const ASSIGNED: Readonly<Record<string, [path: string, field: string, subject: string]>> = {
  Workspaces: ['workspaces', 'workspace_ids', 'default'],
  Organizations: ['organizations', 'organization_ids', 'default'],
  Members: ['members', 'member_user_ids', 'ada@example.com'],
}

function assigning(id: string): Prepare {
  const [path, field, subject] = ASSIGNED[id.replace('assign', '')] ?? ['', '', '']
  return async ({ call, guardrail }) => {
    const made = await guardrail()
    if (path === 'members') await call('POST /workspaces/default/members/add', { user_ids: [subject] })
    return () => call(`POST /guardrails/${made}/assignments/${path}`, { [field]: [subject] })
  }
}

function unassigning(id: string): Prepare {
  const [path, field, subject] = ASSIGNED[id.replace('unassign', '')] ?? ['', '', '']
  return async ({ call, guardrail }) => {
    const made = await guardrail()
    await call(`POST /guardrails/${made}/assignments/${path}`, { [field]: [subject] })
    return () => call(`POST /guardrails/${made}/assignments/${path}/remove`, { [field]: [subject] })
  }
}

let levels = 0

/** Calls of the operations on one kind of level. */
function levelCalls(kind: 'organization' | 'workspace' | 'member', Kind: string): Record<string, Prepare> {
  const path = `/${kind}s`
  const make = async ({ call }: Scene): Promise<string> => {
    const slug = `made-${++levels}`
    if (kind !== 'member') return String(((await call(`POST ${path}`, { name: 'Made', slug })).data as JsonObject).id)
    const { data } = await call('POST /workspaces/default/members/add', { user_ids: [slug] })
    return String((data as JsonObject[])[0]?.id)
  }
  const after =
    (run: (scene: Scene, id: string) => Promise<unknown>, before?: (scene: Scene, id: string) => Promise<unknown>): Prepare =>
    async (scene) => {
      const id = await make(scene)
      await before?.(scene, id)
      return () => run(scene, id)
    }
  const budget = (scene: Scene, id: string) => scene.call(`PUT ${path}/${id}/budgets/daily`, { limit_usd: 3 })
  const add = (scene: Scene, id: string) => scene.call(`POST ${path}/${id}/members/add`, { user_ids: ['ann@example.com'] })
  const ofGroups: Record<string, Prepare> = {
    [`create${Kind}`]: async (scene) => () => make(scene),
    [`bulkAdd${Kind}Members`]: after(add),
    [`bulkRemove${Kind}Members`]: after(
      ({ call }, id) => call(`POST ${path}/${id}/members/remove`, { user_ids: ['ann@example.com'] }),
      add,
    ),
  }
  return {
    ...(kind === 'member' ? {} : ofGroups),
    [`update${Kind}`]: after(({ call }, id) => call(`PATCH ${path}/${id}`, { disabled: true })),
    [`delete${Kind}`]: after(({ call }, id) => call(`DELETE ${path}/${id}`)),
    [`set${Kind}Budget`]: after(budget),
    [`delete${Kind}Budget`]: after(({ call }, id) => call(`DELETE ${path}/${id}/budgets/daily`), budget),
  }
}

/** A call of each operation, by its id; what it needs is made before. */
const CALLS: Readonly<Record<string, (scene: Scene) => Promise<() => Promise<unknown>>>> = {
  createKey:
    async ({ call }) =>
    () =>
      call('POST /keys', { name: 'reports' }),
  changeKey: async ({ call, key }) => {
    const hash = await key()
    return () => call(`PATCH /keys/${hash}`, { limit: 5 })
  },
  deleteKey: async ({ call, key }) => {
    const hash = await key()
    return () => call(`DELETE /keys/${hash}`)
  },
  rotateKey: async ({ call, key }) => {
    const hash = await key()
    return () => call(`POST /keys/${hash}/rotate`)
  },
  importKeys:
    async ({ call }) =>
    () =>
      call('POST /keys/import', { keys: [{ hash: 'c'.repeat(64), name: 'imported' }] }),
  endKeyOverlap: async ({ call, key }) => {
    const { data } = await call(`POST /keys/${await key()}/rotate`, { grace_seconds: 60 })
    return () => call(`DELETE /keys/${(data as JsonObject).hash}/previous`)
  },
  createBYOKKey:
    async ({ call }) =>
    () =>
      call('POST /byok', { provider: 'first', key: TEAM_KEY }),
  updateBYOKKey: async ({ call }) => {
    const { data } = await call('POST /byok', { provider: 'first', key: TEAM_KEY })
    return () => call(`PATCH /byok/${(data as JsonObject).id}`, { disabled: true })
  },
  deleteBYOKKey: async ({ call }) => {
    const { data } = await call('POST /byok', { provider: 'first', key: TEAM_KEY })
    return () => call(`DELETE /byok/${(data as JsonObject).id}`)
  },
  createAuthCode: async (scene) => () => code(scene),
  exchangeAuthCode: async (scene) => {
    const made = await code(scene)
    return () => scene.call('POST /auth/keys', { code: made })
  },
  createGuardrail:
    async ({ call }) =>
    () =>
      call('POST /guardrails', { name: 'no secrets', phrases: ['tempest'] }),
  updateGuardrail: async ({ call, guardrail }) => {
    const id = await guardrail()
    return () => call(`PATCH /guardrails/${id}`, { limit_usd: 5 })
  },
  deleteGuardrail: async ({ call, guardrail }) => {
    const id = await guardrail()
    return () => call(`DELETE /guardrails/${id}`)
  },
  assignKeys: async ({ call, guardrail, key }) => {
    const [id, hash] = [await guardrail(), await key()]
    return () => call(`POST /guardrails/${id}/assignments/keys`, { key_hashes: [hash] })
  },
  unassignKeys: async ({ call, guardrail, key }) => {
    const [id, hash] = [await guardrail(), await key()]
    await call(`POST /guardrails/${id}/assignments/keys`, { key_hashes: [hash] })
    return () => call(`POST /guardrails/${id}/assignments/keys/remove`, { key_hashes: [hash] })
  },
  unassignMembers: async (scene) => {
    const id = await scene.guardrail()
    await store(scene).guardrails.assign([{ kind: 'member', subject: 'ada', guardrail: id, id: 'a', by: null, createdAt: 1 }])
    return () => scene.call(`POST /guardrails/${id}/assignments/members/remove`, { member_user_ids: ['ada'] })
  },
  ...Object.fromEntries(['assignWorkspaces', 'assignOrganizations', 'assignMembers'].map((id) => [id, assigning(id)])),
  ...Object.fromEntries(['unassignWorkspaces', 'unassignOrganizations'].map((id) => [id, unassigning(id)])),
  ...levelCalls('organization', 'Organization'),
  ...levelCalls('workspace', 'Workspace'),
  ...levelCalls('member', 'Member'),
  addLedgerEntry: async ({ call, key }) => {
    const hash = await key()
    return () => call('POST /ledger/entries', { kind: 'correction', amount: 0.25, api_key_hash: hash, reason: 'ticket 4711' })
  },
  enableEventReceiver: async (scene) => {
    const { events } = store(scene)
    if ('spread' in events && typeof events.spread === 'function') await events.spread([{ name: 'ops', types: [] }], 1)
    await events.setDisabled('ops', 1)
    return () => scene.call('POST /events/receivers/ops/enable')
  },
  redeliverEvent: async (scene) => {
    const { events } = store(scene)
    if ('spread' in events && typeof events.spread === 'function') await events.spread([{ name: 'ops', types: [] }], 1)
    await scene.key()
    if ('spread' in events && typeof events.spread === 'function') await events.spread([{ name: 'ops', types: [] }], 1)
    const [event] = await events.page({ after: 0, types: [], limit: 1, newestFirst: true })
    return () => scene.call(`POST /events/${event?.id}/redeliver`, {})
  },
}

const writing = OPERATIONS.filter(({ method }) => method !== 'get')

t.test('every operation with a writing method is called here, or states why it changes nothing', async (t) => {
  t.ok(writing.length > 15)
  for (const { id, audit } of writing) {
    if (typeof audit === 'string') {
      t.ok(Object.hasOwn(CALLS, id), `${id}: a call in this test`)
      t.ok(Object.hasOwn(AUDIT_ACTIONS, audit), `${id}: an action of the log`)
    } else t.match(audit?.none, /^[a-z].{20,}/, `${id}: its reason`)
  }
  t.same(
    Object.keys(CALLS).filter((id) => !writing.some((operation) => operation.id === id)),
    [],
    'no call without an operation',
  )
})

t.test('each of them brings its entry, with the key that has made it', async (t) => {
  const scene = await startScene(t)
  const { auditLog } = store(scene)
  const newest = async (after: number): Promise<AuditRow[]> => auditLog.page({ after, limit: 100 })
  for (const { id, audit } of writing) {
    const prepare = CALLS[id]
    if (!prepare) continue
    const run = await prepare(scene)
    const { sequence } = await auditLog.head()
    await run()
    const added = await newest(sequence)
    t.same(
      added.map(({ action }) => action),
      [audit],
      `${id}: one entry`,
    )
    const { actor, address } = JSON.parse(added[0]?.entry ?? '{}') as { actor: JsonObject; address: string }
    const isSignIn = id === 'createAuthCode' || id === 'exchangeAuthCode'
    t.same(
      actor,
      isSignIn ? { kind: 'key', id: 'app', name: 'app' } : { kind: 'management_key', id: 'boss', name: 'boss' },
      `${id}: the actor`,
    )
    t.equal(address, '127.0.0.1', `${id}: the address`)
  }
  const all = JSON.stringify(await newest(0))
  for (const secret of [BOSS, APP, AUDIT_KEY, TEAM_KEY, 'tempest', 'sk-provider-secret']) t.notMatch(all, secret)
  const keys = new AuditKeys({ key: AUDIT_KEY, formerKeys: [] })
  t.match(await verifyAuditLog(auditLog, { keys }), { problem: undefined, keyedFrom: 1 }, 'and each is signed')
})

/** Routes of the admin listener that are no reads: those of commands run what operations do, and have the entries of these. */
const ADMIN_ROUTES: Readonly<Record<string, string>> = {
  'POST /keys/command': 'entries of keys',
  'POST /ledger/entries/command': 'entries of the ledger',
  'POST /levels/command': 'entries of organizations, workspaces and members',
  'POST /byok/command': 'entries of keys that teams have brought',
  'POST /chargeback/command': 'none: it reads',
  'POST /compaction/command': 'entries of keys of compaction items',
  'POST /events/command': 'entries of events and receivers',
  'POST /sessions/command': 'none: it reads',
  'POST /audit/command': 'none: it reads',
  'POST /refusals/command': 'none: it reads',
  'POST /generations/command': 'none: it reads',
  'POST /guardrails/command': 'none: it reads',
  'POST /ledger/exports': 'none: it copies rows to an export of the configuration, and sets nothing; the log has a line',
  'POST /ledger/rebuild': 'none: sums are made anew from the same rows',
}

t.test('every route of the admin listener that is no read has its entries, or states why it has none', async (t) => {
  const routes = [...ledgerRoutes({} as never, {} as never).keys(), ...commandRoutes({} as never).map(([name]) => name)]
  t.same(routes.filter((name) => !name.startsWith('GET ')).toSorted(), Object.keys(ADMIN_ROUTES).toSorted())
})

t.test('no change that is refused has an entry', async (t) => {
  const scene = await startScene(t)
  const { auditLog } = store(scene)
  const { sequence } = await auditLog.head()
  await t.rejects(scene.call('POST /keys', { name: '' }), /400/)
  await t.rejects(scene.call('POST /keys', { name: 'made' }, APP), /403/)
  await t.rejects(scene.call(`DELETE /keys/${'0'.repeat(64)}`), /404/)
  await t.rejects(scene.call('POST /ledger/entries', { kind: 'refund', amount: 1, api_key_hash: await scene.key(), reason: 'x' }), /409/)
  t.equal((await auditLog.head()).sequence, sequence + 1, 'only the key that was made')
})
