/** Requests of every operation about records of an organization, and the statuses of their replies, for `test/gateway/roles/places.test.ts`. */
import type { JsonObject } from '../../src/core/json.ts'
import type { Role } from '../../src/core/roles.ts'
import type { CallerPlace, Maker, Organization, Records } from './two-organizations.ts'

export interface Sent {
  /** Behind `/v1`; its braces are those of the operation's path. */
  readonly path: string
  readonly body?: JsonObject
}

export interface Case {
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

/** Cases by the id of the operation. @param own organization of the callers. */
export function placeCases(maker: Maker, own: Organization): Readonly<Record<string, Case>> {
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

  return {
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

    listSlices: {
      about: (of) => [{ path: '/slices?group_by=key' }, { path: `/slices?api_key_hash=${of.key}` }, { path: '/slices?group_by=user' }],
      other: 200,
      isSilent: true,
    },
    listExtremes: { about: () => ({ path: '/slices/generations' }), other: 200, isSilent: true },
    getKeyAccess: { about: (of) => ({ path: `/keys/${of.key}/access` }), isSilent: true },
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
}
