/** Management keys of one organization that want more than it: records, sums and rights of another, or of the whole gateway. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { bearer, issuerConfig, startIssuer } from '../../support/token-issuer.ts'
import { caller, Maker, makeCallers, makeOrganization, type Organization, type Reply } from '../../support/two-organizations.ts'
import { startUpstream } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
const model = 'acme/one'

interface Scene {
  readonly gateway: Gateway
  readonly maker: Maker
  readonly own: Organization
  readonly other: Organization
  /** Secret of a management key such as `owner of the organization`. */
  secret(name: string): string
  send(secret: string, route: string, body?: JsonObject): Promise<Reply>
}

async function start(t: Test): Promise<Scene> {
  const upstream = await startUpstream(says({ text: ['fine'] }))
  t.teardown(() => upstream.close())
  const gateway = await startGateway(
    `
server: { host: 127.0.0.1, port: 0, auth_failures: { burst: 100000 } }
byok: { encryption_keys: [ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" ] }
auth: { keys: [ { name: boss, key: "${BOSS}", management: true } ] }
budgets: { budget-alpha: { monthly: "500" }, budget-bravo: { monthly: "500" } }
providers: { first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider-secret" } }
models: { ${model}: { context: 128000, max_output: 4096, endpoints: [ { provider: first, model: up, price: { prompt: "1.00", completion: "2.00" } } ] } }
`,
    { clock: new FakeClock(1, Date.UTC(2026, 10, 18, 12)) },
  )
  t.teardown(() => gateway.close())
  const call = caller(() => gateway.url)
  const maker = new Maker(call, BOSS)
  const own = await makeOrganization(maker, 'ALPHA', { budget: 'budget-alpha', model })
  const other = await makeOrganization(maker, 'BRAVO', { budget: 'budget-bravo', model })
  const callers = await makeCallers(maker, own)
  return {
    ...{ gateway, maker, own, other },
    secret: (name) => callers.find((each) => each.name === name)?.secret ?? '',
    send: (secret, route, body) => {
      const [method = '', path = ''] = route.split(' ')
      return call(method, path, secret, body)
    },
  }
}

const data = ({ text }: Reply): JsonObject => (JSON.parse(text) as { data: JsonObject }).data
const message = ({ text }: Reply): string => (JSON.parse(text) as { error: { message: string } }).error.message

t.test('a key neither leaves its place nor is made elsewhere, by whatever name', async (t) => {
  const { send, secret, own, other } = await start(t)
  for (const place of ['organization', 'workspace']) {
    const owner = secret(`owner of the ${place}`)
    const self = String(data(await send(owner, 'GET /key')).hash ?? '')
    const listed = (JSON.parse((await send(owner, 'GET /keys?search=owner')).text) as { data: JsonObject[] }).data
    const mine = String(listed.find(({ name }) => name === `owner ${place}`)?.hash ?? self)
    await every(t, `of the ${place}`, async (t) => {
      for (const workspace_id of [other.workspace, other.slug, '11111111-1111-4111-8111-111111111111', 'default']) {
        for (const role of ['member', 'viewer', 'owner']) {
          const made = await send(owner, 'POST /keys', { name: 'x', role, workspace_id })
          t.match([made.status, message(made)], [400, 'workspace_id: no such workspace'], `${role} in ${workspace_id}`)
        }
        for (const hash of [mine, own.key]) {
          const moved = await send(owner, `PATCH /keys/${hash}`, { workspace_id })
          t.match([moved.status, message(moved)], [400, 'workspace_id: no such workspace'], `moved to ${workspace_id}`)
        }
      }
      for (const body of [{ organization_id: other.organization }, { organization_id: 'company-bravo' }, { organization_id: 'default' }]) {
        const made = await send(owner, 'POST /keys', { name: 'x', role: 'viewer', ...body })
        t.match([made.status, message(made)], [400, 'organization_id: no such organization'])
        t.equal((await send(owner, `PATCH /keys/${mine}`, body)).status, 400, 'its own place')
      }
      for (const body of [{ member_id: other.member }, { workspace_id: own.workspace, member_id: other.member }, { member_id: other.user }])
        t.match((await send(owner, 'POST /keys', { name: 'x', workspace_id: own.workspace, ...body })).status, 400, JSON.stringify(body))
      t.match(await send(owner, `PATCH /keys/${mine}`, { workspace_id: null }), { status: 400 }, 'the whole gateway')
    })
    const made = await send(owner, 'POST /keys', { name: 'x', role: 'viewer' })
    t.match(
      [made.status, data(made).reach, data(made).organization_id],
      [201, place, own.organization],
      'without a name it lies where its maker lies',
    )
  }
  t.match(data(await send(BOSS, `GET /keys/${other.key}`)), { name: 'key BRAVO', workspace_id: other.workspace })
})

t.test('budgets, guardrails, users and ids of others are given to no key', async (t) => {
  const { send, secret, own, other, maker } = await start(t)
  const admin = secret('owner of the organization')
  const taken = await send(admin, 'POST /keys', { name: 'x', workspace_id: own.workspace, parent: other.budget })
  t.match([taken.status, message(taken)], [400, 'parent: no such budget, expected one of: budget-alpha'])
  t.equal((await send(admin, 'POST /keys', { name: 'x', workspace_id: own.workspace, parent: own.budget })).status, 201)
  t.equal((await send(admin, `PATCH /keys/${own.key}`, { parent: other.budget })).status, 400)
  t.match(await send(admin, `PATCH /keys/${own.key}`, { creator_user_id: other.user }), { status: 400, text: /creator_user_id/ })
  t.equal((await send(admin, `PATCH /keys/${own.key}`, { creator_user_id: own.user })).status, 200)
  t.match(await send(admin, `PATCH /keys/${own.key}`, { provider_ids: ['*'] }), { status: 400, text: /provider_ids\[0\]/ })
  await maker.json('PATCH', `/keys/${own.key}`, { provider_ids: ['vs_own'] })
  t.equal((await send(admin, 'POST /keys', { name: 'x', workspace_id: own.workspace, provider_ids: ['vs_own'] })).status, 201)
  const guardrail = String(data(await send(admin, 'POST /guardrails', { name: 'mine' })).id)
  const key = (await maker.key({ workspace_id: own.workspace, name: 'free' })).hash
  const assign = (hash: string, id = guardrail) => send(admin, `POST /guardrails/${id}/assignments/keys`, { key_hashes: [hash] })
  t.equal((await assign(key)).status, 200, 'its own guardrail to its own key')
  t.match([(await assign(other.key)).status, message(await assign(other.key))], [400, 'key_hashes[0]: no such key'])
  t.equal((await assign(own.key)).status, 403, 'not in the place of one that others have set')
  t.equal((await assign(key, own.guardrail)).status, 403, 'nor one of others')
  t.equal((await assign(key, other.guardrail)).status, 404)
  t.equal((await send(admin, `POST /guardrails/${own.guardrail}/assignments/keys/remove`, { key_hashes: [own.key] })).status, 403)
  t.equal(
    (await send(admin, 'PATCH /guardrails/00000000-0000-8000-8000-000000000002', { limit_usd: 1 })).status,
    403,
    'that of all requests',
  )
  for (const organization_ids of [[own.organization], [other.organization]])
    t.match(
      (await send(admin, `POST /guardrails/${own.guardrail}/assignments/organizations`, { organization_ids })).status,
      organization_ids[0] === own.organization ? 403 : 400,
    )
  t.equal(
    (await send(secret('owner of the workspace'), `PATCH /guardrails/${guardrail}`, { limit_usd: 1 })).status,
    403,
    'a workspace below sees what holds for its keys, and changes nothing of it',
  )
  const wide = await send(admin, 'POST /byok', { provider: 'first', key: 'team-key-0123456789' })
  t.match([wide.status, message(wide)], [400, /^allowed_api_key_hashes: /], 'a key of a provider for all callers')
})

t.test('entries, generations and cursors of others lead nowhere', async (t) => {
  const { send, secret, own, other, maker } = await start(t)
  const admin = secret('owner of the organization')
  const entry = (about: JsonObject) => send(admin, 'POST /ledger/entries', { kind: 'refund', amount: 0.000001, reason: 'x', ...about })
  for (const about of [{ api_key_hash: other.key }, { generation_id: other.generation }, { settles: other.entry }])
    t.equal((await entry(about)).status, 404, Object.keys(about)[0])
  t.equal((await send(admin, `GET /ledger/entries?generation_id=${other.generation}`)).status, 404)
  t.equal((await send(admin, `POST /generations/${other.generation}/plan`)).status, 404)
  await every(t, 'cursors of the whole gateway', async (t) => {
    for (const path of [
      '/keys?limit=1',
      '/generations?limit=1',
      '/activity/keys?limit=1',
      '/refusals?limit=1',
      '/audit?limit=1',
      '/events?limit=1',
      '/ledger/entries?limit=1',
    ]) {
      let cursor = ''
      for (let page = 0; page < 8; page++) {
        const whole = JSON.parse((await send(BOSS, `GET ${path}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)).text) as JsonObject
        const next = whole.next ?? whole.next_cursor
        if (typeof next !== 'string') break
        cursor = next
        const part = await send(admin, `GET ${path}&cursor=${encodeURIComponent(cursor)}`)
        t.equal(part.status, 200, `${path} ${part.text}`)
        t.notOk(
          [other.mark, ...other.traces].some((trace) => part.text.includes(trace)),
          `${path}: ${part.text}`,
        )
      }
    }
  })
  await every(t, 'its own cursors', async (t) => {
    const seen = new Set<string>()
    for (let cursor = '', page = 0; page < 50; page++) {
      const { text } = await send(admin, `GET /generations?limit=1${cursor && `&cursor=${cursor}`}`)
      const { data: rows, next } = JSON.parse(text) as { data: JsonObject[]; next: string | null }
      for (const row of rows) seen.add(String(row.id))
      if (next === null) break
      cursor = next
      t.notMatch(Buffer.from(next, 'base64url').toString(), other.generation.split('-').at(-1) ?? 'x')
    }
    t.same([...seen], [own.generation], 'page by page all that it has')
  })
  void maker
})

t.test('no sum changes with what another organization spends', async (t) => {
  const { send, secret, other, maker } = await start(t)
  const paths = [
    '/credits',
    '/chargeback',
    '/keys?include_totals=true',
    '/sessions',
    '/activity/keys',
    '/activity',
    '/refusals',
    '/budgets',
    '/ledger/entries',
  ]
  const read = async (): Promise<string[]> => {
    const texts: string[] = []
    for (const name of ['owner of the organization', 'owner of the workspace'])
      for (const path of paths) texts.push(`${path} ${(await send(secret(name), `GET ${path}`)).text}`)
    return texts
  }
  const before = await read()
  t.match(before[0], /"total_usage":0\.[0-9]*[1-9]/, 'it has spent something')
  const messages = [{ role: 'user', content: 'hello' }]
  for (let at = 0; at < 3; at++) await maker.json('POST', '/chat/completions', { model, messages, session_id: `s${at}` }, other.secret)
  await maker.key({ name: 'more', workspace_id: other.workspace })
  await maker.json('POST', '/ledger/entries', { kind: 'correction', amount: 1, reason: 'x', api_key_hash: other.key })
  t.same(await read(), before)
})

t.test('levels: a place is changed from above, and gives no role that its key has not', async (t) => {
  const { send, secret, own, other } = await start(t)
  const admin = secret('admin of the organization')
  const put = (path: string) => send(admin, `PUT ${path}/budgets/monthly`, { limit_usd: 1_000_000 })
  t.equal((await put(`/organizations/${own.organization}`)).status, 403, 'its own budget')
  t.equal((await put(`/workspaces/${own.workspace}`)).status, 200, 'one below')
  t.equal((await put(`/workspaces/${other.workspace}`)).status, 404)
  t.equal((await send(secret('owner of the workspace'), `PUT /workspaces/${own.workspace}/budgets/monthly`, { limit_usd: 9 })).status, 403)
  const add = (who: string, role: string) =>
    send(who, `POST /workspaces/${own.workspace}/members/add`, { user_ids: [`${role}@example.com`], role })
  for (const role of ['owner', 'admin']) {
    t.match((await add(admin, role)).status, 403, `admin gives ${role}`)
    t.equal((await add(secret('owner of the organization'), role)).status, 200, `owner gives ${role}`)
    t.equal((await add(admin, role)).status, 403, 'nor takes it')
  }
  t.equal((await add(admin, 'viewer')).status, 200)
  t.equal((await send(admin, `POST /workspaces/${own.workspace}/members/remove`, { user_ids: ['owner@example.com'] })).status, 403)
})

t.test('scopes narrow a role, and no key gives itself or others more of them', async (t) => {
  const { send, maker, gateway } = await start(t)
  const scoped = async (
    role: string,
    scopes: string[],
    secret = BOSS,
  ): Promise<{ status: number; text: string; secret: string; hash: string }> => {
    const reply = await send(secret, 'POST /keys', { name: scopes.join(), role, scopes })
    const made = JSON.parse(reply.text) as { key?: string; data?: JsonObject }
    return { ...reply, secret: made.key ?? '', hash: String(made.data?.hash) }
  }
  const keeper = await scoped('admin', ['keys:write'])
  t.match(data(keeper), { scopes: ['keys:write'], role: 'admin', reach: 'gateway' })
  t.match(data(await send(keeper.secret, 'GET /key')), { scopes: ['keys:write'] })
  t.match(JSON.parse((await send(BOSS, `GET /keys/${keeper.hash}`)).text), { data: { scopes: ['keys:write'] } })
  t.equal((await send(keeper.secret, 'GET /keys')).status, 200, 'to write is to read')
  const refused = await send(keeper.secret, 'GET /chargeback')
  t.match([refused.status, message(refused)], [403, 'This operation needs the scope spending:read: this key has keys:write'])
  for (const route of [
    'GET /audit',
    'GET /configuration',
    'GET /status',
    'GET /guardrails',
    'POST /guardrails',
    'GET /workspaces',
    'GET /events',
  ])
    t.equal((await send(keeper.secret, route, route.startsWith('POST') ? { name: 'x' } : undefined)).status, 403, route)
  t.equal((await send(keeper.secret, 'POST /keys', { name: 'app' })).status, 201, 'a key that calls models')
  t.match(await send(keeper.secret, 'POST /keys', { name: 'x', role: 'viewer' }), {
    status: 400,
    text: /scopes: expected some of those of its maker/,
  })
  t.equal((await scoped('viewer', ['spending:read'], keeper.secret)).status, 400)
  t.equal((await scoped('viewer', ['keys:read'], keeper.secret)).status, 201)
  t.equal((await scoped('member', ['keys:read'])).status, 400)
  t.equal((await scoped('viewer', [])).status, 400)
  t.equal((await scoped('viewer', ['everything:read'])).status, 400)
  const wider = await scoped('viewer', ['spending:read'])
  for (const route of ['PATCH', 'DELETE', 'POST'])
    t.match(
      (
        await send(
          keeper.secret,
          `${route} /keys/${wider.hash}${route === 'POST' ? '/rotate' : ''}`,
          route === 'PATCH' ? { name: 'y' } : undefined,
        )
      ).status,
      403,
      `${route} of a key with other scopes`,
    )
  const viewer = (await maker.key({ role: 'viewer', name: 'all' })).hash
  t.equal((await send(keeper.secret, `POST /keys/${viewer}/rotate`)).status, 403, 'or with all of them')
  for (const scopes of [null, ['keys:write', 'audit:read']])
    t.equal((await send(keeper.secret, `PATCH /keys/${keeper.hash}`, { scopes })).status, 400, 'its own')
  t.equal((await send(keeper.secret, `PATCH /keys/${keeper.hash}`, { scopes: ['keys:read'] })).status, 200, 'fewer')
  t.equal((await send(keeper.secret, 'POST /keys', { name: 'x' })).status, 403)
  const people = await scoped('owner', ['organization:write'])
  t.equal(
    (await send(people.secret, 'POST /workspaces/default/members/add', { user_ids: ['a@b.c'], role: 'viewer' })).status,
    403,
    'a person has all that its role has',
  )
  t.equal((await send(people.secret, 'POST /workspaces/default/members/add', { user_ids: ['a@b.c'] })).status, 200)
  const entry = (JSON.parse((await send(BOSS, `GET /audit?subject=${wider.hash}`)).text) as { data: JsonObject[] }).data[0]
  t.match(entry?.after, { scopes: ['spending:read'] }, 'the audit log has them')
  t.notMatch(gateway.logs.join(''), wider.secret)
})

t.test('a session of a key with a place or scopes opens the API within them, and no route of the whole gateway', async (t) => {
  const { gateway, secret, other, send } = await start(t)
  const OWN = { 'x-control-room': '1', 'content-type': 'application/json' }
  const scoped = JSON.parse((await send(BOSS, 'POST /keys', { name: 's', role: 'owner', scopes: ['keys:read'] })).text) as { key: string }
  for (const key of [secret('owner of the organization'), secret('owner of the workspace'), scoped.key]) {
    const signedIn = await fetch(`${gateway.admin}/control-room/session`, { method: 'POST', headers: OWN, body: JSON.stringify({ key }) })
    t.equal(signedIn.status, 201)
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    const { actions } = ((await signedIn.json()) as { data: { actions: string[] } }).data
    t.ok(actions.includes('GET /v1/keys'))
    for (const route of [
      'GET /v1/configuration',
      'GET /ledger/verify',
      'GET /ledger/export',
      'POST /ledger/rebuild',
      'GET /ledger/recovery',
    ])
      t.notOk(actions.includes(route), route)
    for (const route of [
      'GET /ledger/verify',
      'GET /ledger/export',
      'GET /ledger/recovery',
      'GET /ledger/exports',
      'POST /ledger/rebuild',
    ]) {
      const [method = '', path = ''] = route.split(' ')
      const reply = await fetch(gateway.admin + path, { method, headers: { ...OWN, cookie } })
      t.match(reply.status, 403, route)
      t.notMatch(await reply.text(), other.mark)
    }
    const listed = await fetch(`${gateway.admin}/v1/keys`, { headers: { ...OWN, cookie } })
    t.equal(listed.status, 200)
    if (key !== scoped.key) t.notMatch(await listed.text(), other.mark)
  }
})

t.test('a token whose rule names a workspace governs that one, and a workspace that is gone lets no caller govern', async (t) => {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const rules = `[ { when: { groups: leads }, name: leads, role: owner, workspace: team-x }, { when: { groups: heads }, name: heads, role: viewer, organization: company-x, scopes: [ "keys:read" ] } ]`
  const config = issuerConfig(issuer, { rules, auth: `  keys: [ { name: boss, key: "${BOSS}", management: true } ]` })
  const gateway = await startGateway(config('http://127.0.0.1:9'), { clock })
  t.teardown(() => gateway.close())
  const maker = new Maker(
    caller(() => gateway.url),
    BOSS,
  )
  const token = await issuer.token({ groups: ['leads'] })
  const head = await issuer.token({ groups: ['heads'], sub: 'hedda' })
  const get = async (path: string, shown = token): Promise<number> =>
    (await fetch(`${gateway.url}/v1${path}`, { headers: bearer(shown) })).status
  t.equal(await get('/keys'), 403, 'it is not there yet')
  t.equal(await get('/keys', head), 403)
  await maker.json('POST', '/organizations', { name: 'X', slug: 'company-x' })
  const workspace = String((await maker.data('POST', '/workspaces', { name: 'X', slug: 'team-x', organization_id: 'company-x' })).id)
  const inside = await maker.key({ name: 'inside', workspace_id: workspace })
  const outside = await maker.key({ name: 'outside' })
  t.same([await get(`/keys/${inside.hash}`), await get(`/keys/${outside.hash}`), await get('/configuration')], [200, 404, 403])
  t.same([await get(`/keys/${inside.hash}`, head), await get(`/keys/${outside.hash}`, head), await get('/credits', head)], [200, 404, 403])
  await maker.json('PATCH', `/keys/${inside.hash}`, { disabled: true })
  await maker.json('DELETE', `/workspaces/${workspace}`)
  t.equal(await get('/keys'), 403, 'it is gone')
  t.equal(await get(`/keys/${inside.hash}`, head), 404, 'what lay in it lies nowhere')
})
