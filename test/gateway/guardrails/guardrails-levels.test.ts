/** Guardrails of workspaces, organisations and members: all that apply to a key hold at once, and a level can only narrow. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { says } from '../../support/wire.ts'

const [ADA, BOB, PLAIN, BOSS] = ['ada', 'bob', 'plain', 'boss'].map((name) => `sk-router-v1-${name}-0123456789abcdef`) as [
  string,
  string,
  string,
  string,
]
const as = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` })
const MODELS = ['acme/one', 'acme/two', 'other/one']

const config = (url: string): string => `
auth:
  keys:
    - { name: ada, key: "${ADA}", workspace: ml, member: ada@example.com }
    - { name: bob, key: "${BOB}", workspace: ml }
    - { name: plain, key: "${PLAIN}" }
    - { name: boss, key: "${BOSS}", management: true }
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret" } }
models:
${MODELS.map((slug) => `  ${slug}: { endpoints: [ { provider: first, model: m, price: { prompt: "0", completion: "0" } } ] }`).join('\n')}
`

interface Place extends Scene {
  manage(route: string, body?: JsonObject): Promise<JsonObject>
  /** Models that a key may use. */
  allowed(secret: string): Promise<string[]>
  guardrail(fields: JsonObject): Promise<string>
}

async function start(t: Test): Promise<Place> {
  const scene = await startScene(t, { config, answer: says({ text: ['fine'] }) })
  const manage: Place['manage'] = async (route, body) => {
    const [method = '', path = ''] = route.split(' ')
    const headers = { ...as(BOSS), 'content-type': 'application/json' }
    const response = await fetch(`${scene.gateway.url}/v1${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    const found = (await response.json()) as JsonObject
    if (!response.ok) throw new Error(`${route}: ${response.status} ${JSON.stringify(found)}`)
    return found
  }
  const allowed = async (secret: string): Promise<string[]> => {
    const statuses = await Promise.all(MODELS.map(async (model) => (await scene.ask({ model }, 'chat', as(secret))).status))
    return MODELS.filter((_, at) => statuses[at] === 200)
  }
  const guardrail = async (fields: JsonObject) =>
    String(((await manage('POST /guardrails', { name: 'g', ...fields })).data as JsonObject).id)
  await manage('POST /organizations', { name: 'Acme', slug: 'acme' })
  await manage('POST /workspaces', { name: 'ML', slug: 'ml', organization_id: 'acme' })
  await manage('POST /workspaces/ml/members/add', { user_ids: ['ada@example.com'] })
  return { ...scene, manage, allowed, guardrail }
}

t.test('lists of all levels intersect, and what any of them ignores is ignored', async (t) => {
  const { manage, allowed, guardrail } = await start(t)
  t.same(await allowed(ADA), MODELS)
  const acme = await guardrail({ allowed_models: ['acme/*'] })
  await manage(`POST /guardrails/${acme}/assignments/organizations`, { organization_ids: ['acme'] })
  t.same(await allowed(ADA), ['acme/one', 'acme/two'])
  const ml = await guardrail({ allowed_models: ['acme/one', 'other/one'] })
  await manage(`POST /guardrails/${ml}/assignments/workspaces`, { workspace_ids: ['ml'] })
  t.same(await allowed(ADA), ['acme/one'], 'a workspace widens nothing')
  const ada = await guardrail({ ignored_models: ['acme/one'] })
  t.match(await manage(`POST /guardrails/${ada}/assignments/members`, { member_user_ids: ['ADA@example.com'] }), { assigned_count: 1 })
  t.same(await allowed(ADA), [])
  t.same(await allowed(BOB), ['acme/one'])
  t.same(await allowed(PLAIN), MODELS, 'nor does it hold elsewhere')
  const workspace = (await manage('GET /workspaces/ml')).data as JsonObject
  t.match(await manage('GET /guardrails/assignments/workspaces'), {
    total_count: 1,
    data: [{ guardrail_id: ml, workspace_id: workspace.id }],
  })
  t.match(await manage(`GET /guardrails/${acme}/assignments/organizations`), { total_count: 1 })
  t.match(await manage('GET /guardrails/assignments/members'), { data: [{ user_id: 'ada@example.com', guardrail_id: ada }] })
  await manage(`POST /guardrails/${acme}/assignments/organizations/remove`, { organization_ids: ['acme'] })
  await manage(`POST /guardrails/${ada}/assignments/members/remove`, { member_user_ids: ['ada@example.com'] })
  t.same(await allowed(ADA), ['acme/one', 'other/one'])
})

t.test('each workspace has a guardrail of its own, which its first change makes', async (t) => {
  const { manage, allowed } = await start(t)
  const own = (slug: string) => manage(`GET /workspaces/${slug}`).then(({ data }) => String((data as JsonObject).default_guardrail_id))
  const [ml, usual] = [await own('ml'), await own('default')]
  t.not(ml, usual)
  await manage(`PATCH /guardrails/${ml}`, { allowed_models: ['other/*'] })
  await manage(`PATCH /guardrails/${usual}`, { allowed_models: ['acme/two'] })
  t.same(await allowed(ADA), ['other/one'])
  t.same(await allowed(PLAIN), ['acme/two'])
})
