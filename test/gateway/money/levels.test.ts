/** Organisations, workspaces and members of the store: their limits hold for all keys below them, and a level that is off refuses all of it. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { ORGANIZATION } from '../../../src/core/levels.ts'
import { WORKSPACE } from '../../../src/core/workspace.ts'
import { every } from '../../support/every.ts'
import { lastEvent, openSocket } from '../../support/responses-socket.ts'
import { type Scene, type SceneOptions, startScene } from '../../support/scene.ts'
import { Gate } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const [ADA, PLAIN, BOSS] = ['ada', 'plain', 'boss'].map((name) => `sk-router-v1-${name}-0123456789abcdef`) as [string, string, string]
const as = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` })

/** A call costs exactly a dollar. */
const config = (url: string): string => `
auth:
  keys:
    - { name: ada, key: "${ADA}", workspace: ml, member: Ada@Example.com }
    - { name: plain, key: "${PLAIN}" }
    - { name: boss, key: "${BOSS}", management: true }
budgets: { old: { lifetime: "100.00" } }
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret" } }
models:
  acme/one: { endpoints: [ { provider: first, model: one, price: { prompt: "0", completion: "0", request: "1.00" } } ] }
  acme/two: { endpoints: [ { provider: first, model: two, price: { prompt: "0", completion: "0", request: "2.00" } } ] }
`

interface Place extends Scene {
  /** @throws where the status is another one. */
  manage(route: string, body?: JsonObject, status?: number): Promise<JsonObject>
  /** Statuses of calls with a key. */
  calls(secret: string, count: number): Promise<number[]>
  refusal(secret: string): Promise<JsonObject>
}

async function start(t: Test, options: SceneOptions = {}): Promise<Place> {
  const scene = await startScene(t, { config, answer: says({ text: ['fine'] }), ...options })
  const manage: Place['manage'] = async (route, body, status) => {
    const [method = '', path = ''] = route.split(' ')
    const response = await fetch(`${scene.gateway.url}/v1${path}`, {
      method,
      headers: { ...as(BOSS), 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const found = (await response.json()) as JsonObject
    if (status === undefined ? response.status >= 300 : response.status !== status)
      throw new Error(`${route}: ${response.status} ${JSON.stringify(found)}`)
    return found
  }
  const calls = async (secret: string, count: number): Promise<number[]> =>
    (await Promise.all(Array.from({ length: count }, () => scene.ask({}, 'chat', as(secret))))).map(({ status }) => status).sort()
  const refusal = async (secret: string) => (await (await scene.ask({}, 'chat', as(secret))).json()) as JsonObject
  return { ...scene, manage, calls, refusal }
}

const idIn = (reply: JsonObject): string => String((reply.data as JsonObject).id)

async function team(place: Place): Promise<{ org: string; ml: string; ada: string }> {
  const org = idIn(await place.manage('POST /organizations', { name: 'Acme', slug: 'acme' }))
  const ml = idIn(await place.manage('POST /workspaces', { name: 'ML', slug: 'ml', organization_id: 'acme' }))
  const added = await place.manage('POST /workspaces/ml/members/add', { user_ids: ['ada@example.com'] })
  return { org, ml, ada: String((added.data as JsonObject[])[0]?.id) }
}

t.test('limits of three levels hold at once, and each refusal names its level', async (t) => {
  const place = await start(t)
  const { org, ml, ada } = await team(place)
  const made = await place.manage('POST /keys', { name: 'app', workspace_id: 'ml' })
  const app = String(made.key)
  t.match(made.data, { workspace_id: ml, member_id: null, limit_remaining: null })
  await place.manage('PUT /organizations/acme/budgets/lifetime', { limit_usd: 6 })
  await place.manage('PUT /workspaces/ml/budgets/monthly', { limit_usd: 4 })
  await place.manage(`PUT /members/${ada}/budgets/daily`, { limit_usd: 2 })
  t.same(await place.calls(ADA, 5), [200, 200, 402, 402, 402])
  const own = await place.refusal(ADA)
  t.match(own, { error: { message: /under the daily limit of the member ada@example\.com/ } })
  t.match(own, { error: { metadata: { limit: { scope: 'member', name: 'ada@example.com', kind: 'usd', per: 'day' } } } })
  t.same(await place.calls(app, 5), [200, 200, 402, 402, 402])
  t.match(await place.refusal(app), {
    error: { message: /monthly limit of the workspace ml/, metadata: { limit: { scope: 'workspace' } } },
  })
  await place.manage('DELETE /workspaces/ml/budgets/monthly')
  t.same(await place.calls(app, 5), [200, 200, 402, 402, 402])
  t.match(await place.refusal(app), {
    error: { message: /limit of the organization acme/, metadata: { limit: { scope: 'organization' } } },
  })
  t.same(
    [...new Set(place.rows().map(({ hold }) => hold.payer))],
    [`member:${ada}>workspace:${ml}>organization:${org}`, `workspace:${ml}>organization:${org}`],
  )
  t.same(await place.calls(PLAIN, 3), [200, 200, 200], 'a key without a place is below none of them')
  const key = (await (await place.gateway.get('/v1/key', as(ADA))).json()) as JsonObject
  t.match(key.data, { limit_remaining: 0, workspace_id: ml, organization_id: org })
})

t.test('a budget of the configuration and the levels of the place hold together', async (t) => {
  const place = await start(t)
  const { org, ml } = await team(place)
  const made = await place.manage('POST /keys', { name: 'app', workspace_id: ml, parent: 'old' })
  await place.manage('PUT /workspaces/ml/budgets/daily', { limit_usd: 2 })
  t.same(await place.calls(String(made.key), 3), [200, 200, 402])
  t.match(place.rows()[0]?.hold.payer, `budget:old>workspace:${ml}>organization:${org}`)
})

t.test('requests at once never pass a limit, and a request that runs settles where it began', async (t) => {
  const gate = new Gate()
  const place = await start(t, {
    answer: async (seen, index) => {
      await gate.opened
      return says({ text: ['fine'] })(seen, index)
    },
  })
  const { ml, ada, org } = await team(place)
  await place.manage('PUT /workspaces/ml/budgets/daily', { limit_usd: 3 })
  const open = place.calls(ADA, 12)
  await place.upstream.request(2)
  await place.manage('PATCH /workspaces/ml', { disabled: true })
  t.equal((await place.ask({}, 'chat', as(ADA))).status, 403)
  gate.open()
  const statuses = await open
  t.equal(statuses.filter((status) => status === 200).length, 3)
  t.same(
    place.rows().map(({ hold, settled }) => [hold.payer, settled?.cost]),
    Array(3).fill([`member:${ada}>workspace:${ml}>organization:${org}`, 1e9]),
  )
})

t.test('a level that is off or gone refuses all below it, and names itself', async (t) => {
  const place = await start(t)
  t.match(await place.refusal(ADA), { error: { code: 403, message: 'The workspace ml of this caller does not exist' } })
  const { ada } = await team(place)
  const app = String((await place.manage('POST /keys', { name: 'app', workspace_id: 'ml', member_id: ada })).key)
  for (const [route, message] of [
    [`/members/${ada}`, 'The member ada@example.com is disabled'],
    ['/workspaces/ml', 'The workspace ml is disabled'],
    ['/organizations/acme', 'The organization acme is disabled'],
  ]) {
    await place.manage(`PATCH ${route}`, { disabled: true })
    for (const key of [ADA, app]) t.match(await place.refusal(key), { error: { code: 403, message } })
    t.equal((await place.gateway.get('/v1/key', as(app))).status, 403, 'no operation is open')
    await place.manage(`PATCH ${route}`, { disabled: false })
    for (const key of [ADA, app]) t.same(await place.calls(key, 1), [200])
  }
  const live = await place.manage('DELETE /workspaces/ml', undefined, 400)
  t.match(live, { error: { message: /has 2 keys in use \(ada, app\)/ } })
  t.match(await place.manage('DELETE /organizations/acme', undefined, 400), { error: { message: /has workspaces/ } })
  await place.manage('POST /workspaces/ml/members/remove', { user_ids: ['ADA@example.com', 'stranger'] })
  for (const key of [ADA, app]) t.match(await place.refusal(key), { error: { code: 403, message: /is not in the workspace ml/ } })
  await place.manage('PATCH /workspaces/default', { disabled: true })
  t.match(await place.refusal(PLAIN), { error: { code: 403, message: 'The workspace default is disabled' } })
  t.match(await place.manage('GET /workspaces/default'), { data: { id: WORKSPACE, disabled: true } }, 'managers are not locked out')
})

t.test('the default workspace and organisation are there, and hold from their first limit on', async (t) => {
  const place = await start(t)
  t.match(await place.manage('GET /workspaces'), {
    total_count: 1,
    data: [{ id: WORKSPACE, slug: 'default', organization_id: ORGANIZATION }],
  })
  t.match(await place.manage('GET /organizations'), { total_count: 1, data: [{ id: ORGANIZATION, slug: 'default' }] })
  t.same(await place.calls(PLAIN, 1), [200])
  t.equal(place.rows()[0]?.hold.payer, undefined, 'it costs keys nothing')
  for (const path of ['/workspaces/default', `/organizations/${ORGANIZATION}`])
    t.match(await place.manage(`DELETE ${path}`, undefined, 400), { error: { message: /cannot be removed/ } })
  await place.manage('PUT /workspaces/default/budgets/weekly', { limit_usd: 2 })
  t.same(await place.calls(PLAIN, 4), [200, 200, 402, 402])
  await place.manage('DELETE /workspaces/default/budgets/weekly')
  await place.manage(`PUT /organizations/default/budgets/weekly`, { limit_usd: 1 })
  t.same(await place.calls(PLAIN, 2), [200, 402])
})

t.test('rates of a level are shared by all below it', async (t) => {
  const place = await start(t)
  const { ada } = await team(place)
  const app = String((await place.manage('POST /keys', { name: 'app', workspace_id: 'ml' })).key)
  await place.manage('PATCH /workspaces/ml', { rate_limits: { requests: 5 } })
  await place.manage(`PATCH /members/${ada}`, { rate_limits: { requests: 2 } })
  t.same(await place.calls(ADA, 4), [200, 200, 429, 429])
  t.match(await place.refusal(ADA), {
    error: { message: /2 requests per minute for the member ada@example\.com/, metadata: { limit: { scope: 'member', kind: 'requests' } } },
  })
  t.same(await place.calls(app, 4), [200, 200, 200, 429], 'what a member was refused was given back')
  t.match(await place.refusal(app), { error: { message: /5 requests per minute for the workspace ml/ } })
  await place.manage('PATCH /workspaces/ml', { rate_limits: { streams: 1, tokens: 1_000_000 } })
  place.clock.advance(120_000)
  const streams = await Promise.all([1, 2].map(() => place.ask({ stream: true }, 'chat', as(app))))
  t.same(streams.map(({ status }) => status).sort(), [200, 429])
  for (const stream of streams) await stream.text()
  t.equal((await place.ask({ stream: true }, 'chat', as(app))).status, 200, 'the place of a stream is free again')
})

t.test('defaults of a workspace act for requests that name nothing', async (t) => {
  const place = await start(t)
  await team(place)
  await place.manage('PATCH /workspaces/ml', { default_text_model: 'acme/two', default_provider_sort: 'price' })
  const ask = (key: string) => place.gateway.post('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }, as(key))
  t.match(await (await ask(ADA)).json(), { model: 'acme/two' })
  t.equal((await ask(PLAIN)).status, 400, 'no model is the default of all')
})

t.test('lists come in pages, and keys by their workspace', async (t) => {
  const place = await start(t)
  const { ml, ada } = await team(place)
  const users = Array.from({ length: 100 }, (_, at) => `user-${at}@example.com`)
  t.match(await place.manage('POST /workspaces/ml/members/add', { user_ids: users }), { added_count: 100 })
  t.match(await place.manage('POST /workspaces/ml/members/add', { user_ids: ['user-5@example.com'], role: 'admin' }), {
    data: [{ user_id: 'user-5@example.com', role: 'admin', workspace_id: ml }],
  })
  const pages: string[] = []
  for (let offset = 0; offset < 101; offset += 25) {
    const { data, total_count: total } = await place.manage(`GET /workspaces/ml/members?limit=25&offset=${offset}`)
    t.equal(total, 101)
    pages.push(...(data as JsonObject[]).map(({ user_id: user }) => String(user)))
  }
  t.same(pages.sort(), [...users, 'ada@example.com'].sort())
  t.match(await place.manage(`GET /members/${ada}`), { data: { id: ada, user_id: 'ada@example.com', workspace_id: ml } })
  t.match(await place.manage('GET /organization/members'), { total_count: 0 }, "of the caller's own organisation")
  await place.manage('POST /organizations/default/members/add', { user_ids: ['root@example.com'] })
  await place.manage('POST /workspaces/default/members/add', { user_ids: ['ROOT@example.com'] })
  t.match(await place.manage('GET /organization/members'), {
    total_count: 1,
    data: [{ id: 'root@example.com', email: 'root@example.com', role: 'org:member' }],
  })
  const listed = (await place.manage('GET /keys?workspace_id=ml')).data as JsonObject[]
  t.same(
    listed.map(({ name }) => name),
    ['ada'],
  )
  t.match(listed, [{ member_id: ada, workspace_id: ml }])
  t.match(await place.manage('GET /keys'), { total_count: 3 })
  t.match(await place.manage(`GET /keys?workspace_id=${WORKSPACE}`), { total_count: 2 })
})

t.test('a key of the store moves, and what it has spent stays where it was', async (t) => {
  const place = await start(t)
  const { ml } = await team(place)
  await place.manage('POST /workspaces', { name: 'Web', slug: 'web' })
  await place.manage('PUT /workspaces/ml/budgets/daily', { limit_usd: 2 })
  await place.manage('PUT /workspaces/web/budgets/daily', { limit_usd: 1 })
  const made = await place.manage('POST /keys', { name: 'app', workspace_id: 'ml' })
  const [app, path] = [String(made.key), `/keys/${(made.data as JsonObject).hash}`]
  t.same(await place.calls(app, 3), [200, 200, 402])
  t.match(await place.manage(`PATCH ${path}`, { workspace_id: 'web' }), { data: { limit_remaining: 1 } })
  t.same(await place.calls(app, 2), [200, 402])
  t.match(await place.manage(`PATCH ${path}`, { workspace_id: null }), { data: { workspace_id: WORKSPACE, limit_remaining: null } })
  t.same(await place.calls(app, 2), [200, 200])
  await place.manage(`PATCH ${path}`, { workspace_id: ml, name: 'renamed' })
  t.same(await place.calls(app, 1), [402])
})

t.test('bodies of strangers are refused with the name of the field', async (t) => {
  const place = await start(t)
  const { ada } = await team(place)
  await place.manage('PUT /workspaces/ml/budgets/monthly', { limit_usd: 10 })
  const long = 'x'.repeat(10_000)
  const cases: [route: string, body: JsonObject, field: RegExp][] = [
    ['POST /workspaces', {}, /^name/],
    ['POST /workspaces', { name: 'a' }, /^slug/],
    ['POST /workspaces', { name: long, slug: 'a' }, /^name/],
    ['POST /workspaces', { name: '\u202e', slug: 'a' }, /^name/],
    ...['A', 'a--b', '-a', 'a_b', 'ä', '', long, 'a/b', '..'].map((slug): [string, JsonObject, RegExp] => [
      'POST /workspaces',
      { name: 'a', slug },
      /^slug/,
    ]),
    ['POST /workspaces', { name: 'a', slug: ada }, /^slug/],
    ['POST /workspaces', { name: 'a', slug: 'default' }, /^slug/],
    ['POST /workspaces', { name: 'a', slug: 'ml' }, /^slug: there is another workspace/],
    ['POST /workspaces', { name: 'a', slug: 'b', organization_id: 'nowhere' }, /^organization_id/],
    ['POST /workspaces', { name: 'a', slug: 'b', default_image_model: 'x' }, /^default_image_model/],
    ['POST /workspaces', { name: 'a', slug: 'b', limits: { daily: 1 } }, /^limits/],
    ['PATCH /workspaces/ml', { rate_limits: { requests: 0 } }, /^rate_limits\.requests/],
    ['PATCH /workspaces/ml', { rate_limits: { bytes: 1 } }, /^rate_limits\.bytes/],
    ['PATCH /workspaces/ml', { disabled: 'yes' }, /^disabled/],
    ['PATCH /workspaces/ml', { default_provider_sort: 'random' }, /^default_provider_sort/],
    ['PATCH /workspaces/ml', { organization_id: 'default' }, /^organization_id/],
    [`PATCH /members/${ada}`, { user_id: 'other' }, /^user_id/],
    ...[0, -1, 1e300, '5', null].map((limit): [string, JsonObject, RegExp] => [
      'PUT /workspaces/ml/budgets/daily',
      { limit_usd: limit } as JsonObject,
      /^limit_usd/,
    ]),
    ['PUT /workspaces/ml/budgets/daily', { limit_usd: 10 }, /^limit_usd: expected the daily limit to be lower than the monthly/],
    ['PUT /workspaces/ml/budgets/lifetime', { limit_usd: 10 }, /^limit_usd: expected the monthly limit to be lower than the lifetime/],
    ['PUT /workspaces/ml/budgets/yearly', { limit_usd: 10 }, /^interval/],
    ['POST /workspaces/ml/members/add', { user_ids: [] }, /^user_ids/],
    ['POST /workspaces/ml/members/add', { user_ids: [long] }, /^user_ids\[0\]/],
    ['POST /workspaces/ml/members/add', { user_ids: Array(101).fill('a') }, /^user_ids/],
    ['POST /workspaces/ml/members/add', { user_ids: ['a'], role: 'chief' }, /^role/],
    ['POST /keys', { name: 'k', workspace_id: 'nowhere' }, /^workspace_id/],
    ['POST /keys', { name: 'k', workspace_id: 'default', member_id: ada }, /^member_id/],
    ['POST /keys', { name: 'k', member_id: 'stranger' }, /^member_id/],
  ]
  await every(t, 'each', async (t) => {
    for (const [route, body, field] of cases)
      t.match(await place.manage(route, body, 400), { error: { message: field } }, `${route} ${JSON.stringify(body).slice(0, 80)}`)
  })
  for (const route of [
    'GET /workspaces/nowhere',
    'GET /members/ml',
    `GET /workspaces/${ada}`,
    'GET /organizations/ml',
    'GET /workspaces/ml/budgets/daily',
  ])
    await place.manage(route, undefined, 404)
  t.match(await place.manage('DELETE /workspaces/ml/budgets/daily'), { deleted: true }, 'also without one')
  t.equal((await place.gateway.get('/v1/workspaces', as(PLAIN))).status, 403, 'for managers alone')
})

t.test('a connection that is open meets the levels of now with each response', async (t) => {
  const place = await start(t)
  await team(place)
  const socket = await openSocket({ url: place.gateway.url, key: ADA })
  const respond = async (): Promise<JsonObject> => lastEvent(await socket.respond({ model: 'acme/one', input: 'Hello' }))
  t.equal((await respond()).type, 'response.completed')
  await place.manage('PUT /workspaces/ml/budgets/daily', { limit_usd: 2 })
  t.equal((await respond()).type, 'response.completed')
  t.match(await respond(), { type: 'error', status: 402 })
  await place.manage('PATCH /workspaces/ml', { disabled: true })
  t.match(await respond(), { type: 'error', status: 403, error: { message: 'The workspace ml is disabled' } })
  socket.ws.close()
})
