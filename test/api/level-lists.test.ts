/** Lists of organisations, workspaces, members, their budgets and their keys: searched, counted, and only what is named. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { startScene } from '../support/scene.ts'
import { says } from '../support/wire.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'

const config = (url: string): string => `
auth: { keys: [ { name: boss, key: "${BOSS}", management: true } ] }
budgets: { old: { lifetime: "100.00" } }
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret" } }
models: { acme/one: { endpoints: [ { provider: first, model: one, price: { prompt: "0", completion: "0", request: "1.00" } } ] } }
`

type Manage = (route: string, body?: JsonObject) => Promise<{ readonly status: number; readonly body: JsonObject }>

async function start(t: Test) {
  const scene = await startScene(t, { config, answer: says({ text: ['fine'] }) })
  const manage: Manage = async (route, body) => {
    const [method = '', path = ''] = route.split(' ')
    const headers = { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' }
    const reply = await fetch(`${scene.gateway.url}/v1${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return { status: reply.status, body: (await reply.json()) as JsonObject }
  }
  const rows = async (route: string): Promise<readonly JsonObject[]> => (await manage(`GET ${route}`)).body.data as JsonObject[]
  return { ...scene, manage, rows }
}

t.test('a page shows what is below each level and left of its limits', async (t) => {
  const { manage, rows, ask } = await start(t)
  await manage('POST /organizations', { name: 'Acme', slug: 'acme' })
  const ml = ((await manage('POST /workspaces', { name: 'Learning', slug: 'ml', organization_id: 'acme' })).body.data as JsonObject).id
  const web = ((await manage('POST /workspaces', { name: 'Web', slug: 'web', organization_id: 'acme' })).body.data as JsonObject).id
  const added = await manage('POST /workspaces/ml/members/add', { user_ids: ['Ada@example.com', 'bob@example.com'] })
  const [ada, bob] = added.body.data as JsonObject[]
  await manage('PUT /workspaces/ml/budgets/daily', { limit_usd: 10 })
  await manage(`PUT /members/${ada?.id}/budgets/monthly`, { limit_usd: 5 })
  await manage('PUT /organizations/acme/budgets/monthly', { limit_usd: 2 })
  const made = await manage('POST /keys', { name: 'app', workspace_id: 'ml', member_id: 'ada@example.com' })
  await manage('POST /keys', { name: 'off', workspace_id: 'ml', disabled: true })
  t.equal((await ask({}, 'chat', { authorization: `Bearer ${made.body.key}` })).status, 200)

  // All were made in the same millisecond of the test's clock.
  const counts = (route: string) =>
    rows(route).then((all) => all.map((each) => [each.slug, each.member_count, each.workspace_count, each.key_count]).sort())
  t.same(await counts('/workspaces?organization_id=acme&include_counts=true'), [
    ['ml', 2, 0, 1],
    ['web', 0, 0, 0],
  ])
  t.same(await counts('/organizations?include_counts=true&search=ACME'), [['acme', 0, 2, 1]])
  t.same(await counts('/workspaces?search=learn'), [['ml', undefined, undefined, undefined]], 'counts are there where they are wanted')
  t.same(
    (await rows('/workspaces/ml/members?search=ADA@')).map(({ user_id: user }) => user),
    ['Ada@example.com'],
  )
  const second = (await manage('GET /workspaces/ml/members?search=example&limit=1&offset=1')).body
  t.equal(second.total_count, 2)
  t.equal((second.data as JsonObject[]).length, 1)
  t.same(
    (await rows(`/keys?member_id=${ada?.id}`)).map(({ name }) => name),
    ['app'],
  )
  t.same(await rows(`/keys?member_id=${bob?.id}`), [])

  const budgets = await rows(`/budgets?level_ids=${ml},${web},${ada?.id}`)
  t.same(
    budgets.map(({ name, kind, level_id: level, parent, remaining }) => [name, kind, level, parent, remaining]),
    [
      ['workspace:ml', 'workspace', ml, 'organization:acme', 1],
      ['member:ml/Ada@example.com', 'member', ada?.id, 'workspace:ml', 1],
    ],
    'what is left is also what the level above leaves, which is not listed',
  )
  t.same(
    (await rows('/budgets?kind=budget')).map(({ name, level_id: level }) => [name, level]),
    [['old', null]],
  )
  t.same(await rows('/budgets?level_ids=constructor'), [], 'an unknown level is none')
  t.equal((await rows('/budgets')).length, 4)
})

t.test('assignments of one level alone', async (t) => {
  const { manage, rows } = await start(t)
  const made = await manage('POST /guardrails', { name: 'cheap', allowed_models: ['acme/one'] })
  const guardrail = (made.body.data as JsonObject).id
  const ml = ((await manage('POST /workspaces', { name: 'Learning', slug: 'ml' })).body.data as JsonObject).id
  await manage('POST /workspaces', { name: 'Web', slug: 'web' })
  await manage('POST /workspaces/ml/members/add', { user_ids: ['Ada@example.com'] })
  await manage(`POST /guardrails/${guardrail}/assignments/workspaces`, { workspace_ids: ['ml', 'web'] })
  await manage(`POST /guardrails/${guardrail}/assignments/members`, { member_user_ids: ['ada@example.com'] })
  const found = await rows(`/guardrails/assignments/workspaces?subject=${ml}`)
  t.same(
    found.map(({ guardrail_id: id, workspace_id: workspace }) => [id, workspace]),
    [[guardrail, ml]],
  )
  t.equal((await rows('/guardrails/assignments/members?subject=Ada@example.com')).length, 1)
  t.same(await rows('/guardrails/assignments/members?subject=constructor'), [])
  t.equal((await rows(`/guardrails/${guardrail}/assignments/workspaces`)).length, 2)
})

t.test('wrong filters are refused by name', async (t) => {
  const { manage } = await start(t)
  for (const [path, field] of [
    ['/budgets?kind=team', 'kind'],
    [`/budgets?level_ids=${Array.from({ length: 101 }, (_, at) => at).join(',')}`, 'level_ids'],
    ['/workspaces?include_counts=perhaps', 'include_counts'],
    [`/workspaces?search=${'x'.repeat(257)}`, 'search'],
    [`/keys?member_id=${'x'.repeat(65)}`, 'member_id'],
  ] as const) {
    const { status, body } = await manage(`GET ${path}`)
    t.equal(status, 400, path)
    t.match(body, { error: { metadata: { field } } }, path)
  }
})
