/** Budgets that several keys spend together: of the file and of the store, exact under requests at once, and what callers see of them. */
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/config/load.ts'
import { ConfigError } from '../../../src/config/problems.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { type Scene, type SceneOptions, startScene } from '../../support/scene.ts'
import { Gate } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const [ADA, BOB, BOSS] = ['ada', 'bob', 'boss'].map((name) => `sk-router-v1-${name}-0123456789abcdef`) as [string, string, string]
const as = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` })

/** A call costs exactly a dollar. */
const budgetConfig =
  (budgets: string, more = '') =>
  (url: string): string =>
    `
auth:
  sign_in: {}
  keys:
    - { name: ada, key: "${ADA}", parent: team-a, limit: "4.00" }
    - { name: bob, key: "${BOB}", parent: team-a }
    - { name: boss, key: "${BOSS}", management: true }
${budgets === '' ? '' : `budgets: ${budgets}`}
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret" } }
models: { acme/one: { endpoints: [ { provider: first, model: one, price: { prompt: "0", completion: "0", request: "1.00" } } ] } }
${more}
`
const THREE = '{ team-a: { monthly: "3.00", lifetime: "5.00" } }'

function start(t: Test, options: SceneOptions = {}): Promise<Scene> {
  return startScene(t, { config: budgetConfig(THREE), answer: says({ text: ['fine'] }), ...options })
}

async function jsonBody(response: Response): Promise<JsonObject> {
  return (await response.json()) as JsonObject
}

async function fetchBudget({ gateway }: Pick<Scene, 'gateway'>): Promise<JsonObject> {
  const { data } = (await jsonBody(await gateway.get('/v1/budgets', as(BOSS)))) as { data: JsonObject[] }
  return data[0] ?? {}
}

t.test('keys under one budget spend it together, and callers learn what is left to them alone', async (t) => {
  const place = await start(t)
  for (const secret of [ADA, BOB, BOB]) t.equal((await place.ask({}, 'chat', as(secret))).status, 200)
  const refused = await place.ask({}, 'chat', as(ADA))
  t.equal(refused.status, 402)
  const { error } = (await jsonBody(refused)) as { error: { message: string; metadata: JsonObject } }
  t.match(error.message, '$0.00 is left under the monthly limit of the budget team-a')
  const month = new Date(place.clock.now())
  const resets_at = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1)).toISOString()
  t.same(error.metadata.limit, { scope: 'budget', name: 'team-a', kind: 'usd', per: 'month', resets_at }, 'no sums of others')
  const own = await jsonBody(await place.gateway.get('/v1/key', as(ADA)))
  t.match(own, { data: { parent: 'team-a', usage: 1, limit: 4, limit_remaining: 0 } })
  t.match(await fetchBudget(place), {
    name: 'team-a',
    is_defined: true,
    windows: [
      { window: 'monthly', limit_usd: 3, used: 3, remaining: 0, resets_at },
      { window: 'lifetime', limit_usd: 5, used: 3, remaining: 2, resets_at: null },
    ],
    keys: [{ name: 'ada' }, { name: 'bob' }],
  })
  const { data: events } = (await jsonBody(await place.gateway.get('/v1/events?limit=100', as(BOSS)))) as { data: JsonObject[] }
  const raised = events.filter(({ type }) => String(type).startsWith('headgate.budget'))
  t.same([...new Set(raised.map(({ subject }) => subject))], ['budget:team-a'], 'none of the limit of ada, which has much left')
  const named = raised.map(({ type, data }) => `${type} ${(data as JsonObject).reset} ${(data as JsonObject).share_percent ?? ''}`)
  t.same(named.sort(), [
    'headgate.budget.limit_reached monthly ',
    'headgate.budget.share_reached monthly 100',
    'headgate.budget.share_reached monthly 50',
    'headgate.budget.share_reached monthly 80',
    'headgate.budget.share_reached null 50',
  ])
  await place.clock.advance(Date.parse(resets_at) - place.clock.now())
  for (const secret of [BOB, ADA]) t.equal((await place.ask({}, 'chat', as(secret))).status, 200, 'a new month')
  t.equal((await place.ask({}, 'chat', as(BOB))).status, 402, 'the lifetime is over')
  t.same(
    place.rows().map(({ hold }) => hold.payer),
    Array(5).fill('budget:team-a'),
  )
})

t.test('requests at once never pass it, whatever keys they have', async (t) => {
  const gate = new Gate()
  const place = await start(t, {
    answer: async (seen, index) => {
      await gate.opened
      return says({ text: ['fine'] })(seen, index)
    },
  })
  const open = Array.from({ length: 12 }, (_, at) => place.ask({}, 'chat', as(at % 2 === 0 ? ADA : BOB)))
  await place.upstream.request(2)
  t.match(await fetchBudget(place), { held: 3 })
  gate.open()
  const statuses = (await Promise.all(open)).map(({ status }) => status).sort()
  t.same(statuses, [200, 200, 200, ...Array(9).fill(402)])
})

t.test('a key of the API names a budget that is there; one that has gone leaves it nothing', async (t) => {
  const place = await start(t, { directory: t.testdir() })
  const make = (fields: JsonObject) => place.gateway.post('/v1/keys', { name: 'app', ...fields }, as(BOSS))
  const wrong = await make({ parent: 'team-b' })
  t.equal(wrong.status, 400)
  t.match(await jsonBody(wrong), { error: { message: 'parent: no such budget, expected one of: team-a' } })
  const made = (await jsonBody(await make({ parent: 'team-a' }))) as { key: string; data: JsonObject }
  t.match(made.data, { parent: 'team-a', limit: null, limit_remaining: 3 })
  for (let i = 0; i < 3; i++) t.equal((await place.ask({}, 'chat', as(made.key))).status, 200)
  t.equal((await place.ask({}, 'chat', as(BOB))).status, 402, 'it has spent all for the others')
  const path = `/v1/keys/${String(made.data.hash)}`
  const patch = (body: JsonObject) =>
    fetch(`${place.gateway.url}${path}`, {
      method: 'PATCH',
      headers: { ...as(BOSS), 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  t.match(await jsonBody(await patch({ parent: null })), { data: { parent: null, limit_remaining: null } })
  t.equal((await place.ask({}, 'chat', as(made.key))).status, 200, 'on its own')
  await patch({ parent: 'team-a' })
  const without = budgetConfig('{ other: { daily: "1.00" } }')(place.upstream.url).replaceAll(', parent: team-a', '')
  t.match(await place.gateway.reconfigure(without), { kind: 'applied' })
  const refused = await place.ask({}, 'chat', as(made.key))
  t.equal(refused.status, 402)
  t.match(await jsonBody(refused), { error: { message: /\$0\.00 is left under the limit of the budget team-a/ } })
  t.match(await jsonBody(await place.gateway.get('/v1/budgets', as(BOSS))), {
    data: [
      { name: 'other' },
      { name: 'team-a', is_defined: false, windows: [{ window: 'lifetime', limit_usd: 0 }], keys: [{ name: 'app' }] },
    ],
  })
})

t.test('what can never be reached is a mistake', (t) => {
  const budgetProblems = (budgets: string): string => {
    try {
      loadConfig('h.yaml', {}, { text: budgetConfig(budgets)('http://127.0.0.1:1') })
      return ''
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) throw thrown
      return thrown.message
    }
  }
  t.equal(budgetProblems(THREE), '')
  for (const [budgets, problem] of [
    ['', /auth\.keys\[0\]\.parent: no such budget/],
    ['{ team-b: { daily: "1.00" } }', /auth\.keys\[1\]\.parent: no such budget, did you mean "team-b"/],
    ['{ team-a: {} }', /budgets\.team-a: expected a limit, one of: daily, weekly, monthly, lifetime/],
    ['{ team-a: { daily: "5.00", monthly: "5.00" } }', /budgets\.team-a\.daily: expected less than monthly/],
    ['{ "a:b": { daily: "5.00" }, team-a: { daily: "1.00" } }', /budgets.*a name of up to 64 letters/],
  ] as const)
    t.match(budgetProblems(budgets), problem, budgets)
  t.end()
})
