/**
 * Every operation × every role × every place, on a gateway with two organizations: what each answers about records of the own one, of the
 * other one, and of none. It is made from the list of operations: one without a case here fails.
 */
import t from 'tap'
import { OPERATIONS } from '../../../src/api/operations/index.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { mayCall, type Role } from '../../../src/core/roles.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import {
  type CallerPlace,
  caller,
  Maker,
  makeCallers,
  makeOrganization,
  type Organization,
  type PlacedCaller,
  type Records,
  type Reply,
  unknownRecords,
} from '../../support/two-organizations.ts'
import { startUpstream } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'

const upstream = await startUpstream(says({ text: ['fine'] }))
const gateway: Gateway = await startGateway(
  `
server: { host: 127.0.0.1, port: 0, auth_failures: { burst: 100000 } }
byok: { encryption_keys: [ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" ] }
auth:
  sign_in: { pkce: optional }
  keys: [ { name: boss, key: "${BOSS}", management: true } ]
budgets: { budget-alpha: { monthly: "500" }, budget-bravo: { monthly: "500" } }
providers:
  first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider-secret" }
models:
  acme/one: { context: 128000, max_output: 4096, endpoints: [ { provider: first, model: up, price: { prompt: "1.00", completion: "2.00" } } ] }
presets: { brief: { model: acme/one } }
`,
  { clock: new FakeClock(1, Date.UTC(2026, 10, 18, 12)) },
)
t.teardown(async () => {
  await gateway.close()
  await upstream.close()
})

const call = caller(() => gateway.url)
const maker = new Maker(call, BOSS)
const model = 'acme/one'
const own = await makeOrganization(maker, 'ALPHA', { budget: 'budget-alpha', model })
const other = await makeOrganization(maker, 'BRAVO', { budget: 'budget-bravo', model })
const callers = await makeCallers(maker, own)
const before = await snapshot()

interface Sent {
  /** Behind `/v1`; its braces are those of the operation's path. */
  readonly path: string
  readonly body?: JsonObject
}

interface Case {
  /** Requests about records of an organization. */
  readonly about: (records: Records) => Sent | readonly Sent[] | Promise<Sent>
  /** Statuses about records of the own organization, by the place of the caller; 200 without it. */
  readonly own?: number | Readonly<Partial<Record<CallerPlace, number>>>
  /** The same of a role that the operation is open to, and shows less. */
  readonly ofRoles?: Readonly<Partial<Record<Role, number>>>
  /** Status about records of the other organization, of callers with a place; 404 without it. */
  readonly other?: number
  /** True where the reply to a caller of the whole gateway need not show a record. */
  readonly isSilent?: true
}

/** A new record of the own organization for each call that would use it up; those of the other one stay, since nothing happens to them. */
async function fresh(records: Records, make: () => Promise<string>, kept: string): Promise<string> {
  return records === own ? make() : kept
}
const freshKey = (records: Records) =>
  fresh(records, async () => (await maker.key({ workspace_id: own.workspace, name: 'fresh' })).hash, records.key)
const freshByok = (records: Records) =>
  fresh(
    records,
    async () =>
      String(
        (await maker.data('POST', '/byok', { provider: 'first', key: 'team-fresh-0123456789', allowed_api_key_hashes: [own.key] })).id,
      ),
    records.byok,
  )
const freshWorkspace = (records: Records) => {
  const slug = `fresh-${Math.random().toString(36).slice(2)}`
  return fresh(
    records,
    async () => String((await maker.data('POST', '/workspaces', { name: 'Fresh', slug, organization_id: own.organization })).id),
    records.workspace,
  )
}
const freshMember = (records: Records) => {
  const user = `fresh-${Math.random().toString(36).slice(2)}@example.com`
  return fresh(
    records,
    async () =>
      String(((await maker.json('POST', `/workspaces/${own.workspace}/members/add`, { user_ids: [user] })).data as JsonObject[])[0]?.id),
    records.member,
  )
}

const same = (path: string): Case => ({ about: () => ({ path }), other: 200, isSilent: true })
/** A level above a caller of a workspace is not there for it; the one that it governs is changed from above. */
const ABOVE = { own: { organization: 200, workspace: 404, gateway: 200 } } as const
const FROM_ABOVE = { own: { organization: 403, workspace: 404, gateway: 200 } } as const
const BELOW = { own: { organization: 200, workspace: 403, gateway: 200 } } as const
/** Guardrails that the gateway's owner has made and assigned are shown, and changed by others. */
const OF_OTHERS = { own: { organization: 403, workspace: 403, gateway: 200 } } as const

const levelCases = (
  title: string,
  path: string,
  name: (records: Records) => string,
  places: Pick<Case, 'own'>,
  changes: Pick<Case, 'own'>,
): Record<string, Case> => ({
  [`get${title}`]: { about: (of) => ({ path: `${path}/${name(of)}` }), ...places },
  [`update${title}`]: { about: (of) => ({ path: `${path}/${name(of)}`, body: { description: 'Another one' } }), ...changes },
  [`list${title}Budgets`]: { about: (of) => ({ path: `${path}/${name(of)}/budgets` }), ...places },
  [`get${title}Budget`]: { about: (of) => ({ path: `${path}/${name(of)}/budgets/monthly` }), ...places },
  [`set${title}Budget`]: { about: (of) => ({ path: `${path}/${name(of)}/budgets/monthly`, body: { limit_usd: 1000 } }), ...changes },
  [`delete${title}Budget`]: { about: (of) => ({ path: `${path}/${name(of)}/budgets/daily` }), ...places, isSilent: true },
})

const CASES: Readonly<Record<string, Case>> = {
  listModels: same('/models'),
  countModels: same('/models/count'),
  listKeyModels: same('/models/user'),
  listEmbeddingModels: same('/embeddings/models'),
  getModel: same('/model/acme/one'),
  retrieveModel: same('/models/acme/one'),
  listEndpoints: same('/models/acme/one/endpoints'),
  listZdrEndpoints: same('/endpoints/zdr'),
  listProviders: same('/providers'),
  listPresets: same('/presets'),
  getPreset: same('/presets/brief'),
  createFile: { ...same('/files'), own: 415, other: 415 },
  listFiles: same('/files'),
  getFile: { ...same('/files/file-none'), own: 404, other: 404 },
  getFileContent: { ...same('/files/file-none/content'), own: 404, other: 404 },
  deleteFile: { ...same('/files/file-none'), own: 404, other: 404 },
  createAuthCode: { about: () => ({ path: '/auth/keys/code', body: { callback_url: 'http://localhost/' } }), other: 200, isSilent: true },
  exchangeAuthCode: { about: () => ({ path: '/auth/keys', body: { code: 'none' } }), own: 403, other: 403, isSilent: true },
  getOwnKey: same('/key'),

  listKeys: {
    about: (of) => [
      { path: '/keys?include_totals=true&include_forecast=true&include_disabled=true' },
      { path: `/keys?workspace_id=${of.workspace}` },
      { path: `/keys?creator_user_id=${encodeURIComponent(of.user)}` },
      { path: `/keys?search=${of.key.slice(0, 12)}` },
      { path: `/keys?parent=${of.budget}` },
      { path: '/keys?format=csv' },
    ],
    other: 200,
  },
  createKey: { about: (of) => ({ path: '/keys', body: { name: 'new', workspace_id: of.workspace } }), own: 201, other: 400 },
  getKey: { about: (of) => ({ path: `/keys/${of.key}` }) },
  changeKey: { about: async (of) => ({ path: `/keys/${await freshKey(of)}`, body: { limit: 3 } }), isSilent: true },
  deleteKey: { about: async (of) => ({ path: `/keys/${await freshKey(of)}` }), isSilent: true },
  rotateKey: { about: async (of) => ({ path: `/keys/${await freshKey(of)}/rotate` }), isSilent: true },
  getKeyBudget: { about: (of) => ({ path: `/keys/${of.key}/budget` }) },

  listBYOKKeys: { about: () => [{ path: '/byok' }, { path: '/byok?provider=first' }], other: 200 },
  createBYOKKey: {
    about: (of) => ({ path: '/byok', body: { provider: 'first', key: 'team-new-0123456789', allowed_api_key_hashes: [of.key] } }),
    own: 201,
    other: 400,
  },
  getBYOKKey: { about: (of) => ({ path: `/byok/${of.byok}` }) },
  updateBYOKKey: { about: async (of) => ({ path: `/byok/${await freshByok(of)}`, body: { disabled: true } }), isSilent: true },
  deleteBYOKKey: { about: async (of) => ({ path: `/byok/${await freshByok(of)}` }), isSilent: true },

  listOrganizations: { about: () => ({ path: '/organizations' }), other: 200 },
  createOrganization: {
    about: () => ({ path: '/organizations', body: { name: 'New', slug: `new-${Math.random().toString(36).slice(2)}` } }),
    own: 201,
    isSilent: true,
  },
  ...levelCases('Organization', '/organizations', (of) => of.organization, ABOVE, FROM_ABOVE),
  deleteOrganizationBudget: { about: (of) => ({ path: `/organizations/${of.organization}/budgets/daily` }), ...ABOVE, isSilent: true },
  deleteOrganization: {
    about: (of) => ({ path: `/organizations/${of.organization}` }),
    own: { organization: 403, workspace: 404, gateway: 400 },
    isSilent: true,
  },
  listMembersOfOrganization: { about: (of) => ({ path: `/organizations/${of.organization}/members` }), ...ABOVE },
  bulkAddOrganizationMembers: {
    about: (of) => ({ path: `/organizations/${of.organization}/members/add`, body: { user_ids: ['cleo@example.com'] } }),
    ...ABOVE,
    isSilent: true,
  },
  bulkRemoveOrganizationMembers: {
    about: (of) => ({ path: `/organizations/${of.organization}/members/remove`, body: { user_ids: ['cleo@example.com'] } }),
    ...ABOVE,
    isSilent: true,
  },
  listWorkspaces: {
    about: (of) => [{ path: '/workspaces' }, { path: `/workspaces?organization_id=${of.organization}` }],
    other: 200,
  },
  createWorkspace: {
    about: (of) => ({
      path: '/workspaces',
      body: { name: 'New', slug: `new-${Math.random().toString(36).slice(2)}`, organization_id: of.organization },
    }),
    own: { organization: 201, workspace: 400, gateway: 201 },
    other: 400,
    isSilent: true,
  },
  ...levelCases('Workspace', '/workspaces', (of) => of.workspace, {}, BELOW),
  deleteWorkspace: {
    about: async (of) => ({ path: `/workspaces/${await freshWorkspace(of)}` }),
    own: { organization: 200, workspace: 404, gateway: 200 },
    isSilent: true,
  },
  listWorkspaceMembers: { about: (of) => ({ path: `/workspaces/${of.workspace}/members` }) },
  bulkAddWorkspaceMembers: {
    about: (of) => ({ path: `/workspaces/${of.workspace}/members/add`, body: { user_ids: ['dora@example.com'] } }),
    isSilent: true,
  },
  bulkRemoveWorkspaceMembers: {
    about: (of) => ({ path: `/workspaces/${of.workspace}/members/remove`, body: { user_ids: ['dora@example.com'] } }),
    isSilent: true,
  },
  ...levelCases('Member', '/members', (of) => of.member, {}, {}),
  deleteMember: { about: async (of) => ({ path: `/members/${await freshMember(of)}` }), isSilent: true },
  listOrganizationMembers: { about: () => ({ path: '/organization/members' }), other: 200, isSilent: true },

  getCredits: { about: () => ({ path: '/credits' }), other: 200, isSilent: true },
  listActivity: {
    about: (of) => [
      { path: '/activity?group_by=workspace' },
      { path: `/activity?api_key_hash=${of.key}` },
      { path: `/activity?user_id=${encodeURIComponent(of.user)}` },
      { path: `/activity?workspace_id=${of.workspace}` },
    ],
    other: 200,
    isSilent: true,
  },
  listSessions: {
    about: (of) => [{ path: '/sessions' }, { path: `/sessions?session_id=${of.session}` }, { path: `/sessions?api_key_hash=${of.key}` }],
    other: 200,
  },
  getGeneration: { about: (of) => ({ path: `/generation?id=${of.generation}` }), ofRoles: { billing: 404 } },
  listBudgets: { about: () => ({ path: '/budgets' }), other: 200 },
  getStatus: { about: () => ({ path: '/status' }), isSilent: true },
  searchGenerations: {
    about: (of) => [
      { path: '/generations' },
      { path: '/generations?limit=1' },
      { path: `/generations?api_key_hash=${of.key}` },
      { path: `/generations?session_id=${of.session}` },
      { path: '/generations?format=csv' },
    ],
    other: 200,
  },
  getGenerationTimeline: { about: (of) => ({ path: `/generations/${of.generation}` }) },
  planGeneration: { about: (of) => ({ path: `/generations/${of.generation}/plan` }), isSilent: true },
  listKeyActivity: {
    about: (of) => [{ path: '/activity/keys' }, { path: `/activity/keys?api_key_hash=${of.key}` }, { path: '/activity/keys?format=csv' }],
    other: 200,
  },
  getChargeback: {
    about: () => [
      { path: '/chargeback' },
      { path: '/chargeback?group_by=day' },
      { path: '/chargeback?group_by=parent,member,key,app,session,user,model,provider' },
      { path: '/chargeback?group_by=key&format=csv' },
    ],
    other: 200,
  },

  testGuardrails: { about: () => ({ path: '/guardrails/test', body: { text: 'Write to ann@example.com' } }), isSilent: true },
  listGuardrails: { about: (of) => [{ path: '/guardrails' }, { path: `/guardrails?workspace_id=${of.workspace}` }], other: 200 },
  getGuardrail: { about: (of) => ({ path: `/guardrails/${of.guardrail}` }) },
  createGuardrail: { about: () => ({ path: '/guardrails', body: { name: 'new' } }), own: 201, other: 201, isSilent: true },
  updateGuardrail: { about: (of) => ({ path: `/guardrails/${of.guardrail}`, body: { limit_usd: 5 } }), ...OF_OTHERS },
  deleteGuardrail: {
    about: async (of) => ({
      path: `/guardrails/${await fresh(of, async () => String((await maker.data('POST', '/guardrails', { name: 'x' })).id), of.guardrail)}`,
    }),
    own: { organization: 404, workspace: 404, gateway: 200 },
    isSilent: true,
  },
  listKeyAssignments: { about: () => ({ path: '/guardrails/assignments/keys' }), other: 200 },
  listGuardrailKeyAssignments: { about: (of) => ({ path: `/guardrails/${of.guardrail}/assignments/keys` }) },
  assignKeys: {
    about: async (of) => ({ path: `/guardrails/${of.guardrail}/assignments/keys`, body: { key_hashes: [await freshKey(of)] } }),
    ...OF_OTHERS,
    isSilent: true,
  },
  unassignKeys: {
    about: async (of) => ({ path: `/guardrails/${of.guardrail}/assignments/keys/remove`, body: { key_hashes: [await freshKey(of)] } }),
    ...OF_OTHERS,
    isSilent: true,
  },
  listMemberAssignments: { about: () => ({ path: '/guardrails/assignments/members' }), other: 200, isSilent: true },
  listGuardrailMemberAssignments: { about: (of) => ({ path: `/guardrails/${of.guardrail}/assignments/members` }), isSilent: true },
  assignMembers: {
    about: (of) => ({ path: `/guardrails/${of.guardrail}/assignments/members`, body: { member_user_ids: [of.user] } }),
    ...OF_OTHERS,
    isSilent: true,
  },
  unassignMembers: {
    about: (of) => ({ path: `/guardrails/${of.guardrail}/assignments/members/remove`, body: { member_user_ids: [of.user] } }),
    ...OF_OTHERS,
    isSilent: true,
  },
  listWorkspaceAssignments: { about: () => ({ path: '/guardrails/assignments/workspaces' }), other: 200 },
  listGuardrailWorkspaceAssignments: { about: (of) => ({ path: `/guardrails/${of.guardrail}/assignments/workspaces` }) },
  assignWorkspaces: {
    about: (of) => ({ path: `/guardrails/${of.guardrail}/assignments/workspaces`, body: { workspace_ids: [of.workspace] } }),
    ...OF_OTHERS,
    isSilent: true,
  },
  unassignWorkspaces: {
    about: async (of) => ({
      path: `/guardrails/${of.guardrail}/assignments/workspaces/remove`,
      body: { workspace_ids: [of === own ? await freshWorkspace(of) : of.workspace] },
    }),
    ...OF_OTHERS,
    isSilent: true,
  },
  listOrganizationAssignments: { about: () => ({ path: '/guardrails/assignments/organizations' }), other: 200, isSilent: true },
  listGuardrailOrganizationAssignments: {
    about: (of) => ({ path: `/guardrails/${of.guardrail}/assignments/organizations` }),
    isSilent: true,
  },
  assignOrganizations: {
    about: (of) => ({ path: `/guardrails/${of.guardrail}/assignments/organizations`, body: { organization_ids: [of.organization] } }),
    own: { organization: 403, workspace: 400, gateway: 200 },
    isSilent: true,
  },
  unassignOrganizations: {
    about: (of) => ({
      path: `/guardrails/${of.guardrail}/assignments/organizations/remove`,
      body: { organization_ids: [of.organization] },
    }),
    ...OF_OTHERS,
    isSilent: true,
  },

  listLedgerEntries: {
    about: (of) => [{ path: '/ledger/entries' }, { path: `/ledger/entries?api_key_hash=${of.key}` }],
    other: 200,
  },
  addLedgerEntry: {
    about: (of) => ({ path: '/ledger/entries', body: { kind: 'correction', amount: 0.01, reason: 'a test', api_key_hash: of.key } }),
    own: 201,
  },
  listRefusals: {
    about: (of) => [{ path: '/refusals' }, { path: '/refusals?limit=1' }, { path: `/refusals?api_key_hash=${of.key}` }],
    other: 200,
  },
  listAuditEntries: {
    about: (of) => [
      { path: '/audit?limit=500' },
      { path: '/audit?order=newest&limit=2' },
      { path: `/audit?subject=${of.key}` },
      { path: `/audit?actor=${of.key}` },
      { path: `/audit?subject=${of.workspace}` },
    ],
    other: 200,
  },
  readAuditReport: { about: () => ({ path: '/audit/report' }), isSilent: true },
  listEvents: { about: () => [{ path: '/events?limit=100' }, { path: '/events?order=newest&limit=1' }], other: 200, isSilent: true },
  listEventDeliveries: { about: () => ({ path: '/events/deliveries' }), isSilent: true },
  listEventReceivers: { about: () => ({ path: '/events/receivers' }), isSilent: true },
  enableEventReceiver: { about: () => ({ path: '/events/receivers/ops/enable' }), own: 404, isSilent: true },
  getEvent: { about: (of) => ({ path: `/events/${of.event}` }) },
  redeliverEvent: { about: (of) => ({ path: `/events/${of.event}/redeliver`, body: {} }), own: 404, isSilent: true },
  getConfiguration: { about: () => ({ path: '/configuration' }), isSilent: true },
  checkConfiguration: { about: () => ({ path: '/configuration/check', body: { text: 'models: {}' } }), isSilent: true },
  rehearseConfiguration: { about: () => ({ path: '/configuration/rehearse', body: { text: 'models: {}' } }), own: 200, isSilent: true },
}

const ids = OPERATIONS.map(({ id }) => id)

t.test('every operation has a case, and no case is without an operation', (t) => {
  t.same(
    ids.filter((id) => !Object.hasOwn(CASES, id)),
    [],
    'operations without a case',
  )
  t.same(
    Object.keys(CASES).filter((id) => !ids.includes(id)),
    [],
    'cases without an operation',
  )
  t.end()
})

/** Other gateways' records as requests name them are seen apart by their ids alone. */
function namesLeftOut({ status, text }: Reply, records: Records): string {
  let plain = text
  for (const name of Object.values(records)) plain = plain.replaceAll(name, '…').replaceAll(encodeURIComponent(name), '…')
  return `${status} ${plain.replace(/"(since|until|scanned_until|created_at|updated_at)":"[^"]*"/g, '')}`
}

/** Marks and ids of an organization in a reply that the request has not named itself. */
const found = ({ text }: Reply, { mark, traces }: Organization, sent: Sent): string[] => {
  const named = `${decodeURIComponent(sent.path)} ${JSON.stringify(sent.body ?? {})}`
  return [mark, mark.toLowerCase(), ...traces].filter((trace) => text.includes(trace) && !named.includes(trace))
}

async function requests(about: Case['about'], records: Records): Promise<readonly Sent[]> {
  const found = await about(records)
  return Array.isArray(found) ? found : [found as Sent]
}

function ownStatus({ own: wanted = 200, ofRoles }: Case, { place, role }: PlacedCaller, { path }: Sent): number {
  if (ofRoles?.[role] !== undefined) return ofRoles[role]
  // A filter by what is above the caller names nothing.
  if (place === 'workspace' && path.startsWith('/workspaces?organization_id')) return 404
  if (typeof wanted === 'number') return wanted
  return wanted[role === 'member' ? 'workspace' : place] ?? 200
}

/** All records of the other organization, as the owner of the gateway sees them, without what one reads twice differently. */
async function snapshot(): Promise<string> {
  const paths = [
    `/keys?workspace_id=${other.workspace}&include_disabled=true`,
    `/organizations/${other.organization}`,
    `/workspaces?organization_id=${other.organization}`,
    `/organizations/${other.organization}/budgets`,
    `/workspaces/${other.workspace}/budgets`,
    `/members/${other.member}/budgets`,
    `/workspaces/${other.workspace}/members`,
    `/organizations/${other.organization}/members`,
    `/guardrails/${other.guardrail}`,
    `/guardrails/${other.guardrail}/assignments/keys`,
    `/guardrails/${other.guardrail}/assignments/workspaces`,
    `/byok/${other.byok}`,
    `/ledger/entries?api_key_hash=${other.key}`,
    `/audit?subject=${other.key}`,
  ]
  const texts: string[] = []
  for (const path of paths) texts.push((await call('GET', path, BOSS)).text)
  return texts.join('\n')
}

const bounded = callers.filter(({ place }) => place !== 'gateway')

for (const who of bounded)
  t.test(`${who.name}: what lies elsewhere is not there`, async (t) => {
    await every(t, 'every operation', async (t) => {
      for (const operation of OPERATIONS) {
        const { id } = operation
        const each = CASES[id]
        if (!each) continue
        const method = operation.method.toUpperCase()
        const holder = { role: who.role, ...(who.role === 'member' ? {} : { place: { workspace: 'x' } }) }
        const isOpen = operation.roles === 'none' || mayCall(holder, operation)
        for (const sent of await requests(each.about, other)) {
          const reply = await call(method, sent.path, who.secret, sent.body)
          const seen = `${method} ${sent.path}: ${reply.status} ${reply.text.slice(0, 200)}`
          t.same(found(reply, other, sent), [], `${seen}: nothing of the other organization`)
          if (!isOpen) {
            t.equal(reply.status, 403, seen)
            continue
          }
          // A member reads its own generations alone.
          const isElsewhereAbove = who.place === 'workspace' && typeof each.own === 'object' && each.own.workspace === 404
          t.ok([each.other ?? 404, ...(isElsewhereAbove || /\?organization_id/.test(sent.path) ? [404] : [])].includes(reply.status), seen)
        }
        if (!isOpen || operation.reach === 'own') continue
        const unknown = unknownRecords('budget-none')
        const [there, nowhere] = [await requests(each.about, other), await requests(each.about, unknown)]
        for (const [at, sent] of there.entries()) {
          const none = nowhere[at] as Sent
          if (method !== 'GET' && (each.other ?? 404) < 400) continue
          const [one, two] = [await call(method, sent.path, who.secret, sent.body), await call(method, none.path, who.secret, none.body)]
          t.equal(namesLeftOut(one, other), namesLeftOut(two, unknown), `${method} ${sent.path}: as of what is not there`)
        }
      }
    })
  })

t.test('nothing of the other organization has changed', async (t) => {
  t.equal(await snapshot(), before)
})

for (const who of callers)
  t.test(`${who.name}: what lies in its place`, async (t) => {
    await every(t, 'every operation', async (t) => {
      for (const operation of OPERATIONS) {
        const each = CASES[operation.id]
        if (!each) continue
        const method = operation.method.toUpperCase()
        const place = who.place === 'gateway' || who.role === 'member' ? {} : { place: { workspace: 'x' } }
        const isOpen = operation.roles === 'none' || mayCall({ role: who.role, ...place }, operation)
        for (const sent of await requests(each.about, own)) {
          const reply = await call(method, sent.path, who.secret, sent.body)
          const seen = `${method} ${sent.path}: ${reply.status} ${reply.text.slice(0, 200)}`
          const wanted = isOpen ? ownStatus(each, who, sent) : 403
          t.equal(reply.status, wanted, seen)
          if (who.place !== 'gateway') t.same(found(reply, other, sent), [], `${seen}: nothing of the other organization`)
        }
      }
    })
  })

t.test('those who govern a record read its marks, so that they would be found', async (t) => {
  const secretNamed = (name: string): string => callers.find((each) => each.name === name)?.secret ?? ''
  const readers = [
    { secret: secretNamed('owner of the gateway'), governed: [own, other], above: true },
    { secret: secretNamed('owner of the organization'), governed: [own], above: true },
    { secret: secretNamed('owner of the workspace'), governed: [own], above: false },
  ]
  await every(t, 'every reading operation', async (t) => {
    for (const operation of OPERATIONS) {
      const each = CASES[operation.id]
      if (!each || operation.method !== 'get' || operation.reach === 'own' || each.isSilent) continue
      for (const { secret, governed, above } of readers)
        for (const records of governed) {
          const [sent] = await requests(each.about, records)
          if (!above && /^\/organizations/.test(sent?.path ?? '')) continue
          const { text } = await call('GET', sent?.path ?? '', secret)
          t.ok(
            [records.mark, ...records.traces].some((trace) => text.includes(trace)),
            `${sent?.path}: ${text.slice(0, 300)}`,
          )
        }
    }
  })
})
